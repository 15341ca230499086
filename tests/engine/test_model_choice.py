"""A model chosen turn by turn: asked once a turn, kept by the open turn, and what all limits and windows go by."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from agentsdk import (
    Agent,
    ContextWindow,
    CostLimitExceededError,
    DropOldest,
    MemoryRunStore,
    MemorySession,
    Message,
    Model,
    ModelBehaviorError,
    ModelPrice,
    RunConfig,
    RunLimits,
    Runner,
    RunState,
    Summarize,
    Usage,
    UserError,
)
from agentsdk.errors import CallbackError, ContextTooLongError
from agentsdk.runs import TurnContext
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.scripted import ScriptedReply
from agentsdk.types.events import AttemptSpent, ModelReplied, ViewReplaced
from tests.scenarios import World, cut, tool_of

pytestmark = pytest.mark.anyio

Chosen = TurnContext[Any]


def agent_with(model: Any, world: World | None = None, **fields: Any) -> Agent[Any, Any]:
    return Agent("main", model=model, tools=[tool_of(world or World(), "add")], **fields)


class Models:
    """Finds its models by name."""

    def __init__(self, **models: Model) -> None:
        self.models = models

    def get_model(self, name: str | None) -> Model:
        assert name is not None
        return self.models[name.removeprefix("my:")]


def in_turns(*names: str) -> tuple[Callable[[Chosen, Any], str], list[tuple[int, int, str]]]:
    """A selector that gives these names, turn by turn; and what it was told each time."""
    asked: list[tuple[int, int, str]] = []

    def select(context: Chosen, agent: Agent[Any, Any]) -> str:
        asked.append((context.turn, len(context.items), context.run_id))
        return names[context.turn - 1]

    return select, asked


async def test_a_callable_chooses_the_model_of_each_turn() -> None:
    small, big = ScriptedModel([call("add", x=1), "two"], name="small"), ScriptedModel([call("add", x=2)], name="big")
    select, asked = in_turns("my:small", "my:big", "my:small")
    config = RunConfig(model_provider=Models(small=small, big=big), run_id="r")
    result = await Runner.run(agent_with(select), "go", run_config=config)
    assert result.final_output == "two"
    assert asked == [(1, 1, "r"), (2, 3, "r"), (3, 5, "r")]
    replies = [event for event in result.to_state().value.log if isinstance(event, ModelReplied)]
    assert [reply.asked for reply in replies] == ["small", "big", "small"]


async def test_it_may_be_async_give_models_and_stand_in_the_run_config() -> None:
    model, other = ScriptedModel(["mine"]), ScriptedModel([])

    async def select(context: Chosen, agent: Agent[Any, Any]) -> Model:
        assert (context.context, agent.name) == ("ctx", "main")
        return model

    agent: Agent[str, Any] = agent_with(other)
    result = await Runner.run(agent, "go", context="ctx", run_config=RunConfig(model=select))
    assert (result.final_output, other.requests) == ("mine", [])


async def test_it_is_asked_once_for_all_requests_of_a_turn() -> None:
    model = ScriptedModel(["", cut("half "), cut("and "), "half"], name="small")
    select, asked = in_turns("small")
    result = await Runner.run(agent_with(select), "go", run_config=RunConfig(model_provider=Models(small=model)))
    assert (result.final_output, len(model.requests), len(asked)) == ("half and half", 4, 1)
    spent = [event for event in result.to_state().value.log if isinstance(event, AttemptSpent)]
    assert [event.chosen for event in spent] == ["small"] * 3


async def test_an_open_turn_goes_on_with_the_name_that_was_chosen_for_it() -> None:
    world = World()
    small = ScriptedModel([call("add", x=1), cut("half "), ModelBehaviorError("away")], name="small")
    select, asked = in_turns("small", "small", "big")
    agent = agent_with(select, world)
    config = RunConfig(model_provider=Models(small=small))
    with pytest.raises(ModelBehaviorError) as caught:
        await Runner.run(agent, "go", run_config=config)
    state = RunState.from_string(agent, caught.value.state.to_string())
    again = ScriptedModel(["way"], name="small")
    select, later = in_turns("other", "other", "other")
    agent.model = select
    result = await Runner.run(agent, state, run_config=RunConfig(model_provider=Models(small=again)))
    assert (result.final_output, len(asked), later) == ("half way", 2, [])


async def test_a_fixed_model_after_a_handoff_has_nothing_of_the_choice_before() -> None:
    small, fixed = ScriptedModel([call("transfer_to_expert")], name="small"), ScriptedModel([cut("a "), "b"], name="fixed")
    select, _ = in_turns("small")
    expert: Agent[Any, Any] = Agent("expert", model=fixed)
    agent = Agent("first", model=select, handoffs=[expert])
    result = await Runner.run(agent, "go", run_config=RunConfig(model_provider=Models(small=small)))
    assert result.final_output == "a b"
    (spent,) = [event for event in result.to_state().value.log if isinstance(event, AttemptSpent)]
    assert (spent.asked, spent.chosen) == ("fixed", "")


async def test_nested_runs_choose_for_themselves() -> None:
    inner, outer = ScriptedModel(["in"], name="inner"), ScriptedModel([call("helper", input="x"), "out"], name="outer")
    asked: list[tuple[str, int, tuple[str, ...]]] = []

    def select(context: Chosen, agent: Agent[Any, Any]) -> Model:
        asked.append((agent.name, context.turn, context.path))
        return inner if agent.name == "helper" else outer

    agent: Agent[Any, Any] = Agent("main", tools=[Agent("helper").as_tool()])
    result = await Runner.run(agent, "go", run_config=RunConfig(model=select))
    assert result.final_output == "out"
    assert asked == [("main", 1, ()), ("helper", 1, ("call_1_1",)), ("main", 2, ())]


@pytest.mark.parametrize("given", [None, 7, "", ScriptedModel], ids=str)
async def test_a_choice_that_is_no_model_is_a_user_error_with_the_state(given: object) -> None:
    agent = agent_with(lambda context, agent: given)
    with pytest.raises(UserError, match=r"model of agent 'main' chose .*, expected a model") as caught:
        await Runner.run(agent, "go")
    again = ScriptedModel(["fine"])
    agent.model = lambda context, agent: again
    assert (await Runner.run(agent, caught.value.state)).final_output == "fine"


async def test_a_callable_that_raises_is_a_callback_error() -> None:
    def select(context: Chosen, agent: Agent[Any, Any]) -> str:
        raise KeyError("secret")

    with pytest.raises(CallbackError, match="model of agent 'main' raised KeyError") as caught:
        await Runner.run(agent_with(select), "go")
    assert "secret" not in str(caught.value) and caught.value.state is not None
    with pytest.raises(CallbackError, match="model of the RunConfig raised KeyError"):
        await Runner.run(agent_with(ScriptedModel([])), "go", run_config=RunConfig(model=select))


def test_a_class_is_no_callable_that_chooses() -> None:
    with pytest.raises(UserError, match=r"agent 'main' has model=<class .*a callable that chooses"):
        agent_with(ScriptedModel)
    with pytest.raises(UserError, match=r"RunConfig\(model=<class"):
        RunConfig(model=ScriptedModel)  # type: ignore[arg-type]


async def test_costs_and_their_limit_go_by_the_model_chosen() -> None:
    prices = {"cheap": ModelPrice(input=1, output=1), "dear": ModelPrice(input=1_000, output=1_000)}
    big = Usage(1, 1_000, 0)
    cheap, dear = ScriptedModel([call("add", x=1)], name="cheap", usage=big), ScriptedModel([], name="dear", usage=big)
    select, _ = in_turns("cheap", "dear")
    config = RunConfig(
        model_provider=Models(cheap=cheap, dear=dear),
        prices=prices,
        limits=RunLimits(cost=Decimal("0.01"), output_tokens_per_request=500),
    )
    with pytest.raises(CostLimitExceededError) as caught:
        await Runner.run(agent_with(select), "go", run_config=config)
    assert caught.value.used == Decimal("0.001")
    assert (len(cheap.requests), dear.requests) == (1, [])


class Sized(ScriptedModel):
    """A model that says the size of its window."""

    def __init__(self, name: str, context_window: int, replies: list[ScriptedReply]) -> None:
        super().__init__(replies, name=name)
        self.context_window = context_window


class ByChars:
    """Counts a token for each character."""

    def count(self, items: Any) -> list[int]:
        return [len(str(item)) for item in items]

    def count_fixed(self, instructions: str, tools: Any, output: Any) -> int:
        return 0


async def test_a_view_fits_the_window_of_the_model_chosen() -> None:
    wide = Sized("wide", 100_000, [call("add", x=n) for n in range(1, 9)])
    narrow = Sized("narrow", 1_500, ["done"])
    select, _ = in_turns(*["wide"] * 8, "narrow")
    config = RunConfig(
        model_provider=Models(wide=wide, narrow=narrow),
        token_counter=ByChars(),
        window=ContextWindow(strategies=[DropOldest()], reserve=10),
        limits=RunLimits(repeated_rounds=None),
    )
    result = await Runner.run(agent_with(select), "go", run_config=config)
    assert result.final_output == "done"
    assert max(len(request.items) for request in wide.requests) == 15
    assert sum(ByChars().count(narrow.requests[0].items)) < 1_500


async def test_a_refusal_shows_the_window_of_the_model_that_refused_only() -> None:
    small = Sized("small", 50_000, [ContextTooLongError("too long"), call("add", x=9)])
    wide = Sized("wide", 100_000, [*[call("add", x=n) for n in range(1, 9)], "done"])
    select, _ = in_turns(*["wide"] * 8, "small", "wide")
    config = RunConfig(
        model_provider=Models(wide=wide, small=small),
        token_counter=ByChars(),
        window=ContextWindow(strategies=[DropOldest()], reserve=10),
        limits=RunLimits(repeated_rounds=None),
    )
    result = await Runner.run(agent_with(select), "go", run_config=config)
    assert result.final_output == "done"
    (refused,) = [event for event in result.to_state().value.log if isinstance(event, ViewReplaced)]
    assert refused.model == "small" and refused.window
    assert result.to_state().value.windows == {"small": refused.window}


async def test_a_session_is_compacted_by_the_model_chosen() -> None:
    session, model = (
        MemorySession("s"),
        ScriptedModel(["They talked about the weather, and about what to wear on the way to the office in the rain."]),
    )
    await session.add_items([Message("assistant" if n % 2 else "user", "so on " * 50) for n in range(20)])
    window = ContextWindow(size=1_000, trigger=0.5, target=0.25, strategies=[Summarize(keep_turns=1, max_tokens=100)])
    done = await Runner.compact_session(session, window, run_config=RunConfig(model=lambda context, agent: model))
    assert done is not None and len(model.requests) == 1


async def test_a_rerun_takes_the_choice_from_the_record_and_a_live_turn_chooses() -> None:
    small, big = ScriptedModel([call("add", x=1)], name="small"), ScriptedModel(["end"], name="big")
    select, asked = in_turns("small", "big")
    store = MemoryRunStore()
    config = RunConfig(model_provider=Models(small=small, big=big), store=store, run_id="r")
    agent = agent_with(select)
    await Runner.run(agent, "go", run_config=config)
    asked.clear()
    replay = await Runner.replay(agent, "r", run_config=config)
    assert replay.divergence is None
    same = await Runner.replay(agent, "r", change=agent.clone(), run_config=config)
    assert (same.divergence, same.reused, same.asked, asked) == (None, 2, 0, [])
    replies = [event for event in same.state.value.log if isinstance(event, ModelReplied)]
    assert [reply.asked for reply in replies] == ["small", "big"]
    live = RunConfig(model_provider=Models(small=ScriptedModel(["other"], name="small")), store=store)
    changed = await Runner.replay(agent, "r", change=agent.clone(instructions="Be brief."), run_config=live)
    assert (changed.final_output, changed.reused, changed.asked, [turn for turn, *_ in asked]) == ("other", 0, 1, [1])
