"""A recorded run, run again with something changed: what is reused, what is asked for, what is never run."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from agentsdk import (
    Agent,
    AgentHooks,
    ContextCodec,
    FallbackModel,
    FunctionTool,
    GuardrailFunctionOutput,
    MemoryRunStore,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    RunConfig,
    RunConflictError,
    Runner,
    RunQuery,
    RunState,
    SQLiteRunStore,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailData,
    ToolOutputGuardrailData,
    Usage,
    UserError,
    function_tool,
    handoff,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.core.diff import NOTHING, Divergence
from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.errors import CallbackError, IncompleteResponseError, StateMismatchError
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.scripted import ScriptedReply
from agentsdk.types.errors import InputGuardrailTripwireTriggered, MaxTurnsExceeded, ModelError
from agentsdk.types.items import InputImage, Message
from agentsdk.types.spec import Effect
from tests.engine.recorded import everything, recorded, scenario_called
from tests.scenarios import RUN_ID, SCENARIOS, Scenario, World

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_with_nothing_changed_it_comes_out_the_same_and_asks_nobody(scenario: Scenario) -> None:
    config = await recorded(scenario)
    assert config.store is not None
    before, world = await everything(config), World()
    origin = await Runner.load(RUN_ID, run_config=config)
    agent = scenario.build(world)
    # A stored verdict that stops a run stops it at once: entered on the way, it does not wait for the calls beside it.
    revisions = [1] if isinstance(scenario.ends, type) else range(1, len(origin.value.log) + 1)
    for revision in revisions:
        rerun = await Runner.replay(agent, RUN_ID, change=agent.clone(), at=revision, run_config=config)
        assert (rerun.divergence, rerun.asked, rerun.spent, rerun.held) == (None, 0, Usage(), ()), revision
        assert (rerun.state.items(), rerun.state.usage) == (origin.items(), origin.usage)
        assert rerun.state.run_id != RUN_ID
        assert (rerun.diff.turns, rerun.diff.tool_calls, rerun.diff.tokens) == (0, 0, 0)
        outcome = type(rerun.error) if rerun.error is not None else rerun.final_output
        assert outcome == scenario.ends
        if revision == 1:
            assert rerun.reused == origin.usage.requests + origin.usage.unsent
    assert world.asked == {}
    assert not [what for what in world.done if what.startswith((f"{RUN_ID}/", rerun.state.run_id))]
    assert await everything(config) == before
    assert [one.run_id for one in await config.store.list(RunQuery())] == [RUN_ID]


class Till:
    """An agent with tools of every effect, and what they did."""

    def __init__(self, replies: Sequence[ScriptedReply], **fields: Any) -> None:
        self.done: list[str] = []
        self.model = ScriptedModel(replies)
        tools = [self.tool("pay", "once"), self.tool("put", "idempotent"), self.tool("look", "none")]
        self.agent: Agent[Any, str] = Agent("till", model=self.model, tools=tools, **fields)

    def tool(self, name: str, effect: Effect, **options: Any) -> FunctionTool[Any]:
        async def body(x: int = 0) -> str:
            self.done.append(f"{name} {x}")
            return f"{name} gave {x}"

        return function_tool(body, name_override=name, effect=effect, **options)

    async def record(self, **fields: Any) -> RunConfig:
        """Run it into a store and forget what it did meanwhile."""
        config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID, **fields)
        result = await Runner.run(self.agent, "go", run_config=config)
        while result.interruptions:
            state = result.to_state()
            for item in state.interruptions:
                (state.reject if '"x":13' in item.arguments else state.approve)(item, reason="so be it", by="Ann")
            result = await Runner.run(self.agent, state, run_config=config)
        self.done.clear()
        return config


SHOP = [call("look", x=1), [call("pay", x=2), call("put", x=3)], "sold"]


def saying(*replies: ScriptedReply) -> ScriptedModel:
    return ScriptedModel(replies, name="live")


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"instructions": "Be kind."}, "instructions"),
        ({"instructions": lambda ctx, agent: ""}, "instructions"),
        ({"model_settings": ModelSettings(temperature=1.0)}, "settings"),
        ({"reset_tool_choice": False}, "settings"),
        ({"output_type": int}, "output type"),
        ({"handoffs": [Agent("other")]}, "tools"),
        ({"tools": []}, "tools"),
        ({"tools": [], "instructions": "Be kind."}, "instructions, tools"),
    ],
    ids=lambda value: value if isinstance(value, str) else ", ".join(value),
)
async def test_a_changed_declaration_is_asked_live_from_the_start(change: dict[str, Any], differs: str) -> None:
    till = Till(SHOP)
    config = await till.record()
    live = saying('{"response":7}')
    rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(model=live, **change), run_config=config)
    expected = f"another request: other model, {differs}"
    assert rerun.divergence == Divergence(1, 1, "till", 'calls look({"x":1})', expected)
    assert (rerun.final_output, rerun.reused, rerun.asked) == (7 if differs == "output type" else '{"response":7}', 0, 1)
    assert rerun.spent == Usage(1, 10, 5)
    assert (rerun.diff.turns, rerun.diff.tool_calls, rerun.diff.tokens) == (-2, -3, -30)
    assert rerun.diff.a == RUN_ID
    assert till.done == []


async def test_the_same_declaration_made_anew_is_no_change() -> None:
    till = Till(SHOP, instructions="Sell.")
    config = await till.record()
    again = Till([], instructions="Sell.")
    rerun = await Runner.replay(till.agent, RUN_ID, change=again.agent.clone(model=till.model), run_config=config)
    assert (rerun.divergence, rerun.reused) == (None, 3)


async def test_from_a_revision_the_prefix_is_taken_as_it_is() -> None:
    till = Till(SHOP)
    config = await till.record()
    live = saying("kindly sold")
    kind = till.agent.clone(instructions="Be kind.", model=live)
    # The second turn is open there, its reply recorded: only the third is asked for, and the calls have their results.
    rerun = await Runner.replay(till.agent, RUN_ID, change=kind, at=6, run_config=config)
    assert rerun.divergence is not None
    assert (rerun.divergence.turn, rerun.final_output, rerun.asked) == (3, "kindly sold", 1)
    assert (rerun.diff.turns, rerun.diff.tool_calls, rerun.diff.tokens) == (0, 0, 0)
    assert rerun.diff.divergence == Divergence(10, 3, "till", "says 'sold'", "says 'kindly sold'")
    assert [item.type for item in live.requests[0].items].count("function_call_output") == 3
    assert till.done == []


async def test_another_model_has_equal_calls_answered_from_the_record() -> None:
    till = Till(SHOP)
    config = await till.record()
    live = saying([call("look", x=2), call("pay", x=2)], [call("put", x=3), call("look", x=1)], "sold too")
    rerun = await Runner.replay(till.agent, RUN_ID, model=live, run_config=config)
    assert till.done == ["look 2"]
    assert (rerun.final_output, rerun.reused, rerun.asked, rerun.held) == ("sold too", 0, 3, ())
    assert (rerun.diff.turns, rerun.diff.tool_calls) == (0, 1)
    assert rerun.divergence is not None and rerun.divergence.now == "another request: other model"
    assert "parts at revision 1, turn 1, agent 'till'" in str(rerun)


async def test_the_nth_equal_call_has_the_nth_result() -> None:
    count = iter(range(9))

    @function_tool(name_override="pay")
    async def tool(x: int) -> int:
        return next(count)

    agent = Agent("main", model=ScriptedModel([call("pay", x=1), [call("pay", x=1), call("pay", x=2)], "done"]), tools=[tool])
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    await Runner.run(agent, "go", run_config=config)
    live = saying([call("pay", x=2), call("pay", x=1), call("pay", x=1)], call("pay", x=1))
    rerun = await Runner.replay(agent, RUN_ID, model=live, run_config=config)
    outputs = [item.output for item in rerun.state.items() if item.type == "function_call_output"]
    assert outputs[:3] == ["2", "0", "1"]
    # The third of a kind is in no record.
    assert [(item.tool_name, item.call_id) for item in rerun.held] == [("pay", "call_2_1")]
    # Past the first turn the first of them is the rerun's own already.
    live = saying(call("pay", x=1), call("pay", x=1))
    rerun = await Runner.replay(agent, RUN_ID, model=live, at=5, run_config=config)
    outputs = [item.output for item in rerun.state.items() if item.type == "function_call_output"]
    assert outputs[:2] == ["0", "1"]
    assert len(rerun.held) == 1
    assert next(count) == 3


@pytest.mark.parametrize("name", ["pay", "put"])
async def test_before_a_new_call_with_an_effect_it_stops(name: str) -> None:
    till = Till(SHOP)
    config = await till.record()
    live = saying([call("look", x=5), call(name, x=9)], "sold")
    rerun = await Runner.replay(till.agent, RUN_ID, model=live, run_config=config)
    assert [(item.tool_name, item.arguments, item.agent, item.path) for item in rerun.held] == [(name, '{"x":9}', "till", ())]
    assert (rerun.final_output, rerun.error, till.done) == (None, None, ["look 5"])
    assert f"held: call 'call_1_2' of tool '{name}'" in str(rerun)
    assert not rerun.state.interruptions  # it has not begun, so nothing of it is in doubt
    live = saying([call("look", x=5), call(name, x=9)], "sold")
    rerun = await Runner.replay(till.agent, RUN_ID, model=live, live_effects=True, run_config=config)
    assert (rerun.final_output, rerun.held, till.done) == ("sold", (), ["look 5", "look 5", f"{name} 9"])


async def test_arguments_are_compared_by_what_they_mean() -> None:
    till = Till([call("pay", x=2), "sold"])
    config = await till.record()
    live = saying(structs.replace(call("pay"), arguments=' {"x" : 2} '), "sold")
    rerun = await Runner.replay(till.agent, RUN_ID, model=live, run_config=config)
    assert (rerun.final_output, rerun.diff.divergence, till.done) == ("sold", None, [])


async def test_a_changed_tool_has_no_recorded_results() -> None:
    till = Till(SHOP)
    config = await till.record()

    def look(x: int = 0) -> str:
        till.done.append("looked anew")
        return f"look gave {x}"

    tools = list(till.agent.tools)
    anew = function_tool(look, effect="none", description_override=tools[2].description)
    # The model sees the same tool, and it gives the same: nothing comes out otherwise.
    rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(tools=[*tools[:2], anew]), run_config=config)
    assert (rerun.divergence, rerun.reused, till.done) == (None, 3, ["looked anew"])
    careful = [tools[0].clone(description="Pays."), *tools[1:]]
    live = saying(call("pay", x=2))
    rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(tools=careful, model=live), run_config=config)
    assert [item.tool_name for item in rerun.held] == ["pay"]


async def test_another_result_is_another_request() -> None:
    till = Till(SHOP)
    config = await till.record()

    def look(x: int = 0) -> str:
        return "nothing there"

    tools = list(till.agent.tools)
    anew = function_tool(look, effect="none", description_override=tools[2].description)
    changed = till.agent.clone(tools=[*tools[:2], anew])
    till.model._replies.append("then not")
    rerun = await Runner.replay(till.agent, RUN_ID, change=changed, run_config=config)
    recorded_call = 'calls pay({"x":2}), put({"x":3})'
    assert rerun.divergence == Divergence(5, 2, "till", recorded_call, "another request: other items")
    assert (rerun.reused, rerun.asked, rerun.final_output) == (1, 1, "then not")
    assert rerun.diff.divergence == Divergence(3, 1, "till", "'look' gave 'look gave 1'", "'look' gave 'nothing there'")


async def test_a_rule_that_has_changed_shows_without_another_request() -> None:
    till = Till(SHOP)
    config = await till.record()
    changed = till.agent.clone(tool_use_behavior="stop_on_first_tool")
    rerun = await Runner.replay(till.agent, RUN_ID, change=changed, run_config=config)
    assert rerun.divergence == rerun.diff.divergence
    assert rerun.divergence == Divergence(5, 1, "till", NOTHING, "ends with 'look gave 1'")


async def test_recorded_approvals_are_given_to_equal_calls() -> None:
    till = Till([[call("pay", x=1), call("pay", x=13)], "sold"])
    till.agent.tools = [till.tool("pay", "once", needs_approval=True)]
    config = await till.record()
    live = saying([call("pay", x=13), call("pay", x=1)], call("pay", x=7))
    rerun = await Runner.replay(till.agent, RUN_ID, model=live, run_config=config)
    outputs = [item.output for item in rerun.state.items() if item.type == "function_call_output"]
    assert outputs[:2] == ["The call was not approved, so it was not run. Reason: so be it", "pay gave 1"]
    # The third was never decided on: it waits.
    assert [item.arguments for item in rerun.state.interruptions] == ['{"x":7}']
    assert (rerun.final_output, rerun.held, till.done) == (None, (), [])


async def test_a_call_that_a_standing_approval_covered_is_approved() -> None:
    till = Till([call("pay", x=1), call("pay", x=2), "sold"])
    till.agent.tools = [till.tool("pay", "once", needs_approval=True)]
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    state = (await Runner.run(till.agent, "go", run_config=config)).to_state()
    state.approve(state.interruptions[0], always_approve=True)
    await Runner.run(till.agent, state, run_config=config)
    till.done.clear()
    rerun = await Runner.replay(till.agent, RUN_ID, model=saying(call("pay", x=2), "sold"), run_config=config)
    assert (rerun.final_output, rerun.diff.tool_calls, till.done) == ("sold", -1, [])
    # Approved for good, a new call needs no person any more; it is held all the same.
    live = saying([call("pay", x=1)], call("pay", x=7))
    rerun = await Runner.replay(till.agent, RUN_ID, model=live, run_config=config)
    assert ([item.arguments for item in rerun.held], till.done) == (['{"x":7}'], [])


async def test_an_approval_that_has_expired_since_is_given_all_the_same() -> None:
    till = Till([call("pay", x=1), "sold"])
    till.agent.tools = [till.tool("pay", "once", needs_approval=True)]
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    state = (await Runner.run(till.agent, "go", run_config=config)).to_state()
    state.approve(state.interruptions[0], expires_at=1e12)
    await Runner.run(till.agent, state, run_config=config)
    late = dataclasses.replace(config, clock=Late())
    rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(), run_config=late)
    assert (rerun.final_output, rerun.divergence) == ("sold", None)


class Late:
    def time(self) -> float:
        return 2e12

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing waits here")


async def test_a_call_left_in_flight_has_the_result_it_came_to() -> None:
    till = Till([[call("pay", x=1), call("put", x=2)], "sold"])
    config = await till.record()
    # After revision 3 both were begun: in the fork neither has been, and the record knows what they gave.
    for at in (3, 4):
        rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(), at=at, run_config=config)
        assert (rerun.final_output, rerun.divergence, till.done) == ("sold", None, [])
    changed = till.agent.clone(tools=[till.tool("pay", "once", strict_mode=False), *till.agent.tools[1:]])
    rerun = await Runner.replay(till.agent, RUN_ID, change=changed, at=3, run_config=config)
    assert [item.tool_name for item in rerun.held] == ["pay"]


async def test_a_nested_agent_may_be_what_has_changed() -> None:
    helper = Till([call("pay", x=1), "paid"])
    main = Agent("main", model=ScriptedModel([call("till", input="pay"), "done"]), tools=[helper.agent.as_tool()])
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    await Runner.run(main, "go", run_config=config)
    helper.done.clear()
    kind = helper.agent.clone(instructions="Be kind.", model=saying([call("pay", x=1), call("look", x=2)], "paid"))
    rerun = await Runner.replay(main, RUN_ID, change=main.clone(tools=[kind.as_tool()]), run_config=config)
    assert rerun.divergence is not None
    assert (rerun.divergence.agent, rerun.divergence.turn, rerun.divergence.revision) == ("till", 1, 4)
    # What the nested run came to is the same, and so are the requests around it.
    assert (rerun.final_output, rerun.reused, rerun.asked, helper.done) == ("done", 2, 2, ["look 2"])
    kind = helper.agent.clone(instructions="Be kind.", model=saying(call("put", x=1)))
    rerun = await Runner.replay(main, RUN_ID, change=main.clone(tools=[kind.as_tool()]), run_config=config)
    assert [(item.tool_name, item.path) for item in rerun.held] == [("put", ("call_1_1",))]


async def test_results_and_verdicts_of_guarded_tools_stand_as_recorded() -> None:
    asked: list[str] = []

    @tool_output_guardrail
    def clean(data: ToolOutputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        asked.append(f"clean {data.output}")
        if data.output == "pay gave 2":
            return ToolGuardrailFunctionOutput.reject_content("[hidden]", {"why": 2})
        return ToolGuardrailFunctionOutput.allow()

    @tool_output_guardrail
    def newer(data: ToolOutputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        asked.append(f"newer {data.output}")
        return ToolGuardrailFunctionOutput.allow()

    @tool_input_guardrail
    def sane(data: ToolInputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.allow()

    till = Till([[call("pay", x=1), call("pay", x=2)], "sold"])
    pay = till.tool("pay", "once", tool_output_guardrails=[clean], tool_input_guardrails=[sane])
    till.agent.tools = [pay]
    config = await till.record()
    asked.clear()
    rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(), run_config=config)
    assert (rerun.divergence, asked, till.done) == (None, [], [])
    live = saying(call("pay", x=3), "sold")
    rerun = await Runner.replay(till.agent, RUN_ID, model=live, live_effects=True, run_config=config)
    assert (rerun.final_output, asked, till.done) == ("sold", ["clean pay gave 3"], ["pay 3"])
    asked.clear()
    till.done.clear()
    both = till.agent.clone(tools=[pay.clone(tool_output_guardrails=[newer, clean])])
    rerun = await Runner.replay(till.agent, RUN_ID, change=both, run_config=config)
    assert (rerun.final_output, asked, till.done) == ("sold", ["newer pay gave 1", "newer pay gave 2"], [])


async def test_a_long_result_and_one_of_parts_stand_as_recorded() -> None:
    till = Till([[call("long"), call("picture")], "sold"])
    long = function_tool(lambda: "x" * 500, name_override="long")
    picture = function_tool(lambda: InputImage("data:,"), name_override="picture")
    till.agent.tools = [long, picture]
    config = await till.record(max_tool_result_chars=100)
    rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(), run_config=config)
    assert rerun.divergence is None
    assert rerun.state.items() == (await Runner.load(RUN_ID, run_config=config)).items()


async def test_callbacks_with_effects_are_not_called() -> None:
    taken: list[str] = []

    class Watch(AgentHooks[Any]):
        async def on_start(self, context: Any, agent: Any) -> None:
            taken.append("hook")

    expert = Agent("expert", model=ScriptedModel(["solved", "solved again"]), hooks=Watch())
    to_expert = handoff(expert, on_handoff=lambda ctx: taken.append("on_handoff"))
    agent = Agent("main", model=ScriptedModel([call("transfer_to_expert")]), handoffs=[to_expert], hooks=Watch())
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    await Runner.run(agent, "go", run_config=config)
    taken.clear()
    # Without the handoff the second turn is another agent's.
    rerun = await Runner.replay(agent, RUN_ID, model=saying(call("nothing"), "alone"), run_config=config)
    assert (rerun.final_output, rerun.asked) == ("alone", 2)
    rerun = await Runner.replay(agent, RUN_ID, change=agent.clone(), run_config=config)
    assert (rerun.divergence, taken) == (None, [])
    await Runner.replay(agent, RUN_ID, change=agent.clone(), live_effects=True, run_config=config)
    assert taken == ["on_handoff"]


async def test_guardrails_are_asked_as_they_are_now() -> None:
    @output_guardrail
    def never(*_: object) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, True)

    till = Till(SHOP)
    config = await till.record()
    rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(output_guardrails=[never]), run_config=config)
    assert type(rerun.error).__name__ == "OutputGuardrailTripwireTriggered"
    assert (rerun.final_output, rerun.reused) == (None, 3)
    assert rerun.divergence == Divergence(11, 3, "till", "ends with 'sold'", "output guardrail 'never' says 'raise_exception'")
    assert "stopped by OutputGuardrailTripwireTriggered" in str(rerun)


async def test_a_filter_of_requests_changes_only_what_is_asked_live() -> None:
    def short(request: ModelRequest) -> ModelRequest:
        return structs.replace(request, instructions=f"{request.instructions}Short.")

    till = Till(SHOP)
    config = await till.record(call_model_input_filter=short)
    assert (await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(), run_config=config)).divergence is None
    live = saying("sold")
    await Runner.replay(till.agent, RUN_ID, model=live, run_config=config)
    assert [request.instructions for request in live.requests] == ["Short."]


async def test_an_error_of_the_live_model_ends_it() -> None:
    till = Till(SHOP)
    config = await till.record()
    rerun = await Runner.replay(till.agent, RUN_ID, model=saying(ModelError("gone")), run_config=config)
    assert isinstance(rerun.error, ModelError)
    assert (rerun.final_output, rerun.state.turns) == (None, 0)
    # That the recorded run ended so too is no reason to ask again.
    failing = Till([ModelError("gone")])
    failed = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    with pytest.raises(ModelError):
        await Runner.run(failing.agent, "go", run_config=failed)
    live = saying(ModelError("gone"), "here")
    rerun = await Runner.replay(failing.agent, RUN_ID, model=live, run_config=failed)
    assert (len(live.requests), type(rerun.error)) == (1, ModelError)
    short = dataclasses.replace(config, limits=RunLimits(turns=2))
    rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(), run_config=short)
    assert isinstance(rerun.error, MaxTurnsExceeded)


async def test_a_limit_that_the_recorded_run_passed_holds_it_up_once() -> None:
    till = Till(SHOP)
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    with pytest.raises(MaxTurnsExceeded) as caught:
        await Runner.run(till.agent, "go", run_config=config, max_turns=1)
    assert caught.value.state is not None
    await Runner.run(till.agent, caught.value.state, run_config=config)
    rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(), run_config=config)
    assert (rerun.final_output, rerun.divergence) == ("sold", None)
    short = dataclasses.replace(config, limits=RunLimits(turns=1))
    rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(), run_config=short)
    assert isinstance(rerun.error, MaxTurnsExceeded)


async def test_each_input_that_was_given_is_given_again() -> None:
    @input_guardrail
    def polite(ctx: object, agent: object, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, given[-1].text != "please")

    till = Till(["so", "so", "sold"], input_guardrails=[polite])
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    given: Any = "go"
    for words in ("go on", "please"):
        with pytest.raises(InputGuardrailTripwireTriggered) as caught:
            await Runner.run(till.agent, given, run_config=config)
        given = caught.value.state
        given.replace_input(words)
    await Runner.run(till.agent, given, run_config=config)
    log = (await Runner.load(RUN_ID, run_config=config)).value.log
    for revision in range(1, len(log) + 1):
        rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(), at=revision, run_config=config)
        assert (rerun.final_output, rerun.divergence, rerun.asked) == ("sold", None, 0), revision


async def test_an_empty_reply_is_reused_whatever_was_not_offered() -> None:
    till = Till(["", "sold"])
    till.agent.tools = [till.tool("pay", "once", is_enabled=False), till.tool("look", "none")]
    config = await till.record()
    rerun = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(), run_config=config)
    assert (rerun.divergence, rerun.reused, rerun.asked) == (None, 2, 0)


async def test_models_are_compared_by_name_or_as_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    models = {name: ScriptedModel([*SHOP, f"{name} says"], name=name) for name in ("one", "two")}

    class Provider:
        def get_model(self, name: str | None) -> ScriptedModel:
            return models[name or "one"]

    till = Till([])
    till.agent.model = "one"
    config = await till.record(model_provider=Provider())
    same = await Runner.replay(till.agent, RUN_ID, model="one", run_config=config)
    assert (same.divergence, same.asked) == (None, 0)
    other = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(model="two"), at=9, run_config=config)
    assert other.divergence is not None
    assert other.divergence.now == "another request: other model"
    everywhere = dataclasses.replace(config, model="one")
    same = await Runner.replay(till.agent, RUN_ID, change=till.agent.clone(model="two"), run_config=everywhere)
    assert same.divergence is None


def priced(text: str) -> ModelResponse:
    return ModelResponse((Message("assistant", text),), Usage(1, 1000, 100), model="gpt-4o")


async def test_the_difference_in_cost() -> None:
    pytest.importorskip("genai_prices", reason="needs the extra: pip install 'agentsdk[prices]'")
    agent = Agent("main", model=ScriptedModel([priced("one")]))
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    await Runner.run(agent, "go", run_config=config)
    cheaper = structs.replace(priced("two"), usage=Usage(1, 500, 50))
    rerun = await Runner.replay(agent, RUN_ID, model=saying(cheaper), run_config=config)
    cost = rerun.diff.totals_a.cost
    assert cost is not None and cost > 0
    assert (rerun.diff.cost, rerun.diff.tokens) == (-cost / 2, -550)


async def test_without_price_lists_the_cost_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    agent = Agent("main", model=ScriptedModel([priced("one")]))
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    await Runner.run(agent, "go", run_config=config)
    compared = await Runner.diff(RUN_ID, RUN_ID, run_config=config)
    assert (compared.divergence, compared.cost, compared.totals_a.cost) == (None, None, None)


async def test_as_a_stored_fork_it_can_be_gone_on_with(tmp_path: Path) -> None:
    till = Till(SHOP)
    store = SQLiteRunStore(tmp_path / "runs.db")
    config = RunConfig(store=store, run_id=RUN_ID)
    await Runner.run(till.agent, "go", run_config=config)
    till.done.clear()
    before = await everything(config)
    live = saying(call("pay", x=9), "sold dear")
    rerun = await Runner.replay(till.agent, RUN_ID, model=live, new_run_id="fork", run_config=config)
    assert ([item.tool_name for item in rerun.held], till.done, rerun.state.run_id) == (["pay"], [], "fork")
    summary = await store.summary("fork")
    assert summary is not None
    assert (summary.status, summary.reason, summary.forked_from) == ("failed", "EffectHeld", RUN_ID)
    # Going on with it for real runs the call that was held.
    result = await Runner.resume(till.agent, "fork", run_config=dataclasses.replace(config, model=live))
    assert (result.final_output, till.done) == ("sold dear", ["pay 9"])
    compared = await Runner.diff(RUN_ID, "fork", run_config=config)
    assert compared.divergence == Divergence(1, 1, "till", 'calls look({"x":1})', 'calls pay({"x":9})')
    assert (compared.turns, compared.tool_calls, compared.tokens) == (-1, -2, -15)
    with pytest.raises(RunConflictError):
        await Runner.replay(till.agent, RUN_ID, model=live, new_run_id="fork", run_config=config)
    assert await everything(config) == before
    await store.aclose()


async def test_what_is_wrong_is_said() -> None:
    till = Till(SHOP)
    config = await till.record(context_codec=ContextCodec(lambda context: "not a number", str))
    with pytest.raises(StateMismatchError, match="expected by 'other'"):
        await Runner.replay(till.agent, RUN_ID, change=Agent("other"), new_run_id="fork", run_config=config)
    assert config.store is not None and await config.store.summary("fork") is None
    with pytest.raises(StateMismatchError, match="expected by 'other'"):
        await Runner.replay(Agent("other"), RUN_ID, change=till.agent, run_config=config)
    with pytest.raises(UserError, match="has no revision 99"):
        await Runner.replay(till.agent, RUN_ID, change=till.agent, at=99, run_config=config)
    broken = dataclasses.replace(config, context_codec=ContextCodec(str, int))
    with pytest.raises(CallbackError, match=r"context_codec\.decode raised ValueError"):
        await Runner.replay(till.agent, RUN_ID, change=till.agent, at=2, run_config=broken)
    twins = till.agent.clone(tools=[till.tool("pay", "once"), till.tool("pay", "once")])
    with pytest.raises(UserError, match="unique names"):
        await Runner.replay(till.agent, RUN_ID, change=twins, run_config=config)


@pytest.mark.parametrize("name", ["dynamic tools and instructions", "continued after length", "empty replies"])
async def test_a_change_past_the_first_turns_keeps_those(name: str) -> None:
    scenario = scenario_called(name)
    config = await recorded(scenario)
    agent = scenario.build(World())
    kind = agent.clone(instructions="Be kind.", model=saying("kindly"))
    log = (await Runner.load(RUN_ID, run_config=config)).value.log
    last = max(at for at, event in enumerate(log) if type(event).__name__ == "TurnEnded") + 1
    rerun = await Runner.replay(agent, RUN_ID, change=kind, at=last, run_config=config)
    assert (rerun.final_output, rerun.asked, rerun.reused) == ("kindly", 1, 0)
    assert rerun.divergence is not None
    assert "model, instructions" in rerun.divergence.now


async def test_replies_that_failed_are_gone_past_as_they_were_recorded() -> None:
    def failed() -> ModelError:
        error = IncompleteResponseError("cut")
        error.usage = Usage(1, 3, 4)
        return error

    first = ScriptedModel([failed(), failed(), "done"], name="first")
    second = ScriptedModel([call("look", x=1), failed()], name="second")
    till = Till([])
    agent = till.agent.clone(model=FallbackModel(first, second))
    config = RunConfig(store=MemoryRunStore(), run_id=RUN_ID)
    with pytest.raises(IncompleteResponseError) as caught:
        await Runner.run(agent, "go", run_config=config)
    assert isinstance(caught.value.state, RunState)
    result = await Runner.run(agent, caught.value.state, run_config=config)
    rerun = await Runner.replay(agent, RUN_ID, change=agent.clone(), at=1, run_config=config)
    assert (rerun.divergence, rerun.asked, rerun.spent, rerun.error) == (None, 0, Usage(), None)
    assert rerun.final_output == result.final_output == "done"
    assert rerun.state.items() == result.to_state().items()
