"""`Runner.compact_session`: a stored conversation is made smaller, and nothing of it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk import (
    Agent,
    ContextWindow,
    DropOldest,
    EncryptedSession,
    FunctionCall,
    FunctionCallOutput,
    KeepByPriority,
    MemorySession,
    Message,
    RateLimitError,
    RunConfig,
    RunLimits,
    Runner,
    RunState,
    Session,
    SessionError,
    SlidingWindow,
    SQLiteSession,
    Summarize,
    TruncateToolResults,
    UserError,
    shared_limits,
)
from agentsdk.context_window import EstimatingCounter
from agentsdk.core.pairing import paired
from agentsdk.core.window.fit import MARKER, SUMMARY_HEADER
from agentsdk.errors import CallbackError, SessionBusyError
from agentsdk.sessions import ManagedSession, SessionCompaction
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.items import Item
from tests.core.histories import items as any_item
from tests.scenarios import World, reloaded, tool_of
from tests.sessions.places import KINDS, place_of

pytestmark = pytest.mark.anyio

SUMMARY = "They talked about the weather, and about what to wear on the way to the office in the rain."
SMALL = ContextWindow(size=1_000, trigger=0.5, target=0.25, strategies=[DropOldest()])


@pytest.fixture(scope="module", autouse=True)
def a_default_model() -> Iterator[None]:
    """A model that is never asked: tokens are counted by its name. The local one may not be installed."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AGENTSDK_MODEL", "openai:some-model")
        environment.setenv("OPENAI_API_KEY", "a key")
        yield


def turns(count: int, start: int = 0) -> list[Item]:
    """Turns of about 100 tokens, each with a call."""
    found: list[Item] = []
    for number in range(start, start + count):
        found += [
            Message("user", f"question {number}"),
            FunctionCall(f"call-{number}", "look", "{}"),
            FunctionCallOutput(f"call-{number}", f"result {number} " + "so on " * 50),
            Message("assistant", f"answer {number}"),
        ]
    return found


def summing_up(**options: Any) -> ContextWindow:
    return ContextWindow(size=1_000, trigger=0.5, target=0.25, strategies=[Summarize(keep_turns=2, max_tokens=100, **options)])


async def session_with(items: Sequence[Item], kind: str, folder: Path, opened: AsyncExitStack) -> ManagedSession:
    session: ManagedSession = MemorySession("s")
    if kind != "memory":
        session = SQLiteSession("s", folder / "s.db")
        opened.push_async_callback(session.aclose)
    if kind == "encrypted":
        session = EncryptedSession(session, bytes(32))
    await session.add_items(items)
    return session


@pytest.mark.parametrize("kind", ["memory", "sqlite", "encrypted"])
async def test_a_summary_takes_the_place_of_what_it_sums_up(kind: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as opened:
        session = await session_with(turns(10), kind, tmp_path, opened)
        model = ScriptedModel([SUMMARY])
        done = await Runner.compact_session(session, summing_up(), model=model)
        assert done is not None
        items = await session.get_items()
        assert isinstance(items[0], Message) and items[0].text.startswith(SUMMARY_HEADER + SUMMARY)
        assert items[1:] == turns(10)[-len(items) + 1 :]
        assert await session.get_original_items() == turns(10)
        assert done == SessionCompaction(
            reason="Summarize",
            before=done.before,
            after=done.after,
            items_before=40,
            items_after=len(items),
            lost_terms=done.lost_terms,
            usage=done.usage,
        )
        assert done.before > 500 > 250 >= done.after > 0
        assert done.usage.requests == 1
        assert "question 0" in model.requests[0].items[0].text  # type: ignore[union-attr]
        assert await Runner.compact_session(session, summing_up(), model=model) is None, "it is small enough"
        agent = Agent("main", model=ScriptedModel(["fine"]))
        await Runner.run(agent, "And now?", session=session)
        assert list(agent.model.requests[0].items)[:-1] == items  # type: ignore[union-attr]
        assert await session.get_original_items() == [*turns(10), Message("user", "And now?"), Message("assistant", "fine")]
        for _ in range(3):
            await session.pop_item()
        assert await session.get_original_items() == turns(10)[:-1], "what stayed as it was can be taken back"


@pytest.mark.parametrize(
    "strategies",
    [
        [DropOldest()],
        [SlidingWindow(2)],
        [KeepByPriority()],
        [TruncateToolResults(chars=20)],
        [TruncateToolResults(chars=20), DropOldest()],
    ],
    ids=lambda strategies: "+".join(type(one).__name__ for one in strategies),
)
async def test_every_strategy_leaves_whole_turns_and_needs_no_model(strategies: Any) -> None:
    session = MemorySession("s")
    await session.add_items(turns(10))
    window = ContextWindow(size=1_000, trigger=0.5, target=0.25, strategies=strategies)
    done = await Runner.compact_session(session, window)
    assert done is not None
    items = await session.get_items()
    assert (done.items_before, done.items_after) == (40, len(items))
    assert paired(items) == tuple(items)
    assert items[-4:] == turns(10)[-4:]
    assert await session.get_original_items() == turns(10)
    assert (MARKER in items) == (type(strategies[-1]) is not TruncateToolResults)


async def test_a_cut_result_does_not_promise_a_tool_that_later_runs_lack() -> None:
    session = MemorySession("s")
    await session.add_items(turns(10))
    window = ContextWindow(size=1_000, trigger=0.5, target=0.25, strategies=[TruncateToolResults(chars=20)])
    assert await Runner.compact_session(session, window) is not None
    first = (await session.get_items())[2]
    assert isinstance(first, FunctionCallOutput) and isinstance(first.output, str)
    assert first.output.splitlines()[1] == "[... characters 15 to 304 of 309 are left out ...]"


async def test_nothing_is_done_below_the_trigger_or_where_nothing_may_go() -> None:
    session = MemorySession("s")
    await session.add_items(turns(3))
    assert await Runner.compact_session(session, SMALL) is None
    await session.add_items(turns(10))
    everything = ContextWindow(size=1_000, trigger=0.5, target=0.25, strategies=[DropOldest()], pin=lambda item: True)
    assert await Runner.compact_session(session, everything) is None
    assert await Runner.compact_session(MemorySession("empty"), SMALL) is None
    assert await session.get_items() == await session.get_original_items() == [*turns(3), *turns(10)]


async def test_what_must_stay_stays_though_it_is_too_large() -> None:
    session = MemorySession("s")
    await session.add_items([*turns(1), Message("developer", "Be kind. " * 2_000), *turns(3, 1)])
    done = await Runner.compact_session(session, SMALL)
    assert done is not None
    assert done.after > 1_000
    assert (await session.get_items())[:2] == [MARKER, Message("developer", "Be kind. " * 2_000)]


class Adding(ScriptedModel):
    """While it sums up, `meanwhile` happens."""

    def __init__(self, replies: Sequence[Any], meanwhile: Callable[[], Any]) -> None:
        super().__init__(replies)
        self.meanwhile = meanwhile

    async def stream(self, request: Any) -> Any:
        await self.meanwhile()
        async for event in super().stream(request):
            yield event


@pytest.mark.parametrize("kind", ["memory", "sqlite", "encrypted"])
async def test_what_a_run_adds_while_the_model_sums_up_stands_behind_the_summary(kind: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as opened:
        session = await session_with(turns(10), kind, tmp_path, opened)
        other = Agent("other", model=ScriptedModel(["fine"]))
        model = Adding([SUMMARY], lambda: Runner.run(other, "hello", session=session))
        done = await Runner.compact_session(session, summing_up(), model=model)
        assert done is not None
        assert len(model.requests) == 1, "what was asked for is not asked for again"
        added = [Message("user", "hello"), Message("assistant", "fine")]
        items = await session.get_items()
        assert items[0].text.startswith(SUMMARY_HEADER)  # type: ignore[union-attr]
        assert items[-3:] == [*turns(10)[-1:], *added]
        assert await session.get_original_items() == [*turns(10), *added]


@pytest.mark.parametrize("kind", KINDS)
async def test_beside_runs_of_the_same_session_nothing_is_lost(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = await place_of(kind, tmp_path, request)

    async def talk(name: str) -> None:
        session = place.session("s")
        for number in range(6):
            agent = Agent(name, model=ScriptedModel([f"{name} hears {number}"]))
            await Runner.run(agent, f"{name} says {number}", session=session)

    async def compact(talks: list[asyncio.Task[None]]) -> int:
        done = 0
        while not all(talk.done() for talk in talks):
            done += await Runner.compact_session(session, window) is not None
            await asyncio.sleep(0)  # a session in memory lets nobody else go on
        return done + (await Runner.compact_session(session, window) is not None)

    async with place.opened:
        session = place.session("s")
        await session.add_items(turns(10))
        window = ContextWindow(size=200, trigger=0.2, target=0.1, strategies=[SlidingWindow(1)])
        talks = [asyncio.create_task(talk(name)) for name in "abc"]
        done, *_ = await asyncio.gather(compact(talks), *talks)
        assert done > 1
        items, originals = await session.get_items(), await session.get_original_items()
    assert originals[:40] == turns(10)
    assert items == [MARKER, *originals[1 - len(items) :]]
    said = [item.text for item in originals[40:] if isinstance(item, Message)]
    assert sorted(said[::2]) == sorted(f"{name} says {number}" for name in "abc" for number in range(6))
    assert [text.replace("says", "hears") for text in said[::2]] == said[1::2], "a run's items stay together"


@pytest.mark.parametrize("kind", ["memory", "sqlite", "encrypted"])
async def test_where_the_older_items_are_changed_meanwhile_it_is_begun_anew(kind: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as opened:
        session = await session_with(turns(10), kind, tmp_path, opened)

        async def compact() -> None:
            if len(model.requests) == 0:
                await session.compact(turns(1), [Message("user", "the first one")])

        model = Adding([SUMMARY, SUMMARY], compact)
        done = await Runner.compact_session(session, summing_up(), model=model)
        assert done is not None
        assert len(model.requests) == 2
        assert "the first one" in model.requests[1].items[0].text  # type: ignore[union-attr]
        assert done.usage.requests == 2, "both are paid for"
        assert await session.get_original_items() == turns(10)


async def test_a_session_that_is_cleared_meanwhile_stays_empty() -> None:
    session = MemorySession("s")
    await session.add_items(turns(10))
    model = Adding([SUMMARY], session.clear_session)
    assert await Runner.compact_session(session, summing_up(), model=model) is None
    assert await session.get_items() == []


async def test_a_session_that_never_rests_is_busy() -> None:
    session = MemorySession("s")
    await session.add_items(turns(10))

    async def change() -> None:
        first, *_ = await session.get_items()
        await session.compact([first], [Message("user", f"changed {len(model.requests)}")])

    model = Adding([SUMMARY] * 9, change)
    with pytest.raises(SessionBusyError, match="session 's' was changed by others while it was compacted, 3 times"):
        await Runner.compact_session(session, summing_up(), model=model)
    assert len(model.requests) == 3
    assert len(await session.get_items()) == 40


@pytest.mark.parametrize("strategies", [1, 2])
async def test_a_summary_that_does_not_come_leaves_all_to_the_next_strategy(strategies: int) -> None:
    session = MemorySession("s")
    await session.add_items(turns(10))
    all_of_them = [Summarize(keep_turns=2, max_tokens=100), DropOldest()]
    window = ContextWindow(size=1_000, trigger=0.5, target=0.25, strategies=all_of_them[:strategies])
    model = ScriptedModel([RateLimitError("slow down", status=429)])
    done = await Runner.compact_session(session, window, model=model)
    if strategies == 1:
        assert done is None
        assert await session.get_items() == turns(10)
    else:
        assert done is not None
        assert (done.reason, done.usage.requests) == ("DropOldest", 1)
    assert await session.get_original_items() == turns(10)


async def test_the_limits_around_it_hold_for_its_summaries() -> None:
    session = MemorySession("s")
    await session.add_items(turns(10))
    model = ScriptedModel([SUMMARY] * 2)
    with shared_limits(requests=1) as shared:
        assert await Runner.compact_session(session, summing_up(), model=model) is not None
        assert shared.spent.requests == 1
        await session.add_items(turns(10, 10))
        assert await Runner.compact_session(session, summing_up(), model=model) is None
    few = RunConfig(model=model, limits=RunLimits(tokens=50), token_counter=EstimatingCounter())
    assert await Runner.compact_session(session, summing_up(), run_config=few) is None
    assert len(model.requests) == 1


class Replacing(Session):
    """What somebody else may have written: it can correct its end, and no more."""

    def __init__(self, inner: MemorySession) -> None:
        self.session_id = inner.session_id
        self.get_items = inner.get_items
        self.add_items = inner.add_items
        self.pop_item = inner.pop_item
        self.clear_session = inner.clear_session
        self.replace_latest = inner.replace_latest


class Plain(Session):
    """Has the four methods, and no more."""

    def __init__(self, inner: MemorySession) -> None:
        self.session_id = inner.session_id
        self.get_items = inner.get_items
        self.add_items = inner.add_items
        self.pop_item = inner.pop_item
        self.clear_session = inner.clear_session


async def test_a_session_that_only_replaces_is_compacted_and_keeps_no_originals() -> None:
    inner = MemorySession("s")
    await inner.add_items(turns(10))
    added = [Message("user", "hello")]
    model = Adding([SUMMARY], lambda: inner.add_items(added))
    assert await Runner.compact_session(Replacing(inner), summing_up(), model=model) is not None
    items = await inner.get_items()
    assert items[0].text.startswith(SUMMARY_HEADER)  # type: ignore[union-attr]
    assert items[-2:] == [*turns(10)[-1:], *added]
    model = Adding([SUMMARY], lambda: inner.clear_session())
    await inner.add_items(turns(10))
    assert await Runner.compact_session(Replacing(inner), summing_up(), model=model) is None
    assert await inner.get_items() == []


async def test_what_cannot_be_compacted_is_refused_before_anything_is_asked() -> None:
    model = ScriptedModel([SUMMARY])
    with pytest.raises(UserError, match="session 's' is a 'Plain', expected one that can replace its items"):
        await Runner.compact_session(Plain(MemorySession("s")), summing_up(), model=model)
    with pytest.raises(UserError, match="expected a Session with a session_id"):
        await Runner.compact_session("s", summing_up(), model=model)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"window=.*expected a ContextWindow"):
        await Runner.compact_session(MemorySession("s"), [DropOldest()], model=model)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="the window has no strategies"):
        await Runner.compact_session(MemorySession("s"), ContextWindow(size=1_000, strategies=[]), model=model)
    with pytest.raises(UserError, match=r"the context window of model .* is not known"):
        await Runner.compact_session(MemorySession("s"), ContextWindow(), model=model)
    session = EncryptedSession(Plain(MemorySession("s")), bytes(32))
    await session.add_items(turns(10))
    with pytest.raises(UserError, match="holds a 'Plain', expected a ManagedSession"):
        await Runner.compact_session(session, SMALL)
    assert not model.requests


async def test_errors_of_what_is_not_ours_are_typed() -> None:
    class Broken:
        def offer(self, view: Any) -> Any:
            raise OSError("no")

    class Full(MemorySession):
        async def compact(self, expected: Any, items: Any) -> bool:
            raise OSError("disk full")

    session = Full("s")
    await session.add_items(turns(10))
    with pytest.raises(CallbackError, match="a strategy of the ContextWindow raised OSError"):
        await Runner.compact_session(session, ContextWindow(size=1_000, strategies=[Broken()]))
    with pytest.raises(SessionError, match=r"session 's' could not be compacted \(OSError\)"):
        await Runner.compact_session(session, SMALL)


async def test_a_strategy_that_splits_a_pair_is_repaired() -> None:
    class DropResults:
        def offer(self, view: Any) -> Any:
            return view.without([block for block in view.blocks if block.kind == "turn"][:1])

    class DropCalls:
        def offer(self, view: Any) -> Any:
            from agentsdk.core.window.fit import Replace

            kept = [at for at, item in enumerate(view.items) if not isinstance(item, FunctionCall)]
            return Replace(view, tuple(view.items[at] for at in kept), tuple(view.counts[at] for at in kept))

    for strategy in (DropResults(), DropCalls()):
        session = MemorySession("s")
        await session.add_items(turns(10))
        assert await Runner.compact_session(session, ContextWindow(size=1_000, strategies=[strategy])) is not None
        items = await session.get_items()
        assert paired(items) == tuple(items)
        assert len(items) < 40


STRATEGIES = st.sampled_from(
    [[DropOldest()], [SlidingWindow(1)], [KeepByPriority()], [TruncateToolResults(chars=0, keep_turns=0), DropOldest()]]
)


@given(st.lists(any_item, max_size=12), st.lists(any_item, max_size=4), STRATEGIES)
def test_whatever_a_session_holds_it_stays_valid_and_nothing_is_lost(
    items: list[Item], later: list[Item], strategies: Any
) -> None:
    async def main() -> None:
        session = EncryptedSession(MemorySession("s"), bytes(32))
        window = ContextWindow(size=64, trigger=0.2, target=0.1, reserve=0, strategies=strategies)
        await session.add_items(items)
        before = await session.get_items()
        first = await Runner.compact_session(session, window)
        if first is not None:
            assert first.after < first.before
            compacted = await session.get_items()
            assert paired(compacted) == tuple(compacted)
        await session.add_items(later)
        await Runner.compact_session(session, window)
        kept = MemorySession("s")
        await kept.add_items(later)
        assert await session.get_original_items() == [*before, *await kept.get_items()]

    asyncio.run(main())


async def test_a_paused_run_goes_on_beside_a_compaction() -> None:
    world = World()
    session = MemorySession("s")
    await session.add_items(turns(10))
    agent = Agent("main", model=ScriptedModel([call("pay", x=1), "paid"]), tools=[tool_of(world, "pay", needs_approval=True)])
    state = (await Runner.run(agent, "go", session=session)).to_state()
    assert await Runner.compact_session(session, SMALL) is not None
    state = reloaded(agent, state)
    state.approve(state.interruptions[0])
    await Runner.run(agent, state, session=session)
    items = await session.get_items()
    assert [type(item).__name__ for item in items[-4:]] == ["Message", "FunctionCall", "FunctionCallOutput", "Message"]
    assert (await session.get_original_items())[:40] == turns(10)
    assert len(await session.get_original_items()) == 44


async def test_a_write_whose_answer_was_lost_stands_once_though_the_session_was_compacted_since() -> None:
    class Torn(MemorySession):
        fails = False

        async def add_items(self, items: Any) -> None:
            await super().add_items(items)
            if self.fails:
                raise OSError("the answer is lost")

    session = Torn("s")
    await session.add_items(turns(10))
    session.fails = True
    agent = Agent("main", model=ScriptedModel(["bye"]))
    with pytest.raises(SessionError) as caught:
        await Runner.run(agent, "go", session=session)
    session.fails = False
    assert await Runner.compact_session(session, SMALL) is not None
    items = await session.get_items()
    assert isinstance(caught.value.state, RunState)
    await Runner.run(agent, caught.value.state, session=session)
    assert await session.get_items() == items
