"""Business rules of tools: asked about arguments that fit, before guardrails and persons; the model is told what they say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    MemoryRunStore,
    RunConfig,
    Runner,
    ToolContext,
    ToolGuardrailFunctionOutput,
    UserError,
    function_tool,
    tool_input_guardrail,
)
from agentsdk.errors import CallbackError, InvalidArgumentsError
from agentsdk.events import ToolsIntended
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ToolCheck
from tests.engine.recorded import stored

pytestmark = pytest.mark.anyio


def agent_with(tools: list[Any], *replies: Any) -> Agent[Any, Any]:
    return Agent("main", model=ScriptedModel([*replies, "done"]), tools=tools)


async def outputs_of(tools: list[Any], *calls: Any, context: Any = None) -> list[str]:
    result = await Runner.run(agent_with(tools, list(calls)), "go", context=context)
    assert result.final_output == "done"
    return [str(item.output) for item in result.to_state().items() if isinstance(item, FunctionCallOutput)]


def pay_tool(paid: list[int], check: Any, **options: Any) -> Any:
    def pay(amount: int) -> str:
        paid.append(amount)
        return f"paid {amount}"

    return function_tool(pay, check=check, **options)


def returns(ctx: ToolContext[Any], arguments: dict[str, Any]) -> str | None:
    return f"at most {ctx.context} may be paid" if arguments["amount"] > ctx.context else None


async def returns_later(ctx: ToolContext[Any], arguments: dict[str, Any]) -> str | None:
    await asyncio.sleep(0)
    return returns(ctx, arguments)


def raises(ctx: ToolContext[Any], arguments: dict[str, Any]) -> None:
    if message := returns(ctx, arguments):
        raise ValueError(message)


def raises_ours(ctx: ToolContext[Any], arguments: dict[str, Any]) -> None:
    if message := returns(ctx, arguments):
        raise InvalidArgumentsError(message)


@pytest.mark.parametrize("check", [returns, returns_later, raises, raises_ours])
async def test_the_model_is_told_what_a_check_says_and_the_rest_runs(check: ToolCheck[Any]) -> None:
    paid: list[int] = []
    tool = pay_tool(paid, check)
    assert await outputs_of([tool], call("pay", amount=9), call("pay", amount=3), context=5) == [
        "The call was not run: at most 5 may be paid",
        "paid 3",
    ]
    assert paid == [3]


async def test_checks_are_asked_in_order_until_one_says_something() -> None:
    asked: list[str] = []

    def first(ctx: ToolContext[Any], arguments: dict[str, Any]) -> str | None:
        asked.append("first")
        return "no" if arguments["amount"] == 1 else None

    def second(ctx: ToolContext[Any], arguments: dict[str, Any]) -> str | None:
        asked.append("second")
        return "never"

    tool = pay_tool([], [first, second])
    assert await outputs_of([tool], call("pay", amount=1)) == ["The call was not run: no"]
    assert await outputs_of([tool], call("pay", amount=2)) == ["The call was not run: never"]
    assert asked == ["first", "first", "second"]


async def test_the_layers_stand_in_one_order_and_what_stops_a_call_stops_the_questions() -> None:
    asked: list[str] = []

    def check(ctx: ToolContext[Any], arguments: dict[str, Any]) -> str | None:
        asked.append(f"check {arguments['amount']}")
        return "too much" if arguments["amount"] > 5 else None

    @tool_input_guardrail
    def guardrail(data: Any) -> ToolGuardrailFunctionOutput:
        asked.append(f"guardrail {data.context.tool_arguments}")
        return ToolGuardrailFunctionOutput.allow()

    def approval(ctx: Any, arguments: dict[str, Any], call_id: str) -> bool:
        asked.append(f"approval {arguments['amount']}")
        return False

    paid: list[int] = []
    tool = pay_tool(paid, check, tool_input_guardrails=[guardrail], needs_approval=approval)
    outputs = await outputs_of(
        [tool], FunctionCall("", "pay", "{"), call("pay", amount="nine"), call("pay", amount=9), call("pay", amount=3)
    )
    assert asked == ["check 9", "check 3", 'guardrail {"amount":3}', "approval 3"]
    assert paid == [3]
    assert [output.partition(":")[0] for output in outputs] == [
        "Error",
        "The call was not run. Its arguments do not fit the tool",
        "The call was not run",
        "paid 3",
    ]


async def test_a_check_gets_arguments_of_its_own() -> None:
    def spoil(ctx: ToolContext[Any], arguments: dict[str, Any]) -> None:
        arguments["amount"] = 1_000

    def see(ctx: ToolContext[Any], arguments: dict[str, Any]) -> None:
        seen.append(arguments["amount"])

    seen: list[int] = []
    paid: list[int] = []
    await outputs_of([pay_tool(paid, [spoil, see])], call("pay", amount=3))
    assert paid == seen == [3]


async def test_an_agent_as_tool_has_checks_too() -> None:
    def short(ctx: ToolContext[Any], arguments: dict[str, Any]) -> str | None:
        return "be brief" if len(arguments["input"]) > 5 else None

    helper = Agent("helper", model=ScriptedModel(["helped"]))
    outputs = await outputs_of([helper.as_tool(check=short)], call("helper", input="help me"), call("helper", input="help"))
    assert outputs == ["The call was not run: be brief", "helped"]


async def test_a_call_that_waited_for_a_person_is_checked_again_before_it_begins() -> None:
    paid: list[int] = []
    agent = agent_with([pay_tool(paid, returns, needs_approval=True)], call("pay", amount=3))
    result = await Runner.run(agent, "go", context=5)
    state = result.to_state()
    state.approve(state.interruptions[0])
    result = await Runner.run(agent, state, context=2)
    outputs = [item.output for item in result.to_state().items() if isinstance(item, FunctionCallOutput)]
    assert paid == [] and outputs == ["The call was not run: at most 2 may be paid"]


async def test_a_call_that_has_begun_is_not_checked_again() -> None:
    asked: list[int] = []

    def check(ctx: ToolContext[Any], arguments: dict[str, Any]) -> None:
        asked.append(arguments["amount"])

    agent = agent_with([pay_tool([], check, effect="idempotent")], call("pay", amount=3))
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    log = list((await Runner.run(agent, "go", run_config=config)).to_state().value.log)
    begun = next(at for at, event in enumerate(log) if isinstance(event, ToolsIntended)) + 1
    left = await stored(log[:begun])
    result = await Runner.resume(agent_with(list(agent.tools)), "r", run_config=left)
    assert result.final_output == "done" and asked == [3]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", "The call was not run: its arguments are not allowed."),
        ("a\ud800b\0c", "The call was not run: a\ufffdb\ufffdc"),
        ("x" * 3_000, "The call was not run: " + "x" * 1_975 + "..."),
    ],
    ids=["empty", "unstorable", "long"],
)
async def test_any_message_is_safe_text(said: str, told: str) -> None:
    assert await outputs_of([pay_tool([], lambda ctx, arguments: said)], call("pay", amount=1)) == [told]


def breaks(ctx: ToolContext[Any], arguments: dict[str, Any]) -> None:
    raise KeyError("secret")


def allows(ctx: ToolContext[Any], arguments: dict[str, Any]) -> Any:
    return True


@pytest.mark.parametrize(
    ("check", "error", "says"),
    [
        (breaks, CallbackError, "check of tool 'pay' raised KeyError"),
        (allows, UserError, "check of tool 'pay' returned 'bool', expected a message for the model, or None"),
    ],
)
async def test_a_check_that_is_wrong_ends_the_run_before_anything_begins(
    check: ToolCheck[Any], error: type[Exception], says: str
) -> None:
    paid: list[int] = []
    with pytest.raises(error, match=says) as caught:
        tools = [pay_tool(paid, check), pay_tool(paid, (), name_override="free")]
        await outputs_of(tools, call("free", amount=1), call("pay", amount=1))
    assert paid == [] and "secret" not in str(caught.value)


@pytest.mark.parametrize("make", [lambda: function_tool(print, check="no"), lambda: function_tool(print, check=["no"])])  # type: ignore[call-overload]
def test_what_is_no_check_is_refused_where_it_is_given(make: Callable[[], object]) -> None:
    with pytest.raises(UserError, match="expected a callable or a list of them"):
        make()
