from __future__ import annotations

import asyncio
import contextvars
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentsdk import (
    Agent,
    AgentsException,
    MaxTurnsExceeded,
    MemorySession,
    Message,
    ModelRequest,
    ModelResponse,
    OpenTelemetryTracer,
    OutputTextDelta,
    RateLimitError,
    RunConfig,
    RunContextWrapper,
    RunLimits,
    Runner,
    RunState,
    function_tool,
)
from agentsdk.output import reviewed_by
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.deltas import ModelStreamEvent
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
    assert tool["result"] == "add gave 2"
    assert "provider" not in chat and "time_to_first_chunk" not in chat
    assert not any(span.error for span in tracer.spans)


async def test_a_tool_runs_inside_its_span() -> None:
    seen: list[Any] = []

    async def look() -> None:
        seen.append(current.get())

    tracer, _ = await traced(Agent("main", model=ScriptedModel([call("look"), "done"]), tools=[function_tool(look)]))
    assert seen == tracer.named("tool look")


async def test_a_nested_run_stands_in_the_call_that_made_it() -> None:
    helper = Agent("helper", model=ScriptedModel([call("add", x=1), "dug"]), tools=[tool_of(World(), "add")])
    replies = [[call("helper", input="dig"), call("add", x=2)], "done"]
    tracer, _ = await traced(Agent("main", model=ScriptedModel(replies), tools=[helper.as_tool(), tool_of(World(), "add")]))
    nested = ["agent helper", ["turn 1", "chat scripted", "tool add"], ["turn 2", "chat scripted"]]
    assert tracer.roots[0].tree() == [
        "run main",
        ["agent main", ["turn 1", "chat scripted", ["tool helper", nested], "tool add"], ["turn 2", "chat scripted"]],
    ]
    assert tracer.named("tool helper")[0].attributes["result"] == "dug"


async def test_a_critic_stands_in_the_turn_whose_output_it_judges() -> None:
    critic: Agent[Any, str] = Agent("critic", model=ScriptedModel(['{"accepted":true,"feedback":""}']))
    tracer, _ = await traced(Agent("main", model=ScriptedModel(["done"]), output_validators=[reviewed_by(critic)]))
    nested = ["agent critic", ["turn 1", "chat scripted"]]
    assert tracer.roots[0].tree() == ["run main", ["agent main", ["turn 1", "chat scripted", nested]]]


async def test_a_nested_run_that_waits_has_no_result_yet() -> None:
    pay = tool_of(World(), "pay", needs_approval=True)
    helper = Agent("helper", model=ScriptedModel([call("pay", x=1), "paid"]), tools=[pay])
    agent = Agent("main", model=ScriptedModel([call("helper", input="pay"), "done"]), tools=[helper.as_tool()])
    tracer, result = await traced(agent)
    assert "result" not in tracer.named("tool helper")[0].attributes
    state = result.to_state()
    state.approve(state.interruptions[0])
    tracer, _ = await traced(agent, state)
    assert tracer.named("tool helper")[0].attributes["result"] == "paid"


class Provided(ScriptedModel):
    provider = "somewhere"


async def test_a_streamed_model_call_says_how_long_its_first_delta_took() -> None:
    tracer = FakeTracer()
    agent = Agent("main", model=Provided(["two words"]))
    await Runner.run_streamed(agent, "go", run_config=RunConfig(tracer=tracer))
    (chat,) = tracer.named("chat scripted")
    assert chat.attributes["provider"] == "somewhere"
    assert 0 <= chat.attributes["time_to_first_chunk"] < 60


async def test_a_call_that_is_not_streamed_has_no_first_delta() -> None:
    class Chatty(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
            yield OutputTextDelta("unasked")
            async for event in super().stream(request):
                yield event

    tracer, _ = await traced(Agent("main", model=Chatty(["hi"])))
    assert "time_to_first_chunk" not in tracer.named("chat scripted")[0].attributes


async def test_what_follows_the_history_is_input_too() -> None:
    cut = ModelResponse((Message("assistant", "half "),), finish="length")
    tracer, result = await traced(Agent("main", model=ScriptedModel([cut, "whole"])))
    assert result.final_output == "half whole"
    first, second = [[item.text for item in span.attributes["input"]] for span in tracer.named("chat scripted")]
    assert first == ["go"]
    assert second[:2] == ["go", "half "] and len(second) == 3


@pytest.mark.parametrize("captures", [False, True])
async def test_a_secret_is_only_where_it_was_asked_for(captures: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Secrets in a call's arguments and result, its error, the context and the input of a nested run."""

    def leaks(ctx: RunContextWrapper[Any], x: str) -> str:
        assert ctx.context == {"key": "canary-context"}
        return "canary-result"

    def breaks(x: str) -> str:
        raise ValueError("canary-told")  # the model is told the words of an error

    def stops(x: str) -> str:
        raise ValueError("canary-error")

    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    leak = call("leaks", x="canary-argument")
    helper = Agent("helper", model=ScriptedModel([leak, "canary-result"]), tools=[function_tool(leaks)])
    asked = [leak, call("breaks", x="canary-argument"), call("helper", input="canary-argument")]
    stop = function_tool(stops, failure_error_function=None)
    agent = Agent(
        "main",
        instructions="canary-instructions",
        model=ScriptedModel([asked, call("stops", x="canary-argument")]),
        tools=[function_tool(leaks), function_tool(breaks), stop, helper.as_tool()],
    )
    config = RunConfig(tracer=OpenTelemetryTracer(provider, capture_content=captures))
    with caplog.at_level(0), pytest.raises(AgentsException) as caught:
        await Runner.run(agent, "canary-input", context={"key": "canary-context"}, run_config=config)
    spans = "".join(span.to_json() for span in exporter.get_finished_spans())
    assert len(exporter.get_finished_spans()) == 16
    found = set(re.findall("canary-[a-z]+", spans))
    said = {"canary-input", "canary-argument", "canary-result", "canary-told"}
    assert found == ({*said, "canary-instructions"} if captures else set())
    assert "canary" not in caplog.text
    assert "canary" not in f"{caught.value!r} {caught.value} {getattr(caught.value, '__notes__', '')}"
    state = caught.value.state
    assert isinstance(state, RunState)
    # A state is the conversation: it has to hold what was said, and nothing that was not.
    assert set(re.findall("canary-[a-z]+", state.to_string())) == said
    assert "canary" not in repr(state)


@pytest.mark.parametrize(
    ("replies", "kind"), [([RateLimitError("slow", status=429)], RateLimitError), ([call("add", x=1)] * 2, MaxTurnsExceeded)]
)
async def test_an_error_ends_every_open_span_with_it(replies: Any, kind: Any) -> None:
    agent = Agent("main", model=ScriptedModel(replies), tools=[tool_of(World(), "add")])
    tracer, error = await traced(agent, max_turns=2)
    assert isinstance(error, kind)
    assert [span.error for span in (tracer.roots[0], tracer.named("agent main")[0])] == [error, error]


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
async def test_a_run_that_goes_on_after_a_limit_has_all_its_spans_under_its_own(streamed: bool) -> None:
    tracer = FakeTracer()

    def more(*_: Any) -> RunLimits:
        return RunLimits(turns=5)

    agent = Agent("main", model=ScriptedModel([call("add", x=1), "done"]), tools=[tool_of(World(), "add")])
    config = RunConfig(tracer=tracer, run_id="r", limits=RunLimits(turns=1), on_limit=more)
    await (Runner.run_streamed if streamed else Runner.run)(agent, "go", run_config=config)
    turns = [["turn 1", "chat scripted", "tool add"], "turn 2"]
    assert [root.tree() for root in tracer.roots] == [
        ["run main", ["agent main", *turns], ["agent main", ["turn 2", "chat scripted"]]]
    ]
    assert all(span.ended == 1 for span in tracer.spans)


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
