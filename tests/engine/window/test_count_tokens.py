"""The tokens of requests: every item counted once in a run, and calibrated by what the provider billed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentsdk import (
    Agent,
    ContextWindow,
    DropOldest,
    MaxTurnsExceeded,
    Message,
    ModelResponse,
    RunConfig,
    RunLimits,
    Runner,
    RunState,
    Usage,
    function_tool,
    handoff,
    runner,
)
from agentsdk.context_window import EstimatingCounter, TiktokenCounter
from agentsdk.core.state import fold
from agentsdk.core.window.calibration import Calibration
from agentsdk.engine.window.count_tokens import learned
from agentsdk.errors import TokenLimitExceededError
from agentsdk.models import encodings, facts
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import HandedOff, ModelReplied, RunStarted, TurnEnded, ViewReplaced
from agentsdk.types.items import Item
from tests.engine.windowed import Reader, of_kind, page, reading, serving, windowed
from tests.models.rank_files import needs_rank_files

pytestmark = pytest.mark.anyio


class NotingCounter(EstimatingCounter):
    """Notes what it is asked to count."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: Counter[int] = Counter()
        self.kept: list[Item] = []

    async def count(self, items: Sequence[Item]) -> list[int]:
        self.counted.update(map(id, items))
        self.kept += items
        return await super().count(items)


async def test_each_item_is_counted_once() -> None:
    counter = NotingCounter()
    reader = Reader(40)
    async with serving(reader, 100_000) as (_, model):
        config = dataclasses.replace(windowed(100_000), token_counter=counter)
        result = await Runner.run(reading(model), "Go on.", max_turns=100, run_config=config)
    sent = list(result.to_state().value.transcript)[:-1]
    assert counter.kept == sent
    assert set(counter.counted.values()) == {1}


def noted(counter: type[Any], monkeypatch: pytest.MonkeyPatch) -> list[Item]:
    """What all counters of a class are asked to count from now on."""
    seen: list[Item] = []
    count = counter.count

    async def noting(self: Any, items: Sequence[Item]) -> list[int]:
        seen.extend(items)
        counts: list[int] = await count(self, items)
        return counts

    monkeypatch.setattr(counter, "count", noting)
    return seen


@pytest.mark.parametrize("counts", ["limit", "window", "both"])
@pytest.mark.parametrize("kind", ["given", "no encoding", "no rank file", pytest.param("exact", marks=needs_rank_files)])
async def test_every_kind_of_counter_counts_each_item_once(
    kind: str, counts: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if kind == "no rank file":
        monkeypatch.setattr(facts, "_counters", {})
        monkeypatch.setattr(encodings, "_CARRIERS", ())
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    seen = noted(TiktokenCounter if kind == "exact" else EstimatingCounter, monkeypatch)
    model = ScriptedModel(
        [call("page", number=number) for number in range(30)] + ["done"],
        name="gpt-4o" if kind in ("exact", "no rank file") else "nobody-knows",
    )
    config = RunConfig(
        limits=RunLimits(turns=None, tokens=None if counts == "window" else 10**9),
        window=None if counts == "limit" else ContextWindow(size=10**8),
        token_counter=EstimatingCounter() if kind == "given" else None,
    )
    agent = Agent("reader", model=model, tools=[page])
    with pytest.raises(MaxTurnsExceeded) as raised:
        await Runner.run(agent, "Go on.", max_turns=10, run_config=config)
    assert raised.value.state is not None
    result = await Runner.run(agent, raised.value.state, max_turns=40, run_config=config)
    assert seen == list(result.to_state().value.transcript)[:-1]


@needs_rank_files
async def test_agents_of_two_models_that_hand_over_to_each_other_count_each_item_once_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact, estimated = noted(TiktokenCounter, monkeypatch), noted(EstimatingCounter, monkeypatch)
    first = Agent("first", model=ScriptedModel([call("transfer_to_second")] * 5, name="gpt-4o"))
    second = Agent("second", model=ScriptedModel([call("transfer_to_first")] * 4 + ["done"], name="nobody-knows"))
    first.handoffs, second.handoffs = [second], [first]
    config = dataclasses.replace(windowed(10**8), token_counter=None, limits=RunLimits(repeated_rounds=None))
    result = await Runner.run(first, "Go on.", max_turns=20, run_config=config)
    sent = list(result.to_state().value.transcript)[:-1]
    assert exact == sent[: len(exact)] and estimated == sent
    assert len(exact) >= 8


async def test_a_rank_file_that_comes_later_counts_from_the_next_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter([EstimatingCounter(), other := NotingCounter()])
    monkeypatch.setattr(runner._CATALOG, "counter_of", lambda name: next(given), raising=False)
    for kept in (False, True):
        agent = Agent("reader", model=ScriptedModel([call("page", number=1), call("page", number=2), "done"]), tools=[page])
        await Runner.run(agent, "Go on.", run_config=RunConfig(limits=RunLimits(tokens=10**6)))
        assert bool(other.kept) is kept


async def test_what_a_compaction_kept_is_not_counted_again() -> None:
    counter = NotingCounter()
    reader = Reader(30)
    async with serving(reader, 6_000) as (_, model):
        config = dataclasses.replace(windowed(6_000, DropOldest()), token_counter=counter)
        result = await Runner.run(reading(model), "Go on.", max_turns=100, run_config=config)
    compactions = len(of_kind(result.to_state(), ViewReplaced))
    assert compactions > 3
    assert sum(counter.counted.values()) == len(result.to_state().value.transcript) - 1 + compactions, "and each marker"


async def test_limits_and_window_share_the_counting() -> None:
    counter = NotingCounter()
    reader = Reader(5)
    async with serving(reader, 100_000) as (_, model):
        config = dataclasses.replace(windowed(100_000), token_counter=counter, limits=RunLimits(tokens=1_000_000))
        await Runner.run(reading(model), "Go on.", run_config=config)
    assert set(counter.counted.values()) == {1}


async def test_a_resumed_run_is_calibrated_as_it_was() -> None:
    reader = Reader(30)
    async with serving(reader, 100_000) as (_, model):
        agent, config = reading(model), windowed(100_000, DropOldest())
        with pytest.raises(Exception, match="took 10 turns") as raised:
            await Runner.run(agent, "Go on.", max_turns=10, run_config=config)
        state = raised.value.state  # type: ignore[attr-defined]
        assert isinstance(state, RunState)
        replies = of_kind(state, ModelReplied)
        assert all(0 < reply.counted != reply.response.usage.input_tokens for reply in replies)
        loaded = RunState.from_string(agent, state.to_string())
    known = learned({}, loaded.value.log)
    assert known == learned({}, state.value.log)
    (calibration,) = known.values()
    assert calibration.requests == tuple((reply.counted, reply.response.usage.input_tokens) for reply in replies[-5:])


def test_another_agents_replies_teach_nothing_of_this_ones_model() -> None:
    def replied(counted: int, billed: int) -> ModelReplied:
        return ModelReplied(ModelResponse((Message("assistant", "x"),), Usage(1, billed, 1)), 1.0, (), counted)

    log = [RunStarted("r", "one", (), 0, 1.0), replied(100, 200), HandedOff("two"), replied(100, 90), TurnEnded()]
    assert fold(log).agent == "two"
    assert learned({}, log) == {"": Calibration(((100, 90),))}
    assert learned({}, log[:2])[""].factor == 2.0
    assert learned({}, [log[0], replied(0, 50), replied(100, 150)]) == {"": Calibration(((100, 150),))}


def test_each_model_is_calibrated_by_its_own_replies() -> None:
    def replied(counted: int, billed: int, model: str, asked: str = "") -> ModelReplied:
        return ModelReplied(ModelResponse((), Usage(1, billed, 1), model=model), 1.0, (), counted, asked)

    log = [replied(100, 200, "big"), replied(100, 50, "small-2", "small"), replied(200, 400, "big")]
    assert learned({}, log) == {"big": Calibration(((100, 200), (200, 400))), "small": Calibration(((100, 50),))}


async def test_text_that_is_continued_is_counted_too() -> None:
    long = "a long way home " * 200
    model = ScriptedModel([ModelResponse((Message("assistant", long),), Usage(1, 10, 5), "length"), "and there"])
    result = await Runner.run(Agent("main", model=model), "go", run_config=windowed(100_000))
    [reply] = of_kind(result.to_state(), ModelReplied)
    [alone] = await EstimatingCounter().count([Message("assistant", long)])
    assert alone < reply.counted < alone + 50


async def test_instructions_and_tools_are_counted_and_asked_for_once_a_turn() -> None:
    asked: list[int] = []

    def instructions(context: Any, agent: Any) -> str:
        asked.append(context.usage.requests)
        return "word " * 1_000

    async def counted(json: str = "hi", **fields: Any) -> int:
        agent = Agent("main", model=ScriptedModel([json]), **fields)
        config = dataclasses.replace(windowed(100_000), limits=RunLimits(tokens=1_000_000))
        result = await Runner.run(agent, "go", run_config=config)
        [reply] = of_kind(result.to_state(), ModelReplied)
        assert isinstance(reply.counted, int)
        return reply.counted

    plain = await counted()
    assert await counted(instructions="word " * 1_000) - plain >= 1_000
    assert await counted(instructions=instructions) - plain >= 1_000
    assert asked == [0]
    assert await counted(tools=[page]) > plain + 10
    assert await counted('{"response":[1]}', output_type=list[int]) > plain + 10
    model = ScriptedModel([call("page", number=1), "hi"])
    asked.clear()
    config = dataclasses.replace(windowed(100_000), limits=RunLimits(tokens=1_000_000))
    await Runner.run(Agent("main", model=model, instructions=instructions, tools=[page]), "go", run_config=config)
    assert asked == [0, 1]


async def test_each_agents_own_instructions_are_counted_after_a_handoff() -> None:
    def of(name: str) -> Any:
        return lambda context, agent: f"{agent.name} " * (2_000 if name == "second" else 1)

    second = Agent("second", model=ScriptedModel(["done"]), instructions=of("second"))
    first = Agent(
        "first", model=ScriptedModel([call("transfer_to_second")]), instructions=of("first"), handoffs=[handoff(second)]
    )
    result = await Runner.run(first, "go", run_config=windowed(100_000))
    before, after = of_kind(result.to_state(), ModelReplied)
    assert before.counted < 200 < 2_000 < after.counted


async def test_a_limit_on_tokens_needs_no_window() -> None:
    @function_tool(effect="none")
    def read() -> str:
        return "so it goes " * 400

    model = ScriptedModel([call("read")] * 3 + ["never"], usage=Usage(1, 1_000, 10))
    config = dataclasses.replace(windowed(1), window=None, limits=RunLimits(input_tokens=4_500))
    with pytest.raises(TokenLimitExceededError):
        await Runner.run(Agent("main", model=model, tools=[read]), "go", run_config=config)
    assert len(model.requests) == 2
