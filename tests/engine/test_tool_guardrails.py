from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    InputImage,
    InputText,
    MemorySession,
    Message,
    ModelResponse,
    RunConfig,
    Runner,
    RunState,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
    function_tool,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.core.state import WITHHELD, fold
from agentsdk.errors import GuardrailFailedError, StateMismatchError
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import (
    ApprovalJudged,
    GuardrailJudged,
    ModelReplied,
    RunEvent,
    RunStarted,
    ToolFinished,
    ToolsIntended,
)
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio

ALLOW = ToolGuardrailFunctionOutput.allow()


def before(verdict: Any, seen: list[Any] | None = None) -> Any:
    @tool_input_guardrail
    async def before(data: Any) -> Any:
        await asyncio.sleep(0)
        if seen is not None:
            seen.append((data.context.tool_name, data.context.tool_arguments, data.agent.name))
        return verdict(data) if callable(verdict) else verdict

    return before


def after(verdict: Any, seen: list[Any] | None = None) -> Any:
    @tool_output_guardrail
    def after(data: Any) -> Any:
        if seen is not None:
            seen.append(data.output)
        return verdict(data) if callable(verdict) else verdict

    return after


def agent_with(world: World, *calls: Any, siblings: list[Any] | None = None, **guardrails: Any) -> Agent[Any, Any]:
    look = tool_of(world, "look", "none", **guardrails)
    return Agent("main", model=ScriptedModel([list(calls), "done"]), tools=[look, *(siblings or [])])


def outputs(result: Any) -> list[Any]:
    return [item for item in result.to_state().items() if isinstance(item, FunctionCallOutput)]


async def test_allow_lets_the_call_and_its_result_pass() -> None:
    seen: list[Any] = []
    agent = agent_with(
        World(), call("look", x=1), tool_input_guardrails=[before(ALLOW, seen)], tool_output_guardrails=[after(ALLOW, seen)]
    )
    result = await Runner.run(agent, "go")
    assert seen == [("look", '{"x":1}', "main"), "look gave 1"]
    assert outputs(result)[0].output == "look gave 1"


async def test_a_rejected_call_is_not_run_and_the_model_is_told() -> None:
    world = World()
    reject = ToolGuardrailFunctionOutput.reject_content("not that one")
    seen: list[Any] = []
    agent = agent_with(world, call("look", x=1), tool_input_guardrails=[before(reject), before(ALLOW, seen)])
    result = await Runner.run(agent, "go")
    assert outputs(result) == [FunctionCallOutput("call_1_1", "not that one", True)]
    assert not world.done and not seen


async def test_a_rejected_result_is_hidden_from_the_model() -> None:
    world = World()
    agent = agent_with(
        world, call("look", x=1), tool_output_guardrails=[after(ToolGuardrailFunctionOutput.reject_content("[hidden]"))]
    )
    result = await Runner.run(agent, "go")
    assert [item.output for item in outputs(result)] == ["[hidden]"]
    assert sum(world.done.values()) == 1
    assert "look gave" not in str(result.new_items) + str(result.to_input_list())
    assert "look gave 1" in result.to_state().to_string()  # the log keeps what the tool gave


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
async def test_an_input_trip_runs_no_call_and_is_raised_again(streamed: bool) -> None:
    async def run(agent: Any, given: Any) -> Any:
        return await (Runner.run_streamed(agent, given) if streamed else Runner.run(agent, given))

    world = World()
    seen: list[Any] = []
    stop = ToolGuardrailFunctionOutput.raise_exception({"why": "no"})
    agent = agent_with(
        world, call("look", x=1), call("pay", x=2), siblings=[tool_of(world, "pay")], tool_input_guardrails=[before(stop, seen)]
    )
    with pytest.raises(
        ToolInputGuardrailTripwireTriggered, match="'before' stopped the run at a call of tool 'look'"
    ) as caught:
        await run(agent, "go")
    result: Any = caught.value.guardrail_result
    assert result.output.output_info == {"why": "no"}
    assert isinstance(caught.value.state, RunState)
    with pytest.raises(ToolInputGuardrailTripwireTriggered):
        await run(agent, reloaded(agent, caught.value.state))
    assert len(seen) == 1 and not world.done


async def test_an_output_trip_lets_siblings_finish_and_is_raised_again() -> None:
    world = World()
    seen: list[Any] = []
    stop = ToolGuardrailFunctionOutput.raise_exception("secret")
    agent = agent_with(
        world,
        call("look", x=1),
        call("pay", x=2),
        siblings=[tool_of(world, "pay", steps=5)],
        tool_output_guardrails=[after(stop, seen)],
    )
    with pytest.raises(ToolOutputGuardrailTripwireTriggered, match="tool output guardrail 'after'") as caught:
        await Runner.run(agent, "go")
    result: Any = caught.value.guardrail_result
    assert result.output.output_info == "secret"
    state = caught.value.state
    assert isinstance(state, RunState)
    assert FunctionCallOutput("call_1_2", "pay gave 2") in state.items()
    assert "look gave 1" not in str(state.to_input_list())
    for _ in range(2):
        with pytest.raises(ToolOutputGuardrailTripwireTriggered):
            await Runner.run(agent, reloaded(agent, state))
    assert len(seen) == 1 and sum(world.done.values()) == 2
    state.replace_input("another way")
    repaired = agent.clone(model=ScriptedModel(["fine"]))
    assert (await Runner.run(repaired, state)).final_output == "fine"


async def test_a_guardrail_that_raises_fails_closed() -> None:
    world = World()

    def broken(data: Any) -> Any:
        raise ConnectionError

    agent = agent_with(world, call("look", x=1), tool_input_guardrails=[before(broken)])
    with pytest.raises(GuardrailFailedError, match="tool input guardrail 'before' raised ConnectionError") as caught:
        await Runner.run(agent, "go")
    assert not world.done
    assert isinstance(caught.value.state, RunState)
    repaired = agent_with(world, tool_input_guardrails=[before(ALLOW)]).clone(model=ScriptedModel(["done"]))
    result = await Runner.run(repaired, reloaded(repaired, caught.value.state))
    assert outputs(result)[0].output == "look gave 1"

    agent = agent_with(world, call("look", x=1), tool_output_guardrails=[after("yes")])
    with pytest.raises(GuardrailFailedError, match="returned 'str'"):
        await Runner.run(agent, "go")


async def test_guardrails_come_before_the_approval_and_are_asked_once() -> None:
    world = World()
    seen: list[Any] = []
    agent = agent_with(world, call("look", x=1), needs_approval=True, tool_input_guardrails=[before(ALLOW, seen)])
    state = (await Runner.run(agent, "go")).to_state()
    assert len(seen) == 1 and not world.done
    state = reloaded(agent, state)
    state.approve(state.interruptions[0])
    assert (await Runner.run(agent, state)).final_output == "done"
    assert len(seen) == 1 and sum(world.done.values()) == 1


async def test_a_person_is_not_asked_about_a_call_that_a_guardrail_rejects() -> None:
    reject = ToolGuardrailFunctionOutput.reject_content("not that one")
    world = World()
    agent = agent_with(world, call("look", x=1), needs_approval=True, tool_input_guardrails=[before(reject)])
    result = await Runner.run(agent, "go")
    assert result.final_output == "done"
    assert outputs(result) == [FunctionCallOutput("call_1_1", "not that one", True)]
    assert not world.done


def named_alike(kind: str, asked: list[str], refuses: str = "") -> dict[str, Any]:
    """Three guardrails of one name, as a factory makes them; `refuses` names the one that does."""

    def make(word: str) -> Any:
        def check(data: Any) -> ToolGuardrailFunctionOutput:
            asked.append(word)
            return ToolGuardrailFunctionOutput.reject_content(f"{word} says no") if word == refuses else ALLOW

        return tool_input_guardrail(check) if kind == "tool_input" else tool_output_guardrail(check)

    return {f"{kind}_guardrails": [make(word) for word in ("one", "two", "three")]}


@pytest.mark.parametrize("refuses", ["one", "two", "three", ""])
@pytest.mark.parametrize("kind", ["tool_input", "tool_output"])
async def test_guardrails_of_one_name_are_each_asked_however_the_run_was_cut(kind: str, refuses: str) -> None:
    world, asked = World(), list[str]()
    agent = agent_with(world, call("look", x=1), **named_alike(kind, asked, refuses))
    uncut = await Runner.run(agent, "go")
    log = list(uncut.to_state().value.log)
    expected = list(asked)
    assert outputs(uncut)[0].output == (f"{refuses} says no" if refuses else "look gave 1")
    for length in range(3, len(log)):
        verdicts = sum(isinstance(event, GuardrailJudged) for event in log[:length])
        asked.clear()
        repaired = agent.clone(model=ScriptedModel(["done"]))
        result = await Runner.run(repaired, reloaded(repaired, RunState(fold(log[:length]))))
        assert asked == expected[verdicts:], f"cut after event {length}: {log[length - 1]}"
        assert outputs(result) == outputs(uncut)


@pytest.mark.parametrize("kind", ["tool_input", "tool_output"])
async def test_when_there_are_more_or_fewer_of_a_name_all_of_it_are_asked_again(kind: str) -> None:
    asked: list[str] = []
    declared = named_alike(kind, asked)
    agent = agent_with(World(), call("look", x=1), **declared)
    log = list((await Runner.run(agent, "go")).to_state().value.log)
    two = 1 + max(at for at, event in enumerate(log) if isinstance(event, GuardrailJudged) and event.occurrence == 1)
    asked.clear()
    only = {name: given[2:] for name, given in declared.items()}
    fewer = agent_with(World(), **only).clone(model=ScriptedModel(["done"]))
    config = RunConfig(without_guards=["check"])
    await Runner.run(fewer, reloaded(fewer, RunState(fold(log[:two]))), run_config=config)
    assert asked == ["three"]


def paid_once(guardrail: Any, paid: list[int], **options: Any) -> Any:
    def pay(n: int) -> str:
        paid.append(n)
        return f"paid {n}"

    return function_tool(pay, tool_output_guardrails=[guardrail], **options)


@pytest.mark.parametrize("effect", ["once", "idempotent", "none"])
@pytest.mark.parametrize("verdict", [ALLOW, ToolGuardrailFunctionOutput.reject_content("[hidden]")], ids=["allow", "reject"])
@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
async def test_a_result_is_recorded_before_its_guardrail_is_asked(verdict: Any, streamed: bool, effect: Any) -> None:
    down, paid, seen = [True], list[int](), list[Any]()

    def judge(data: Any) -> Any:
        if down[0]:
            raise ConnectionError("the policy service is down")
        seen.append(data.output)
        return verdict

    events: list[Any] = []

    async def run(given: Any) -> Any:
        if not streamed:
            return await Runner.run(agent, given, session=session)
        stream = Runner.run_streamed(agent, given, session=session)
        async for event in stream.stream_events():
            events.append(event)
        return stream

    session = MemorySession("s")
    model = ScriptedModel([call("pay", n=5), "done"])
    agent = Agent("main", model=model, tools=[paid_once(after(judge), paid, effect=effect)])
    with pytest.raises(GuardrailFailedError, match="tool output guardrail 'after' raised ConnectionError") as caught:
        await run("go")
    state = caught.value.state
    assert isinstance(state, RunState) and paid == [5]
    told = str(state.to_input_list()) + str(await session.get_items()) + str(events)
    assert "paid 5" not in told and "paid 5" in state.to_string()
    down[0] = False
    result = await run(reloaded(agent, state))
    assert result.final_output == "done" and paid == [5] and seen == ["paid 5"]
    expected = "paid 5" if verdict is ALLOW else "[hidden]"
    sent = [item.output for item in model.requests[1].items if isinstance(item, FunctionCallOutput)]
    assert sent == [expected]
    assert [item.output for item in outputs(result)] == [expected]
    kept = [item.output for item in await session.get_items() if isinstance(item, FunctionCallOutput)]
    assert kept == [expected]
    shown = [item.raw_item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert shown == [expected]


async def test_a_result_waits_for_its_guardrails_and_is_refused_without_them() -> None:
    def broken(data: Any) -> Any:
        raise ConnectionError

    paid: list[int] = []
    agent = Agent("main", model=ScriptedModel([call("pay", n=5)]), tools=[paid_once(after(broken), paid)])
    with pytest.raises(GuardrailFailedError) as caught:
        await Runner.run(agent, "go")
    assert isinstance(caught.value.state, RunState)
    for tools in ([agent.tools[0].clone(tool_output_guardrails=[])], []):
        without = agent.clone(model=ScriptedModel(["done"]), tools=tools)
        with pytest.raises(StateMismatchError, match="'pay'"):
            await Runner.run(without, reloaded(without, caught.value.state))
    told = agent.clone(model=ScriptedModel(["done"]), tools=[agent.tools[0].clone(tool_output_guardrails=[])])
    config = RunConfig(without_guards=["after"])
    assert outputs(await Runner.run(told, reloaded(told, caught.value.state), run_config=config))[0].output == WITHHELD
    assert paid == [5]


async def test_a_trip_withholds_the_result_for_good() -> None:
    stop = ToolGuardrailFunctionOutput.raise_exception()
    session = MemorySession("s")
    agent = agent_with(World(), call("look", x=1), tool_output_guardrails=[after(stop)])
    with pytest.raises(ToolOutputGuardrailTripwireTriggered) as caught:
        await Runner.run(agent, "go", session=session)
    assert isinstance(caught.value.state, RunState)
    shown = [item.output for item in caught.value.state.items() if isinstance(item, FunctionCallOutput)]
    assert shown == [WITHHELD] and "look gave" not in str(await session.get_items())


async def test_errors_of_the_body_and_reconciled_and_settled_results_are_judged_too() -> None:
    seen: list[Any] = []

    def note(data: Any) -> Any:
        seen.append((data.output, data.is_error))
        return ToolGuardrailFunctionOutput.reject_content("[hidden]")

    world = World()
    bad = tool_of(world, "bad", fails=True, tool_output_guardrails=[after(note)])
    agent = Agent("main", model=ScriptedModel([call("bad", x=1), "done"]), tools=[bad])
    assert outputs(await Runner.run(agent, "go"))[0].output == "[hidden]"
    assert seen == [("Error while running the tool: ValueError: no bad today", True)]

    for reconcile in (lambda ctx, arguments: "it was paid", None):
        seen.clear()
        pay = tool_of(world, "pay", reconcile=reconcile, tool_output_guardrails=[after(note)])
        agent = Agent("main", model=ScriptedModel([call("pay", x=1), "done"]), tools=[pay])
        log = list((await Runner.run(agent, "go")).to_state().value.log)
        begun = 1 + next(at for at, event in enumerate(log) if isinstance(event, ToolsIntended))
        repaired, state = agent.clone(model=ScriptedModel(["done"])), RunState(fold(log[:begun]))
        seen.clear()
        if reconcile is None:
            state = (await Runner.run(repaired, state)).to_state()
            state.provide_result(state.interruptions[0], result="it was paid")
        result = await Runner.run(repaired, state)
        assert seen == [("it was paid", False)] and outputs(result)[0].output == "[hidden]"


@pytest.mark.parametrize("parts", [False, True], ids=["text", "parts"])
@pytest.mark.parametrize("rejects", [False, True], ids=["allow", "reject"])
async def test_a_guardrail_sees_the_whole_of_a_result_that_the_model_gets_cut(rejects: bool, parts: bool) -> None:
    seen: list[Any] = []
    secret = "x" * 500 + " the secret " + "y" * 500
    given: Any = (InputText(secret), InputImage("data:image/png;base64,aGk=")) if parts else secret
    verdict = ToolGuardrailFunctionOutput.reject_content("[hidden]") if rejects else ALLOW
    tool = function_tool(lambda: given, name_override="look", tool_output_guardrails=[after(verdict, seen)])
    model = ScriptedModel([call("look"), "done"])
    await Runner.run(Agent("main", model=model, tools=[tool]), "go", run_config=RunConfig(max_tool_result_chars=200))
    assert seen == [given]
    offered = {tool.name for tool in model.requests[1].tools}
    sent = next(item.output for item in model.requests[1].items if isinstance(item, FunctionCallOutput))
    assert "secret" not in str(sent)
    assert (offered == {"look"}) is rejects and (sent == "[hidden]") is rejects


async def test_an_agent_as_a_tool_has_the_guardrails_of_a_tool() -> None:
    asked: list[Any] = []
    hidden = ToolGuardrailFunctionOutput.reject_content("[hidden]")
    no = ToolGuardrailFunctionOutput.reject_content("not that one")
    helper = Agent("helper", model=ScriptedModel(["the secret is 42"] * 2)).as_tool()
    judged = helper.clone(tool_input_guardrails=[before(ALLOW, asked)], tool_output_guardrails=[after(hidden, asked)])
    model = ScriptedModel([call("helper", input="x"), "done"])
    result = await Runner.run(Agent("main", model=model, tools=[judged]), "go")
    assert asked == [("helper", '{"input":"x"}', "main"), "the secret is 42"]
    assert [item.output for item in outputs(result)] == ["[hidden]"] and "secret" not in str(model.requests[1].items)
    refused = helper.clone(tool_input_guardrails=[before(no)])
    result = await Runner.run(Agent("main", model=ScriptedModel([call("helper", input="x"), "done"]), tools=[refused]), "go")
    assert [item.output for item in outputs(result)] == ["not that one"]


@pytest.mark.parametrize(
    ("behavior", "result"),
    [("allow", "look gave 1"), ("reject_content", "[hidden]")],
)
async def test_a_verdict_recorded_before_the_result_is_not_about_it(behavior: Any, result: str) -> None:
    """As logs of schema version 1 have it: there a guardrail was asked before the result was recorded."""
    seen: list[Any] = []
    look = function_tool(lambda x: f"look gave {x}", name_override="look", effect="none", strict_mode=False)
    tools = [look.clone(tool_output_guardrails=[after(ALLOW, seen)])]
    agent = Agent("main", model=ScriptedModel(["done"]), tools=tools)
    log: list[RunEvent] = [
        RunStarted("r", "main", (Message("user", "go"),), 0, 0.0),
        ModelReplied(ModelResponse((FunctionCall("c", "look", '{"x":1}'),)), 0.0),
        ToolsIntended(("c",)),
        GuardrailJudged("after", "tool_output", behavior, "null", "c", "[hidden]"),
    ]
    again = await Runner.run(agent, reloaded(agent, RunState(fold(log))))
    assert seen == ["look gave 1"] and outputs(again)[0].output == "look gave 1"
    finished = agent.clone(model=ScriptedModel(["done"]))
    log.append(ToolFinished("c", result))
    assert outputs(await Runner.run(finished, reloaded(finished, RunState(fold(log)))))[0].output == result


async def test_a_person_who_was_asked_before_the_guardrails_is_not_asked_in_vain() -> None:
    """As logs of schema version 1 have it: there the guardrails came after the approval."""
    seen: list[Any] = []
    paid: list[int] = []
    pay = function_tool(lambda x: paid.append(x), name_override="look", strict_mode=False)
    tools = [pay.clone(needs_approval=True, tool_input_guardrails=[before(ALLOW, seen)])]
    agent = Agent("main", model=ScriptedModel(["done"]), tools=tools)
    waiting = RunState(
        fold(
            [
                RunStarted("r", "main", (Message("user", "go"),), 0, 0.0),
                ModelReplied(ModelResponse((FunctionCall("c", "look", '{"x":1}'),)), 0.0),
                ApprovalJudged("c", True),
            ]
        )
    )
    state = (await Runner.run(agent, waiting)).to_state()
    assert not seen
    state.approve(state.interruptions[0])
    assert (await Runner.run(agent, state)).final_output == "done"
    assert len(seen) == 1 and paid == [1]
