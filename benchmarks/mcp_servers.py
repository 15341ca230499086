"""MCP servers that misbehave, and the lifecycle matrix: `tests/mcp/misbehaving`, played by agentsdk and by two peers.

    python -m benchmarks.mcp_servers                    # all rows, the three side by side: about half an hour
    python -m benchmarks.mcp_servers --resume           # what an earlier run has not come to
    python -m benchmarks.mcp_servers --only agentsdk --rows matrix/

Each contestant plays in an environment of its own, all rows one after another in one process. A client's patience with a
server that is silent passes at once; a row that takes 30 seconds all the same is ended, and failed. What must come of a row is
the same for each, but that the peers need not tell the model that a server is down. `benchmarks/results/mcp_servers.json` has
each verdict as soon as it is there.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import envs
from benchmarks.mcp_peers.plays import MATRIX, PLAYS
from benchmarks.processes import RESULTS, environment

CONTESTANTS = {"agentsdk": "agentsdk", "openai_agents": "openai-agents-mcp", "pydantic_ai": "pydantic-ai-mcp"}
"""The contestants, and the environment of each."""

HANGS_AFTER = 30
"""Seconds without a word after which a row counts as hanging."""

NAMES = [f"{play.name} {play.how}" for play in PLAYS]
VERDICTS = RESULTS / "mcp_servers.json"

Found = dict[str, dict[str, str]]
"""By contestant the verdict of each row, "" for one that was passed."""


def verdicts(name: str, python: Path, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The verdict of each row, "" for one that was passed."""
    left = list(numbers)
    while left:
        command = (str(python), "-m", "benchmarks.mcp_peers.worker", name, *map(str, left))
        with (RESULTS / f"mcp-{name}.log").open("ab") as log:
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment(), cwd=envs.REPO)
        lines = _lines(worker)
        begun = None
        try:
            while left:
                line = lines.get(timeout=HANGS_AFTER)
                said = json.loads(line) if line else None
                if said is None:
                    raise queue.Empty
                if "begins" in said:
                    begun = said["begins"]
                else:
                    left.remove(said["number"])
                    begun = None
                    yield said["number"], said["verdict"]
        except queue.Empty:
            lost = left[0] if begun is None else begun
            left.remove(lost)
            yield lost, "hangs" if worker.poll() is None else f"the process ended with {worker.returncode}"
        finally:
            worker.kill()
            worker.wait()


def _lines(worker: subprocess.Popen[str]) -> queue.Queue[str]:
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        assert worker.stdout is not None
        for line in worker.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--only", choices=CONTESTANTS, action="append", help="a contestant; may be given again")
    parser.add_argument("--rows", default="", help="only rows whose name begins so")
    parser.add_argument("--resume", action="store_true", help="keep the verdicts that there are")
    parser.add_argument("--verbose", action="store_true", help="say why each row failed")
    given = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    found: Found = json.loads(VERDICTS.read_text()) if given.resume and VERDICTS.exists() else {}
    numbers = [number for number, name in enumerate(NAMES) if name.startswith(given.rows)]
    for name in given.only or CONTESTANTS:
        known = found.setdefault(name, {})
        left = [number for number in numbers if NAMES[number] not in known]
        began = time.monotonic()
        for count, (number, verdict) in enumerate(verdicts(name, python_of(name), left) if left else (), 1):
            known[NAMES[number]] = verdict
            VERDICTS.write_text(json.dumps(found, indent=1))
            if verdict and given.verbose:
                print(f"{name}: {NAMES[number]}: {verdict}", flush=True)
            if count % 50 == 0:
                print(f"{name}: {count} of {len(left)} in {time.monotonic() - began:.0f} s", file=sys.stderr)
    show(found, numbers)


def python_of(name: str) -> Path:
    """The interpreter of a contestant's environment."""
    return Path(sys.executable) if name == "agentsdk" else envs.ensure(CONTESTANTS[name]).python


def show(found: Mapping[str, Mapping[str, str]], numbers: Sequence[int]) -> None:
    """Prints how many rows of each group each contestant passes, then each row of the lifecycle matrix."""
    rows = [number for number in numbers if PLAYS[number].group != MATRIX]
    matrix = [number for number in numbers if PLAYS[number].group == MATRIX]
    for title, chosen, group_of in (
        ("misbehaving servers", rows, lambda number: PLAYS[number].group),
        ("lifecycle", matrix, lambda number: PLAYS[number].name.partition("/")[2].replace("_", " ")),
    ):
        if not chosen:
            continue
        groups: dict[str, list[str]] = {}
        for number in chosen:
            groups.setdefault(group_of(number), []).append(NAMES[number])
        print(f"| {title} (rows) | {' | '.join(found)} |")
        print("|---" * (len(found) + 1) + "|")
        for group, names in [*groups.items(), ("all", [NAMES[number] for number in chosen])]:
            passed = [sum(verdicts.get(name) == "" for name in names) for verdicts in found.values()]
            print(f"| {group} ({len(names)}) | {' | '.join(map(str, passed))} |")
        print()


if __name__ == "__main__":
    main()
