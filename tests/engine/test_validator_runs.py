"""Agents that an output validator asks: critics. Their runs are nested in the one whose output is judged."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsdk import (
    Agent,
    AgentOutputSchema,
    MemoryRunStore,
    ModelError,
    OutputGuardrailTripwireTriggered,
    RawResponsesStreamEvent,
    RunConfig,
    RunLimits,
    Runner,
    RunState,
    Usage,
    UserError,
    function_tool,
    input_guardrail,
    output_guardrail,
)
from agentsdk.errors import CallbackError, GuardrailFailedError, InvalidOutputError, LimitExceededError, StateMismatchError
from agentsdk.guardrails import GuardrailFunctionOutput
from agentsdk.output import Critique, ModelRetry, OutputValidator, ValidatorContext, output_validator, reviewed_by
from agentsdk.runs import Decision
from agentsdk.testing import ScriptedModel, call
from tests.scenarios import reloaded

pytestmark = pytest.mark.anyio

Context = ValidatorContext[Any]
ACCEPTED = '{"accepted":true,"feedback":""}'


def rejected(feedback: str) -> str:
    return f'{{"accepted":false,"feedback":"{feedback}"}}'


def critic_of(*replies: Any, **fields: Any) -> Agent[Any, Any]:
    return Agent(**{"name": "critic", "model": ScriptedModel(replies), **fields})


def writer_of(*replies: Any, by: Any, **fields: Any) -> Agent[Any, Any]:
    validators = [by if isinstance(by, OutputValidator) else reviewed_by(by)]
    return Agent("writer", model=ScriptedModel(replies), output_validators=validators, **fields)


def requests(agent: Agent[Any, Any]) -> list[Any]:
    assert isinstance(agent.model, ScriptedModel)
    return list(agent.model.requests)


async def test_a_critic_sends_back_until_it_accepts() -> None:
    critic = critic_of(rejected("too dull"), ACCEPTED, instructions="Be strict.")
    writer = writer_of("dull", "bright", by=critic)
    result = await Runner.run(writer, "Write.")
    assert (result.final_output, result.turns) == ("bright", 2)
    assert requests(writer)[1].items[-1].text == "Your answer was not taken: too dull\nAnswer again."
    first, second = requests(critic)
    assert first.instructions == "Be strict." and first.output.name == "Critique"
    assert first.items[0].text == "Review an answer.\n\nWhat was asked:\nWrite.\n\nThe answer:\ndull"
    assert second.items[0].text.endswith("Write.\n\nThe answer:\nbright")


async def test_what_a_critic_spends_is_the_runs() -> None:
    result = await Runner.run(writer_of("a", by=critic_of(ACCEPTED)), "go")
    assert (result.usage.requests, result.turns, result.to_state().value.all_turns) == (2, 1, 2)


async def test_a_limit_of_the_run_stops_a_critic_and_it_goes_on_when_that_is_raised() -> None:
    critic = critic_of(ACCEPTED)
    writer = writer_of("a", by=critic)
    with pytest.raises(LimitExceededError) as caught:
        await Runner.run(writer, "go", run_config=RunConfig(limits=RunLimits(turns=1)))
    state: Any = caught.value.state
    result = await Runner.run(writer, reloaded(writer, state), max_turns=2)
    assert (result.final_output, len(requests(writer)), len(requests(critic))) == ("a", 1, 1)


async def test_a_critic_is_asked_on_key_steps_only() -> None:
    critic = critic_of(rejected("no"))
    writer = writer_of("a long answer", "short", by=reviewed_by(critic, when=lambda context, output: len(output) > 6))
    assert (await Runner.run(writer, "go")).final_output == "short"
    assert len(requests(critic)) == 1


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_a_critic_is_asked_can_be_said(is_async: bool) -> None:
    def prompt(context: Context, output: int) -> list[Any]:
        return [{"role": "user", "content": f"{context.context} gave {output + 1}"}]

    async def prompt_too(context: Context, output: int) -> list[Any]:
        return prompt(context, output)

    critic = critic_of(ACCEPTED, output_type=AgentOutputSchema(Critique))
    by = reviewed_by(critic, prompt=prompt_too if is_async else prompt, name="editor")
    assert by.name == "editor"
    writer = writer_of('{"response":1}', by=by, output_type=int)
    assert (await Runner.run(writer, "go", context="Ada")).final_output == 1
    assert requests(critic)[0].items[0].text == "Ada gave 2"


async def test_a_critic_without_words_still_gives_feedback() -> None:
    writer = writer_of("a", "b", by=critic_of(rejected(" "), ACCEPTED))
    await Runner.run(writer, "go")
    assert "critic did not accept it." in requests(writer)[1].items[-1].text


@pytest.mark.parametrize(
    "make",
    [
        lambda: reviewed_by("critic"),  # type: ignore[arg-type]
        lambda: reviewed_by(critic_of(output_type=int)),
        lambda: reviewed_by(critic_of(), prompt="no callable"),  # type: ignore[arg-type]
        lambda: OutputValidator(print, "v", agents=["critic"]),  # type: ignore[list-item]
        lambda: OutputValidator(print, "v", agents=[critic_of(), critic_of()]),
        lambda: OutputValidator(print, "v", timeout=0),
        lambda: OutputValidator(print, ""),
        lambda: OutputValidator(print, "v", when=True),  # type: ignore[arg-type]
        lambda: ModelRetry(" "),
        lambda: ModelRetry(5),  # type: ignore[arg-type]
    ],
)
def test_what_is_declared_wrong_is_the_callers_fault(make: Any) -> None:
    with pytest.raises(UserError, match="expected"):
        make()


# Asked by a validator of one's own


def asking(*agents: Agent[Any, Any], **options: Any) -> OutputValidator[Any, Any]:
    """A validator that asks each of its agents, all at once, and sends back what they say against it."""

    async def ask(context: Context, output: str) -> None:
        opinions = await asyncio.gather(*[context.run(agent, output) for agent in agents])
        if any(opinion != "fine" for opinion in opinions):
            raise ModelRetry(", ".join(opinions))

    return output_validator(ask, agents=agents, **options)


async def test_several_can_be_asked_at_once() -> None:
    one, two = critic_of("fine", "fine", name="one"), critic_of("too short", "fine", name="two")
    writer = writer_of("a", "abc", by=asking(one, two))
    result = await Runner.run(writer, "go")
    assert (result.final_output, result.usage.requests) == ("abc", 6)
    assert "fine, too short" in requests(writer)[1].items[-1].text


async def test_one_question_asked_twice_is_asked_twice() -> None:
    critic = critic_of("fine", "fine")

    async def ask(context: Context, output: str) -> None:
        assert [await context.run(critic, output) for _ in range(2)] == ["fine", "fine"]

    await Runner.run(writer_of("a", by=output_validator(ask, agents=[critic])), "go")
    assert len(requests(critic)) == 2


async def test_what_was_asked_before_a_crash_is_not_asked_again() -> None:
    fails = [ConnectionError("down")]
    critic = critic_of("fine")

    async def ask(context: Context, output: str) -> None:
        assert await context.run(critic, output) == "fine"
        if fails:
            raise fails.pop()

    writer = writer_of("a", by=output_validator(ask, agents=[critic]))
    with pytest.raises(CallbackError) as caught:
        await Runner.run(writer, "go")
    state: Any = caught.value.state
    assert (await Runner.run(writer, reloaded(writer, state))).final_output == "a"
    assert (len(requests(writer)), len(requests(critic))) == (1, 1)


async def test_an_error_of_the_critics_model_stops_the_run_unless_the_validator_takes_it() -> None:
    critic = critic_of(ModelError("down"), "fine", ModelError("down"))
    writer = writer_of("a", "b", by=asking(critic))
    with pytest.raises(ModelError, match="down") as caught:
        await Runner.run(writer, "go")
    state: Any = caught.value.state
    assert (await Runner.run(writer, reloaded(writer, state))).final_output == "a"

    async def lenient(context: Context, output: str) -> None:
        try:
            await context.run(critic, output)
        except ModelError:
            return

    writer = writer_of("b", by=output_validator(lenient, agents=[critic]))
    assert (await Runner.run(writer, "go")).final_output == "b"


async def test_a_critic_that_never_fits_its_type_gets_its_feedback_turns_anew() -> None:
    critic = critic_of("no JSON", "no JSON", "no JSON", ACCEPTED)
    writer = writer_of("a", by=critic)
    with pytest.raises(InvalidOutputError, match="agent 'critic' does not fit 'Critique'") as caught:
        await Runner.run(writer, "go")
    state: Any = caught.value.state
    assert (await Runner.run(writer, reloaded(writer, state))).final_output == "a"
    assert (len(requests(writer)), len(requests(critic))) == (1, 4)


async def test_a_timeout_cuts_the_nested_run_which_goes_on_when_resumed() -> None:
    began, goes = asyncio.Event(), asyncio.Event()

    @function_tool(effect="none")
    async def look() -> str:
        """Look."""
        began.set()
        await goes.wait()
        return "looked"

    critic = critic_of(call("look"), "fine", tools=[look])
    writer = writer_of("a", by=asking(critic, timeout=0.05))
    with pytest.raises(CallbackError, match=r"did not answer within 0\.05 seconds") as caught:
        await Runner.run(writer, "go")
    assert began.is_set()
    goes.set()
    state: Any = caught.value.state
    assert (await Runner.run(writer, reloaded(writer, state))).final_output == "a"
    assert (len(requests(writer)), len(requests(critic))) == (1, 2)


async def test_cancelling_the_run_cancels_the_critic() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    @function_tool(effect="none")
    async def look() -> str:
        """Look."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    run = asyncio.create_task(Runner.run(writer_of("a", by=asking(critic_of(call("look"), tools=[look]))), "go"))
    await began.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert ended.is_set()


@pytest.mark.parametrize("stored", [False, True])
async def test_a_call_of_a_critic_that_needs_approval_waits_for_it(stored: bool) -> None:
    paid: list[int] = []

    @function_tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay for an opinion."""
        paid.append(amount)
        return "paid"

    critic = critic_of([call("pay", amount=1), call("pay", amount=2)], "fine", tools=[pay])
    writer = writer_of("a", by=asking(critic))
    config = RunConfig(store=MemoryRunStore(), run_id="r") if stored else RunConfig()
    result = await Runner.run(writer, "go", run_config=config)
    one, two = result.interruptions
    assert (one.tool_name, one.agent, one.path[0].split(":")[:2]) == ("pay", "critic", ["ask", "critic"])
    state = result.to_state() if stored else reloaded(writer, result.to_state())
    state.approve(one)
    state.reject(two)
    done = await Runner.run(writer, state, run_config=config)
    assert (done.final_output, paid, len(requests(writer))) == ("a", [1], 1)


async def test_each_decision_on_a_critics_call_counts_at_once() -> None:
    paid: list[int] = []

    @function_tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay for an opinion."""
        paid.append(amount)
        return "paid"

    critic = critic_of([call("pay", amount=1), call("pay", amount=2)], "fine", tools=[pay])
    writer = writer_of("a", by=asking(critic))
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    one, two = (await Runner.run(writer, "go", run_config=config)).interruptions
    for item, done in ((one, [1]), (two, [1, 2])):
        await Runner.decide("r", Decision(item.call_id, "approve", path=item.path), run_config=config)
        result = await Runner.drive(writer, "r", "go", run_config=config)
        assert paid == done
    assert result.final_output == "a"


async def test_a_run_that_waits_for_a_critic_is_left_alone_whatever_the_critics_name() -> None:
    asked: list[str] = []
    pay = function_tool(lambda: "paid", name_override="pay", needs_approval=True)
    other, critic = critic_of(), critic_of(call("pay"), "fine", name="critic:2", tools=[pay])

    async def ask(context: Context, output: str) -> None:
        asked.append(output)
        await context.run(critic, output)

    writer = writer_of("a", by=output_validator(ask, agents=[other, critic]))
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    for _ in range(2):
        assert len((await Runner.drive(writer, "r", "go", run_config=config)).interruptions) == 1
    assert asked == ["a"]


async def test_an_answer_that_a_critic_waits_for_is_its_default_once_it_is_late() -> None:
    @function_tool(external=True, timeout=5, default_answer=7)
    def weigh(x: int) -> int:
        """Weigh."""
        raise NotImplementedError

    now = [100.0]
    critic = critic_of(call("weigh", x=1), "fine", tools=[weigh])
    writer = writer_of("a", by=asking(critic))
    config = RunConfig(store=MemoryRunStore(), run_id="r", clock=_Clock(now))
    assert len((await Runner.run(writer, "go", run_config=config)).interruptions) == 1
    now[0] = 106.0
    assert (await Runner.resume(writer, "r", run_config=config)).final_output == "a"


class _Clock:
    def __init__(self, at: list[float]) -> None:
        self._at = at

    def time(self) -> float:
        return self._at[0]

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


async def test_a_run_that_a_validator_no_longer_asks_for_is_not_waited_for() -> None:
    asked: list[str] = []

    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    critic = critic_of(call("pay"), "fine", tools=[pay])

    async def ask(context: Context, output: str) -> None:
        asked.append(output)
        await context.run(critic, f"{output}, asked {len(asked)} times")

    writer = writer_of("a", by=output_validator(ask, agents=[critic]))
    state = (await Runner.run(writer, "go")).to_state()
    assert len(state.interruptions) == 1
    done = await Runner.run(writer, reloaded(writer, state))
    assert (done.final_output, done.interruptions, len(asked)) == ("a", [], 2)


@pytest.mark.parametrize("of", ["input", "output", "broken"])
async def test_guardrails_of_a_critic_stop_the_run(of: str) -> None:
    @output_guardrail
    def never(context: Any, agent: Any, output: object) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, True)

    @input_guardrail
    def breaks(context: Any, agent: Any, items: Any) -> GuardrailFunctionOutput:
        raise ConnectionError

    guards: Any = {"output_guardrails": [never]} if of == "output" else {"input_guardrails": [breaks]}
    critic = critic_of("fine", **guards)
    with pytest.raises(OutputGuardrailTripwireTriggered if of == "output" else GuardrailFailedError) as caught:
        await Runner.run(writer_of("a", by=asking(critic)), "go")
    state: Any = caught.value.state
    bare = writer_of("a", by=asking(critic_of("fine")))
    with pytest.raises(StateMismatchError, match=r"guardrail '(never|breaks)' of agent 'critic'"):
        await Runner.run(bare, RunState.from_string(bare, state.to_string()))


async def test_an_agent_that_is_not_declared_is_the_callers_fault() -> None:
    critic = critic_of("fine")

    async def ask(context: Context, output: str) -> None:
        await context.run(critic, output)

    with pytest.raises(UserError, match=r"ran agent 'critic', expected one of its agents \[\]"):
        await Runner.run(writer_of("a", by=output_validator(ask)), "go")


async def test_a_critic_may_not_be_nested_too_deep() -> None:
    writer = writer_of("a", by=asking(critic_of("fine")))
    with pytest.raises(UserError, match="expected at most 0 within each other"):
        await Runner.run(writer, "go", run_config=RunConfig(max_depth=0))


async def test_a_critic_has_validators_of_its_own() -> None:
    second = critic_of("fine", name="second")
    critic = critic_of("fine", output_validators=[asking(second)])
    result = await Runner.run(writer_of("a", by=asking(critic)), "go")
    assert (result.final_output, result.usage.requests) == ("a", 3)


async def test_two_agents_of_one_name_in_a_critics_run_are_the_callers_fault() -> None:
    twin = critic_of("fine")
    with pytest.raises(UserError, match="two agents are named 'critic'"):
        await Runner.run(writer_of("a", by=asking(critic_of("fine", handoffs=[twin]))), "go")


async def test_outside_a_run_nobody_can_be_asked() -> None:
    critic = critic_of("fine")
    context = ValidatorContext(None, Usage(), critic)
    with pytest.raises(UserError, match="is of no run"):
        await context.run(critic, "?")


async def test_a_reader_sees_the_critic_under_its_path() -> None:
    run = Runner.run_streamed(writer_of("a", by=asking(critic_of("fine"))), "go")
    said: dict[tuple[str, ...], str] = {}
    async for event in run.stream_events():
        if isinstance(event, RawResponsesStreamEvent) and event.data.type == "response.output_text.delta":
            path = tuple(one.rpartition(":")[0] for one in event.path)
            said[path] = said.get(path, "") + event.data.delta
    assert said == {(): "a", ("ask:critic",): "fine"}


async def test_a_replay_with_a_changed_critic_asks_it_anew() -> None:
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    writer = writer_of("dull", "bright", by=critic_of(rejected("no"), ACCEPTED))
    await Runner.run(writer, "go", run_config=config)
    same = await Runner.replay(writer, "r", change=writer.clone(), run_config=config)
    assert (same.divergence, same.asked, same.reused) == (None, 0, 4)
    milder = writer.clone(output_validators=[reviewed_by(critic_of(ACCEPTED, instructions="Be mild."))])
    other = await Runner.replay(writer, "r", change=milder, run_config=config)
    assert (other.final_output, other.asked) == ("dull", 1)
