"""`python -m benchmarks.window`: a run of 400 turns with 2 KB results in a window of 8,000 tokens, under each strategy.

The model is a fake server on a real socket that counts by a tokenizer of its own, bills what it counts, and refuses what is
longer than its window. Beside what was sent stands the fewest tokens that the same rule (the strategies, the trigger, the
target, what always stays) could have sent: computed offline, with the server's own counts known in advance. `floor` is what
would be sent if the view were brought down to the target before every request, which would throw the provider's cache away each
time; `everything`, what sending everything would have come to. The exit code is 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from agentsdk import (
    Agent,
    ContextWindow,
    DropOldest,
    KeepByPriority,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    RunState,
    SlidingWindow,
    Summarize,
    TruncateToolResults,
    aclose,
    function_tool,
    read_result,
)
from agentsdk.core.window.fit import Fits, Impossible, SummaryRequest, fit
from agentsdk.define.declaration import Declaration
from agentsdk.models.facts import counter_of
from agentsdk.models.openai_chat.encode import encode_tools
from agentsdk.testing import CapturedRequest, FakeOpenAIServer, call
from agentsdk.testing.chat_dialect import count_tokens
from agentsdk.types.events import ViewReplaced
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message
from agentsdk.types.response import ModelResponse

MODEL = "gpt-4o"
WINDOW = 8_000
TURNS = 400
RATIO = 1.2
GROWTH = 1.2
INSTRUCTIONS = "You read pages, one after the other."
SUMMARY = "The user wants every page to be read, one after the other. All pages so far were read; nothing in them was new."
RESULTS = Path(__file__).parent / "results"

STRATEGIES: dict[str, Sequence[Any]] = {
    "cut results": [TruncateToolResults(keep_turns=2, chars=400), DropOldest()],
    "drop oldest": [DropOldest()],
    "sliding window": [SlidingWindow(3), DropOldest()],
    "keep by priority": [KeepByPriority()],
    "summarize": [Summarize(keep_turns=3, max_tokens=200, max_put_back=400), DropOldest()],
    "all of them": [
        TruncateToolResults(),
        Summarize(keep_turns=4, max_tokens=200),
        SlidingWindow(6),
        KeepByPriority(),
        DropOldest(),
    ],
}


@dataclass
class Figures:
    """One strategy's run. Times are milliseconds of CPU a turn, the server's included; `requests` are the tokens of each."""

    compactions: int = 0
    sent: int = 0
    fewest: int = 0
    floor: int = 0
    everything: int = 0
    refused: int = 0
    broken: int = 0
    ms_early: float = 0.0
    ms_late: float = 0.0
    requests: list[int] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """How much more was sent than had to be."""
        return self.sent / self.fewest

    @property
    def growth(self) -> float:
        """How much longer a late turn takes than an early one."""
        return self.ms_late / self.ms_early

    @property
    def is_held(self) -> bool:
        """Whether every bound is."""
        return not self.refused and not self.broken and self.ratio <= RATIO and self.growth <= GROWTH


def page_text(number: int) -> str:
    """2 KB of JSON, another for each page."""
    chance = random.Random(number)
    rows = [{"id": chance.randrange(10**6), "title": " ".join(chance.choices(WORDS, k=6)), "ok": True} for _ in range(40)]
    return json.dumps(rows)[:2_000]


WORDS = ["search", "result", "status", "open", "customer", "price", "order", "shipped", "report", "file", "value"]


@function_tool(effect="none")
def page(number: int) -> str:
    """Read a page."""
    return page_text(number)


class Reader:
    """What the model says, and when it was asked."""

    def __init__(self, turns: int) -> None:
        self.asked_at: list[float] = []
        self.broken = 0
        self._turns = turns

    def __call__(self, request: CapturedRequest) -> Any:
        messages: list[dict[str, Any]] = request.json["messages"]
        if messages[0]["content"] != INSTRUCTIONS:
            return SUMMARY
        self.broken += broken_pairs(messages)
        self.asked_at.append(time.process_time())
        number = len(self.asked_at)
        return call("page", number=number) if number < self._turns else "all read"


def broken_pairs(messages: Sequence[dict[str, Any]]) -> int:
    """The calls without a result right behind them, and the results without a call."""
    broken = 0
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            broken += message["tool_call_id"] not in waiting
            waiting.discard(message["tool_call_id"])
        else:
            broken += len(waiting)
            waiting = {made["id"] for made in message.get("tool_calls", ())}
    return broken + len(waiting)


async def measure(strategies: Sequence[Any], turns: int) -> Figures:
    """Run it over the socket, and again offline."""
    reader = Reader(turns)
    async with FakeOpenAIServer([reader] * 3 * turns, context_window=WINDOW) as server:
        model = OpenAIChatCompletionsModel(MODEL, base_url=server.base_url, api_key="none")
        agent = Agent("reader", instructions=INSTRUCTIONS, tools=[page], model=model)
        window = ContextWindow(size=WINDOW, strategies=strategies)
        result = await Runner.run(agent, "Read on.", max_turns=turns, run_config=RunConfig(window=window))
        await aclose()
    assert result.final_output == "all read"
    took = [after - before for before, after in zip(reader.asked_at, reader.asked_at[1:], strict=False)]
    part = len(took) // 4
    usage = result.usage
    requests = [reply.usage.input_tokens for reply in result.raw_responses]
    tools = Declaration.of(agent).request_tools
    if any(isinstance(strategy, TruncateToolResults) for strategy in strategies):
        tools = (*tools, read_result.spec)
    offline = Offline(result.to_state(), encode_tools(tools).decode())
    return Figures(
        sum(isinstance(event, ViewReplaced) for event in result.to_state().value.log),
        usage.input_tokens,
        sum(offline.requests(window)),
        sum(offline.requests(ContextWindow(size=WINDOW, strategies=strategies, trigger=window.target + 0.001))),
        sum(offline.everything()),
        server.refused,
        reader.broken,
        statistics.median(took[part // 2 : part // 2 + part]) * 1e3,
        statistics.median(took[-part:]) * 1e3,
        requests,
    )


class Offline:
    """The same conversation with the server's own counts known in advance."""

    def __init__(self, state: RunState, tools: str) -> None:
        self._items = state.items()
        self._fixed = 3 + 4 + count_tokens(INSTRUCTIONS) + count_tokens(tools)

    def everything(self) -> Iterator[int]:
        """The tokens of each request if all were sent."""
        sent = self._fixed
        for item in self._items:
            if isinstance(item, FunctionCall) or item is self._items[-1]:
                yield sent
            sent += count_input_tokens(item)

    def requests(self, window: ContextWindow) -> Iterator[int]:
        """The tokens of each request, those for summaries included."""
        items: list[Item] = []
        counts: list[int] = []
        for item in self._items:
            if isinstance(item, FunctionCall) or item is self._items[-1]:
                view = window.view(items, counts, size=WINDOW, fixed=self._fixed, inputs=self._items[:1])
                while not isinstance(step := fit(view), Fits):
                    assert not isinstance(step, Impossible), step.reason
                    if isinstance(step, SummaryRequest):
                        yield 3 + 8 + count_tokens(step.instructions) + count_tokens(step.text)
                        replaced = step.done(ModelResponse((Message("assistant", SUMMARY),)))
                        assert replaced is not None, "it is a summary"
                        step = replaced
                    view = step.done(map(count_input_tokens, step.new))
                items, counts = list(view.items), list(view.counts)
                yield view.tokens
            items.append(item)
            counts.append(count_input_tokens(item))


def count_input_tokens(item: Item) -> int:
    """What the server counts for an item."""
    if isinstance(item, FunctionCall):
        function = {"name": item.name, "arguments": item.arguments}
        text = msgspec.json.encode([{"id": item.call_id, "type": "function", "function": function}]).decode()
    else:
        assert isinstance(item, Message | FunctionCallOutput), "nothing else is in this conversation"
        text = item.text if isinstance(item, Message) else str(item.output)
    return 4 + count_tokens(text)


def table(measured: dict[str, Figures]) -> str:
    """The figures as Markdown."""
    rows = [
        "| strategy | tokens sent | fewest by the same rule | ratio | floor | everything | compactions | refused "
        "| broken pairs | CPU ms a turn, early | late | growth |",
        "| --- |" + " ---: |" * 11,
    ]
    rows += [
        f"| {name} | {one.sent:,} | {one.fewest:,} | {one.ratio:.3f} | {one.floor:,} | {one.everything:,} "
        f"| {one.compactions} | {one.refused} | {one.broken} | {one.ms_early:.2f} | {one.ms_late:.2f} | {one.growth:.2f} |"
        for name, one in measured.items()
    ]
    return "\n".join(rows)


def picture(measured: dict[str, Figures]) -> str:
    """The tokens of each request, a panel a strategy, as SVG."""
    width, height, across = 300, 150, 2
    down = -(-len(measured) // across)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width * across + 40} {height * down + 50}" role="img" '
        'aria-label="Tokens of each request of a long run, by strategy" font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{width * across + 40}" height="{height * down + 50}" rx="10" fill="#ffffff"/>',
        '<text x="20" y="26" font-size="13" fill="#0f172a">Tokens of each request: '
        f"dashed the window of {WINDOW:,}, gray what sending everything would take</text>",
    ]
    for number, (name, one) in enumerate(measured.items()):
        left, top = 20 + number % across * width, 40 + number // across * height
        high, wide = height - 40, width - 20
        step = wide / max(len(one.requests) - 1, 1)

        def line(tokens: Sequence[float], left: float = left, top: float = top, high: float = high, step: float = step) -> str:
            # Twice the window is the panel's height.
            points = [(left + at * step, top + high - count * high / (2 * WINDOW)) for at, count in enumerate(tokens)]
            return " ".join(f"{x:.1f},{max(y, top):.1f}" for x, y in points)

        mean = one.everything * 2 / len(one.requests) ** 2
        whole = [mean * turn for turn in range(1, len(one.requests) + 1) if mean * turn <= 2 * WINDOW]
        parts += [
            f'<rect x="{left}" y="{top}" width="{wide}" height="{high}" fill="#f8fafc" stroke="#cbd5e1"/>',
            f'<path d="M{left} {top + high / 2}H{left + wide}" stroke="#ef4444" stroke-dasharray="4 3"/>',
            f'<polyline points="{line(whole)}" fill="none" stroke="#94a3b8" stroke-width="1.5"/>',
            f'<polyline points="{line(one.requests)}" fill="none" stroke="#4f46e5"/>',
            f'<text x="{left + wide - 6}" y="{top + 16}" font-size="12" fill="#0f172a" text-anchor="end">'
            f"{name}: {one.sent / 1e6:.2f} M, everything {one.everything / 1e6:.1f} M</text>",
        ]
    return "\n".join([*parts, "</svg>", ""])


async def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.window", description="a long run in a small window")
    parser.add_argument("--turns", type=int, default=TURNS)
    turns: int = parser.parse_args().turns
    await measure([DropOldest()], 40)  # warm: imports, the encoding
    measured = {name: await measure(strategies, turns) for name, strategies in STRATEGIES.items()}
    print(f"{turns} turns, results of 2 KB, a window of {WINDOW:,} tokens, counted by {counter_of(MODEL)!r}\n")
    print(table(measured))
    if turns == TURNS:
        RESULTS.mkdir(exist_ok=True)
        RESULTS.joinpath("window.md").write_text(table(measured) + "\n", encoding="utf-8")
        figures = {name: {**asdict(one), "ratio": one.ratio, "growth": one.growth} for name, one in measured.items()}
        RESULTS.joinpath("window.json").write_text(json.dumps(figures) + "\n", encoding="utf-8")
        RESULTS.joinpath("window.svg").write_text(picture(measured), encoding="utf-8")
        print(f"\nthe picture: {RESULTS / 'window.svg'}")
    missed = [name for name, one in measured.items() if not one.is_held]
    print(f"\n{'PASS' if not missed else 'MISS: ' + ', '.join(missed)}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
