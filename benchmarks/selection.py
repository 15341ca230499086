"""`python -m benchmarks.selection`: which of 200 tools are chosen for 200 requests, what that saves, and what it costs.

`selection_cases.py` has the tools and the requests. Counted are the requests whose tool is among the eight that rank best, by
words; with `--local` also by the embeddings of the local model, which is a chat model and no good at it. Then the tokens of the
tools in each request, and how often a turn's list of tools begins with that of the turn before, so that what a provider has
cached of it holds. At last the CPU time of a turn with a model that costs nothing, the first of a run left out: the median.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionTool,
    Inbox,
    Message,
    ModelRequest,
    RunConfig,
    RunLimits,
    Runner,
)
from agentsdk.models import Embedder, LocalEmbedder, ModelResponse, OpenAIChatCompletionsModel, Usage
from agentsdk.models.facts import counter_of
from agentsdk.toolsets import SelectedToolset, ToolRegistry, Toolset, ToolsetContext
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from benchmarks.scenarios import quiet
from benchmarks.selection_cases import CASES, HARD

TOP = 8
LEAST_RIGHT = 0.95
MOST_MS = {"1,000 tools, the same request": 1.0, "1,000 tools, a new request each turn": 1.0, "64 tools of 4 KB": 0.5}
TURNS = 60
MESSAGES_PER_RUN = 5


def tool_of(name: str, description: str, parameters: Sequence[str] = ()) -> FunctionTool[Any]:
    """A tool with these parameters, which does nothing."""

    async def answer(context: object, arguments: str) -> str:
        return "ok"

    properties = {name: {"type": "string", "description": name.replace("_", " ").capitalize() + "."} for name in parameters}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return FunctionTool(name, description, schema, answer, strict_json_schema=False, effect="none")


def public_tools() -> list[FunctionTool[Any]]:
    """The two hundred."""
    return [tool_of(case.name, case.description, case.parameters) for case in CASES]


class Script:
    """A model that costs nothing. It notes the time and the tools of each request."""

    name = "bare"

    def __init__(self, reply: Callable[[int, ModelRequest], FunctionCall | str]) -> None:
        self._reply = reply
        self._encoder = OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:1/v1", api_key="k")
        self.asked_at: list[float] = []
        self.lists: list[list[str]] = []
        self.encodes = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """The next reply."""
        if self.encodes:
            self._encoder.body(request)
        self.asked_at.append(time.process_time())
        self.lists.append([tool.name for tool in request.tools])
        said = self._reply(len(self.lists), request)
        item = Message("assistant", said) if isinstance(said, str) else said
        finish = "stop" if isinstance(said, str) else "tool_calls"
        yield ResponseCompleted(ModelResponse((item,), Usage(1, 10, 5), finish))


def calls_of(name: str, turns: int) -> Callable[[int, ModelRequest], FunctionCall | str]:
    """So many calls of a tool, then an answer."""
    return lambda number, request: FunctionCall(f"c{number}", name, "{}") if number <= turns else "done"


async def ranked(cases: Sequence[tuple[str, str]], by: Any = "lexical") -> float:
    """The share of requests whose tool is among those that rank best."""
    toolset = SelectedToolset(ToolRegistry[Any](public_tools()), top=TOP, by=by, search_above=None, embedder_timeout=3600)
    agent = Agent[Any, str]("main")
    right = 0
    for name, request in cases:
        context = ToolsetContext[Any](None, Usage(), agent, items=[Message("user", request)])
        right += name in [tool.name for tool in await toolset.get_tools(context)]
    return right / len(cases)


async def conversations(*, switches: bool) -> tuple[float, float, float]:
    """Runs of several messages, each answered after a call: the share of the tools' tokens that is saved, the share of turns
    whose list begins with that of the turn before, and the share of those whose list is the same. With `switches` each message
    is about something else."""
    order = [CASES[at * 41 % len(CASES)] for at in range(len(CASES))] if switches else CASES
    counter = counter_of("gpt-4.1")
    full = await counter.count_fixed("", tuple([tool.spec for tool in public_tools()]), None)
    registry = ToolRegistry[Any](public_tools())
    spent: list[int] = []
    kept = same = turns = 0
    for begin in range(0, len(order), MESSAGES_PER_RUN):
        run, inbox = order[begin : begin + MESSAGES_PER_RUN], Inbox()

        def reply(number: int, request: ModelRequest, run: Any = run, inbox: Inbox = inbox) -> FunctionCall | str:
            message, is_answer = divmod(number - 1, 2)
            if not is_answer:
                return FunctionCall(f"c{number}", run[message].name, "{}")
            if message + 1 < len(run):
                inbox.put(run[message + 1].request)
            return "That is done."

        model = Script(reply)
        agent = Agent[Any, str]("main", model=model, toolsets=[SelectedToolset(registry, top=TOP)])
        await Runner.run(agent, run[0].request, run_config=RunConfig(inbox=inbox))
        specs = {tool.name: tool.spec for tool in registry.tools}
        for before, after in zip(model.lists, model.lists[1:], strict=False):
            kept += after[: len(before)] == before
            same += after == before
        turns += len(model.lists) - 1
        for names in model.lists:
            known = tuple([specs[name] for name in names if name in specs])
            spent.append(await counter.count_fixed("", known, None))
    return 1 - statistics.mean(spent) / full, kept / turns, same / turns


async def turn_ms(
    agent: Callable[[Script], Agent[Any, Any]],
    model: Callable[[], Script],
    config: Callable[[], RunConfig] = lambda: RunConfig(limits=RunLimits(turns=None, repeated_rounds=None)),
) -> float:
    """CPU milliseconds of a turn after the first."""
    times: list[float] = []
    with quiet():
        for _ in range(5):
            script = model()
            await Runner.run(agent(script), "book a flight", run_config=config())
            times += [1000 * (after - before) for before, after in zip(script.asked_at[1:], script.asked_at[2:], strict=False)]
    return statistics.median(times)


def thousand() -> list[FunctionTool[Any]]:
    """The two hundred, five times over."""
    return [tool_of(f"{case.name}_{copy}", case.description, case.parameters) for copy in range(5) for case in CASES]


def asks_anew(number: int, request: ModelRequest) -> FunctionCall | str:
    """A call each turn, while the user asks for something else each turn."""
    return FunctionCall(f"c{number}", "flights_book_0", "{}") if number <= TURNS else "done"


async def costs() -> dict[str, float]:
    """CPU milliseconds of a turn, by what is offered."""
    plain = [tool_of("flights_book_0", "Book a flight.")]
    many = SelectedToolset(ToolRegistry[Any](thousand()))
    requests = iter(range(10**9))
    anew = SelectedToolset(
        ToolRegistry[Any](thousand()), query=lambda context: CASES[next(requests) * 7 % len(CASES)].request, most=20
    )
    large = [tool_of(f"large_{number}", "x" * 3800, ["text"]) for number in range(64)]

    def made(**fields: Any) -> Callable[[Script], Agent[Any, Any]]:
        return lambda model: Agent[Any, str]("main", model=model, **fields)

    def script(name: str, encodes: bool = False) -> Callable[[], Script]:
        def make() -> Script:
            model = Script(calls_of(name, TURNS))
            model.encodes = encodes
            return model

        return make

    registry: Toolset[Any] = ToolRegistry[Any](large)
    selected = SelectedToolset(ToolRegistry[Any](large), pinned=["large_0"])
    return {
        "one tool, no toolset": await turn_ms(made(tools=plain), script("flights_book_0")),
        "1,000 tools, the same request": await turn_ms(made(toolsets=[many]), script("flights_book_0")),
        "1,000 tools, a new request each turn": await turn_ms(made(toolsets=[anew]), script("flights_book_0")),
        "64 tools of 4 KB": await turn_ms(made(tools=large), script("large_0", encodes=True)),
        "64 tools of 4 KB from a registry": await turn_ms(made(toolsets=[registry]), script("large_0", encodes=True)),
        "64 tools of 4 KB behind selection": await turn_ms(made(toolsets=[selected]), script("large_0", encodes=True)),
    }


async def main() -> int:
    """Print everything; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection", description="200 tools, 200 requests")
    parser.add_argument("--local", action="store_true", help="also by the embeddings of the local model, some minutes")
    by: dict[str, Embedder | str] = {"words": "lexical"}
    if parser.parse_args().local:
        by["the local model's embeddings"] = LocalEmbedder()
    missed = 0
    cases = [(case.name, case.request) for case in CASES]
    for how, ranking in by.items():
        share, hard = await ranked(cases, ranking), await ranked(HARD, ranking)
        print(f"right tool among the {TOP} of {len(CASES)}, by {how}: {share:.1%}", end="")
        missed += verdict(share >= LEAST_RIGHT) if how == "words" else 0
        print(f"\n  requests in other words than the tool's ({len(HARD)}): {hard:.1%}")
    for what, switches in (("about one thing", False), ("that change the subject", True)):
        saved, kept, same = await conversations(switches=switches)
        print(f"runs of {MESSAGES_PER_RUN} messages {what}: {saved:.1%} of the tools' tokens saved")
        print(f"  the list begins with the one before in {kept:.1%} of the turns, and is the same in {same:.1%}")
    for what, spent in (await costs()).items():
        print(f"CPU of a turn, {what}: {spent:.3f} ms", end="")
        missed += verdict(spent <= MOST_MS[what]) if what in MOST_MS else 0
        print()
    return int(bool(missed))


def verdict(holds: bool) -> bool:
    """Print it; whether the bound is missed."""
    print("  PASS" if holds else "  MISS", end="")
    return not holds


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
