"""What guarded a run when it began is still there when it goes on, or it does not go on."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable
from typing import Any, cast

import pytest

from agentsdk import (
    Agent,
    AgentsException,
    ContextCodec,
    GuardrailFunctionOutput,
    MemoryRunStore,
    RateLimitError,
    RunConfig,
    Runner,
    RunState,
    ToolContext,
    ToolGuardrailFunctionOutput,
    UserError,
    function_tool,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.engine.guards import guards_of
from agentsdk.errors import StateCorruptError, StateMismatchError, StateTamperedError
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import RunStarted

pytestmark = pytest.mark.anyio

KEY, NEXT_KEY = b"K" * 32, b"N" * 32


@input_guardrail
def polite(context: Any, agent: Any, items: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, False)


@output_guardrail
def no_secrets(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, "SECRET" in str(output))


@tool_input_guardrail
def sane(data: Any) -> ToolGuardrailFunctionOutput:
    return ToolGuardrailFunctionOutput.allow()


@tool_output_guardrail
def clean(data: Any) -> ToolGuardrailFunctionOutput:
    return ToolGuardrailFunctionOutput.allow()


@function_tool(needs_approval=True)
def look() -> str:
    """Look."""
    return "x"


def asking(*replies: Any, tools: Any = (look,), **fields: Any) -> Agent[Any, Any]:
    return Agent("a", model=ScriptedModel(list(replies) or [call("look"), "SECRET"]), tools=list(tools), **fields)


def nested(*replies: Any, **fields: Any) -> Agent[Any, Any]:
    """An agent that reaches another one as a tool, which is the one that asks."""
    inner = Agent("inner", model=ScriptedModel(["seen"] if replies else [call("look")]), tools=[look], **fields)
    return Agent("a", model=ScriptedModel(list(replies) or [call("ask", input="x")]), tools=[inner.as_tool("ask")])


def handing_over(*replies: Any, **fields: Any) -> Agent[Any, Any]:
    return asking(*replies, handoffs=[Agent("other", **fields)])


GUARDED: dict[str, tuple[Callable[..., Agent[Any, Any]], dict[str, Any], dict[str, Any]]] = {
    "input guardrail 'polite'": (asking, {}, {"input_guardrails": [polite]}),
    "output guardrail 'no_secrets'": (asking, {}, {"output_guardrails": [no_secrets]}),
    "input guardrail 'polite' ": (asking, {"input_guardrails": [polite]}, {}),
    "output guardrail 'no_secrets' of agent 'a'": (asking, {"output_guardrails": [no_secrets]}, {}),
    "tool input guardrail 'sane' of tool 'look' of agent 'a'": (
        asking,
        {"tools": [look.clone(tool_input_guardrails=[sane])]},
        {},
    ),
    "tool output guardrail 'clean' of tool 'look' of agent 'a'": (
        asking,
        {"tools": [look.clone(tool_output_guardrails=[clean])]},
        {},
    ),
    "output guardrail 'no_secrets' of agent 'inner'": (nested, {"output_guardrails": [no_secrets]}, {}),
    "input guardrail 'polite' of agent 'inner'": (nested, {"input_guardrails": [polite]}, {}),
    "output guardrail 'no_secrets' of agent 'other'": (handing_over, {"output_guardrails": [no_secrets]}, {}),
}


@pytest.mark.parametrize("stored", [False, True], ids=["state", "store"])
@pytest.mark.parametrize("told", GUARDED)
async def test_a_run_does_not_go_on_without_a_guardrail_it_was_begun_under(told: str, stored: bool) -> None:
    make, fields, settings = GUARDED[told]
    store = MemoryRunStore() if stored else None
    config = RunConfig(store=store, run_id="r", **settings)
    state = (await Runner.run(make(**fields), "x", run_config=config)).to_state()
    state.approve(state.interruptions[0])
    text = state.to_string()
    if stored:
        await Runner.decide(state, run_config=config)

    async def resume(agent: Agent[Any, Any], **settings: Any) -> Any:
        config = RunConfig(store=store, **settings)
        if stored:
            return await Runner.resume(agent, "r", run_config=config)
        return await Runner.run(agent, RunState.from_string(agent, text), run_config=config)

    guarded, bare = make("fine", **fields), make("fine")
    with pytest.raises(StateMismatchError, match=f"under {told.strip()}, which is not there now"):
        await resume(bare)
    name = told.split("'")[1]
    if told.startswith("input"):  # asked once, at the start
        assert (await resume(bare, without_guards=[name])).final_output == "fine"
    else:
        assert (await resume(guarded, **settings)).final_output == "fine"


async def test_two_of_one_name_are_two() -> None:
    config = RunConfig(output_guardrails=[no_secrets])
    begun = (await Runner.run(asking(output_guardrails=[no_secrets]), "x", run_config=config)).to_state()
    begun.approve(begun.interruptions[0])
    with pytest.raises(StateMismatchError, match="no_secrets"):
        await Runner.run(asking("fine", output_guardrails=[no_secrets]), begun)


async def test_what_guarded_a_tool_that_is_gone_is_not_missed() -> None:
    other = look.clone(name="other", tool_input_guardrails=[sane])
    begun = (await Runner.run(asking(tools=[look, other], output_guardrails=[]), "x")).to_state()
    begun.approve(begun.interruptions[0])
    assert (await Runner.run(asking("fine"), begun)).final_output == "fine"


async def test_a_finished_run_has_nothing_left_to_guard() -> None:
    result = await Runner.run(asking("fine"), "x", context="c", run_config=RunConfig(output_guardrails=[no_secrets]))
    text = result.to_state().to_string()
    assert (await Runner.run(asking(), RunState.from_string(asking(), text))).final_output == "fine"


async def test_a_guardrail_that_is_new_is_asked() -> None:
    begun = (await Runner.run(asking(), "x")).to_state()
    begun.approve(begun.interruptions[0])
    with pytest.raises(AgentsException, match="no_secrets"):
        await Runner.run(asking("SECRET"), begun, run_config=RunConfig(output_guardrails=[no_secrets]))


async def test_a_rerun_is_guarded_by_what_is_changed() -> None:
    store = MemoryRunStore()
    config = RunConfig(store=store, run_id="r", output_guardrails=[no_secrets])
    await Runner.run(asking("fine"), "x", run_config=config)
    plain = RunConfig(store=store)
    rerun = await Runner.replay(asking("fine"), "r", change=asking("fine"), new_run_id="n", run_config=plain)
    assert (rerun.final_output, rerun.error) == ("fine", None)
    started = (await Runner.load("n", run_config=plain)).value.log[0]
    assert isinstance(started, RunStarted) and started.guards == ()


def test_a_run_without_guards_records_none() -> None:
    assert guards_of(asking(), RunConfig(), None) == ()


# The context.


@function_tool(needs_approval=True)
def whose(ctx: ToolContext[Any]) -> str:
    """Whose."""
    return f"of {ctx.context}"


def telling(*replies: Any) -> Agent[Any, Any]:
    return Agent("a", model=ScriptedModel(list(replies) or [call("whose"), "told"]), tools=[whose])


def told(result: Any) -> list[Any]:
    return [item["output"] for item in result.to_input_list() if item["type"] == "function_call_output"]


async def test_in_one_process_a_state_keeps_its_context() -> None:
    ada = object()
    result = await Runner.run(telling(), "x", context=ada)
    for state in (result.to_state(), copy.copy(result.to_state()), copy.deepcopy(result.to_state())):
        state.approve(state.interruptions[0])
        assert told(await Runner.run(telling("told"), state)) == [f"of {ada}"]
        other = await Runner.run(telling("told"), state, context="eve")
        assert told(other) == ["of eve"]
        assert other.to_state().context == "eve"


async def test_an_errors_state_keeps_its_context() -> None:
    def fails(request: Any) -> Any:
        raise ValueError("no")

    with pytest.raises(AgentsException) as caught:
        await Runner.run(telling(fails), "x", context="ada")
    state = caught.value.state
    assert isinstance(state, RunState)
    result = await Runner.run(telling(), state)
    state = result.to_state()
    state.approve(state.interruptions[0])
    assert told(await Runner.run(telling("told"), state)) == ["of ada"]


@pytest.mark.parametrize("way", ["text", "json", "pickle", "store"])
async def test_a_loaded_state_that_had_a_context_needs_one(way: str) -> None:
    config = RunConfig(store=MemoryRunStore() if way == "store" else None, run_id="r")
    state = (await Runner.run(telling(), "x", context="ada", run_config=config)).to_state()
    state.approve(state.interruptions[0])
    model = ScriptedModel(["told"])
    agent = telling().clone(model=model)
    if way == "store":
        await Runner.decide(state, run_config=config)
        loaded = await Runner.load("r", run_config=config)
    elif way == "text":
        loaded = RunState.from_string(agent, state.to_string())
    elif way == "json":
        loaded = RunState.from_json(agent, state.to_json())
    else:
        loaded = pickle.loads(pickle.dumps(state))
    assert loaded.context is None
    config = dataclasses.replace(config, run_id=None)
    with pytest.raises(UserError, match="was given a context and goes on here without one"):
        await Runner.run(agent, loaded, run_config=config)
    assert model.requests == []
    if way != "store":
        without = await Runner.run(telling("told"), loaded, run_config=RunConfig(without_guards=["context"]))
        assert told(without) == ["of None"]
    assert told(await Runner.run(agent, loaded, context="eve", run_config=config)) == ["of eve"]


async def test_a_run_without_a_context_needs_none() -> None:
    state = (await Runner.run(telling(), "x")).to_state()
    state.approve(state.interruptions[0])
    loaded = RunState.from_string(telling(), state.to_string())
    assert told(await Runner.run(telling("told"), loaded)) == ["of None"]


async def test_a_codec_gives_a_loaded_state_its_context() -> None:
    config = RunConfig(context_codec=ContextCodec(str, str))
    state = (await Runner.run(telling(), "x", context="ada", run_config=config)).to_state()
    state.approve(state.interruptions[0])
    loaded = RunState.from_string(telling(), state.to_string())
    assert told(await Runner.run(telling("told"), loaded, run_config=config)) == ["of ada"]
    with pytest.raises(UserError, match="without one"):
        await Runner.run(telling("told"), loaded)


# The seal.


async def sealed(**settings: Any) -> RunState:
    state = (await Runner.run(asking(), "x", run_config=RunConfig(state_key=KEY, **settings))).to_state()
    state.approve(state.interruptions[0])
    return state


async def test_a_sealed_state_is_not_loaded_without_its_key() -> None:
    text = (await sealed()).to_string()
    with pytest.raises(StateTamperedError, match="is sealed, expected its state_key"):
        RunState.from_string(asking(), text)


async def test_a_state_that_nothing_vouches_for_gets_no_seal() -> None:
    plain = (await Runner.run(asking(), "x")).to_state()
    state = RunState.from_string(asking(), plain.to_string())
    state.approve(state.interruptions[0])
    for unchecked in (state, copy.copy(state), pickle.loads(pickle.dumps(state))):
        assert not unchecked.is_verified
        with pytest.raises(StateTamperedError, match="nothing vouches for it"):
            await Runner.run(asking("fine"), unchecked, run_config=RunConfig(state_key=KEY))
    plain.approve(plain.interruptions[0])
    assert (await Runner.run(asking("fine"), plain, run_config=RunConfig(state_key=KEY))).final_output == "fine"


async def test_a_run_stays_sealed() -> None:
    loaded = RunState.from_string(asking(), (await sealed()).to_string(), state_key=KEY)
    for state in (await sealed(), loaded):
        after = await Runner.run(asking("fine"), state)
        text = after.to_state().to_string()
        assert RunState.from_string(asking(), text, state_key=KEY).is_finished


async def test_a_stored_run_that_was_sealed_needs_its_key() -> None:
    store = MemoryRunStore()
    state = await sealed(store=store, run_id="r")
    await Runner.decide(state, run_config=RunConfig(store=store))
    with pytest.raises(StateMismatchError, match="begun with a state_key and goes on here without one"):
        await Runner.resume(asking("fine"), "r", run_config=RunConfig(store=store))
    with pytest.raises(UserError, match="expected the key to seal it"):
        (await Runner.load("r", run_config=RunConfig(store=store))).to_string()
    result = await Runner.resume(asking("fine"), "r", run_config=RunConfig(store=store, state_key=KEY))
    assert result.final_output == "fine"


async def test_keys_are_rotated() -> None:
    old = (await sealed()).to_string()
    both = [NEXT_KEY, KEY]
    state = RunState.from_string(asking(), old, state_key=both)
    text = (await Runner.run(asking("fine"), state, run_config=RunConfig(state_key=both))).to_state().to_string()
    assert RunState.from_string(asking(), text, state_key=NEXT_KEY).is_finished
    with pytest.raises(StateTamperedError):
        RunState.from_string(asking(), text, state_key=KEY)
    with pytest.raises(UserError, match="state_key has 5 bytes"):
        RunConfig(state_key=[KEY, b"short"])


async def test_text_is_bound_to_the_run_that_is_expected() -> None:
    state = await sealed(run_id="r")
    text, data = state.to_string(), state.to_json()
    assert RunState.from_string(asking(), text, state_key=KEY, run_id="r").run_id == "r"
    for load in (
        lambda: RunState.from_string(asking(), text, state_key=KEY, run_id="other"),
        lambda: RunState.from_json(asking(), data, state_key=KEY, run_id="other"),
    ):
        with pytest.raises(StateMismatchError, match="another one than 'other'"):
            load()


async def test_no_pickle_holds_the_key_or_the_context() -> None:
    bare: Agent[Any, Any] = Agent("a", model=None)
    config = RunConfig(state_key=KEY, model=ScriptedModel(["fine"]))
    result = await Runner.run(bare, "x", context="the context", run_config=config)
    error = AgentsException("no")
    error.state = result.to_state()
    for value in (result.to_state(), error):
        pickled = pickle.dumps(value)
        assert KEY not in pickled and b"the context" not in pickled
    assert KEY not in pickle.dumps(result)
    state = pickle.loads(pickle.dumps(result.to_state()))
    assert state.value == result.to_state().value
    with pytest.raises(UserError, match="expected the key to seal it"):
        state.to_string()
    assert RunState.from_string(bare, state.to_string(state_key=KEY), state_key=KEY).is_finished


@pytest.mark.parametrize("guard", [[], ["output guardrail"], [""]])
async def test_a_recorded_guard_that_names_nothing_is_corruption(guard: list[str]) -> None:
    passes = output_guardrail(lambda *_: GuardrailFunctionOutput(None, False), name="g")
    agent: Agent[Any, Any] = Agent("a", model=ScriptedModel(["never"]), output_guardrails=[passes])
    with pytest.raises(AgentsException) as stopped:
        await Runner.run(agent.clone(model=ScriptedModel([RateLimitError("later", status=429)])), "go")
    data = json.loads(cast(RunState, stopped.value.state).to_string())
    [place] = [at for at, part in enumerate(data["log"][0]) if part == [["output guardrail", "g", "a"]]]
    data["log"][0][place] = [guard]
    with pytest.raises(StateCorruptError, match="records a guard that names nothing"):
        await Runner.run(agent, RunState.from_json(agent, data))
