"""What counting costs: a 2 KB tool result, long texts, loading an encoding, and how long the event loop stands still.

python -m benchmarks.tokens
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable

from agentsdk.models.encodings import KNOWN, loaded
from agentsdk.models.token_counter import EstimatingCounter, TiktokenCounter
from agentsdk.ports.token_counter import TokenCounter
from agentsdk.types.items import FunctionCallOutput, Message
from agentsdk.types.spec import ToolSpec

ROUNDS = 300
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


async def main() -> None:
    took, longest = await still(asyncio.wrap_future(loaded(KNOWN["o200k_base"])))
    print(f"loading o200k_base: {took * 1e3:.0f} ms; the loop stood still {longest * 1e3:.0f} ms at most")
    await measure(TiktokenCounter("o200k_base"))
    await measure(EstimatingCounter())


if __name__ == "__main__":
    asyncio.run(main())
