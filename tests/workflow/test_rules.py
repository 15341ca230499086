"""Rules between an agent and code: of a step's arguments, and of an agent's output, which is told why and answers again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsdk import Agent, MemoryRunStore, ModelRequest, RunConfig, Runner, UserError
from agentsdk.errors import StepFailedError, WorkflowChangedError
from agentsdk.events import OutputValidated, StepBegan, ToolAttemptFailed, ToolFinished
from agentsdk.output import ModelRetry
from agentsdk.testing import ScriptedModel, call, workflow_check
from agentsdk.tools import function_tool
from agentsdk.workflow import Workflow, flow, step, workflow

pytestmark = pytest.mark.anyio

done: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    done.clear()


def fits_ledger(cents: int) -> None:
    done.append(f"judged {cents}")
    if cents > 1000:
        raise ValueError(f"{cents} is over 1000")


async def fits_soon(cents: int) -> None:
    await asyncio.sleep(0)
    fits_ledger(cents)


def steps_of(effect: Any, rule: Any) -> Workflow[int, str]:
    @step(effect=effect, check=rule)
    async def pay(cents: int) -> str:
        done.append(f"paid {cents}")
        return f"paid {cents}"

    @workflow
    async def program(cents: int) -> str:
        try:
            return await pay(cents=cents)
        except StepFailedError as error:
            return f"{error.step}: {error.error_type}, {error.detail}"

    return program


@pytest.mark.parametrize("effect", ["none", "idempotent", "once"])
@pytest.mark.parametrize("rule", [fits_ledger, fits_soon])
async def test_a_step_whose_arguments_a_rule_refuses_has_failed_without_a_body(effect: Any, rule: Any) -> None:
    program = steps_of(effect, rule)
    assert (await program.run(7)).final_output == "paid 7"
    result = await program.run(2000, run_config=RunConfig(store=MemoryRunStore(), run_id="r"))
    assert result.final_output == "pay: ValueError, 2000 is over 1000"
    assert done == ["judged 7", "paid 7", "judged 2000"], "once each, and no attempt"
    log = result.to_state().value.log
    at = next(number for number, event in enumerate(log) if isinstance(event, StepBegan))
    assert isinstance(log[at + 1], ToolFinished) and not any(isinstance(event, ToolAttemptFailed) for event in log)
    await workflow_check(program, 2000)


async def test_a_rule_that_was_cut_is_asked_again_and_nothing_is_in_doubt() -> None:
    asked: list[int] = []

    async def hangs_once(x: int) -> None:
        asked.append(x)
        if len(asked) == 1:
            running.cancel()
            await asyncio.Event().wait()

    @step(check=hangs_once)
    async def pay(x: int) -> int:
        return x

    @workflow
    async def program(x: int) -> int:
        return await pay(x)

    config = RunConfig(store=MemoryRunStore(), run_id="r")
    running = asyncio.create_task(program.run(1, run_config=config))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await program.resume("r", run_config=config)).final_output == 1
    assert asked == [1, 1]


async def test_a_rule_has_the_time_of_its_step() -> None:
    async def hangs(x: int) -> None:
        await asyncio.Event().wait()

    @step(check=hangs, timeout=0.001)
    async def pay(x: int) -> str:
        return "paid"

    @workflow
    async def program(x: int) -> str:
        try:
            return await pay(x)
        except StepFailedError as error:
            return error.error_type

    assert (await program.run(1)).final_output == "TimeoutError"


@pytest.mark.parametrize("of_agent", [True, False])
async def test_a_rule_that_returns_something_ends_the_run(of_agent: bool) -> None:
    def is_small(x: int) -> Any:
        return x < 10

    @step(check=is_small)
    async def pay(x: int) -> int:
        return x

    guesser = Agent(name="Guesser", output_type=int, model=ScriptedModel(['{"response": 77}']))

    @workflow
    async def program(x: int) -> int:
        return await (flow.agent(guesser, "?", check=is_small) if of_agent else pay(x))

    with pytest.raises(UserError, match="check 'is_small' returned 'bool', expected None where it accepts; raise"):
        await program.run(77)


def asking(outputs: list[str], rule: Any = fits_ledger, **fields: Any) -> tuple[Workflow[int, Any], ScriptedModel]:
    model = ScriptedModel([f'{{"response": {output}}}' for output in outputs])
    guesser = Agent(name="Guesser", output_type=int, model=model, **fields)

    @workflow
    async def program(x: int) -> Any:
        try:
            return await flow.agent(guesser, "How much?", check=rule)
        except StepFailedError as error:
            return [error.error_type, error.detail]

    return program, model


@pytest.mark.parametrize("rule", [fits_ledger, fits_soon])
async def test_an_agent_whose_output_a_rule_refuses_is_told_why_and_answers_again(rule: Any) -> None:
    program, model = asking(["2000", "1500", "900"], rule, max_output_retries=2)
    result = await program.run(1)
    assert result.final_output == 900
    told = "Your answer was not taken: {} is over 1000\nAnswer again, with nothing but the corrected JSON."
    assert [_last_text(request) for request in model.requests[1:]] == [told.format(2000), told.format(1500)]
    await workflow_check(asking(["2000", "900"], rule)[0], 1)


async def test_an_agent_that_is_told_in_vain_fails_its_step() -> None:
    program, _ = asking(["2000", "1500", "1200"], max_output_retries=2)
    said, why = (await program.run(1)).final_output
    assert (said, why.endswith("is required of it. 1200 is over 1000")) == ("InvalidOutputError", True)


async def test_a_rule_may_say_what_the_model_is_told_and_one_that_says_nothing_is_named() -> None:
    def refuses(cents: int) -> None:
        if cents > 10:
            raise ModelRetry("Less.") if cents < 100 else ZeroDivisionError

    program, model = asking(["200", "20", "2"], refuses, max_output_retries=2)
    assert (await program.run(1)).final_output == 2
    assert [_last_text(request).split(chr(10))[0] for request in model.requests[1:]] == [
        "Your answer was not taken: ZeroDivisionError",
        "Your answer was not taken: Less.",
    ]


async def test_the_rule_of_a_step_is_one_for_an_agent_too_and_is_asked_once_about_each_output() -> None:
    @step(check=fits_ledger)
    async def pay(cents: int) -> str:
        return f"paid {cents}"

    sums = ScriptedModel(['{"response": 5000}', '{"response": 50}'])
    guesser = Agent(name="Guesser", output_type=int, model=sums)

    @workflow
    async def program(x: int) -> str:
        cents = await flow.agent(guesser, "How much?", check=pay.check)
        return await pay(cents) if await flow.ask("Pay?") else ""

    config = RunConfig(store=MemoryRunStore(), run_id="r")
    await program.run(1, run_config=config)
    state = await Runner.load("r", run_config=config)
    state.answer(state.interruptions[0], True)
    await Runner.decide(state, run_config=config)
    assert (await program.resume("r", run_config=config)).final_output == "paid 50"
    assert done == ["judged 5000", "judged 50", "judged 50"]


async def test_a_rule_judges_whichever_agent_gives_the_output() -> None:
    expert = Agent(name="Expert", output_type=int, model=ScriptedModel(['{"response": 5000}', '{"response": 5}']))
    desk = Agent(name="Desk", output_type=int, handoffs=[expert], model=ScriptedModel([call("transfer_to_expert")]))

    @workflow
    async def program(x: int) -> int:
        return await flow.agent(desk, "How much?", check=fits_ledger)

    result = await program.run(1)
    assert (result.final_output, done) == (5, ["judged 5000", "judged 5"])
    assert "OutputValidated" not in {type(event).__name__ for event in result.to_state().value.log}, "it is nested"
    assert [event.event.validator for event in _nested(result, OutputValidated)] == ["fits_ledger"] * 2


async def test_a_run_does_not_go_on_without_a_rule_that_it_was_begun_with() -> None:
    rules: list[Any] = [fits_ledger]

    @function_tool(needs_approval=True)
    def look() -> str:
        return "5000"

    def build() -> Workflow[int, int]:
        guesser = Agent(
            name="Guesser", output_type=int, tools=[look], model=ScriptedModel([call("look"), '{"response": 5000}'])
        )

        @workflow(name="program")
        async def program(x: int) -> int:
            return await flow.agent(guesser, "How much?", check=rules[0])

        return program

    state = (await build().run(1)).to_state()
    state.approve(state.interruptions[0])
    rules[0] = None
    with pytest.raises(WorkflowChangedError, match="step 'Guesser' otherwise than is recorded: its arguments, or what guards"):
        await Runner.run(build(), state)


async def test_a_workflow_as_an_agent_takes_no_rule() -> None:
    program = asking(["1"])[0]

    @workflow
    async def outer(x: int) -> Any:
        return await flow.agent(program, "1", check=fits_ledger)

    with pytest.raises(UserError, match=r"was given check= for the workflow .program., expected it for agents"):
        await outer.run(1)


async def test_what_a_tool_of_an_agent_calls_is_no_step() -> None:
    @step(effect="none")
    async def fetch() -> str:
        done.append("fetched")
        return "x"

    @function_tool
    async def look() -> str:
        """Look."""
        return await fetch()

    async def judges(said: str) -> None:
        await fetch()

    clerk = Agent(name="Clerk", tools=[look], model=ScriptedModel([call("look"), "Seen."]))

    @workflow
    async def program(x: int) -> str:
        return await flow.agent(clerk, "go", check=judges)

    result = await program.run(1)
    assert [event.call_id for event in result.to_state().value.log if isinstance(event, StepBegan)] == ["Clerk"]
    assert done == ["fetched", "fetched"]


def _last_text(request: ModelRequest) -> str:
    return str(getattr(request.items[-1], "content", ""))


def _nested(result: Any, kind: type[Any]) -> list[Any]:
    from agentsdk.events import Nested

    return [event for event in result.to_state().value.log if isinstance(event, Nested) and isinstance(event.event, kind)]
