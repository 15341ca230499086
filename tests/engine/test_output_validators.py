"""Output validators: what they see and may answer, what the model is told, what they cost, and how often they are asked."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from agentsdk import (
    Agent,
    AgentOutputSchema,
    FunctionCallOutput,
    GuardrailFunctionOutput,
    Inbox,
    MemoryRunStore,
    MemorySession,
    Message,
    OutputFunction,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    RunErrorHandlerResult,
    RunLimits,
    Runner,
    RunState,
    StateError,
    StopAtTools,
    UserError,
    function_tool,
    handoff,
    output_guardrail,
)
from agentsdk.errors import CallbackError, InvalidOutputError, LimitExceededError
from agentsdk.events import OutputRejectedStreamEvent, OutputValidated
from agentsdk.output import ModelRetry, ValidatorContext, output_validator
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.spec import OUTPUT_TOOL
from tests.scenarios import reloaded

pytestmark = pytest.mark.anyio

Context = ValidatorContext[Any]


class City(BaseModel):
    name: str
    people: int


ROME = '{"name":"Rome","people":2}'
PARIS = '{"name":"Paris","people":3}'


def is_kind(context: Context, output: str) -> None:
    if "please" not in output:
        raise ModelRetry("say please")


def agent_of(*replies: Any, **fields: Any) -> Agent[Any, Any]:
    return Agent("main", model=ScriptedModel(replies), **{"output_validators": [is_kind], **fields})


def requests(agent: Agent[Any, Any]) -> list[Any]:
    assert isinstance(agent.model, ScriptedModel)
    return list(agent.model.requests)


async def test_an_accepted_output_ends_the_run() -> None:
    result = await Runner.run(agent_of("yes, please"), "go")
    assert (result.final_output, result.turns) == ("yes, please", 1)


async def test_the_model_is_told_why_and_answers_again() -> None:
    agent = agent_of("no", "no, please")
    result = await Runner.run(agent, "go")
    assert (result.final_output, result.turns) == ("no, please", 2)
    assert requests(agent)[1].items[-1] == Message("user", "Your answer was not taken: say please\nAnswer again.")


@pytest.mark.parametrize(
    ("mode", "ends"), [("native", "with nothing but the corrected JSON."), ("prompted", "with nothing but the corrected JSON.")]
)
async def test_the_model_is_told_in_which_form_to_answer(mode: Any, ends: str) -> None:
    def big(context: Context, city: City) -> None:
        assert context.text == f'{{"name":"{city.name}","people":{city.people}}}'
        if city.people < 3:
            raise ModelRetry("that city is too small")

    agent = agent_of(ROME, f"```json\n{PARIS}\n```", output_type=AgentOutputSchema(City, mode=mode), output_validators=[big])
    assert (await Runner.run(agent, "go")).final_output == City(name="Paris", people=3)
    told = requests(agent)[1].items[-1].text
    assert told.startswith("Your answer was not taken: that city is too small") and told.endswith(ends)


async def test_an_output_that_a_call_gives_is_answered_by_its_result() -> None:
    def big(context: Context, city: City) -> None:
        if city.people < 3:
            raise ModelRetry("that city is too small")

    calls = [call(OUTPUT_TOOL, name="Rome", people=2), call(OUTPUT_TOOL, name="Paris", people=3)]
    agent = agent_of(*calls, output_type=AgentOutputSchema(City, mode="tool"), output_validators=[big, big])
    result = await Runner.run(agent, "go")
    assert result.final_output == City(name="Paris", people=3)
    told = requests(agent)[1].items[-1]
    assert isinstance(told, FunctionCallOutput) and (told.output, told.is_error) == ("that city is too small", True)
    assert result.to_input_list()[-1]["output"] == "The final answer was taken."


async def test_a_result_that_a_tool_ends_the_run_with_is_judged_too() -> None:
    @function_tool
    def add(x: int) -> str:
        """Add."""
        return f"{x}, please" if x > 1 else "no"

    agent = agent_of(call("add", x=1), call("add", x=2), tools=[add], tool_use_behavior=StopAtTools(["add"]))
    assert (await Runner.run(agent, "go")).final_output == "2, please"
    *_, result, told = requests(agent)[1].items
    assert (result.output, told.text) == ("no", "Your answer was not taken: say please\nAnswer again.")


async def test_they_are_asked_in_their_order_and_each_sees_what_the_one_before_left() -> None:
    seen: list[Any] = []

    def first(context: Context, output: str) -> str:
        seen.append(("first", output))
        return output.strip()

    async def second(context: Context, output: str) -> str:
        seen.append(("second", output, context.text))
        return output + "!"

    agent = agent_of("  hello ", output_validators=[first, second])
    result = await Runner.run(agent, "go")
    assert result.final_output == "hello!"
    assert seen == [("first", "  hello "), ("second", "hello", "hello")]
    assert result.to_input_list()[-1]["content"] == "  hello ", "the history is what the model said"


async def test_the_first_that_sends_back_ends_the_matter() -> None:
    asked: Counter[str] = Counter()

    def later(context: Context, output: str) -> None:
        asked[output] += 1

    await Runner.run(agent_of("no", "please", output_validators=[is_kind, later]), "go")
    assert asked == {"please": 1}


async def test_they_see_the_run() -> None:
    seen: list[Any] = []

    def look(context: Context, output: str) -> None:
        (question,) = context.items[:1]
        assert isinstance(question, Message)
        place = (context.context, context.agent.name, question.text, context.path)
        seen.append((*place, context.turn, context.attempt, context.retries_left))
        assert context.run_id and context.usage.requests == context.turn
        if context.attempt < 3:
            raise ModelRetry("again")

    agent = agent_of("a", "b", "c", output_validators=[look])
    await Runner.run(agent, "go", context="Ada", run_config=RunConfig(max_output_retries=2))
    place = ("Ada", "main", "go", ())
    assert seen == [(*place, 1, 1, 2), (*place, 2, 2, 1), (*place, 3, 3, 0)]


# What they make of the output


@dataclass
class Note:
    text: str


async def test_a_changed_output_is_that_of_its_type_also_after_a_resume() -> None:
    def longer(context: Context, note: Note) -> Note:
        return Note(note.text * 2)

    store = MemoryRunStore()
    config = RunConfig(store=store, run_id="r")
    agent = agent_of('{"text":"ab"}', output_type=Note, output_validators=[longer])
    result = await Runner.run(agent, "go", run_config=config)
    assert result.final_output == Note("abab")
    assert (await Runner.resume(agent, "r", run_config=config)).final_output == Note("abab")
    assert (await Runner.run(agent, reloaded(agent, result.to_state()))).final_output == Note("abab")


@pytest.mark.parametrize("returns", [True, False])
async def test_an_output_that_is_changed_in_place_is_recorded(returns: bool) -> None:
    def mark(context: Context, note: Note) -> Note | None:
        note.text += "!"
        return note if returns else None

    agent = agent_of('{"text":"ab"}', output_type=Note, output_validators=[mark])
    result = await Runner.run(agent, "go")
    assert result.final_output == Note("ab!")
    assert (await Runner.run(agent, reloaded(agent, result.to_state()))).final_output == Note("ab!")


async def test_what_is_returned_as_it_was_is_no_change() -> None:
    agent = agent_of("ab", output_validators=[lambda context, output: output])
    result = await Runner.run(agent, "go")
    (verdict,) = [event for event in result.to_state().value.log if isinstance(event, OutputValidated)]
    assert verdict == OutputValidated("<lambda>")


@pytest.mark.parametrize(
    ("kind", "reply", "returned"),
    [(None, "x", 5), (Note, '{"text":"x"}', "text"), (Note, '{"text":"x"}', {"text": 5}), (int, '{"response":1}', "1")],
)
async def test_an_output_of_another_type_is_the_callers_fault(kind: Any, reply: str, returned: object) -> None:
    agent = agent_of(reply, output_type=kind, output_validators=[lambda context, output: returned])
    with pytest.raises(UserError, match="output validator '<lambda>' of agent 'main' returned") as caught:
        await Runner.run(agent, "go")
    assert isinstance(caught.value.state, RunState)


# The budget


async def test_one_that_never_accepts_ends_the_run_and_it_can_be_resumed() -> None:
    agent = agent_of("a", "b", "c, please")
    with pytest.raises(InvalidOutputError, match="was not accepted by output validator 'is_kind' after 1 feedback") as caught:
        await Runner.run(agent, "go")
    assert caught.value.output == "b"
    assert isinstance(caught.value.state, RunState)
    assert (await Runner.run(agent, reloaded(agent, caught.value.state))).final_output == "c, please"


async def test_an_error_handler_answers_in_its_place() -> None:
    agent = agent_of("a", "b")
    handlers: Any = {"invalid_final_output": lambda data: RunErrorHandlerResult("as good as it gets")}
    assert (await Runner.run(agent, "go", error_handlers=handlers)).final_output == "as good as it gets"


@pytest.mark.parametrize(("of_agent", "of_run", "asked"), [(None, 2, 3), (3, 1, 4), (0, 5, 1)])
async def test_the_agent_may_have_a_budget_of_its_own(of_agent: int | None, of_run: int, asked: int) -> None:
    agent = agent_of(*["no"] * 5, max_output_retries=of_agent)
    with pytest.raises(InvalidOutputError):
        await Runner.run(agent, "go", run_config=RunConfig(max_output_retries=of_run))
    assert len(requests(agent)) == asked


async def test_one_budget_is_for_outputs_that_do_not_fit_and_for_those_that_are_not_accepted() -> None:
    def big(context: Context, city: City) -> None:
        if city.people < 3:
            raise ModelRetry("that city is too small")

    agent = agent_of("Rome", ROME, "Paris", PARIS, output_type=City, output_validators=[big])
    with pytest.raises(InvalidOutputError, match="too small"):
        await Runner.run(agent, "go")
    agent = agent_of("Rome", ROME, PARIS, output_type=City, output_validators=[big], max_output_retries=2)
    assert (await Runner.run(agent, "go")).final_output == City(name="Paris", people=3)


async def test_an_accepted_output_renews_it_for_a_run_that_goes_on() -> None:
    inbox = Inbox()

    def is_kind_and_brings_more(context: Context, output: str) -> None:
        is_kind(context, output)
        if output == "please 1":
            inbox.put("more")

    agent = agent_of("no", "please 1", "no", "please 2", output_validators=[is_kind_and_brings_more])
    result = await Runner.run(agent, "go", run_config=RunConfig(max_output_retries=1, inbox=inbox))
    assert (result.final_output, result.turns) == ("please 2", 4)


async def test_being_sent_back_counts_as_turns() -> None:
    agent = agent_of("no", "no", "please", max_output_retries=5)
    with pytest.raises(LimitExceededError) as caught:
        await Runner.run(agent, "go", run_config=RunConfig(limits=RunLimits(turns=2)))
    assert isinstance(caught.value.state, RunState)
    assert (await Runner.run(agent, caught.value.state, max_turns=3)).final_output == "please"


async def test_a_last_answer_at_a_limit_is_judged_too() -> None:
    config = RunConfig(limits=RunLimits(turns=2), on_limit="finalize")  # one of them is kept for the last answer
    agent = agent_of("no", "please", max_output_retries=5)
    assert (await Runner.run(agent, "go", run_config=config)).final_output == "please"
    agent = agent_of("no", "no", max_output_retries=5)
    with pytest.raises(LimitExceededError):
        await Runner.run(agent, "go", run_config=config)


# What goes wrong with them


@pytest.mark.parametrize("error", [ValueError("secret"), KeyError("x"), TimeoutError("mine")], ids=repr)
async def test_one_that_raises_stops_the_run_and_is_asked_again(error: Exception) -> None:
    fails = [error]

    async def broken(context: Context, output: str) -> None:
        if fails:
            raise fails.pop()

    agent = agent_of("a", output_validators=[broken])
    with pytest.raises(CallbackError, match="output validator 'broken' of agent 'main' raised") as caught:
        await Runner.run(agent, "go")
    assert caught.value.__cause__ is error and "secret" not in str(caught.value)
    assert isinstance(caught.value.state, RunState)
    result = await Runner.run(agent, reloaded(agent, caught.value.state))
    assert (result.final_output, len(requests(agent))) == ("a", 1)


async def test_one_that_hangs_is_stopped_at_its_timeout() -> None:
    ended: list[str] = []

    @output_validator(timeout=0.01)
    async def hangs(context: Context, output: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(output)

    with pytest.raises(CallbackError, match=r"output validator 'hangs' .* did not answer within 0.01 seconds") as caught:
        await Runner.run(agent_of("a", output_validators=[hangs]), "go")
    assert ended == ["a"] and isinstance(caught.value.state, RunState)


async def test_a_run_that_is_cancelled_while_one_judges_asks_it_again() -> None:
    began, goes = asyncio.Event(), asyncio.Event()

    async def slow(context: Context, output: str) -> None:
        began.set()
        await goes.wait()

    agent = agent_of("a", output_validators=[slow])
    run = Runner.run_streamed(agent, "go")
    async with run:
        await began.wait()
    goes.set()
    assert (await Runner.run(agent, reloaded(agent, run.to_state()))).final_output == "a"
    assert len(requests(agent)) == 1


async def test_it_may_take_for_ever() -> None:
    @output_validator(timeout=math.inf)
    async def slow(context: Context, output: str) -> None:
        await asyncio.sleep(0)

    assert (await Runner.run(agent_of("a", output_validators=[slow]), "go")).final_output == "a"


async def test_a_run_does_not_go_on_without_one_it_was_begun_with() -> None:
    agent = agent_of("no", "no", "please")
    with pytest.raises(InvalidOutputError) as caught:
        await Runner.run(agent, "go")
    state: Any = caught.value.state
    bare = agent.clone(output_validators=[])
    with pytest.raises(StateError, match="output validator 'is_kind' of agent 'main'"):
        await Runner.run(bare, reloaded(bare, state))
    config = RunConfig(without_guards=["is_kind"])
    assert (await Runner.run(bare, reloaded(bare, state), run_config=config)).final_output == "please"


# Which outputs they judge


@pytest.mark.parametrize("of", ["plain", "async"])
async def test_a_rule_says_which_outputs_are_judged(of: str) -> None:
    asked: list[str] = []

    def is_long(context: Context, output: str) -> bool:
        return len(output) > 3

    async def is_long_too(context: Context, output: str) -> bool:
        return is_long(context, output)

    @output_validator(when=is_long if of == "plain" else is_long_too)
    def kind(context: Context, output: str) -> None:
        asked.append(output)
        is_kind(context, output)

    agent = agent_of("long", "ok", output_validators=[kind])
    assert (await Runner.run(agent, "go")).final_output == "ok"
    assert asked == ["long"]


async def test_a_rule_that_gives_no_answer_stops_the_run() -> None:
    with pytest.raises(UserError, match=r"when of output validator 'is_kind'.*expected True or False"):
        await Runner.run(agent_of("a", output_validators=[output_validator(is_kind, when=lambda *_: None)]), "go")  # type: ignore


# With the rest of a run


async def test_output_guardrails_judge_what_the_validators_left() -> None:
    seen: list[object] = []

    @output_guardrail
    def never(context: Any, agent: Any, output: object) -> GuardrailFunctionOutput:
        seen.append(output)
        return GuardrailFunctionOutput(None, True)

    validators = [is_kind, lambda context, output: output.upper()]
    agent = agent_of("no", "please", output_validators=validators, output_guardrails=[never])
    with pytest.raises(OutputGuardrailTripwireTriggered):
        await Runner.run(agent, "go")
    assert seen == ["PLEASE"]


async def test_the_last_agents_validators_judge() -> None:
    helper = agent_of("no", "please").clone(name="helper")
    first = Agent("first", model=ScriptedModel([call("transfer_to_helper")]), handoffs=[handoff(helper)])
    first.output_validators = [lambda context, output: "never"]
    result = await Runner.run(first, "go")
    assert (result.final_output, result.last_agent.name) == ("please", "helper")


async def test_those_of_an_agent_as_tool_judge_its_answer() -> None:
    helper = agent_of("no", "please").clone(name="helper")
    agent = Agent("main", model=ScriptedModel([call("helper", input="?"), "done"]), tools=[helper.as_tool()])
    result = await Runner.run(agent, "go")
    assert result.to_input_list()[2]["output"] == "please"
    never = agent_of("no", "no").clone(name="helper")
    agent = Agent("main", model=ScriptedModel([call("helper", input="?"), "done"]), tools=[never.as_tool()])
    result = await Runner.run(agent, "go")
    assert "gave no answer in the form that is required" in str(result.to_input_list()[2]["output"])


async def test_the_session_keeps_the_whole_exchange() -> None:
    session = MemorySession("s")
    result = await Runner.run(agent_of("no", "no, please"), "go", session=session)
    kept = await session.get_items()
    assert [getattr(item, "text", "") for item in kept] == [
        "go",
        "no",
        "Your answer was not taken: say please\nAnswer again.",
        "no, please",
    ]
    assert len(result.to_input_list()) == 4


async def test_a_reader_of_the_stream_is_told() -> None:
    run = Runner.run_streamed(agent_of("no", "no, please"), "go")
    events = [event async for event in run.stream_events()]
    assert [event for event in events if isinstance(event, OutputRejectedStreamEvent)] == [
        OutputRejectedStreamEvent("say please", "is_kind")
    ]
    typed = agent_of("Rome", ROME, output_type=City, output_validators=[])
    told = [event async for event in Runner.run_streamed(typed, "go").stream_events() if "rejected" in event.type]
    assert [event.validator for event in told if isinstance(event, OutputRejectedStreamEvent)] == [""]


async def test_a_message_that_arrives_meanwhile_goes_first() -> None:
    from agentsdk import Inbox

    inbox = Inbox()

    def tell(context: Context, output: str) -> None:
        if context.turn == 1:
            inbox.put("One more thing.")

    agent = agent_of("a", "b", output_validators=[tell])
    result = await Runner.run(agent, "go", run_config=RunConfig(inbox=inbox))
    assert (result.final_output, result.turns) == ("b", 2)


async def test_a_list_that_is_changed_in_place_counts_for_the_next_run() -> None:
    agent = agent_of("a", "b", "please", output_validators=[])
    assert (await Runner.run(agent, "go")).final_output == "a"
    agent.output_validators.append(is_kind)  # type: ignore[attr-defined]
    assert (await Runner.run(agent, "go")).final_output == "please"


async def test_an_output_function_is_not_called_again_for_its_validators() -> None:
    called: Counter[int] = Counter()

    def settle(x: int) -> int:
        called[x] += 1
        return x * 2

    fails = [ConnectionError()]

    def judge(context: Context, output: int) -> int:
        if fails:
            raise fails.pop()
        return output + 1

    agent = agent_of('{"x":1}', output_type=OutputFunction(settle), output_validators=[judge])
    with pytest.raises(CallbackError) as caught:
        await Runner.run(agent, "go")
    state: Any = caught.value.state
    assert (await Runner.run(agent, reloaded(agent, state))).final_output == 3
    assert called == {1: 1}
