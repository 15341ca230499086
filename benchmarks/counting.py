"""`python -m benchmarks.counting`: what counting costs late in a run, with every kind of counter.

A run of a thousand tool turns in process: without limits, with a token limit, with a window that is never full, and with one
that is full again and again. A turn around turn 990 may take 1.2 times what one around turn 20 does, and a run that counts
three times what one does that counts nothing. Times are CPU times; of several rounds the best counts.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from itertools import pairwise

from agentsdk import (
    Agent,
    ContextWindow,
    FunctionCall,
    Item,
    Message,
    ModelRequest,
    ModelResponse,
    RunConfig,
    RunLimits,
    Runner,
    Usage,
    function_tool,
)
from agentsdk.context_window import EstimatingCounter
from agentsdk.events import ResponseCompleted
from agentsdk.models.encodings import KNOWN, can_load, loaded
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec

TURNS = 1000
ROUNDS = 5
EARLY, LATE, SPAN = 20, 990, 10
GROWTH = 1.2
"""What turn 990 may take, in times of turn 20."""
WHOLE = 3.0
"""What a run may take, in times of the run that counts nothing."""

_stamps: list[float] = []


@function_tool(polling=True)
async def step(x: int) -> str:
    """Go on."""
    _stamps.append(time.process_time())
    return "ok"


class Calling:
    """A model that calls the tool for a thousand turns."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.turn = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ResponseCompleted, None]:
        """The next call, or the answer."""
        self.turn += 1
        ends = self.turn > TURNS
        item = Message("assistant", "done") if ends else FunctionCall(f"c{self.turn}", "step", '{"x": 0}')
        yield ResponseCompleted(ModelResponse((item,), Usage(1, 10, 5), "stop" if ends else "tool_calls"))


class ByCharacters:
    """A counter as a user may write one."""

    is_exact = False

    async def count(self, items: Sequence[Item]) -> list[int]:
        """A token for every four characters of what the item says it is."""
        return [len(repr(item)) // 4 for item in items]

    async def count_fixed(self, instructions: str, tools: tuple[ToolSpec | HandoffSpec, ...], output: OutputSpec | None) -> int:
        """Only the instructions."""
        return len(instructions) // 4


NO_LIMIT = RunLimits(turns=None)
LIMIT = RunConfig(limits=RunLimits(turns=None, tokens=10**9))
WINDOW = RunConfig(limits=NO_LIMIT, window=ContextWindow(size=10**8))
SMALL = RunConfig(limits=NO_LIMIT, window=ContextWindow(size=1_000))


def given(config: RunConfig, counter: ByCharacters | EstimatingCounter) -> RunConfig:
    """The same with a counter of the user's."""
    return RunConfig(limits=config.limits, window=config.window, token_counter=counter)


def cases() -> dict[str, tuple[str, RunConfig]]:
    """The model's name and the configuration, by what they show."""
    shown = {
        "token limit, estimated": ("nobody-knows", LIMIT),
        "window, estimated": ("nobody-knows", WINDOW),
        "window, full again and again": ("nobody-knows", SMALL),
        "token limit, a counter of one's own": ("nobody-knows", given(LIMIT, ByCharacters())),
        "window, a counter of one's own": ("nobody-knows", given(WINDOW, ByCharacters())),
    }
    if can_load(KNOWN["o200k_base"]):
        shown["token limit, exact"] = ("gpt-4o", LIMIT)
        shown["window, exact"] = ("gpt-4o", WINDOW)
    else:
        print("exact counts are not measured: pip install 'agentsdk[tokens]'")
    return shown


async def measured(model: str, config: RunConfig) -> tuple[float, float, float]:
    """The seconds that a turn takes early and late, and the whole run."""
    _stamps.clear()
    gc.collect()
    began = time.process_time()
    await Runner.run(Agent("main", model=Calling(model), tools=[step]), "go", run_config=config)
    whole = time.process_time() - began
    turns = [after - before for before, after in pairwise(_stamps)]
    return statistics.median(turns[EARLY - SPAN : EARLY]), statistics.median(turns[LATE - SPAN : LATE]), whole


async def main() -> int:
    """Print each case against its bounds; 1 where one is missed."""
    if can_load(KNOWN["o200k_base"]):
        await asyncio.wrap_future(loaded(KNOWN["o200k_base"]))
    every = {"counts nothing": ("nobody-knows", RunConfig(limits=NO_LIMIT)), **cases()}
    rounds: dict[str, list[tuple[float, float, float]]] = {name: [] for name in every}
    for _ in range(ROUNDS):
        for name, (model, config) in every.items():
            rounds[name].append(await measured(model, config))
    plain = min(whole for _, _, whole in rounds["counts nothing"])
    missed = 0
    print(f"{'':38}{'turn 20':>9}{'turn 990':>10}{'growth':>8}{'run':>9}{'times plain':>13}")
    for name, figures in rounds.items():
        early, late, whole = (min(column) for column in zip(*figures, strict=True))
        is_held = late <= GROWTH * early and whole <= WHOLE * plain
        missed += not is_held
        print(f"{name:38}{early * 1e6:6.0f} us{late * 1e6:7.0f} us{late / early:8.2f}", end="")
        print(f"{whole:7.2f} s{whole / plain:13.2f}  {'PASS' if is_held else 'MISS'}")
    print(f"bounds: turn {LATE} <= {GROWTH} times turn {EARLY}, the run <= {WHOLE:g} times the one that counts nothing")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
