"""Limits of a run in motion: reserved before the spend, over nested runs, resumes and concurrent runs; and what then."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from decimal import Decimal
from typing import Any

import pytest

from agentsdk import (
    Agent,
    AgentsException,
    CostLimitExceededError,
    FunctionCallOutput,
    LimitExceededError,
    MaxTurnsExceeded,
    MemoryRunStore,
    Message,
    ModelError,
    ModelPrice,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    RunConfig,
    RunErrorHandlerResult,
    RunHooks,
    RunLimits,
    Runner,
    RunQuery,
    RunState,
    Usage,
    UserError,
    function_tool,
    shared_limits,
)
from agentsdk.engine import begin
from agentsdk.errors import (
    ConsecutiveErrorsExceededError,
    DeadlineExceededError,
    NoProgressError,
    RepeatedCallsError,
    RequestLimitExceededError,
    TokenLimitExceededError,
    ToolCallLimitExceededError,
)
from agentsdk.events import LimitWarningStreamEvent, ResponseCompleted
from agentsdk.models import RateLimitedModel
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import LimitReachedEvent, LimitWarningEvent
from tests.core.histories import unpaired

pytestmark = pytest.mark.anyio


def config(on_limit: Any = "raise", prices: Any = None, **limits: Any) -> RunConfig:
    return RunConfig(limits=RunLimits(**limits), on_limit=on_limit, prices=prices)


@function_tool(effect="none")
async def look(x: int) -> str:
    """Look something up."""
    return f"saw {x}"


class Talker:
    """A model that writes as much as it may: all of its cap, or `wanted` tokens where that is less."""

    name = "talker"

    def __init__(self, wanted: int = 10**6, calls: int = 10**6) -> None:
        self.wanted = wanted
        self.calls = calls
        self.caps: list[int | None] = []
        self.spent = 0
        self.at_once = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        self.caps.append(request.settings.max_tokens)
        cap = request.settings.max_tokens
        output = self.wanted if cap is None else min(cap, self.wanted)
        self.spent += output
        await asyncio.sleep(0)
        asks = len(self.caps) <= self.calls and request.settings.tool_choice != "none"
        said = call("look", x=len(self.caps)) if asks else Message("assistant", "enough")
        usage = Usage(1, 0, output)
        yield ResponseCompleted(ModelResponse((said,), usage, "tool_calls" if asks else "stop"))


async def test_each_request_is_capped_at_what_is_left_and_the_limit_is_never_passed() -> None:
    model = Talker()
    agent = Agent("main", model=model, tools=[look])
    with pytest.raises(TokenLimitExceededError) as raised:
        await Runner.run(agent, "go", run_config=config(output_tokens=10_000))
    assert model.caps == [4096, 4096, 10_000 - 2 * 4096]
    assert model.spent == 10_000
    error = raised.value
    assert (error.kind, error.used, error.limit) == ("output_tokens", 10_000, 10_000)
    assert isinstance(error.state, RunState)
    result = await Runner.run(agent, error.state, run_config=config(output_tokens=20_000, on_limit="finalize"))
    assert result.final_output == "enough" and model.spent <= 20_000


async def test_the_agents_own_max_tokens_stay_where_they_are_lower() -> None:
    model = Talker(calls=0)
    brief = Agent("main", model=model, model_settings=ModelSettings(max_tokens=50))
    await Runner.run(brief, "go", run_config=config(tokens=9_000))
    await Runner.run(Agent("main", model=model), "go", run_config=config(requests=5))
    assert model.caps == [50, None]


async def test_concurrent_children_share_their_parents_budget() -> None:
    model = Talker(wanted=900)
    child = Agent("child", model=model, tools=[look])
    tools = [child.as_tool(f"child_{number}") for number in range(16)]
    parent = Agent("parent", model=ScriptedModel([[call(f"child_{n}", input="go") for n in range(16)]]), tools=tools)
    with pytest.raises(TokenLimitExceededError):
        await Runner.run(parent, "go", run_config=config(output_tokens=20_000, turns=None))
    assert 20_000 - 900 < model.spent <= 20_000


async def test_what_others_have_reserved_is_waited_for() -> None:
    """Each reply is set aside 4,096 tokens, but takes ten: all children get their turn, two at a time."""
    model = Talker(wanted=10, calls=0)
    child = Agent("child", model=model)
    tools = [child.as_tool(f"child_{number}") for number in range(16)]
    parent = Agent("parent", model=ScriptedModel([[call(f"child_{n}", input="go") for n in range(16)], "done"]), tools=tools)
    result = await Runner.run(parent, "go", run_config=config(output_tokens=9_000))
    assert result.final_output == "done"
    assert len(model.caps) == 16


async def test_calls_never_pass_their_limit() -> None:
    seen: list[int] = []

    @function_tool(effect="none")
    async def count(x: int) -> int:
        seen.append(x)
        return x

    class CallsThrice:
        name = "thrice"

        async def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
            answered = any(isinstance(item, FunctionCallOutput) for item in request.items)
            said = (Message("assistant", "done"),) if answered else tuple(call("count", x=n) for n in range(3))
            yield ResponseCompleted(ModelResponse(said, Usage(1, 1, 1), "stop" if answered else "tool_calls"))

    child = Agent("child", model=CallsThrice(), tools=[count])
    tools = [child.as_tool(f"child_{number}") for number in range(16)]
    parent = Agent("parent", model=ScriptedModel([[call(f"child_{n}", input="go") for n in range(16)], "x"]), tools=tools)
    with pytest.raises(ToolCallLimitExceededError) as raised:
        await Runner.run(parent, "go", run_config=config(tool_calls=31, turns=None))
    assert len(seen) == 15  # 16 calls of children and five times three
    assert isinstance(raised.value.state, RunState)
    result = await Runner.run(parent, raised.value.state, run_config=config(tool_calls=64, turns=None))
    assert result.final_output == "x" and len(seen) == 48


async def test_one_tools_calls_have_a_limit_of_their_own() -> None:
    agent = Agent("main", model=ScriptedModel([call("look", x=1), call("look", x=2), "done"]), tools=[look])
    with pytest.raises(ToolCallLimitExceededError, match="called tool 'look' 1 times and needs 1 more, expected at most 1"):
        await Runner.run(agent, "go", run_config=config(calls_per_tool={"look": 1}))


async def test_cost_is_reserved_at_the_models_price() -> None:
    model = Talker()
    prices = {"talker": ModelPrice(input="1", output="2")}
    agent = Agent("main", model=model, tools=[look])
    with pytest.raises(CostLimitExceededError) as raised:
        await Runner.run(agent, "go", run_config=config(cost="0.02", prices=prices))
    spent = Decimal(model.spent) * 2 / 1_000_000
    assert Decimal("0.0195") < spent <= Decimal("0.02")
    assert raised.value.used == pytest.approx(spent, abs=Decimal("0.0001"))


async def test_a_limit_on_cost_needs_a_price() -> None:
    model = Talker()
    with pytest.raises(UserError, match="expected a price for the model"):
        await Runner.run(Agent("main", model=model), "go", run_config=config(cost=1))
    assert model.caps == []


async def test_attempts_that_came_to_nothing_are_paid_for() -> None:
    model = ScriptedModel([ModelResponse((), Usage(1, 10, 5)), ModelResponse((), Usage(1, 10, 5)), "done"])
    with pytest.raises(RequestLimitExceededError) as raised:
        await Runner.run(Agent("main", model=model), "go", run_config=config(requests=2))
    assert raised.value.used == 2


class Stuck:
    """A model that makes the calls of `rounds` over and over."""

    name = "stuck"

    def __init__(self, *rounds: int) -> None:
        self.rounds = rounds
        self.turns = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        x = self.rounds[self.turns % len(self.rounds)]
        self.turns += 1
        yield ResponseCompleted(ModelResponse((call("look", x=x),), Usage(1, 1, 1), "tool_calls"))


@pytest.mark.parametrize("period", [1, 2, 3, 4])
async def test_a_loop_ends_with_its_third_round(period: int) -> None:
    model = Stuck(*range(period))
    with pytest.raises(RepeatedCallsError) as raised:
        await Runner.run(Agent("main", model=model, tools=[look]), "go", run_config=config(turns=None))
    assert model.turns == 3 * period
    assert raised.value.kind == "repeated_rounds"


async def test_polling_whose_results_change_is_no_loop() -> None:
    times = iter(range(100))

    @function_tool(name_override="look", effect="none")
    async def job(x: int) -> str:
        return f"{next(times)} % done"

    model = Stuck(7)
    with pytest.raises(MaxTurnsExceeded):
        await Runner.run(Agent("main", model=model, tools=[job]), "go", run_config=config(turns=50))

    @function_tool(name_override="look", effect="none", polling=True)
    async def waits(x: int) -> str:
        return "not yet"

    with pytest.raises(MaxTurnsExceeded):
        await Runner.run(Agent("main", model=Stuck(7), tools=[waits]), "go", run_config=config(turns=50))


async def test_turns_in_which_every_call_fails_end_the_run() -> None:
    @function_tool
    async def breaks(x: int) -> str:
        raise ValueError("no")

    model = ScriptedModel([call("breaks", x=n) for n in range(9)])
    with pytest.raises(ConsecutiveErrorsExceededError) as raised:
        await Runner.run(Agent("main", model=model, tools=[breaks]), "go")
    assert raised.value.used == 3 and len(model.requests) == 3
    model = ScriptedModel([*[[call("breaks", x=n), call("look", x=n)] for n in range(4)], "done"])
    assert (await Runner.run(Agent("main", model=model, tools=[breaks, look]), "go")).final_output == "done"


async def test_turns_that_bring_nothing_new_end_the_run() -> None:
    @function_tool(effect="none")
    async def search(words: str) -> str:
        return "nothing found"

    model = ScriptedModel([call("search", words=f"words {n}") for n in range(9)])
    with pytest.raises(NoProgressError):
        await Runner.run(Agent("main", model=model, tools=[search]), "go", run_config=config(no_progress=4))
    assert len(model.requests) <= 5


# A nested run's own limit ends that run only.


async def test_a_nested_run_that_is_stuck_tells_its_caller() -> None:
    child = Agent("child", model=Stuck(1), tools=[look])
    parent = Agent("parent", model=ScriptedModel([call("child", input="go"), "never mind"]), tools=[child.as_tool()])
    result = await Runner.run(parent, "go", run_config=config(turns=None))
    assert result.final_output == "never mind"
    (told,) = [item.output for item in result.new_items if item.type == "tool_call_output_item"]  # type: ignore[union-attr]
    assert "3 times running" in str(told)


# Limits around several runs.


async def test_runs_in_a_block_spend_together() -> None:
    model = Talker(wanted=100, calls=0)
    agent = Agent("main", model=model)
    with shared_limits(output_tokens=1_000) as budget:
        outcomes = await asyncio.gather(*(Runner.run(agent, "go") for _ in range(30)), return_exceptions=True)
    assert model.spent <= 1_000
    assert budget.spent.output_tokens == model.spent
    refused = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert all(isinstance(outcome, TokenLimitExceededError) for outcome in refused) and len(refused) == 30 - len(model.caps)
    assert (await Runner.run(agent, "go")).final_output == "enough"


async def test_blocks_nest() -> None:
    agent = Agent("main", model=Talker(wanted=1, calls=0))
    with shared_limits(requests=3) as outer:
        with shared_limits(requests=1):
            await Runner.run(agent, "go")
            with pytest.raises(RequestLimitExceededError):
                await Runner.run(agent, "go")
        await Runner.run(agent, "go")
        await Runner.run(agent, "go")
        with pytest.raises(RequestLimitExceededError):
            await Runner.run(agent, "go")
    assert outer.spent.requests == 3


async def test_a_budget_is_gone_on_with() -> None:
    agent = Agent("main", model=Talker(wanted=1, calls=0))
    with shared_limits(requests=2) as budget:
        await Runner.run(agent, "go")

    async def in_another_task() -> None:
        with shared_limits(budget) as same:
            assert same is budget
            await Runner.run(agent, "go")
            with pytest.raises(RequestLimitExceededError):
                await Runner.run(agent, "go")

    await asyncio.create_task(in_another_task())
    assert budget.spent.requests == 2
    await Runner.run(agent, "go")


def test_what_is_no_budget_is_refused() -> None:
    wrong: Any = 5
    with pytest.raises(UserError, match=r"was given int, expected the budget of an earlier block"), shared_limits(wrong):
        pass
    with shared_limits(requests=1) as budget:
        pass
    with pytest.raises(UserError, match="was given a budget and cost, expected one of them"), shared_limits(budget, cost=1):
        pass


def test_a_block_takes_fields_of_run_limits_only() -> None:
    with pytest.raises(UserError, match="'dollars', expected fields of RunLimits"), shared_limits(dollars=3):
        pass


# What happens at a limit.


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_run_is_brought_to_a_last_answer(streamed: bool) -> None:
    model = Talker(wanted=2_000)
    agent = Agent("main", model=model, tools=[look])
    run = Runner.run_streamed if streamed else Runner.run
    result = await run(agent, "go", run_config=config(output_tokens=10_000, on_limit="finalize"))
    assert result.final_output == "enough"
    assert model.spent <= 10_000 and model.caps[-1] is not None and model.caps[-1] <= 1024
    assert unpaired(result.to_state().items()) == []


async def test_the_last_answer_is_among_the_turns_and_calls_none() -> None:
    model = ScriptedModel([call("look", x=1), call("look", x=2), [Message("assistant", "so far"), call("look", x=3)]])
    agent = Agent("main", model=model, tools=[look])
    result = await Runner.run(agent, "go", run_config=config(turns=3, on_limit="finalize"))
    assert (result.final_output, result.turns) == ("so far", 3)
    assert model.requests[-1].settings.tool_choice == "none" and "limit" in str(model.requests[-1].tail)


async def test_calls_that_a_limit_left_open_are_answered_before_the_last_answer() -> None:
    model = ScriptedModel([[call("look", x=1), call("look", x=2)], "what I know"])
    agent = Agent("main", model=model, tools=[look])
    result = await Runner.run(agent, "go", run_config=config(tool_calls=1, on_limit="finalize"))
    assert result.final_output == "what I know"
    assert unpaired(result.to_state().items()) == []


async def test_results_that_are_more_than_was_kept_back_for_give_way_to_the_last_answer() -> None:
    @function_tool(effect="none")
    async def dump() -> str:
        return "word " * 20_000

    model = ScriptedModel([call("look", x=1), call("dump"), "what I know"])
    agent = Agent("main", model=model, tools=[look, dump])
    result = await Runner.run(agent, "go", run_config=config(tokens=6_000, on_limit="finalize"))
    assert result.final_output == "what I know"
    assert len(str(model.requests[-1].items)) < 20_000
    assert "word word" in str(result.to_input_list()), "the history stays whole"
    assert unpaired(result.to_state().items()) == []


async def test_a_last_answer_that_fails_leaves_the_limit_to_be_raised() -> None:
    model = ScriptedModel([call("look", x=1), call("look", x=2), call("look", x=3)])
    with pytest.raises(MaxTurnsExceeded) as raised:
        await Runner.run(Agent("main", model=model, tools=[look]), "go", run_config=config(turns=3, on_limit="finalize"))
    assert any("last answer" in note for note in raised.value.__notes__)


async def test_a_paused_run_goes_on_when_a_person_raises_the_limit() -> None:
    store = MemoryRunStore()
    agent = Agent("main", model=ScriptedModel([call("look", x=1), call("look", x=2), "done"]), tools=[look])
    given = RunConfig(limits=RunLimits(turns=2), on_limit="pause", store=store, run_id="r")
    result = await Runner.run(agent, "go", run_config=given)
    assert not result.is_finished and "paused" in repr(result)
    assert result.limit_reached is not None and (result.limit_reached.limit, result.limit_reached.allowed) == ("turns", "2")
    (waiting,) = await store.list(RunQuery(status="waiting"))
    assert waiting.reason == "turns"
    again = await Runner.resume(agent, "r", run_config=given)
    assert not again.is_finished, "nobody has raised it"
    hits = [event for event in again.to_state().value.log if isinstance(event, LimitReachedEvent)]
    assert len(hits) == 2, "that it waits is said once"
    state = await Runner.load("r", run_config=given)
    state.raise_limit("turns", 5)
    await Runner.decide(state, run_config=given)
    assert (await Runner.resume(agent, "r", run_config=given)).final_output == "done"


@pytest.mark.parametrize(
    ("kind", "allowed"), [("turns", "many"), ("nonsense", 3), ("calls_per_tool", 3), ("turns", 0), ("cost", "x")]
)
async def test_a_limit_is_raised_to_a_number(kind: Any, allowed: Any) -> None:
    agent = Agent("main", model=ScriptedModel([call("look", x=1)]), tools=[look])
    result = await Runner.run(agent, "go", run_config=config(turns=1, on_limit="pause"))
    with pytest.raises(UserError):
        result.to_state().raise_limit(kind, allowed)


async def test_a_callable_chooses() -> None:
    asked: list[LimitExceededError] = []

    async def more(error: LimitExceededError, context: Any) -> RunLimits | str:
        asked.append(error)
        return RunLimits(turns=3) if len(asked) == 1 else "pause"

    agent = Agent("main", model=ScriptedModel([call("look", x=n) for n in range(9)]), tools=[look])
    result = await Runner.run(agent, "go", run_config=config(turns=2, on_limit=more))
    assert len(asked) == 2 and result.limit_reached is not None

    def wrong(error: LimitExceededError, context: Any) -> Any:
        return "stop"

    with pytest.raises(UserError, match="on_limit returned 'str', expected"):
        await Runner.run(agent, "go", run_config=config(turns=2, on_limit=wrong))


WAYS: dict[str, Any] = {
    "raise": "raise",
    "pause": "pause",
    "a callable": lambda error, context: "raise",
    "a callable that finalizes": lambda error, context: "finalize",
}


@pytest.mark.parametrize("kind", ["turns", "requests"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_run_that_needs_all_turns_finishes_within_them_whatever_may_be_chosen_at_the_limit(way: str, kind: str) -> None:
    limits = {"turns": 3} | {kind: 3}
    model = ScriptedModel([call("look", x=1), call("look", x=2), "done"])
    result = await Runner.run(Agent("main", model=model, tools=[look]), "go", run_config=config(on_limit=WAYS[way], **limits))
    assert (result.final_output, result.turns, result.limit_reached) == ("done", 3, None)


@pytest.mark.parametrize("limits", [{"turns": 2}, {"turns": 2, "tokens": 10**6}, {"requests": 2}], ids=str)
async def test_the_last_answer_that_a_callable_asks_for_comes_on_top_of_turns_and_requests(limits: dict[str, int]) -> None:
    asked: list[Any] = []

    def choose(error: LimitExceededError, context: Any) -> str:
        asked.append((error.kind, error.used, error.limit))
        return "finalize"

    model = ScriptedModel([call("look", x=1), call("look", x=2), "what there is"])
    agent = Agent("main", model=model, tools=[look])
    result = await Runner.run(agent, "go", run_config=config(on_limit=choose, **limits))
    [kind] = {"turns", "requests"} & limits.keys()
    assert asked == [(kind, 2, 2)], "not before the limit is reached"
    assert (result.final_output, result.turns) == ("what there is", 3)


async def test_what_is_around_a_run_lends_nothing_on_top_for_its_callables_last_answer() -> None:
    model = ScriptedModel([call("look", x=1), call("look", x=2), "never"])
    given = config(on_limit=lambda error, context: "finalize", turns=9)
    with shared_limits(requests=2) as budget, pytest.raises(RequestLimitExceededError) as raised:
        await Runner.run(Agent("main", model=model, tools=[look]), "go", run_config=given)
    assert budget.spent.requests == 2 and "the last answer failed too" in raised.value.__notes__[0]


async def test_tokens_of_a_callables_last_answer_are_kept_back() -> None:
    model = Talker()
    agent = Agent("main", model=model, tools=[look])
    result = await Runner.run(
        agent, "go", run_config=config(on_limit=lambda error, context: "finalize", output_tokens=10_000, turns=None)
    )
    assert result.final_output and model.spent <= 10_000


async def test_an_error_handler_comes_first() -> None:
    from agentsdk import RunErrorHandlerResult

    agent = Agent("main", model=Talker(), tools=[look])
    result = await Runner.run(
        agent,
        "go",
        run_config=config(output_tokens=5_000, on_limit="pause"),
        error_handlers={"max_tokens": lambda given: RunErrorHandlerResult("handled")},
    )
    assert result.final_output == "handled"


def _handled(given: Any) -> Any:
    return RunErrorHandlerResult("handled")


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("way", ["last answer", "handler", "paused"])
@pytest.mark.parametrize("kind", ["turns", "tool_calls", "repeated_rounds"])
async def test_what_a_run_was_cut_at_is_said_wherever_it_ends(kind: str, way: str, stored: bool) -> None:
    store = MemoryRunStore() if stored else None
    agent = Agent("main", model=ScriptedModel([call("look", x=1)] * 2 + ["so far"]), tools=[look])
    limits = {
        "turns": RunLimits(turns=3 if way == "last answer" else 2),
        "tool_calls": RunLimits(tool_calls=1),
        "repeated_rounds": RunLimits(repeated_rounds=2),
    }
    choices: dict[str, Any] = {"last answer": "finalize", "handler": "raise", "paused": "pause"}
    given = RunConfig(limits=limits[kind], on_limit=choices[way], store=store, run_id="r" if stored else None)
    kinds = ("max_turns", "max_tool_calls", "repeated_calls")
    handlers: Any = dict.fromkeys(kinds, _handled) if way == "handler" else None
    result = await Runner.run(agent, "go", run_config=given, error_handlers=handlers)
    assert result.is_finished is (way != "paused")
    assert result.limit_reached is not None and result.limit_reached.limit == kind
    assert f"limit_reached={kind!r}" in repr(result)
    loaded = RunState.from_string(agent, result.to_state().to_string())
    assert loaded.limit_reached == result.limit_reached
    if store is not None:
        summary = await store.summary("r")
        assert summary is not None
        assert (summary.status, summary.reason) == ("waiting" if way == "paused" else "finished", kind)


async def test_a_run_that_goes_on_past_a_limit_and_ends_by_itself_says_nothing_of_it() -> None:
    agent = Agent("main", model=ScriptedModel([call("look", x=1), "done"]), tools=[look])
    with pytest.raises(MaxTurnsExceeded) as raised:
        await Runner.run(agent, "go", max_turns=1)
    assert raised.value.state is not None and raised.value.state.limit_reached is not None  # type: ignore[attr-defined]
    result = await Runner.run(agent, raised.value.state, max_turns=5)
    assert (result.final_output, result.limit_reached) == ("done", None)


class Waiting(RunHooks[Any]):
    """Holds the child `quick` after its reply is recorded, until the other one is through."""

    def __init__(self) -> None:
        self.replied = asyncio.Event()
        self.through = asyncio.Event()

    async def on_llm_end(self, context: Any, agent: Agent[Any, Any], response: ModelResponse) -> None:
        if agent.name == "quick":
            self.replied.set()
            await self.through.wait()


@pytest.mark.parametrize("stored", [False, True])
async def test_a_reply_that_is_recorded_is_reserved_no_more_while_its_hooks_run(stored: bool) -> None:
    hooks = Waiting()

    @function_tool(effect="none")
    async def wait() -> str:
        await hooks.replied.wait()
        return "waited"

    def last(request: ModelRequest) -> str:
        hooks.through.set()
        return "slow"

    quick = Agent("quick", model=ScriptedModel(["quick"]))
    slow = Agent("slow", model=ScriptedModel([call("wait"), last]), tools=[wait])
    both = ScriptedModel([[call("ask_quick", input="?"), call("ask_slow", input="?")]])
    tools = [quick.as_tool("ask_quick"), slow.as_tool("ask_slow")]
    agent = Agent("main", model=both, tools=tools, tool_use_behavior="stop_on_first_tool")
    given = RunConfig(limits=RunLimits(turns=4), store=MemoryRunStore() if stored else None)
    async with asyncio.timeout(10):
        result = await Runner.run(agent, "go", hooks=hooks, run_config=given)
    assert result.is_finished and result.to_state().value.all_turns == 4


class _Halting(ScriptedModel):
    """Hangs at the end of its script."""

    def __init__(self, replies: Any) -> None:
        super().__init__(replies)
        self.halted = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        if len(self.requests) == len(self._replies):
            self.halted.set()
            await asyncio.Event().wait()
        async for event in super().stream(request):
            yield event


@pytest.mark.parametrize("limits", [{}, {"tokens": 10**6}], ids=["turns", "tokens"])
@pytest.mark.parametrize("durability", [None, "sync", "batch", "steps", 3600.0, "exit"])
@pytest.mark.parametrize("ending", ["finished", "failed", "at the limit", "last answer", "cancelled"])
async def test_after_the_run_nothing_is_reserved(
    ending: str, durability: Any, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Any] = []
    made = begin.Run

    def noted(**given: Any) -> Any:
        runs.append(made(**given))
        return runs[-1]

    monkeypatch.setattr(begin, "Run", noted)
    nested = _Halting([call("look", x=7), "c"])
    child = Agent("child", model=nested, tools=[look]).as_tool("ask_child")
    replies: list[Any] = [call("look", x=1), [call("ask_child", input="?"), call("look", x=2)], call("look", x=3)]
    replies += {"failed": [ModelError("away")], "cancelled": [call("ask_child", input="again")]}.get(ending, ["done"])
    given = RunConfig(
        limits=RunLimits(turns=4 if ending in ("at the limit", "last answer") else 9, **limits),
        on_limit=(lambda error, context: "finalize") if ending == "last answer" else "raise",
        store=None if durability is None else MemoryRunStore(),
        durability=durability or "sync",
    )
    agent = Agent("main", model=_Halting(replies), tools=[look, child])
    task = asyncio.ensure_future(Runner.run(agent, "go", run_config=given))
    if ending == "cancelled":
        await nested.halted.wait()
        task.cancel()
    with contextlib.suppress(AgentsException, asyncio.CancelledError):
        await task
    [root] = runs
    assert root.pending_turns == 0 and root.state.all_turns >= 4


# Time.


async def test_a_deadline_stops_what_is_running_down_to_nested_tools() -> None:
    ended: list[str] = []

    @function_tool(effect="none")
    async def hang() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("tool")
        return ""

    child = Agent("child", model=ScriptedModel([call("hang")]), tools=[hang])
    parent = Agent("parent", model=ScriptedModel([call("child", input="go")]), tools=[child.as_tool()])
    with pytest.raises(DeadlineExceededError) as raised:
        await Runner.run(parent, "go", run_config=config(deadline=0.05))
    assert ended == ["tool"] and raised.value.kind == "deadline"
    state = raised.value.state
    assert isinstance(state, RunState) and state.value.elapsed >= 0.05
    with pytest.raises(DeadlineExceededError):
        await Runner.run(parent, state, run_config=config(deadline=0.05))


class Clock:
    """A clock that moves only when somebody sleeps by it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def test_waits_for_rate_limits_are_no_working_time() -> None:
    clock = Clock()
    slow = RateLimitedModel(ScriptedModel([call("look", x=1), call("look", x=2), "done"]), requests_per_minute=1, clock=clock)
    agent = Agent("main", model=slow, tools=[look])
    given = RunConfig(limits=RunLimits(turns=2, active_time=5.0, deadline=1_000), clock=clock)
    with pytest.raises(MaxTurnsExceeded) as raised:
        await Runner.run(agent, "go", run_config=given)
    state = raised.value.state
    assert isinstance(state, RunState)
    assert (state.value.elapsed, state.value.working) == (60.0, 0.0)


async def test_time_that_was_spent_is_gone_after_a_resume() -> None:
    clock = Clock()

    @function_tool(effect="none")
    async def work(x: int) -> str:
        clock.now += 30
        return f"{x} done"

    model = ScriptedModel([call("work", x=n) for n in range(9)])
    agent = Agent("main", model=model, tools=[work])
    state: Any = "go"
    for turns, spent in ((1, 30.0), (2, 60.0), (3, 90.0)):
        with pytest.raises(MaxTurnsExceeded) as raised:
            await Runner.run(agent, state, run_config=RunConfig(limits=RunLimits(turns=turns, deadline=80), clock=clock))
        state = raised.value.state
        assert (state.value.elapsed, state.value.working) == (spent, spent)
    with pytest.raises(DeadlineExceededError, match="ran for 90 seconds, expected at most 80"):
        await Runner.run(agent, state, run_config=RunConfig(limits=RunLimits(turns=9, deadline=80), clock=clock))
    assert len(model.requests) == 3


# Warnings, and what is carried over.


async def test_a_warning_is_given_once_for_each_limit() -> None:
    agent = Agent("main", model=ScriptedModel([*[call("look", x=n) for n in range(9)], "done"]), tools=[look])
    result = await Runner.run(agent, "go", run_config=config(requests=10, tool_calls=10, turns=None))
    near = [event for event in result.to_state().value.log if isinstance(event, LimitWarningEvent)]
    assert near == [LimitWarningEvent("requests", "8", "10"), LimitWarningEvent("tool_calls", "8", "10")]


@pytest.mark.parametrize("others", [{}, {"requests": 100}])
async def test_the_turn_limit_warns_too_also_of_nested_turns(others: Any) -> None:
    child = Agent("child", model=ScriptedModel([*[call("look", x=n) for n in range(4)], "done"]), tools=[look])
    parent = Agent("parent", model=ScriptedModel([call("child", input="go"), "done"]), tools=[child.as_tool()])
    result = await Runner.run(parent, "go", run_config=config(turns=8, warn_at=0.5, **others))
    log = result.to_state().value.log
    assert [event for event in log if isinstance(event, LimitWarningEvent)] == [LimitWarningEvent("turns", "4", "8")]


async def test_a_stream_shows_the_warning() -> None:
    agent = Agent("main", model=ScriptedModel([call("look", x=1), call("look", x=2), "done"]), tools=[look])
    stream = Runner.run_streamed(agent, "go", run_config=config(requests=3, warn_at=0.5))
    shown = [event async for event in stream if isinstance(event, LimitWarningStreamEvent)]
    assert shown == [LimitWarningStreamEvent("requests", "2", "3")]


async def test_what_was_spent_counts_after_a_resume() -> None:
    model = Talker(wanted=3_000)
    agent = Agent("main", model=model, tools=[look])
    with pytest.raises(TokenLimitExceededError) as raised:
        await Runner.run(agent, "go", run_config=config(output_tokens=5_000))
    state = RunState.from_string(agent, raised.value.state.to_string())  # type: ignore[union-attr]
    with pytest.raises(TokenLimitExceededError):
        await Runner.run(agent, state, run_config=config(output_tokens=9_000))
    assert model.spent == 9_000
