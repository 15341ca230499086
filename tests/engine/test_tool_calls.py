from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from msgspec import UNSET
from pydantic import BaseModel, field_validator

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    FunctionTool,
    RunConfig,
    Runner,
    RunState,
    ToolApprovalItem,
    ToolContext,
    ToolError,
    ToolGuardrailFunctionOutput,
    ToolInDoubtItem,
    function_tool,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.core.state import fold
from agentsdk.errors import CallbackError, StateMismatchError, StateTamperedError
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import CallsInDoubt, ToolsIntended
from tests.scenarios import World, place_of, reloaded, tool_of

pytestmark = pytest.mark.anyio


def agent_with(tools: list[Any], *replies: Any, **fields: Any) -> Agent[Any, Any]:
    return Agent("main", model=ScriptedModel([*replies, "done"]), tools=tools, **fields)


async def results_of(tools: list[Any], *calls: Any, config: RunConfig = RunConfig()) -> list[FunctionCallOutput]:
    """The results of one reply with these calls, in order."""
    result = await Runner.run(agent_with(tools, list(calls)), "go", run_config=config)
    assert result.final_output == "done"
    return [item for item in result.to_state().items() if isinstance(item, FunctionCallOutput)]


async def test_results_stand_in_call_order_whichever_came_first() -> None:
    second = asyncio.Event()

    async def slow() -> str:
        await second.wait()
        return "slow"

    async def quick() -> str:
        second.set()
        return "quick"

    outputs = await results_of([function_tool(slow), function_tool(quick)], call("slow"), call("quick"))
    assert [output.output for output in outputs] == ["slow", "quick"]


@pytest.mark.parametrize(("cap", "most"), [(2, 2), (16, 5)])
async def test_at_most_so_many_calls_run_at_once(cap: int, most: int) -> None:
    running = peak = 0

    async def work() -> None:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1

    await results_of([function_tool(work)], *[call("work")] * 5, config=RunConfig(max_tool_concurrency=cap))
    assert peak == most


async def test_a_sync_body_does_not_hold_the_loop() -> None:
    released = threading.Event()

    def waits() -> str:
        return "released" if released.wait(10) else "never"

    async def releases() -> None:
        released.set()

    outputs = await results_of([function_tool(waits), function_tool(releases)], call("waits"), call("releases"))
    assert outputs[0].output == "released"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("{", "not valid JSON"),
        ("[1]", "an array"),
        ("null", "null"),
        ('{"x": 1, "x": 2}', "twice"),
        ('{"x": NaN}', "not finite"),
        ('{"x": ' + "[" * 100 + "]" * 100 + "}", "nest deeper"),
        ('{"x": "' + "a" * 1_100_000 + '"}', "characters"),
        ('{"x": "seven"}', "x"),
        ('{"y": 7}', "y"),
    ],
    ids=["cut", "array", "null", "twice", "nan", "deep", "huge", "type", "unknown"],
)
async def test_arguments_that_do_not_fit_go_back_to_the_model_and_nothing_runs(arguments: str, says: str) -> None:
    world = World()
    outputs = await results_of([tool_of(world, "add")], FunctionCall("", "add", arguments), call("add", x=1))
    assert outputs[0].is_error and says in str(outputs[0].output)
    assert len(str(outputs[0].output)) < 3_000
    assert outputs[1] == FunctionCallOutput("call_1_2", "add gave 1")
    assert sum(world.done.values()) == 1


async def test_an_unknown_tool_is_answered_with_those_there_are() -> None:
    outputs = await results_of([tool_of(World(), "add")], call("addd", x=1))
    assert outputs[0].is_error
    assert outputs[0].output == "Error: there is no tool named 'addd'. Tools there are: add."


async def test_surrogates_are_cleaned_in_both_directions() -> None:
    got: list[str] = []

    def echo(text: str) -> str:
        got.append(text)
        return f"{text}\ud800\0"

    outputs = await results_of([function_tool(echo)], FunctionCall("", "echo", '{"text": "a\\ud83d"}'))
    assert got == ["a\ufffd"]
    assert outputs[0].output == "a\ufffd\ufffd\ufffd"


async def test_any_result_becomes_safe_text() -> None:
    class Thing:
        pass

    cyclic: list[Any] = []
    cyclic.append(cyclic)
    values: list[Any] = [Thing(), cyclic, b"\xff\xfe", float("nan"), {"a": 1}, None]

    def give(i: int) -> Any:
        return values[i]

    outputs = await results_of([function_tool(give)], *[call("give", i=i) for i in range(len(values))])
    texts = [str(output.output) for output in outputs]
    assert texts[4:] == ['{"a":1}', "null"]
    assert not any("0x" in text for text in texts)
    assert "Thing" in texts[0] and "binary" in texts[2] and texts[3] == '"NaN"'


async def test_a_huge_result_is_cut_and_the_whole_kept_beside_the_state() -> None:
    agent = agent_with([function_tool(lambda: "x" * 20_000_000, name_override="huge")], call("huge"))
    result = await Runner.run(agent, "go", run_config=RunConfig(max_tool_result_chars=1_000))
    assert len(result.to_state().to_string()) < 5_000
    ((key, text),) = result.full_results.items()
    assert len(text) == 20_000_000
    assert key in str(result.to_input_list()[2]["output"])


async def test_a_body_that_changes_its_arguments_changes_only_its_copy() -> None:
    def spoil(values: list[int]) -> int:
        values.append(99)
        return len(values)

    agent = agent_with([function_tool(spoil)], call("spoil", values=[1]))
    result = await Runner.run(agent, "go")
    assert result.to_input_list()[1]["arguments"] == '{"values":[1]}'
    assert result.to_input_list()[2]["output"] == "2"


async def test_an_error_goes_to_the_model_and_siblings_finish() -> None:
    world = World()
    outputs = await results_of(
        [tool_of(world, "bad", fails=True), tool_of(world, "good", steps=5)], call("bad"), call("good", x=1)
    )
    assert outputs[0] == FunctionCallOutput("call_1_1", "Error while running the tool: ValueError: no bad today", True)
    assert outputs[1] == FunctionCallOutput("call_1_2", "good gave 1")


async def test_a_timeout_goes_to_the_model() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    outputs = await results_of([function_tool(forever, timeout=0.01)], call("forever"))
    assert outputs[0].is_error and "passed its timeout of 0.01 seconds" in str(outputs[0].output)


async def test_without_an_error_function_an_error_ends_the_run_after_its_siblings() -> None:
    world = World()

    def breaks() -> None:
        raise ValueError("secret")

    tools = [function_tool(breaks, failure_error_function=None), tool_of(world, "pay", steps=5)]
    agent = agent_with(tools, [call("breaks"), call("pay", x=1)])
    with pytest.raises(ToolError, match="'breaks' raised ValueError") as caught:
        await Runner.run(agent, "go")
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)
    assert isinstance(caught.value.state, RunState)
    result = await Runner.run(agent, reloaded(agent, caught.value.state))
    assert result.final_output == "done"
    outputs = [item["output"] for item in result.to_input_list() if item["type"] == "function_call_output"]
    assert outputs == ["Error while running the tool: ToolError", "pay gave 1"]
    assert sum(world.done.values()) == 1


async def test_an_error_function_that_raises_is_typed() -> None:
    def tell(ctx: Any, error: Exception) -> str:
        raise KeyError

    agent = agent_with([tool_of(World(), "bad", fails=True, failure_error_function=tell)], call("bad"))
    with pytest.raises(CallbackError, match="failure_error_function of tool 'bad'") as caught:
        await Runner.run(agent, "go")
    assert isinstance(caught.value.state, RunState)


# Approvals.


async def paused(tools: list[Any], *calls: Any) -> tuple[Agent[Any, Any], RunState]:
    agent = agent_with(tools, list(calls))
    result = await Runner.run(agent, "go", run_config=RunConfig(run_id="r"))
    assert result.interruptions
    return agent, reloaded(agent, result.to_state())


async def test_a_rule_sees_the_parsed_arguments_and_one_that_raises_is_typed() -> None:
    seen: list[Any] = []

    async def rule(ctx: Any, arguments: dict[str, Any], call_id: str) -> bool:
        seen.append((arguments, call_id))
        return arguments["x"] > 1

    world = World()
    _, state = await paused([tool_of(world, "pay", needs_approval=rule)], call("pay", x=1), call("pay", x=2))
    assert seen == [({"x": 1}, "call_1_1"), ({"x": 2}, "call_1_2")]
    assert [(item.tool_name, item.arguments) for item in state.interruptions] == [("pay", '{"x":2}')]
    assert list(world.done) == ["r/call_1_1"]

    def broken(ctx: Any, arguments: dict[str, Any], call_id: str) -> bool:
        raise KeyError

    with pytest.raises(CallbackError, match="needs_approval of tool 'pay'"):
        await Runner.run(agent_with([tool_of(world, "pay", needs_approval=broken)], call("pay", x=1)), "go")


async def test_a_rejected_call_tells_the_model_why() -> None:
    world = World()
    agent, state = await paused([tool_of(world, "pay", needs_approval=True)], call("pay", x=1))
    state.reject(state.interruptions[0], reason="too much")
    result = await Runner.run(agent, state)
    assert result.to_input_list()[2]["output"] == "The call was not approved, so it was not run. Reason: too much"
    assert not world.done


async def test_an_undecided_pause_asks_nothing_and_runs_nothing() -> None:
    world = World()
    agent, state = await paused([tool_of(world, "pay", needs_approval=True), tool_of(world, "look")], call("pay"), call("look"))
    for _ in range(3):
        again = await Runner.run(agent, state)
        assert [type(item) for item in again.interruptions] == [ToolApprovalItem]
        state = again.to_state()
    assert sum(world.done.values()) == 1


async def test_invalid_arguments_never_wait_for_a_person() -> None:
    tools = [tool_of(World(), "pay", needs_approval=True)]
    outputs = await results_of(tools, FunctionCall("", "pay", '{"x": 1, "x": 2}'))
    assert outputs[0].is_error


async def test_an_approval_does_not_cover_other_arguments() -> None:
    world = World()
    agent, state = await paused([tool_of(world, "pay", needs_approval=True)], call("pay", x=1))
    state.approve(state.interruptions[0])
    tampered = RunState.from_string(agent, state.to_string().replace('{\\"x\\":1}', '{\\"x\\":1000}'))
    with pytest.raises(StateTamperedError, match="'call_1_1'"):
        await Runner.run(agent, tampered)
    assert not world.done


async def test_a_decided_call_whose_tool_is_gone_is_a_mismatch() -> None:
    agent, state = await paused([tool_of(World(), "pay", needs_approval=True)], call("pay", x=1))
    with pytest.raises(StateMismatchError, match="no longer has"):
        await Runner.run(agent.clone(tools=[]), state)


# Calls in doubt.


async def in_doubt(tool: Any) -> tuple[Agent[Any, Any], RunState]:
    """A run that was lost while its one call ran."""
    agent = agent_with([tool], call("pay", x=1))
    done = await Runner.run(agent, "go", run_config=RunConfig(run_id="r"))
    log = list(done.to_state().value.log)
    cut = next(n for n, event in enumerate(log, 1) if isinstance(event, ToolsIntended))
    return agent.clone(model=ScriptedModel(["done"])), RunState(fold(log[:cut]))


async def test_a_call_in_doubt_waits_and_can_be_retried() -> None:
    world = World()
    agent, state = await in_doubt(tool_of(world, "pay"))
    result = await Runner.run(agent, state)
    (item,) = result.interruptions
    assert isinstance(item, ToolInDoubtItem)
    assert sum(world.done.values()) == 1
    state = reloaded(agent, result.to_state())
    assert [event for event in state.value.log if isinstance(event, CallsInDoubt)] == [CallsInDoubt(("call_1_1",))]
    state.retry(state.interruptions[0])
    assert (await Runner.run(agent, state)).final_output == "done"
    assert world.done == {"r/call_1_1": 2}, "the same key both times"


async def test_reconcile_settles_a_call_in_doubt_and_one_that_raises_is_typed() -> None:
    world = World()

    async def known(ctx: ToolContext[Any], arguments: dict[str, Any]) -> dict[str, Any]:
        return {"key": place_of(ctx), "paid": arguments["x"]}

    agent, state = await in_doubt(tool_of(world, "pay", reconcile=known))
    result = await Runner.run(agent, state)
    assert result.to_input_list()[2]["output"] == '{"key":"r/call_1_1","paid":1}'
    assert sum(world.done.values()) == 1

    def unknown(ctx: ToolContext[Any], arguments: dict[str, Any]) -> str:
        raise ConnectionError("the bank is closed")

    agent, state = await in_doubt(tool_of(World(), "pay", reconcile=lambda ctx, arguments: UNSET))
    assert isinstance((await Runner.run(agent, state)).interruptions[0], ToolInDoubtItem), "it does not know either"

    agent, state = await in_doubt(tool_of(World(), "pay", reconcile=unknown))
    with pytest.raises(CallbackError, match="reconcile of tool 'pay'") as caught:
        await Runner.run(agent, state)
    assert isinstance(caught.value.state, RunState)


class EvenOnly(BaseModel):
    """A parameter with a business rule."""

    n: int

    @field_validator("n")
    @classmethod
    def _even(cls, n: int) -> int:
        if n % 2:
            raise ValueError("only even numbers are for sale")
        return n


def watched_tool(asked: list[str], **options: Any) -> Any:
    """A tool that notes who is asked about a call, in order."""

    @tool_input_guardrail
    def before(data: Any) -> ToolGuardrailFunctionOutput:
        asked.append("tool input guardrail")
        return ToolGuardrailFunctionOutput.allow()

    @tool_output_guardrail
    def after(data: Any) -> ToolGuardrailFunctionOutput:
        asked.append("tool output guardrail")
        return ToolGuardrailFunctionOutput.allow()

    def rule(ctx: Any, arguments: Any, call_id: str) -> bool:
        asked.append("approval rule")
        assert arguments["deal"]["n"] % 2 == 0
        return True

    def buy(deal: EvenOnly) -> str:
        asked.append("body")
        return f"bought {deal.n}"

    guardrails: dict[str, Any] = {"tool_input_guardrails": [before], "tool_output_guardrails": [after]}
    return function_tool(buy, needs_approval=rule, **guardrails, **options)


@pytest.mark.parametrize("tell", ["default", "none", "custom"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("{", "not valid JSON"),
        ('{"deal": {"n": 2}, "deal": {"n": 2}}', "twice"),
        ('{"deal": {"n": "2"}}', "deal.n"),
        ("{}", "deal: Field required"),
        ('{"deal": {"n": 2}, "price": 1}', "price: unknown"),
        ('{"deal": {"n": 3}}', "only even numbers are for sale"),
    ],
    ids=["json", "json twice", "type", "missing", "unknown", "business rule"],
)
async def test_arguments_that_do_not_fit_are_the_models_alone(arguments: str, says: str, tell: str) -> None:
    asked: list[str] = []
    options: dict[str, Any] = {
        "default": {},
        "none": {"failure_error_function": None},
        "custom": {"failure_error_function": lambda ctx, error: f"told: {error}"},
    }[tell]
    tool = watched_tool(asked, **options)
    (output,) = await results_of([tool], FunctionCall("", "buy", arguments))
    assert output.is_error and says in str(output.output) and not asked


async def test_a_call_takes_its_steps_in_one_order_in_one_process_or_many() -> None:
    asked: list[str] = []
    buy = call("buy", deal={"n": 2})
    agent = agent_with([watched_tool(asked)], buy)
    state = (await Runner.run(agent, "go")).to_state()
    state.approve(state.interruptions[0])
    asked.append("person")
    assert (await Runner.run(agent, state)).final_output == "done"
    steps = ["tool input guardrail", "approval rule", "person", "body", "tool output guardrail"]
    assert asked == steps
    log = list(state.value.log)
    for length in range(2, len(log)):
        asked.clear()
        agent = agent_with([watched_tool(asked)])
        state = (await Runner.run(agent, reloaded(agent, RunState(fold(log[:length]))))).to_state()
        if state.interruptions:
            state.approve(state.interruptions[0])
            asked.append("person")
            await Runner.run(agent, reloaded(agent, state))
        assert asked == steps[len(steps) - len(asked) :], f"cut after event {length}"


async def test_the_body_gets_what_was_checked_and_nobody_can_change_it_on_the_way() -> None:
    checks: list[int] = []

    class Counted(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def _counted(cls, n: int) -> int:
            checks.append(n)
            return n

    def rule(ctx: Any, arguments: Any, call_id: str) -> bool:
        arguments["deal"]["n"] = 99
        return False

    def buy(deal: Counted) -> str:
        return f"bought {deal.n}"

    (output,) = await results_of([function_tool(buy, needs_approval=rule)], call("buy", deal={"n": 2}))
    assert output.output == "bought 2" and checks == [2]


async def test_a_validator_that_breaks_is_an_error_of_the_tool() -> None:
    class Broken(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def _broken(cls, n: int) -> int:
            raise KeyError("prices")

    def buy(deal: Broken) -> str:
        raise AssertionError("run")

    (output,) = await results_of([function_tool(buy)], call("buy", deal={"n": 2}))
    assert output.is_error and "KeyError" in str(output.output)
    with pytest.raises(ToolError, match="'buy' raised KeyError"):
        await results_of([function_tool(buy, failure_error_function=None)], call("buy", deal={"n": 2}))


async def test_a_hand_made_tool_is_called_with_what_its_schema_takes() -> None:
    got: list[str] = []

    async def body(ctx: Any, arguments: str) -> str:
        got.append(arguments)
        return "ok"

    schema: Any = {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
        "additionalProperties": False,
    }
    tool: Any = FunctionTool("hand", "By hand.", schema, body)
    outputs = await results_of([tool], call("hand", x="7"), call("hand"), call("hand", x=1, y=2), call("hand", x=7))
    assert got == ['{"x":7}']
    assert [output.is_error for output in outputs] == [True, True, True, False]
    assert "x: expected an integer, got a string of 1 characters" in str(outputs[0].output)
    assert "x: missing, expected an integer" in str(outputs[1].output)
    assert "y: unknown, expected only ['x']" in str(outputs[2].output)
