"""What each scenario measures, and how; the same code for every contestant.

Times are CPU times of the process. The collector is on, as in production: before a measurement it has run, and what imports
left behind is frozen, so that it looks at what the run itself made. Short work is repeated in batches and the median batch
counts.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import time
import tracemalloc
import urllib.request
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import fake
from benchmarks.contestants import Contestant
from benchmarks.fake import RUN, Run, Script, WorkNotDone

Figures = dict[str, float]

BATCH_MS = 20.0
WINDOW = 10
"""How many turns the time "at turn n" is the median of."""


class NotSupported(Exception):
    """The contestant has no such feature; the message says why."""


@dataclass(frozen=True)
class Setting:
    """How a scenario is to be run."""

    url: str | None
    """The fake server's base URL; None means in process."""
    budget_ms: float
    """CPU time to spend on repetitions."""
    at_once: int
    """How many runs S5 starts."""
    protocol: str = "chat"
    """The protocol over HTTP; of others than chat completions only bare and agentsdk make an agent."""

    def agent(self, contestant: Contestant, script: Script) -> Any:
        """The contestant's agent for a script."""
        if self.protocol == "chat":
            return contestant.make_agent(self.url, script.name)
        return contestant.make_agent(self.url, script.name, protocol=self.protocol)


def cpu_ms() -> float:
    """CPU time this process has used."""
    return time.process_time_ns() / 1e6


@contextmanager
def quiet() -> Generator[None]:
    """Start from a collected heap whose survivors the collector no longer looks at."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


async def one_answer(contestant: Contestant, setting: Setting) -> Figures:
    """S1: one model call, no tool call."""
    return {"cpu_ms": await _run_ms(contestant, setting, fake.ONE_ANSWER)}


async def ten_turns(contestant: Contestant, setting: Setting) -> Figures:
    """S2: ten turns with one tool call each, then the answer."""
    return {"cpu_ms": await _run_ms(contestant, setting, fake.TEN_TURNS)}


async def parallel(contestant: Contestant, setting: Setting) -> Figures:
    """S3: sixteen tool calls in one reply, then the answer."""
    return {"cpu_ms": await _run_ms(contestant, setting, fake.PARALLEL)}


async def growth(contestant: Contestant, setting: Setting) -> Figures:
    """S4: two hundred tool turns; the time from one tool call to the next around turn 10 and at the end."""
    agent = setting.agent(contestant, fake.LONG)
    if setting.url is None:
        await _checked(contestant, agent, setting, fake.ONE_ANSWER)
    early: list[float] = []
    late: list[float] = []
    with quiet():
        started = cpu_ms()
        while not early or cpu_ms() - started < setting.budget_ms:
            turns = await _turn_times(contestant, agent, setting, fake.LONG)
            early += turns[10 - WINDOW // 2 : 10 + WINDOW // 2]
            late += turns[-WINDOW:]
    return {"turn10_ms": statistics.median(early), "turn200_ms": statistics.median(late)}


async def at_once(contestant: Contestant, setting: Setting) -> Figures:
    """S5: a thousand ten-turn runs at once. They wait for each other before the last reply: all are alive at the peak."""
    count = setting.at_once
    shared = contestant.make_agent(None, fake.TEN_TURNS.name)
    await _checked(contestant, shared, setting, fake.TEN_TURNS)
    gate = asyncio.Barrier(count)
    runs = [Run(fake.TEN_TURNS, gate=gate) for _ in range(count)]

    async def one(run: Run) -> None:
        RUN.set(run)
        agent = shared if contestant.SHARED else contestant.make_agent(None, fake.TEN_TURNS.name)
        _same("S5", await contestant.run(agent), fake.TEN_TURNS.text)

    with quiet():
        before = reset_peak_kib()
        started = cpu_ms()
        await asyncio.gather(*(one(run) for run in runs))
        spent = cpu_ms() - started
        peak = peak_kib()
    for run in runs:
        run.check("S5", model_calls=len(fake.TEN_TURNS.replies), tool_calls=fake.TEN_TURNS.tool_calls)
    return {"runs_per_s": count / spent * 1000, "kib_per_run": (peak - before) / count}


async def deltas(contestant: Contestant, setting: Setting) -> Figures:
    """S6: one answer streamed in two thousand text deltas."""
    script = fake.DELTAS
    agent = setting.agent(contestant, script)
    expected = len(script.replies[-1].deltas)

    async def once() -> None:
        seen, text = await contestant.stream(agent)
        if seen != expected:
            raise WorkNotDone(f"S6: expected {expected} deltas, counted {seen}")
        _same("S6", text, script.text)

    spent = await _repeat(once, script, setting)
    return {"kdeltas_per_s": expected / spent}


async def construct(contestant: Contestant, setting: Setting) -> Figures:
    """S8: make one agent with one tool."""

    async def once() -> None:
        contestant.make_agent(None, fake.ONE_ANSWER.name)

    return {"cpu_ms": await _batches(once, setting)}


async def construct_and_run(contestant: Contestant, setting: Setting) -> Figures:
    """S8b: make one agent with one tool and run it once, to one answer."""

    async def once() -> None:
        agent = contestant.make_agent(None, fake.ONE_ANSWER.name)
        _same("S8b", await contestant.run(agent), fake.ONE_ANSWER.text)

    return {"cpu_ms": await _repeat(once, fake.ONE_ANSWER, setting)}


async def pause_and_resume(contestant: Contestant, setting: Setting) -> Figures:
    """S10: after a hundred tool turns a call waits for approval: save the run, load it, approve it, run to the end."""
    if contestant.NO_PAUSE:
        raise NotSupported(contestant.NO_PAUSE)
    script = fake.PAUSE
    agent = contestant.make_agent(None, script.name, gated=True)
    run = Run(script)
    RUN.set(run)
    paused = await contestant.pause(agent)
    run.check("S10 pause", model_calls=len(script.replies) - 1, tool_calls=script.tool_calls)
    data = contestant.dump(paused)
    dumps: list[float] = []
    loads: list[float] = []
    resumes: list[float] = []
    with quiet():
        started = cpu_ms()
        while len(dumps) < 5 or cpu_ms() - started < setting.budget_ms:
            t0 = cpu_ms()
            contestant.dump(paused)
            t1 = cpu_ms()
            loaded = await contestant.load(agent, data)
            t2 = cpu_ms()
            run = Run(script, turn=len(script.replies) - 1)
            RUN.set(run)
            text = await contestant.resume(agent, loaded)
            t3 = cpu_ms()
            _same("S10", text, script.text)
            run.check("S10 resume", model_calls=1, tool_calls=0, actions=1)
            dumps.append(t1 - t0)
            loads.append(t2 - t1)
            resumes.append(t3 - t2)
    times = {"dump_ms": dumps, "load_ms": loads, "resume_ms": resumes}
    return {"kb": len(data) / 1000, **{name: statistics.median(values) for name, values in times.items()}}


async def streams(contestant: Contestant, setting: Setting) -> Figures:
    """STREAMS: a thousand streamed runs at once, where the server takes half a second for each; plain ones, half cancelled.

    `bounded` is the wall time of the same runs over a tenth as many connections, times what those allow.
    """
    count = setting.at_once
    agent = setting.agent(contestant, fake.SLOW)
    await _stream_slowly(contestant, agent)
    with quiet():
        cpu, wall = await _all_slowly(contestant, agent, count)
        figures = {"cpu_ms": cpu / count, "wall_s": wall, "cancel_ms": await _cancelled_ms(contestant, setting, count)}
        if hasattr(contestant, "limit_connections"):
            connections = max(count // 10, 1)
            await contestant.limit_connections(connections)
            _, wall = await _all_slowly(contestant, agent, count)
            figures["bounded"] = wall / (fake.SLOW.delay_s * count / connections)
            await contestant.limit_connections(max(count, 1))
    return figures


async def _stream_slowly(contestant: Contestant, agent: Any) -> None:
    _same("STREAMS", (await contestant.stream(agent))[1], fake.SLOW.text)


async def _all_slowly(contestant: Contestant, agent: Any, count: int) -> tuple[float, float]:
    """So many runs at once: milliseconds of CPU and seconds of wall time for all."""
    cpu, wall = cpu_ms(), time.monotonic()
    await asyncio.gather(*(_stream_slowly(contestant, agent) for _ in range(count)))
    return cpu_ms() - cpu, time.monotonic() - wall


async def _cancelled_ms(contestant: Contestant, setting: Setting, count: int) -> float:
    """Milliseconds of CPU to cancel a run, once all that can be sent is sent and nothing has been answered."""
    agent = setting.agent(contestant, fake.HELD)
    runs = [asyncio.create_task(contestant.run(agent)) for _ in range(count)]
    before, sent = -1, _answered(setting)
    while before < sent:
        await asyncio.sleep(1)
        before, sent = sent, _answered(setting)
    chosen = runs[count // 2 :]
    started = cpu_ms()
    for run in chosen:
        run.cancel()
    await asyncio.wait(chosen)
    spent = cpu_ms() - started
    for run in runs:
        run.cancel()
    await asyncio.wait(runs)
    return spent / len(chosen)


async def very_long(contestant: Contestant, setting: Setting) -> Figures:
    """A thousand turns: time per turn and memory in use at several of them, the memory from a run of its own."""
    script = fake.VERY_LONG
    agent = contestant.make_agent(None, script.name)
    await _checked(contestant, agent, setting, fake.TEN_TURNS)
    windows: dict[int, list[float]] = {turn: [] for turn in VERY_LONG_TURNS}
    with quiet():
        started = cpu_ms()
        while not windows[VERY_LONG_TURNS[0]] or cpu_ms() - started < setting.budget_ms:
            turns = await _turn_times(contestant, agent, setting, script)
            for turn, window in windows.items():
                window += turns[turn - WINDOW // 2 : turn + WINDOW // 2]
    sizes: list[int] = []
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    await _checked(contestant, agent, setting, script, observe=lambda: sizes.append(tracemalloc.get_traced_memory()[0] - start))
    tracemalloc.stop()
    figures: Figures = {}
    for turn, window in windows.items():
        figures[f"us_at_{turn}"] = statistics.median(window) * 1000
        figures[f"kib_at_{turn}"] = sizes[turn - 1] / 1024
    return figures


VERY_LONG_TURNS = (10, 50, 100, 200, 400, 600, 800, 990)

Scenario = Callable[[Contestant, Setting], Coroutine[Any, Any, Figures]]

IN_PROCESS: dict[str, Scenario] = {
    "S5": at_once,
    "S1": one_answer,
    "S2": ten_turns,
    "S3": parallel,
    "S4": growth,
    "S6": deltas,
    "S8": construct,
    "S8b": construct_and_run,
    "S10": pause_and_resume,
    "long": very_long,
}
"""S5 comes first: its memory figure wants a young process."""

_HTTP: dict[str, Scenario] = {"HTTP S2": ten_turns, "HTTP S4": growth, "HTTP S6": deltas}

PROTOCOLS = ("responses", "anthropic", "google")
"""What our adapters speak beside chat completions: `HTTP S4 anthropic` and so on, measured for bare and agentsdk."""

STREAMS = "STREAMS"
STREAMS_PEERS = ("openai-agents", "pydantic-ai")
"""Whom STREAMS measures beside bare and agentsdk."""

OVER_HTTP: dict[str, Scenario] = (
    {STREAMS: streams} | _HTTP | {f"{name} {protocol}": scenario for protocol in PROTOCOLS for name, scenario in _HTTP.items()}
)


def protocol_of(scenario: str) -> str:
    """The protocol that a scenario speaks."""
    last = scenario.rpartition(" ")[2]
    return last if last in PROTOCOLS else "chat"


async def _run_ms(contestant: Contestant, setting: Setting, script: Script) -> float:
    agent = setting.agent(contestant, script)

    async def once() -> None:
        _same(script.name, await contestant.run(agent), script.text)

    return await _repeat(once, script, setting)


async def _repeat(once: Callable[[], Awaitable[None]], script: Script, setting: Setting) -> float:
    """Milliseconds of CPU per run of `once`, the work of all repetitions checked."""
    run = Run(script)
    RUN.set(run)
    times = 0

    async def counted() -> None:
        nonlocal times
        times += 1
        await once()

    answered = _answered(setting)
    spent = await _batches(counted, setting)
    _check(run, script, setting, times, answered)
    return spent


async def _batches(once: Callable[[], Awaitable[None]], setting: Setting) -> float:
    """Milliseconds of CPU per call, from the median of batches after a warm-up."""
    await once()
    with quiet():
        started = cpu_ms()
        await once()
        first = max(cpu_ms() - started, 1e-3)
        await once()
        size = max(1, int(BATCH_MS / first))
        batches: list[float] = []
        started = cpu_ms()
        while len(batches) < 3 or cpu_ms() - started < setting.budget_ms:
            before = cpu_ms()
            for _ in range(size):
                await once()
            batches.append((cpu_ms() - before) / size)
    return statistics.median(batches)


async def _turn_times(contestant: Contestant, agent: Any, setting: Setting, script: Script) -> list[float]:
    """One run of a script; the milliseconds of CPU from each tool call to the next."""
    stamps: list[float] = []
    await _checked(contestant, agent, setting, script, observe=lambda: stamps.append(cpu_ms()))
    return [after - before for before, after in zip(stamps, stamps[1:], strict=False)]


async def _checked(
    contestant: Contestant, agent: Any, setting: Setting, script: Script, *, observe: Callable[[], object] | None = None
) -> None:
    """One run of a script, its work checked."""
    run = Run(script)
    run.observe = observe
    RUN.set(run)
    answered = _answered(setting)
    _same(script.name, await contestant.run(agent), script.text)
    _check(run, script, setting, 1, answered)


def _check(run: Run, script: Script, setting: Setting, times: int, answered: int) -> None:
    model_calls = times * len(script.replies)
    run.check(script.name, model_calls=model_calls if setting.url is None else 0, tool_calls=times * script.tool_calls)
    if setting.url is not None and (counted := _answered(setting) - answered) != model_calls:
        raise WorkNotDone(f"{script.name}: expected {model_calls} model calls, the server counted {counted}")


def _answered(setting: Setting) -> int:
    """How many model calls the server has answered well so far."""
    if setting.url is None:
        return 0
    with urllib.request.urlopen(setting.url.removesuffix("/v1") + "/count") as response:
        return json.load(response)["answered"]


def _same(what: str, text: str, expected: str) -> None:
    if text != expected:
        raise WorkNotDone(f"{what}: expected the final text {expected[:60]!r}, got {text!r:.60}")


def reset_peak_kib() -> float:
    """Forget the peak of resident memory; the size it has now, in KiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status_kib("VmRSS")


def peak_kib() -> float:
    """The peak of resident memory since `reset_peak_kib`, in KiB."""
    return _status_kib("VmHWM")


def _status_kib(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return float(line.split()[1])
    raise RuntimeError(f"no {field} in /proc/self/status")
