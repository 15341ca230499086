"""`ask_user`: the model asks a person, who answers in their own words or chooses."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Agent, RunConfig, Runner, RunState, ToolAnswerItem, UserError
from agentsdk.items import FunctionCallOutput
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ask_user
from tests.models.wire import FakeClock

pytestmark = pytest.mark.anyio


async def asked(*replies: Any, tool: Any = ask_user, config: RunConfig | None = None) -> tuple[Agent[Any, Any], RunState]:
    agent = Agent("clerk", model=ScriptedModel([*replies, "thank you"]), tools=[tool])
    return agent, (await Runner.run(agent, "go", run_config=config)).to_state()


def answers(state: RunState) -> list[object]:
    return [item.output for item in state.items() if isinstance(item, FunctionCallOutput)]


async def test_the_model_asks_and_a_person_answers_in_their_own_words() -> None:
    agent, state = await asked(call("ask_user", question="What is your name?"))
    (item,) = state.interruptions
    assert isinstance(item, ToolAnswerItem)
    assert (item.question, item.choices, item.answer_schema) == ("What is your name?", (), {"type": "string"})
    state.answer(item, "Ada")
    result = await Runner.run(agent, state)
    assert (result.final_output, answers(result.to_state())) == ("thank you", ["Ada"])
    _, state = await asked(call("ask_user", question="What is your name?"))
    with pytest.raises(UserError, match="expected a string, got an integer"):
        state.answer(item, 3)


async def test_only_a_choice_is_an_answer_where_there_are_some() -> None:
    agent, state = await asked(call("ask_user", question="Tea?", choices=["yes", "no", "yes"]))
    (item,) = state.interruptions
    assert isinstance(item, ToolAnswerItem)
    assert (item.question, item.choices) == ("Tea?", ("yes", "no"))
    for wrong in ("perhaps", "", "YES", None, ["yes"]):
        with pytest.raises(UserError, match=r"expected one of \['yes', 'no'\]; give one of item.choices"):
            state.answer(item, wrong)
    state.answer(item, "no")
    assert answers((await Runner.run(agent, state)).to_state()) == ["no"]


@pytest.mark.parametrize("choices", [None, []])
async def test_no_choices_are_none(choices: Any) -> None:
    agent, state = await asked(call("ask_user", question="Tea?", choices=choices))
    (item,) = state.interruptions
    assert isinstance(item, ToolAnswerItem) and item.choices == ()
    state.answer(item, "later")
    assert answers((await Runner.run(agent, state)).to_state()) == ["later"]


@pytest.mark.parametrize("arguments", [{}, {"question": 1}, {"question": "Tea?", "choices": "yes"}])
async def test_a_question_that_is_none_goes_back_to_the_model(arguments: dict[str, Any]) -> None:
    _, state = await asked(call("ask_user", **arguments))
    assert state.is_finished
    assert "Its arguments do not fit the tool" in str(answers(state))


async def test_a_copy_asks_under_another_name_and_has_a_default() -> None:
    clock = FakeClock()
    config = RunConfig(clock=clock)
    tool = ask_user.clone(name="ask_manager", description="Ask the manager.", timeout=5, default_answer="as you like")
    question = call("ask_manager", question="May I?", choices=["yes", "no"])
    agent, state = await asked(question, tool=tool, config=config)
    (item,) = state.interruptions
    assert isinstance(item, ToolAnswerItem) and item.question == "May I?"
    clock.now += 5
    result = await Runner.run(agent, state, run_config=config)
    assert answers(result.to_state()) == ["as you like"], "the default is the program's, whatever the model offers"


def test_the_model_is_told_when_to_ask() -> None:
    assert ask_user.description == (
        "Ask the user a question and wait for the answer. Ask only what you cannot find out otherwise."
    )
    properties: Any = ask_user.params_json_schema["properties"]
    assert list(properties) == ["question", "choices"]
