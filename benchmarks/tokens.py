"""What counting costs: a 2 KB tool result, long texts, loading an encoding, how long the event loop stands still, and a turn.

    python -m benchmarks.tokens

The turn is one of a run of 200 over HTTP with 2 KB results, its server in another process: with a window that is never reached,
so that everything is counted and nothing made smaller, beside the same run without one. At most a tenth may be added.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import statistics
import sys
import time
from collections.abc import Awaitable
from itertools import pairwise

from agentsdk import (
    Agent,
    ContextWindow,
    MaxTurnsExceeded,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    aclose,
    function_tool,
)
from agentsdk.models.encodings import KNOWN, loaded
from agentsdk.models.token_counter import EstimatingCounter, TiktokenCounter
from agentsdk.ports.token_counter import TokenCounter
from agentsdk.testing import FakeOpenAIServer, call
from agentsdk.types.items import FunctionCallOutput, Message
from agentsdk.types.spec import ToolSpec

ROUNDS = 300
TURNS = 200
RUNS = 7
ALLOWED = 0.1
WORDS = ["search", "result", "status", "open", "customer", "price", "order", "shipped", "report", "file", "value"]


def two_kilobytes(chance: random.Random) -> str:
    rows = [{"id": chance.randrange(10**6), "title": " ".join(chance.choices(WORDS, k=6)), "ok": True} for _ in range(40)]
    return json.dumps(rows)[:2_000]


async def still(work: Awaitable[object]) -> tuple[float, float]:
    """The seconds that `work` takes, and the longest that nothing else ran meanwhile."""
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - before)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    began = time.perf_counter()
    await work
    took = time.perf_counter() - began
    ticking.cancel()
    return took, longest


async def measure(counter: TokenCounter) -> None:
    chance = random.Random(1)
    items = [FunctionCallOutput(f"call_{n}", two_kilobytes(chance)) for n in range(ROUNDS)]
    tools = tuple(ToolSpec(f"tool_{n}", "A tool.", {"type": "object", "properties": {}}) for n in range(20))
    began = time.perf_counter()
    for item in items:
        await counter.count([item])
    each = (time.perf_counter() - began) / ROUNDS
    await counter.count_fixed("Be brief.", tools, None)
    began = time.perf_counter()
    for _ in range(ROUNDS):
        await counter.count_fixed("Be brief.", tools, None)
    fixed = (time.perf_counter() - began) / ROUNDS
    print(f"{counter!r}: {each * 1e6:.0f} us for a result of 2 KB, {fixed * 1e6:.1f} us for what is fixed", end="")
    if isinstance(counter, TiktokenCounter):
        bare = loaded(KNOWN["o200k_base"]).result().encode_ordinary
        began = time.perf_counter()
        for item in items:
            len(bare(str(item.output)))
        print(f"; tiktoken alone {(time.perf_counter() - began) / ROUNDS * 1e6:.0f} us", end="")
    print()
    for name, text in {"words": "search result " * 20_000, "'a'": "a" * 200_000, "spaces": " " * 1_000_000}.items():
        took, longest = await still(counter.count([Message("user", text)]))
        print(
            f"  {len(text):9,} characters of {name:7} {took * 1e3:7.1f} ms; the loop stood still {longest * 1e3:.1f} ms at most"
        )


def serve() -> None:
    """Answer every request with a call, as the process that the turns are measured against."""

    async def answer() -> None:
        async with FakeOpenAIServer([call("look", x=number) for number in range(10 * TURNS * RUNS)]) as server:
            print(server.base_url, flush=True)
            await asyncio.to_thread(sys.stdin.read)

    asyncio.run(answer())


async def late_turn(url: str, config: RunConfig) -> float:
    """The seconds that one of a run's last twenty turns takes."""
    times: list[float] = []
    chance = random.Random(1)

    @function_tool(effect="none")
    async def look(x: int) -> str:
        times.append(time.perf_counter())
        return two_kilobytes(chance)

    model = OpenAIChatCompletionsModel("gpt-4o", base_url=url, api_key="none")
    with contextlib.suppress(MaxTurnsExceeded):
        await Runner.run(Agent("main", model=model, tools=[look]), "go", max_turns=TURNS, run_config=config)
    return statistics.median(after - before for before, after in pairwise(times[-21:]))


async def turns() -> bool:
    """Print what counting adds to a turn; whether that is no more than a tenth."""
    counted = RunConfig(window=ContextWindow(size=10**9), token_counter=TiktokenCounter("o200k_base"))
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(sys.executable, "-m", "benchmarks.tokens", "--serve", stdin=pipe, stdout=pipe)
    assert server.stdin is not None and server.stdout is not None
    try:
        url = (await server.stdout.readline()).decode().strip()
        took: dict[str, list[float]] = {"bare": [], "counted": []}
        for _ in range(RUNS):
            took["bare"].append(await late_turn(url, RunConfig()))
            took["counted"].append(await late_turn(url, counted))
        await aclose()
    finally:
        server.stdin.close()
        await server.wait()
    bare, with_counts = min(took["bare"]), min(took["counted"])
    added = with_counts / bare - 1
    print(f"a turn at turn {TURNS} over HTTP: {bare * 1e3:.2f} ms, counted {with_counts * 1e3:.2f} ms", end="")
    print(f": {added:+.1%}: {'PASS' if added <= ALLOWED else 'MISS'}")
    return added <= ALLOWED


async def main() -> int:
    took, longest = await still(asyncio.wrap_future(loaded(KNOWN["o200k_base"])))
    print(f"loading o200k_base: {took * 1e3:.0f} ms; the loop stood still {longest * 1e3:.0f} ms at most")
    await measure(TiktokenCounter("o200k_base"))
    await measure(EstimatingCounter())
    return 0 if await turns() else 1


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve()
    else:
        sys.exit(asyncio.run(main()))
