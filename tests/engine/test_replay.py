"""A recorded run replays without asking anybody; where an agent has changed, the first step it takes otherwise is named."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentsdk import (
    Agent,
    AgentHooks,
    GuardrailFunctionOutput,
    MemoryRunStore,
    ModelRequest,
    RunConfig,
    RunErrorHandlerResult,
    Runner,
    RunNotFoundError,
    SQLiteRunStore,
    ToolGuardrailFunctionOutput,
    UserError,
    function_tool,
    handoff,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
)
from agentsdk.core.diff import Divergence
from agentsdk.core.revisions import step_start
from agentsdk.define.declaration import Declaration
from agentsdk.engine.replay import Replay
from agentsdk.errors import ModelError, StateMismatchError
from agentsdk.testing import ScriptedModel, call
from agentsdk.toolsets import Toolset, ToolsetContext
from agentsdk.types.events import (
    ApprovalDecided,
    ArgumentsEdited,
    CallAnswered,
    HandedOff,
    RunEnded,
    RunEvent,
    RunResumed,
    ToolFinished,
    TurnEnded,
    unnested,
)
from agentsdk.types.items import FunctionCall, Message, Refusal
from agentsdk.types.response import ModelResponse
from tests.engine.recorded import everything, recorded, scenario_called, stored
from tests.scenarios import RUN_ID, SCENARIOS, Scenario, World, agent_of, tool_of

pytestmark = pytest.mark.anyio


def closed(log: list[RunEvent]) -> int:
    """How many turns a log closes."""
    return sum(isinstance(unnested(event)[1], TurnEnded | HandedOff | RunEnded) for event in log)


def paused(log: list[RunEvent]) -> int:
    """How often a run was gone on with after somebody had decided."""
    decided = (ApprovalDecided, ArgumentsEdited, CallAnswered, ToolFinished)
    pairs = zip(log, log[1:], strict=False)
    return sum(isinstance(one, RunResumed) and isinstance(unnested(next_one)[1], decided) for one, next_one in pairs)


async def log_of(config: RunConfig) -> list[RunEvent]:
    return list((await Runner.load(RUN_ID, run_config=config)).value.log)


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_every_run_replays_and_nobody_is_asked(scenario: Scenario, streamed: bool) -> None:
    config = await recorded(scenario, streamed)
    before, log, world = await everything(config), await log_of(config), World()
    replay = await Runner.replay(scenario.build(world), RUN_ID, run_config=config)
    is_finished = not isinstance(scenario.ends, type)
    assert replay == Replay(RUN_ID, closed(log), closed(log) + paused(log), is_finished)
    assert (world.asked, world.done) == ({}, {})
    assert await everything(config) == before


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_a_run_that_a_dead_process_left_replays_as_far_as_it_came(scenario: Scenario) -> None:
    log = await log_of(await recorded(scenario))
    for length in range(1, len(log)):
        if step_start(log, length) == length:
            replay = await Runner.replay(scenario.build(World()), RUN_ID, run_config=await stored(log[:length]))
            assert (replay.divergence, replay.turns) == (None, closed(log[:length])), length
            assert replay.steps - replay.turns >= paused(log[:length])
            assert str(replay).endswith("came out as recorded" if replay.is_finished else "as far as it came")


async def test_a_pause_is_a_step_at_the_end_of_the_log_too() -> None:
    agent = agent_of(World(), [call("pay", x=1)], tools=[tool_of(World(), "pay", needs_approval=True)])
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    await Runner.run(agent, "go", run_config=config)
    replay = await Runner.replay(agent, RUN_ID, run_config=config)
    assert replay == Replay(RUN_ID, 0, 1, False)


class Loud(AgentHooks[Any]):
    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_"):
            raise AssertionError(f"{name} was called")
        return super().__getattribute__(name)


async def test_no_toolset_is_asked_by_a_nested_run_either() -> None:
    send = function_tool(lambda: "sent", name_override="send", needs_approval=True)

    class Asked(Toolset[Any]):
        name = "asked"
        asked = 0

        async def get_tools(self, context: ToolsetContext[Any]) -> list[Any]:
            return [send]

        async def find_tool(self, context: ToolsetContext[Any], name: str) -> Any:
            self.asked += 1
            return send

    toolset, config = Asked(), RunConfig(store=MemoryRunStore(), run_id="r")
    helper = Agent[Any, Any]("helper", model=ScriptedModel([call("send"), "helped"]), toolsets=[toolset])
    agent = Agent[Any, Any]("main", model=ScriptedModel([call("helper", input="x"), "done"]), tools=[helper.as_tool()])
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    assert (await Runner.replay(agent, "r", run_config=config)).steps == 1
    assert toolset.asked == 0
    state.approve(state.interruptions[0])
    await Runner.run(agent, state, run_config=config)
    assert toolset.asked == 1
    assert (await Runner.replay(agent, "r", run_config=config)).is_finished
    assert toolset.asked == 1


async def test_no_callable_is_called() -> None:
    def loud(*_: object) -> Any:
        raise AssertionError("called")

    scenario = scenario_called("handoff with payload")
    config = await recorded(scenario)
    agent = scenario.build(World())
    expert = Declaration.of(agent).handoffs["transfer_to_expert"].agent
    agent.handoffs = [handoff(expert, on_handoff=lambda ctx, level: loud(), input_type=int, input_filter=loud, is_enabled=loud)]
    for one in (agent, expert):
        one.hooks, one.instructions = Loud(), loud
    assert (await Runner.replay(agent, RUN_ID, run_config=config)).divergence is None


def give(**fields: Any) -> Callable[[Agent[Any, Any]], None]:
    def change(agent: Agent[Any, Any]) -> None:
        for name, value in fields.items():
            setattr(agent, name, value)

    return change


@output_guardrail
def strict(*_: object) -> GuardrailFunctionOutput:
    raise AssertionError("asked")


@input_guardrail
def wary(*_: object) -> GuardrailFunctionOutput:
    raise AssertionError("asked")


def _inner(agent: Agent[Any, Any]) -> None:
    agent.tools[0].agent.tool_use_behavior = "stop_on_first_tool"  # type: ignore[attr-defined]


def _approved_otherwise(agent: Agent[Any, Any]) -> None:
    agent.tools = [tool.clone(description="Pays twice.") if tool.name == "pay" else tool for tool in agent.tools]


def _no_approval(agent: Agent[Any, Any]) -> None:
    agent.tools = [tool.clone(needs_approval=False) if tool.name == "pay" else tool for tool in agent.tools]


def _rules_ask(agent: Agent[Any, Any]) -> None:
    agent.tools = [tool.clone(needs_approval=lambda *_: 1 / 0) if tool.name == "pay" else tool for tool in agent.tools]


def _other_expert(agent: Agent[Any, Any]) -> None:
    agent.handoffs = [handoff(Agent("novice"), tool_name_override="transfer_to_expert")]


def transfer_to_expert(response: int) -> int:
    return response


def _handoff_as_tool(agent: Agent[Any, Any]) -> None:
    agent.handoffs, agent.tools = [], [function_tool(transfer_to_expert)]


def _no_agents(agent: Agent[Any, Any]) -> None:
    agent.tools = [tool_of(World(), tool.name) for tool in agent.tools]


def _renamed_expert(agent: Agent[Any, Any]) -> None:
    Declaration.of(agent).handoffs["transfer_to_expert"].agent.name = "novice"


WAITS = "waits for 'pay' (call_1_1), 'send' (call_1_4), 'pay' (call_1_5)"

CHANGED: dict[str, tuple[str, Callable[[Agent[Any, Any]], None], Divergence]] = {
    "results are final now": (
        "tool turns",
        give(tool_use_behavior="stop_on_first_tool"),
        Divergence(4, 1, "main", "asks the model again", "ends with 'add gave 1'"),
    ),
    "results are final no more": (
        "stop at tools",
        give(tool_use_behavior="run_llm_again"),
        Divergence(9, 2, "main", "ends with 'finish gave 3'", "asks the model again"),
    ),
    "a rule decides now": (
        "tool turns",
        give(tool_use_behavior=lambda *_: None),
        Divergence(4, 1, "main", "asks the model again", "asks tool_use_behavior of agent 'main'"),
    ),
    "another guardrail of the output": (
        "tool turns",
        give(output_guardrails=[strict]),
        Divergence(14, 4, "main", "ends with 'six'", "asks guardrail 'strict'"),
    ),
    "another guardrail of the input": (
        "tool turns",
        give(input_guardrails=[wary]),
        Divergence(4, 1, "main", "asks the model again", "asks guardrail 'wary'"),
    ),
    "a type for the output": (
        "tool turns",
        give(output_type=list[int]),
        Divergence(14, 4, "main", "ends with 'six'", "comes to OutputJudged"),
    ),
    "in a nested run": (
        "agent as tool, twice at once",
        _inner,
        Divergence(12, 1, "helper", "asks the model again", "ends with 'dig gave 1'"),
    ),
    "the handoff leads elsewhere": (
        "handoff with payload",
        _other_expert,
        Divergence(5, 2, "main", "hands over to 'expert'", "hands over to 'novice'"),
    ),
    "the other agent has another name": (
        "handoff with payload",
        _renamed_expert,
        Divergence(5, 2, "main", "hands over to 'expert'", "hands over to 'novice'"),
    ),
    "no handoff": (
        "handoff with payload",
        give(handoffs=[]),
        Divergence(5, 2, "main", "hands over to 'expert'", "answers call 'call_2_1' without running it"),
    ),
    "a tool in place of the handoff": (
        "handoff with payload",
        _handoff_as_tool,
        Divergence(5, 2, "main", "hands over to 'expert'", "runs call 'call_2_1'"),
    ),
    "a tool in place of an agent": (
        "agent as tool, twice at once",
        _no_agents,
        Divergence(12, 1, "helper", "asks the model again", "there is no agent 'helper'"),
    ),
    "a tool in place of an agent of agents": (
        "nested nested approval and nested handoff",
        _no_agents,
        Divergence(14, 1, "inner", "asks the model again", "there is no agent 'inner'"),
    ),
    "the tool is another one than was approved": (
        "approved and rejected",
        _approved_otherwise,
        Divergence(10, 1, "main", WAITS, "asks anew whether call 'call_1_1' may run"),
    ),
    "no approval is needed any more": (
        "approved and rejected",
        _no_approval,
        Divergence(10, 1, "main", WAITS, "asks anew whether call 'call_1_1' may run"),
    ),
    "a rule says who approves": (
        "approved and rejected",
        _rules_ask,
        Divergence(10, 1, "main", WAITS, "asks needs_approval of tool 'pay'"),
    ),
}


@pytest.mark.parametrize("case", CHANGED)
async def test_the_first_step_that_comes_out_otherwise_is_named(case: str) -> None:
    name, change, expected = CHANGED[case]
    config = await recorded(scenario_called(name))
    agent = scenario_called(name).build(World())
    change(agent)
    replay = await Runner.replay(agent, RUN_ID, run_config=config)
    assert replay.divergence == expected
    log = await log_of(config)
    assert replay.turns == closed(log[: expected.revision])
    assert str(replay).endswith(f"then not: {expected}")


async def test_guardrails_of_the_whole_run_are_not_those_of_nested_ones() -> None:
    world = World()

    @input_guardrail
    def fine(*_: object) -> GuardrailFunctionOutput:
        world.did("input")
        return GuardrailFunctionOutput(None, False)

    @output_guardrail
    def good(*_: object) -> GuardrailFunctionOutput:
        world.did("output")
        return GuardrailFunctionOutput(None, False)

    guarded = RunConfig(input_guardrails=[fine], output_guardrails=[good])
    scenario = dataclasses.replace(scenario_called("agent as tool, twice at once"), config=guarded)
    config = await recorded(scenario)
    replay = await Runner.replay(scenario.build(World()), RUN_ID, run_config=config)
    assert (replay.divergence, dict(world.done)) == (None, {"input": 1, "output": 1})


async def test_a_new_call_asks_no_guardrail_of_its_tool() -> None:
    @tool_input_guardrail
    def wary_of_calls(*_: object) -> ToolGuardrailFunctionOutput:
        raise AssertionError("asked")

    config = await recorded(scenario_called("handoff with payload"))
    agent = scenario_called("handoff with payload").build(World())
    guarded = function_tool(transfer_to_expert, tool_input_guardrails=[wary_of_calls])
    agent.handoffs, agent.tools = [], [guarded]
    replay = await Runner.replay(agent, RUN_ID, run_config=config)
    assert replay.divergence is not None
    assert replay.divergence.now == "asks guardrail 'wary_of_calls'"


@pytest.mark.parametrize("decide", ["settle", "fail", "retry"])
async def test_a_pause_over_a_call_in_doubt_is_a_step(decide: str) -> None:
    scenario = scenario_called("tool turns")
    log = await log_of(await recorded(scenario))
    config = await stored(log[:3])
    agent = scenario.build(World())
    result = await Runner.resume(agent, RUN_ID, run_config=config)
    state = result.to_state()
    [item] = state.interruptions
    if decide == "settle":
        state.provide_result(item, result="add gave 1")
    elif decide == "fail":
        state.mark_failed(item, "lost")
    else:
        state.retry(item)
    await Runner.run(agent, await Runner.decide(state, run_config=config), run_config=config)
    assert await Runner.replay(agent, RUN_ID, run_config=config) == Replay(RUN_ID, 4, 5, True)


async def test_calls_decided_on_together_are_one_pause() -> None:
    scenario = scenario_called("parallel tools of every effect")
    log = await log_of(await recorded(scenario))
    config = await stored(log[:3])
    agent = scenario.build(World())
    state = (await Runner.resume(agent, RUN_ID, run_config=config)).to_state()
    assert len(state.interruptions) == 2
    for item in state.interruptions:
        state.provide_result(item, result="paid")
    await Runner.run(agent, await Runner.decide(state, run_config=config), run_config=config)
    assert await Runner.replay(agent, RUN_ID, run_config=config) == Replay(RUN_ID, 3, 4, True)


async def test_a_rule_that_asked_for_an_agent_is_not_asked_again() -> None:
    asked: list[str] = []
    helper = Agent("helper", model=ScriptedModel(["helped"]))

    def rule(ctx: object, arguments: object, call_id: str) -> bool:
        asked.append(call_id)
        return True

    tools = [helper.as_tool(needs_approval=rule)]
    agent = Agent("main", model=ScriptedModel([call("helper", input="?")]), tools=tools)
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    await Runner.run(agent, "go", run_config=config)
    assert await Runner.replay(agent, RUN_ID, run_config=config) == Replay(RUN_ID, 0, 1, False)
    assert asked == ["call_1_1"]


class Wall:
    """A clock that stands at `now`."""

    now = 100.0

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing waits here")


async def test_a_pause_after_a_standing_approval_has_expired_is_a_step() -> None:
    clock = Wall()

    def late(request: ModelRequest) -> FunctionCall:
        clock.now = 300.0
        return call("pay", x=2)

    model = ScriptedModel([call("pay", x=1), late, "paid"])
    agent = Agent("main", model=model, tools=[tool_of(World(), "pay", needs_approval=True)])
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID, clock=clock)
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    state.approve(state.interruptions[0], always_approve=True, expires_at=200.0)
    result = await Runner.run(agent, state, run_config=config)
    assert len(result.interruptions) == 1
    clock.now = 150.0
    assert await Runner.replay(agent, RUN_ID, run_config=config) == Replay(RUN_ID, 1, 3, False)


async def test_an_answer_of_an_error_handler_is_no_step() -> None:
    refusal = Message("assistant", (Refusal("no"),))
    handled = ("model_refusal", "max_turns", "invalid_final_output", "model_error")
    handlers = dict.fromkeys(handled, lambda given: RunErrorHandlerResult(0))
    filtered = ModelResponse((Message("assistant", "4"),), finish="content_filter")
    for replies, turns, steps in (
        ([refusal], 5, 1),
        ([call("add"), call("add")], 1, 1),
        (["no", "no"], 5, 2),
        ([filtered], 5, 1),
        ([call("add"), ModelError("down")], 5, 1),
    ):
        tools = [function_tool(lambda: 1, name_override="add")]
        agent = Agent("main", model=ScriptedModel(replies), tools=tools, output_type=int)
        config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
        await Runner.run(agent, "go", run_config=config, max_turns=turns, error_handlers=handlers)  # type: ignore[arg-type]
        assert await Runner.replay(agent, RUN_ID, run_config=config) == Replay(RUN_ID, steps, steps, True)


async def test_on_a_file(tmp_path: Path) -> None:
    store = SQLiteRunStore(tmp_path / "runs.db")
    scenario = scenario_called("nested approval")
    config = await recorded(scenario, store=store)
    assert (await Runner.replay(scenario.build(World()), RUN_ID, run_config=config)).divergence is None
    await store.aclose()


async def test_a_run_of_another_agent_is_refused() -> None:
    config = await recorded(SCENARIOS[0])
    with pytest.raises(StateMismatchError, match="was begun by agent 'main', expected by 'other'"):
        await Runner.replay(Agent("other"), RUN_ID, run_config=config)
    with pytest.raises(RunNotFoundError):
        await Runner.replay(Agent("main"), "nope", run_config=config)


@pytest.mark.parametrize("option", [{"at": 1}, {"new_run_id": "x"}, {"live_effects": True}], ids=str)
async def test_options_of_a_change_need_one(option: dict[str, Any]) -> None:
    config = await recorded(SCENARIOS[0])
    with pytest.raises(UserError, match="expected change= or model="):
        await Runner.replay(Agent("main"), RUN_ID, run_config=config, **option)  # type: ignore[call-overload]
