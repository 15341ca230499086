from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCall,
    GuardrailFunctionOutput,
    MaxTurnsExceeded,
    Message,
    OutputGuardrailTripwireTriggered,
    RateLimitError,
    RunConfig,
    RunLimits,
    Runner,
    StreamEvent,
    output_guardrail,
)
from agentsdk.define.stream_events import OutputRejectedStreamEvent, RawResponsesStreamEvent, RunItemStreamEvent
from agentsdk.errors import GuardrailFailedError
from agentsdk.output import ModelRetry
from agentsdk.testing import ScriptedModel, call
from tests.scenarios import SCENARIOS, Scenario, World, config_of, tool_of

pytestmark = pytest.mark.anyio

BUFFERED = RunConfig(buffer_output=True)


def guard(seen: list[StreamEvent], verdict: Any = False, said: list[str] | None = None) -> Any:
    """An output guardrail that notes what the reader has been shown when it is asked."""

    def judge(ctx: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
        if said is not None:
            said.append(shown(seen))
        if isinstance(verdict, Exception):
            raise verdict
        return GuardrailFunctionOutput(None, verdict)

    return output_guardrail(judge)


async def read(agent: Agent[Any, Any], seen: list[StreamEvent], config: RunConfig = BUFFERED) -> Any:
    run = Runner.run_streamed(agent, "go", run_config=config)
    async for event in run.stream_events():
        seen.append(event)
    return run


def shown(events: Sequence[StreamEvent]) -> str:
    """All that the model or a tool said in these events."""
    deltas = [event.data for event in events if isinstance(event, RawResponsesStreamEvent)]
    text = "".join(str(getattr(delta, "delta", "")) for delta in deltas)
    return text + "".join(str(event.item.raw_item) for event in events if isinstance(event, RunItemStreamEvent))


def names(events: Sequence[StreamEvent]) -> list[str]:
    return [event.name for event in events if isinstance(event, RunItemStreamEvent)]


async def test_the_text_comes_once_it_is_judged_and_then_as_the_same_events() -> None:
    said: list[str] = []
    held: list[StreamEvent] = []
    plain: list[StreamEvent] = []
    for seen, config in ((held, BUFFERED), (plain, RunConfig())):
        agent = Agent("main", model=ScriptedModel(["the answer is 42"]), output_guardrails=[guard(seen, False, said)])
        await read(agent, seen, config)
    assert "42" not in said[0] and "42" in shown(held)
    assert list(map(repr, held)) == list(map(repr, plain))


@pytest.mark.parametrize("verdict", [True, ConnectionError("down")], ids=["trips", "raises"])
@pytest.mark.parametrize("of_run", [False, True], ids=["agent's", "run's"])
async def test_what_is_not_let_pass_never_reaches_the_reader(verdict: Any, of_run: bool) -> None:
    seen: list[StreamEvent] = []
    guards = [guard(seen, verdict)]
    agent = Agent("main", model=ScriptedModel(["the secret is 42"]), output_guardrails=[] if of_run else guards)
    config = dataclasses.replace(BUFFERED, output_guardrails=guards) if of_run else BUFFERED
    with pytest.raises((OutputGuardrailTripwireTriggered, GuardrailFailedError)):
        await read(agent, seen, config)
    assert "secret" not in shown(seen)


async def test_text_beside_a_call_is_let_go_before_the_call_runs() -> None:
    seen: list[StreamEvent] = []
    agent = Agent(
        "main",
        model=ScriptedModel([[Message("assistant", "let me look"), FunctionCall("c", "look", "{}")], "the secret is 42"]),
        tools=[tool_of(World(), "look")],
        output_guardrails=[guard(seen, True)],
    )
    with pytest.raises(OutputGuardrailTripwireTriggered):
        await read(agent, seen)
    assert "let me look" in shown(seen) and "secret" not in shown(seen)
    assert names(seen) == ["message_output_created", "tool_called", "tool_output"]


@pytest.mark.parametrize("trips", [False, True])
async def test_a_tools_result_that_is_the_output_is_held_too(trips: bool) -> None:
    seen: list[StreamEvent] = []
    agent = Agent(
        "main",
        model=ScriptedModel([call("look", x=42)]),
        tools=[tool_of(World(), "look")],
        tool_use_behavior="stop_on_first_tool",
        output_guardrails=[guard(seen, trips)],
    )
    if trips:
        with pytest.raises(OutputGuardrailTripwireTriggered):
            await read(agent, seen)
    else:
        assert (await read(agent, seen)).final_output == "look gave 42"
    assert names(seen) == (["tool_called"] if trips else ["tool_called", "tool_output"])


async def test_a_last_answer_is_held_as_well() -> None:
    seen: list[StreamEvent] = []
    agent = Agent(
        "main",
        model=ScriptedModel([call("look", x=1), "the secret is 42"]),
        tools=[tool_of(World(), "look")],
        output_guardrails=[guard(seen, True)],
    )
    with pytest.raises(MaxTurnsExceeded):
        await read(agent, seen, dataclasses.replace(BUFFERED, limits=RunLimits(turns=1), on_limit="finalize"))
    assert "secret" not in shown(seen)
    seen.clear()
    agent = agent.clone(model=ScriptedModel([call("look", x=1), "all is well"]), output_guardrails=[guard(seen)])
    run = await read(agent, seen, dataclasses.replace(BUFFERED, limits=RunLimits(turns=1), on_limit="finalize"))
    assert run.final_output == "all is well" and "all is well" in shown(seen)


async def test_an_error_before_the_end_leaves_what_is_no_output() -> None:
    seen: list[StreamEvent] = []
    agent = Agent("main", model=ScriptedModel([RateLimitError("busy")]), output_guardrails=[guard(seen)])
    with pytest.raises(RateLimitError):
        await read(agent, seen)
    assert [event.type for event in seen] == ["agent_updated_stream_event"]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_a_reader_gets_the_same_events_with_and_without(scenario: Scenario) -> None:
    """Up to the first rest of each scenario, but for the order of what runs concurrently; without what was sent back."""

    async def events(**changes: Any) -> list[StreamEvent]:
        agent = scenario.build(World())
        config = config_of(scenario, output_guardrails=[guard([])], **changes)
        run = Runner.run_streamed(agent, scenario.input, run_config=config, max_turns=scenario.max_turns(None))
        seen: list[StreamEvent] = []
        try:
            async for event in run.stream_events():
                seen.append(event)
        except Exception as error:
            ended_by.append(type(error))
            return [event for event in seen if not says_something(event)]
        return seen

    ended_by: list[type[Exception]] = []
    held, plain = await events(buffer_output=True), await events()
    assert len(set(ended_by)) < 2 and len(ended_by) != 1
    (held_first, held), (plain_first, plain) = last_rejected(held), last_rejected(plain)
    assert sorted(map(repr, held)) == sorted(map(repr, plain))
    missing = Counter(map(repr, plain_first)) - Counter(map(repr, held_first))
    assert not Counter(map(repr, held_first)) - Counter(map(repr, plain_first))
    assert all(says_something(event) for event in plain_first if repr(event) in missing)
    assert bool(missing) == (bool(plain_first) and not ended_by)


def says_something(event: StreamEvent) -> bool:
    says = ("message_output_created", "reasoning_item_created", "tool_output")
    return isinstance(event, RawResponsesStreamEvent) or (isinstance(event, RunItemStreamEvent) and event.name in says)


def last_rejected(events: list[StreamEvent]) -> tuple[list[StreamEvent], list[StreamEvent]]:
    """The events before the last one that tells of an output which was sent back, and those from it on."""
    at = max((at for at, event in enumerate(events) if isinstance(event, OutputRejectedStreamEvent)), default=0)
    return events[:at], events[at:]


async def test_a_reader_is_not_shown_what_was_sent_back_but_that_it_was() -> None:
    def judge(ctx: Any, output: str) -> None:
        if "secret" in output:
            raise ModelRetry("leave that out")

    seen: list[StreamEvent] = []
    model = ScriptedModel(["the secret is 42", "the answer is 43"])
    result = await read(Agent("main", model=model, output_validators=[judge]), seen)
    assert result.final_output == "the answer is 43"
    assert "42" not in shown(seen) and "43" in shown(seen)
    assert [event.feedback for event in seen if isinstance(event, OutputRejectedStreamEvent)] == ["leave that out"]
