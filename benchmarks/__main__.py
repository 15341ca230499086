"""`python -m benchmarks`: agentsdk beside a bare asyncio loop and its peers.

Every contestant has a virtual environment and a process of its own. Each round starts fresh processes and goes through the
scenarios; in a scenario every contestant has its turn before the next scenario begins, so that all meet the same weather on
the machine. What is compared is the ratio to bare in the same round, and of that the median over rounds. The measuring
processes share one processor, the fake server has another. `scenarios.py` says what is measured, `report.py` what must be
reached.

Linux only: memory is read from `/proc`. A scenario that takes a peer more than a few seconds is measured in the first round
only, and a peer repeats short work half as often as bare and agentsdk. The exit code is 1 when a bound is missed or a
contestant failed to do its work.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from dataclasses import dataclass
from typing import Any

from benchmarks import report
from benchmarks.envs import PEERS, Env, EnvError, ensure
from benchmarks.processes import RESULTS, Server, Worker, WorkerError, log_of, measure_import
from benchmarks.report import BARE, OURS, Results
from benchmarks.scenarios import IN_PROCESS, OVER_HTTP, STREAMS, STREAMS_PEERS, protocol_of

SCENARIOS = ("S7", *(name for name in IN_PROCESS if name != "long"), *OVER_HTTP)
SLOW_S = 5.0


@dataclass(frozen=True)
class Plan:
    """What the flags ask for."""

    scenarios: tuple[str, ...]
    peers: tuple[str, ...]
    rounds: int
    budget_ms: float
    at_once: int


def main() -> int:
    """Prepare, measure, report."""
    plan = parse()
    started = time.monotonic()
    results = Results([])
    environments = prepare(plan, results)
    asyncio.run(measure(plan, environments, results))
    verdicts = report.bounds(results)
    latest = RESULTS / "latest.json"
    report.write(latest, results, verdicts, {"rounds": plan.rounds, "budget_ms": plan.budget_ms, "at_once": plan.at_once})
    print(f"\n{report.table(results)}\n")
    if text := report.remarks(results):
        print(f"{text}\n")
    print(f"must reach\n{report.bounds_table(verdicts)}\n")
    passed, missed, unknown = (sum(verdict.verdict == word for verdict in verdicts) for word in ("PASS", "MISS", "-"))
    failed = sum(len(scenarios) for scenarios in results.failed.values())
    took = time.monotonic() - started
    print(f"{passed} passed, {missed} missed, {unknown} not measured, {failed} failed; {took:.0f} s; figures in {latest}")
    return 1 if missed or failed else 0


def parse() -> Plan:
    """Read the flags."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="agentsdk beside a bare asyncio loop and its peers"
    )
    parser.add_argument(
        "--only", default="", help=f"scenarios, comma separated: {', '.join(SCENARIOS)}; S4, HTTP or google means all of them"
    )
    parser.add_argument("--peers", default=",".join(PEERS), help=f"peers, comma separated: {', '.join(PEERS)}")
    parser.add_argument("--rounds", type=int, default=0, help="interleaved rounds, 5 unless told")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one short round, a hundred runs in S5 and STREAMS: to see that it works, not to judge",
    )
    flags = parser.parse_args()
    only, peers = split(flags.only), split(flags.peers)
    scenarios = tuple(name for name in SCENARIOS if not only or any(selects(word, name) for word in only))
    chosen = {word for word in only if any(selects(word, name) for name in SCENARIOS)}
    if unknown := (set(only) - chosen) | (set(peers) - set(PEERS)):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if flags.quick:
        return Plan(scenarios, peers, flags.rounds or 1, 50, 100)
    return Plan(scenarios, peers, flags.rounds or 5, 400, 1000)


def selects(words: str, scenario: str) -> bool:
    """Whether `words` name the scenario, or a part of its name: `HTTP`, `S4` and `HTTP S4` all mean `HTTP S4 google` too."""
    return f" {words} " in f" {scenario} "


def split(text: str) -> tuple[str, ...]:
    """The parts of a comma-separated list."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def prepare(plan: Plan, results: Results) -> dict[str, Env]:
    """Make the environments; a peer that cannot be installed is skipped, and said so."""
    print("environments")
    environments: dict[str, Env] = {}
    for name in (BARE, OURS, *plan.peers):
        try:
            environments[name] = ensure(name)
        except EnvError as error:
            if name in (BARE, OURS):
                sys.exit(f"{name} cannot be installed: {error}")
            print(f"  {name} is skipped: {error}")
            results.skipped[name] = str(error)
        else:
            log_of(name).write_bytes(b"")
    results.contestants = list(environments)
    return environments


async def measure(plan: Plan, environments: dict[str, Env], results: Results) -> None:
    """All rounds."""
    slow: set[tuple[str, str]] = set()
    for number in range(plan.rounds):
        print(f"round {number + 1} of {plan.rounds}:", end="", flush=True)
        started = time.monotonic()
        server = await Server.start(environments[BARE])
        workers: dict[str, Worker] = {}
        try:
            for scenario in plan.scenarios:
                print(f" {scenario}", end="", flush=True)
                for name, env in environments.items():
                    if scenario in results.failed.get(name, {}) or (name, scenario) in slow:
                        continue
                    if name not in (BARE, OURS, *peers_of(scenario)):
                        continue
                    before = time.monotonic()
                    if scenario == "S7":
                        answer = await measure_import(env)
                    else:
                        url = server.url if scenario in OVER_HTTP else None
                        answer = await ask(workers, env, scenario, url, plan)
                    if time.monotonic() - before > SLOW_S and name not in (BARE, OURS):
                        slow.add((name, scenario))
                    keep(results, name, scenario, number, answer)
        finally:
            for process in (server, *workers.values()):
                await process.stop()
        print(f", {time.monotonic() - started:.0f} s", flush=True)


def peers_of(scenario: str) -> tuple[str, ...]:
    """The peers that a scenario measures."""
    if scenario == STREAMS:
        return STREAMS_PEERS
    return PEERS if protocol_of(scenario) == "chat" else ()


async def ask(workers: dict[str, Worker], env: Env, scenario: str, url: str | None, plan: Plan) -> dict[str, Any]:
    """Have a contestant's worker run a scenario; a worker that is not there, or no longer, is started."""
    worker = workers.get(env.name)
    if worker is None or not worker.alive:
        try:
            workers[env.name] = worker = await Worker.start(env)
        except WorkerError as error:
            return {"error": str(error)}
    budget_ms = plan.budget_ms if env.name in (BARE, OURS) else plan.budget_ms / 2
    return await worker.ask(scenario, url=url, budget_ms=budget_ms, at_once=plan.at_once)


def keep(results: Results, name: str, scenario: str, number: int, answer: dict[str, Any]) -> None:
    """File a worker's answer; a failure is told at once."""
    if "figures" in answer:
        results.add(name, scenario, number, answer["figures"])
    elif "absent" in answer:
        results.absent.setdefault(name, {})[scenario] = answer["absent"]
    else:
        print(f"\n  {name} FAILED in {scenario}: {answer['error']}\n ", end="", flush=True)
        results.failed.setdefault(name, {})[scenario] = answer["error"]


if __name__ == "__main__":
    sys.exit(main())
