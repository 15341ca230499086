"""What a run through compat costs: its CPU time beside that of the same run through the main API.

Three kinds of model: one that is asked over HTTP, from a server in another process; one of agentsdk's that gives prepared
replies at once, so that there is nothing but the run; and a program's own of that kind, whose items are openai's. Rounds of one
side and of the other alternate, and the middle one of their ratios counts: what else the machine does then hits both alike.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

from agentsdk import Agent as OwnAgent
from agentsdk import FunctionCall, Message, ModelRequest, Runner, Usage
from agentsdk import ModelResponse as OwnResponse
from agentsdk import function_tool as own_function_tool
from agentsdk.compat import openai_agents as agents
from agentsdk.compat.openai_agents.models._native import NativeModel
from agentsdk.compat.openai_agents.models.interface import Model
from agentsdk.compat.openai_agents.testing import assistant_message, function_call
from agentsdk.events import OutputTextDelta, ResponseCompleted
from agentsdk.models import OpenAIResponsesModel
from agentsdk.models.shared_client import aclose

BOUND = 1.3
"""What a run through compat may take, in times of the main API."""
ROUNDS = 15
SECONDS = 0.05
"""CPU time of one side in one round, about."""
DELTAS = 50
ANSWER = "word " * DELTAS
TURNS = 10


class OwnReplies:
    """A model of agentsdk that gives the same replies again and again."""

    name = "replies"

    def __init__(self, replies: list[OwnResponse]) -> None:
        self._completed = [ResponseCompleted(reply) for reply in replies]
        self._deltas = [OutputTextDelta("word ") for _ in range(DELTAS)]
        self._next = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[OutputTextDelta | ResponseCompleted, None]:
        """The next reply, with its deltas where they are wanted."""
        completed = self._completed[self._next]
        self._next = (self._next + 1) % len(self._completed)
        if request.stream:
            for delta in self._deltas:
                yield delta
        yield completed


class Named(NativeModel):
    """One that a program names."""

    def __init__(self, replies: list[OwnResponse]) -> None:
        super().__init__("replies")
        self._replies = replies

    def _make(self, options: dict[str, Any]) -> Any:
        return OwnReplies(self._replies)


class Replies(Model):
    """The same as a model of the program's own."""

    def __init__(self, replies: list[list[Any]]) -> None:
        from openai.types.responses import Response, ResponseCompletedEvent, ResponseTextDeltaEvent

        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        self._usage = agents.Usage(1, 10, output_tokens=5, total_tokens=15)
        self._replies = replies
        self._completed = [
            ResponseCompletedEvent.construct(
                type="response.completed", response=Response.construct(id="resp", output=reply, usage=usage)
            )
            for reply in replies
        ]
        self._delta = ResponseTextDeltaEvent.construct(type="response.output_text.delta", delta="word ")
        self._next = 0

    def _taken(self) -> int:
        taken = self._next
        self._next = (taken + 1) % len(self._replies)
        return taken

    async def get_response(self, *args: Any, **named: Any) -> agents.ModelResponse:
        """The next reply."""
        return agents.ModelResponse(self._replies[self._taken()], self._usage, "resp")

    async def stream_response(self, *args: Any, **named: Any) -> AsyncIterator[Any]:
        """The next reply, event by event."""
        taken = self._taken()
        for _ in range(DELTAS):
            yield self._delta
        yield self._completed[taken]


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def own_replies(turns: int) -> list[OwnResponse]:
    """A call in each of `turns`, then the answer."""
    usage = Usage(1, 10, 5)
    calls = [FunctionCall(f"call_{at}", "add", f'{{"a":{at},"b":2}}') for at in range(turns)]
    answer = OwnResponse((Message("assistant", ANSWER),), usage, "stop", "resp", "replies")
    return [*[OwnResponse((call,), usage, "tool_calls", "resp", "replies") for call in calls], answer]


def replies(turns: int) -> list[list[Any]]:
    """The same as items of openai's."""
    calls = [[function_call("add", {"a": at, "b": 2}, call_id=f"call_{at}")] for at in range(turns)]
    return [*calls, [assistant_message(ANSWER)]]


async def _streamed_own(agent: OwnAgent[Any, Any]) -> str:
    text, stream = "", Runner.run_streamed(agent, "Go on.")
    async for event in stream:
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text += event.data.delta
    assert text == ANSWER
    return stream.final_output


async def _streamed(agent: agents.Agent[Any]) -> str:
    text, stream = "", agents.Runner.run_streamed(agent, "Go on.")
    async for event in stream.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text += event.data.delta
    assert text == ANSWER
    return stream.final_output


Program = Callable[[], Awaitable[Any]]


@contextmanager
def _served() -> Generator[str]:
    """The address of a server in another process, whose CPU time is not ours."""
    with subprocess.Popen([sys.executable, "-m", "benchmarks.compat.server"], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


def asked(address: str, streamed: bool) -> tuple[Program, Program]:
    """The run through the main API, and that through compat, of a model that is asked over HTTP."""
    from openai import AsyncOpenAI

    own = OwnAgent("A", instructions="Be brief.", model=OpenAIResponsesModel("m", base_url=address, api_key="sk-test"))
    client = AsyncOpenAI(base_url=address, api_key="sk-test")
    agent = agents.Agent[Any]("A", instructions="Be brief.", model=agents.OpenAIResponsesModel("m", client))

    async def main() -> str:
        if not streamed:
            return (await Runner.run(own, "Go on.")).final_output
        stream = Runner.run_streamed(own, "Go on.")
        kinds = [event.data.type async for event in stream if event.type == "raw_response_event"]
        assert "response.output_text.delta" in kinds
        return stream.final_output

    async def through() -> str:
        if not streamed:
            return (await agents.Runner.run(agent, "Go on.")).final_output
        stream = agents.Runner.run_streamed(agent, "Go on.")
        kinds = [event.data.type async for event in stream.stream_events() if event.type == "raw_response_event"]
        assert "response.output_text.delta" in kinds
        return stream.final_output

    return main, through


def programs(turns: int, streamed: bool) -> tuple[Program, dict[str, Program]]:
    """The run through the main API, and those through compat by what their model is."""
    own = OwnAgent("Adder", instructions="Be brief.", tools=[own_function_tool(add)], model=OwnReplies(own_replies(turns)))
    models: dict[str, Model] = {
        "a model that answers at once": Named(own_replies(turns)),
        "the program's own": Replies(replies(turns)),
    }

    def through(model: Model) -> Program:
        tools: list[agents.Tool] = [agents.function_tool(add)]
        agent = agents.Agent("Adder", instructions="Be brief.", tools=tools, model=model)

        async def whole() -> Any:
            result = await agents.Runner.run(agent, "Go on.", max_turns=20)
            return result.final_output, result.context_wrapper.usage.total_tokens

        return (lambda: _streamed(agent)) if streamed else whole

    async def whole() -> Any:
        result = await Runner.run(own, "Go on.")
        return result.final_output, result.usage.total_tokens

    return (lambda: _streamed_own(own)) if streamed else whole, {name: through(model) for name, model in models.items()}


async def _seconds(program: Program, times: int) -> float:
    """CPU seconds of one run."""
    gc.collect()
    began = time.process_time()
    for _ in range(times):
        await program()
    return (time.process_time() - began) / times


async def ratio(own: Program, through: Program) -> tuple[float, float, float]:
    """Seconds through the main API, seconds through compat, and the middle one of the ratios of all rounds."""
    for _ in range(20):
        assert await own() == await through()
    times = max(1, int(SECONDS / await _seconds(own, 20)))
    pairs: list[tuple[float, float]] = []
    for at in range(ROUNDS):
        first = await _seconds(own if at % 2 else through, times)
        second = await _seconds(through if at % 2 else own, times)
        pairs.append((first, second) if at % 2 else (second, first))
    middle = statistics.median(compat / main for main, compat in pairs)
    return min(main for main, _ in pairs), min(compat for _, compat in pairs), middle


def _printed(case: str, main: float, compat: float, times: float) -> bool:
    verdict = "" if times <= BOUND else "  over the bound"
    print(f"cost: {case}: {times:.2f}x ({compat * 1e6:.0f} of {main * 1e6:.0f} us), bound {BOUND}x{verdict}")
    return times <= BOUND


async def _measure() -> bool:
    within: list[bool] = []
    with _served() as address:
        for case, streamed in (("one turn", False), ("one turn, streamed", True)):
            main, through = asked(address, streamed)
            within.append(_printed(f"{case}, a model over HTTP", *await ratio(main, through)))
        await aclose()
    cases = {"one turn": (0, False), f"{TURNS} tool turns": (TURNS, False), f"one turn, {DELTAS} deltas streamed": (0, True)}
    for case, (turns, streamed) in cases.items():
        own, programs_by_model = programs(turns, streamed)
        for model, program in programs_by_model.items():
            within.append(_printed(f"{case}, {model}", *await ratio(own, program)))
    return all(within)


def measure_cost() -> bool:
    """Print what runs cost through compat; False where one is over the bound."""
    return asyncio.run(_measure())
