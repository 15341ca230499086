from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agentsdk import (
    Agent,
    MaxTurnsExceeded,
    MemorySession,
    RateLimitError,
    RunConfig,
    Runner,
    function_tool,
)
from agentsdk.testing import ScriptedModel, call
from tests.scenarios import World, tool_of

pytestmark = pytest.mark.anyio

current: contextvars.ContextVar[Any] = contextvars.ContextVar("current", default=None)


class FakeSpan:
    def __init__(self, kind: str, name: str, parent: FakeSpan | None, attributes: Any) -> None:
        self.kind, self.name, self.parent = kind, name, parent
        self.attributes = dict(attributes or {})
        self.children: list[FakeSpan] = []
        self.ended = 0
        self.error: BaseException | None = None

    def set(self, attributes: Any) -> None:
        self.attributes.update(attributes)

    def end(self, error: BaseException | None = None) -> None:
        self.ended += 1
        self.error = error

    @contextmanager
    def activate(self) -> Iterator[None]:
        token = current.set(self)
        try:
            yield
        finally:
            current.reset(token)

    def tree(self) -> Any:
        name = f"{self.kind} {self.name}"
        return [name, *[child.tree() for child in self.children]] if self.children else name


class FakeTracer:
    def __init__(self) -> None:
        self.roots: list[FakeSpan] = []
        self.spans: list[FakeSpan] = []

    def start(self, kind: Any, name: str, parent: Any = None, attributes: Any = None) -> FakeSpan:
        span = FakeSpan(kind, name, parent, attributes)
        self.spans.append(span)
        (self.roots if parent is None else parent.children).append(span)
        return span

    def named(self, name: str) -> list[FakeSpan]:
        return [span for span in self.spans if f"{span.kind} {span.name}" == name]


async def traced(agent: Agent[Any, Any], given: Any = "go", **options: Any) -> tuple[FakeTracer, Any]:
    tracer = FakeTracer()
    try:
        result = await Runner.run(agent, given, run_config=RunConfig(tracer=tracer, run_id="r"), **options)
    except Exception as error:
        result = error
    assert all(span.ended == 1 for span in tracer.spans), "every span ends, and once"
    return tracer, result


async def test_run_agent_turn_model_and_tool_nest() -> None:
    second = Agent("second", model=ScriptedModel(["done"], name="small"))
    first = Agent(
        "first",
        model=ScriptedModel([[call("add", x=1), call("add", x=2)], call("transfer_to_second")], name="big"),
        tools=[tool_of(World(), "add")],
        handoffs=[second],
    )
    tracer, _ = await traced(first, session=MemorySession("talk"))
    assert [root.tree() for root in tracer.roots] == [
        [
            "run first",
            [
                "agent first",
                ["turn 1", "chat big", "tool add", "tool add"],
                ["turn 2", "chat big"],
            ],
            ["agent second", ["turn 3", "chat small"]],
        ]
    ]
    assert tracer.roots[0].attributes["conversation_id"] == "talk"
    chat = tracer.named("chat big")[0].attributes
    assert (chat["model"], chat["agent"], chat["finish"], chat["usage"].output_tokens) == ("big", "first", "tool_calls", 5)
    tool = tracer.named("tool add")[1].attributes
    assert (tool["call_id"], tool["arguments"], tool["agent"]) == ("call_1_2", '{"x":2}', "first")
    assert not any(span.error for span in tracer.spans)


async def test_a_tool_runs_inside_its_span() -> None:
    seen: list[Any] = []

    async def look() -> None:
        seen.append(current.get())

    tracer, _ = await traced(Agent("main", model=ScriptedModel([call("look"), "done"]), tools=[function_tool(look)]))
    assert seen == tracer.named("tool look")


async def test_a_nested_run_stands_in_the_turn_that_called_it() -> None:
    helper = Agent("helper", model=ScriptedModel(["dug"]))
    tracer, _ = await traced(
        Agent("main", model=ScriptedModel([call("helper", input="dig"), "done"]), tools=[helper.as_tool()])
    )
    (span,) = tracer.named("agent helper")
    ancestors = []
    while span.parent is not None:
        span = span.parent
        ancestors.append(span.kind)
    assert ancestors[-3:] == ["turn", "agent", "run"]


@pytest.mark.parametrize(
    ("replies", "kind"), [([RateLimitError("slow", status=429)], RateLimitError), ([call("add", x=1)] * 2, MaxTurnsExceeded)]
)
async def test_an_error_ends_every_open_span_with_it(replies: Any, kind: Any) -> None:
    agent = Agent("main", model=ScriptedModel(replies), tools=[tool_of(World(), "add")])
    tracer, error = await traced(agent, max_turns=2)
    assert isinstance(error, kind)
    assert [span.error for span in (tracer.roots[0], tracer.named("agent main")[0])] == [error, error]


async def test_a_cancelled_run_ends_its_spans() -> None:
    tracer = FakeTracer()
    began = asyncio.Event()

    async def wait() -> None:
        began.set()
        await asyncio.Event().wait()

    agent = Agent("main", model=ScriptedModel([call("wait")]), tools=[function_tool(wait)])
    task = asyncio.create_task(Runner.run(agent, "go", run_config=RunConfig(tracer=tracer)))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [span.ended for span in tracer.spans] == [1] * len(tracer.spans)
    assert isinstance(tracer.roots[0].error, asyncio.CancelledError)


async def test_a_resumed_run_has_spans_of_its_own() -> None:
    agent = Agent("main", model=ScriptedModel([call("pay", x=1), "paid"]), tools=[tool_of(World(), "pay", needs_approval=True)])
    tracer, result = await traced(agent)
    assert tracer.roots[0].tree() == ["run main", ["agent main", ["turn 1", "chat scripted"]]]
    state = result.to_state()
    state.approve(state.interruptions[0])
    tracer, _ = await traced(agent, state)
    assert tracer.roots[0].tree() == ["run main", ["agent main", ["turn 1", "tool pay"], ["turn 2", "chat scripted"]]]


async def test_tracing_can_be_switched_off() -> None:
    tracer = FakeTracer()
    await Runner.run(
        Agent("main", model=ScriptedModel(["hi"])), "go", run_config=RunConfig(tracer=tracer, tracing_disabled=True)
    )
    assert not tracer.spans
