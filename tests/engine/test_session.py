from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCallOutput,
    MaxTurnsExceeded,
    MemorySession,
    Message,
    OutputGuardrailTripwireTriggered,
    RateLimitError,
    RunConfig,
    Runner,
    RunState,
    Session,
    SessionError,
    SQLiteSession,
    UserError,
    function_tool,
)
from agentsdk.core.state import UNKNOWN_OUTCOME
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.items import Item
from tests.scenarios import World, reloaded, tool_of
from tests.steps import Outcome, at_every_step

pytestmark = pytest.mark.anyio


class Counting(MemorySession):
    """Counts writes, and fails those it is told to."""

    def __init__(self, fails: int = 0) -> None:
        super().__init__("s")
        self.writes = 0
        self.fails = fails

    async def add_items(self, items: Sequence[Any]) -> None:
        self.writes += 1
        if self.fails:
            self.fails -= 1
            raise OSError("disk full")
        await super().add_items(items)


class Plain(Session):
    """Has the four methods, and no more."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self._kept = MemorySession(session_id)

    async def get_items(self, limit: int | None = None) -> list[Item]:
        return await self._kept.get_items(limit)

    async def add_items(self, items: Sequence[Any]) -> None:
        await self._kept.add_items(items)

    async def pop_item(self) -> Item | None:
        raise AssertionError("a run never takes an item away")

    async def clear_session(self) -> None:
        raise AssertionError("a run never clears a session")


def agent_with(*replies: Any, **fields: Any) -> tuple[Agent[Any, Any], ScriptedModel]:
    model = ScriptedModel(replies)
    return Agent(
        "main", model=model, tools=[tool_of(World(), "add"), tool_of(World(), "pay", needs_approval=True)], **fields
    ), model


async def shown(session: Any) -> list[str]:
    """The session's items in short."""
    items = await session.get_items()
    return [item.text if isinstance(item, Message) else str(getattr(item, "output", "call")) for item in items]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_session_carries_the_conversation_from_run_to_run(kind: str, tmp_path: Any) -> None:
    session = MemorySession("s") if kind == "memory" else SQLiteSession("s", tmp_path / "sessions.db")
    agent, model = agent_with(call("add", x=1), "one", "two")
    first = await Runner.run(agent, "first", session=session)
    assert await shown(session) == ["first", "call", "add gave 1", "one"]
    second = await Runner.run(agent, "second", session=session)
    assert [item.text for item in model.requests[2].items if isinstance(item, Message)] == ["first", "one", "second"]
    assert [item.text for item in second.input] == ["second"]  # type: ignore[union-attr]
    assert len(first.new_items) == 3 and len(second.new_items) == 1
    assert await shown(session) == ["first", "call", "add gave 1", "one", "second", "two"]
    if isinstance(session, SQLiteSession):
        await session.aclose()


async def test_a_run_writes_once() -> None:
    session = Counting()
    agent, _ = agent_with(call("add", x=1), call("add", x=2), "sum")
    await Runner.run(agent, "go", session=session)
    assert session.writes == 1


async def test_an_orphaned_call_in_the_history_is_mended_for_the_model() -> None:
    session = MemorySession("s")
    await session.add_items([Message("user", "before"), call("add", x=1)])
    agent, model = agent_with("hello")
    await Runner.run(agent, "go", session=session)
    assert FunctionCallOutput("", UNKNOWN_OUTCOME, True) in model.requests[0].items


async def test_a_paused_turn_waits_and_is_saved_whole_when_it_ends() -> None:
    session = Counting()
    agent, _ = agent_with(call("add", x=1), call("pay", x=2), "paid")
    state = (await Runner.run(agent, "go", session=session)).to_state()
    assert await shown(session) == ["go", "call", "add gave 1"]
    state = reloaded(agent, state)
    state.approve(state.interruptions[0])
    await Runner.run(agent, state, session=session)
    assert await shown(session) == ["go", "call", "add gave 1", "call", "pay gave 2", "paid"]
    assert session.writes == 2


@pytest.mark.parametrize("times", [1, 3])
async def test_a_run_that_ends_in_an_error_goes_on_without_doubling_anything(times: int) -> None:
    session = Counting()
    errors = [RateLimitError("slow down", status=429)] * times
    agent, _ = agent_with(call("add", x=1), *errors, "sum")
    given: Any = "go"
    for _ in range(times):
        with pytest.raises(RateLimitError) as caught:
            await Runner.run(agent, given, session=session)
        assert await shown(session) == ["go", "call", "add gave 1"]
        assert isinstance(caught.value.state, RunState)
        given = reloaded(agent, caught.value.state)
    await Runner.run(agent, given, session=session)
    assert await shown(session) == ["go", "call", "add gave 1", "sum"]


async def test_a_limit_reached_and_resumed_saves_each_item_once() -> None:
    session = MemorySession("s")
    agent, _ = agent_with(call("add", x=1), call("add", x=2), "sum")
    with pytest.raises(MaxTurnsExceeded) as caught:
        await Runner.run(agent, "go", session=session, max_turns=1)
    assert isinstance(caught.value.state, RunState)
    await Runner.run(agent, caught.value.state, session=session)
    assert await shown(session) == ["go", "call", "add gave 1", "call", "add gave 2", "sum"]


class Lost(BaseException):
    pass


async def lost_run(session: Any) -> tuple[Agent[Any, Any], RunState]:
    """An agent, and the state of its run that was lost inside a tool; run on, the tool works."""
    lost = True

    async def body(x: int) -> str:
        if lost:
            raise Lost
        return f"pay gave {x}"

    agent = Agent("main", model=ScriptedModel([call("body", x=2), "paid"]), tools=[function_tool(body, effect="none")])
    stream = Runner.run_streamed(agent, "go", session=session)
    with pytest.raises(Lost):
        await stream
    lost = False
    return agent, reloaded(agent, stream.to_state())


async def test_the_open_turn_of_a_lost_run_is_replaced_by_what_became_of_it() -> None:
    session = MemorySession("s")
    agent, state = await lost_run(session)
    assert await shown(session) == ["go", "call", UNKNOWN_OUTCOME]
    await Runner.run(agent, state, session=session)
    assert await shown(session) == ["go", "call", "pay gave 2", "paid"]


async def test_a_session_that_cannot_replace_keeps_what_stands_there() -> None:
    session = Plain("s")
    agent, state = await lost_run(session)
    await Runner.run(agent, state, session=session)
    assert await shown(session) == ["go", "call", UNKNOWN_OUTCOME, "paid"]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_run_goes_on_beside_another_on_its_session(kind: str, tmp_path: Path) -> None:
    """Whichever writes first: neither loses or mixes anything, and the open turn is replaced only while it stands last."""
    ends: set[str] = set()
    for steps in range(0, 60, 3):
        session = MemorySession("s") if kind == "memory" else SQLiteSession(f"s{steps}", tmp_path / "s.db")
        agent, state = await lost_run(session)
        other, _ = agent_with("other answer")

        async def beside(other: Agent[Any, Any] = other, session: Any = session, steps: int = steps) -> None:
            for _ in range(steps):
                await asyncio.sleep(0)
            await Runner.run(other, "other", session=session)

        await asyncio.gather(beside(), Runner.run(agent, state, session=session))
        items = await shown(session)
        ends.add(" | ".join(items))
        if isinstance(session, SQLiteSession):
            await session.aclose()
    assert ends <= {
        f"go | call | {UNKNOWN_OUTCOME} | other | other answer | paid",
        "go | call | pay gave 2 | paid | other | other answer",
    }
    assert kind == "sqlite" or len(ends) == 2


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_run_that_goes_on_and_is_cancelled_anywhere_leaves_a_whole_session(kind: str, tmp_path: Path) -> None:
    before = MemorySession("s")
    agent, state = await lost_run(before)
    standing = await before.get_items()
    sessions: list[Any] = []
    streams: list[Any] = []

    def going_on(given: RunState) -> Any:
        return Runner.run_streamed(agent.clone(model=ScriptedModel(["paid"])), given, session=sessions[-1])

    async def work() -> None:
        streams.append(going_on(state))
        await streams[-1]

    async def prepare() -> None:
        sessions.append(MemorySession("s") if kind == "memory" else SQLiteSession(f"s{len(sessions)}", tmp_path / "s.db"))
        await sessions[-1].add_items(standing)

    seen: set[tuple[str, ...]] = set()

    async def check(outcome: Outcome[Any]) -> None:
        assert isinstance(outcome.error, asyncio.CancelledError)
        items = await shown(sessions[-1])
        assert items in (["go", "call", UNKNOWN_OUTCOME], ["go", "call", "pay gave 2"], ["go", "call", "pay gave 2", "paid"])
        seen.add(tuple(items))
        try:
            left = streams.pop().to_state() if streams else state
        except UserError:
            left = state  # it had not begun
        await going_on(left)
        assert await shown(sessions[-1]) == ["go", "call", "pay gave 2", "paid"]
        await prepare()

    await prepare()
    assert await at_every_step(work, check) > 5
    assert len(seen) > 1
    for session in sessions:
        if isinstance(session, SQLiteSession):
            await session.aclose()


async def test_what_another_run_has_added_since_is_never_taken_back() -> None:
    from agentsdk import GuardrailFunctionOutput, output_guardrail

    trips = True
    guard = output_guardrail(lambda ctx, agent, output: GuardrailFunctionOutput(None, trips), name="guard")
    session = MemorySession("s")
    agent, _ = agent_with("first answer", output_guardrails=[guard])
    with pytest.raises(OutputGuardrailTripwireTriggered) as caught:
        await Runner.run(agent, "first", session=session)
    other, _ = agent_with("other answer")
    await Runner.run(other, "other", session=session)
    state = caught.value.state
    assert isinstance(state, RunState)
    mended = agent.clone(output_guardrails=[])
    with pytest.raises(OutputGuardrailTripwireTriggered) as caught:
        await Runner.run(agent, state, session=session)
    again = caught.value.state
    assert isinstance(again, RunState)
    await Runner.run(mended, again, session=session)
    assert await shown(session) == ["first", "first answer", "other", "other answer"]
    await Runner.run(mended, state, session=session)
    assert await shown(session) == ["first", "first answer", "other", "other answer"]


async def test_a_failed_write_is_added_to_the_error_on_its_way() -> None:
    session = Counting(fails=1)
    agent, _ = agent_with(call("add", x=1), RateLimitError("slow down", status=429), "sum")
    with pytest.raises(RateLimitError) as caught:
        await Runner.run(agent, "go", session=session)
    assert any("session 's' could not be written (OSError)" in note for note in caught.value.__notes__)
    assert isinstance(caught.value.state, RunState)
    await Runner.run(agent, caught.value.state, session=session)
    assert await shown(session) == ["go", "call", "add gave 1", "sum"]


async def test_a_history_that_cannot_be_read_is_typed_and_asks_nothing() -> None:
    class Unreadable(MemorySession):
        async def get_items(self, limit: int | None = None) -> Any:
            raise OSError("gone")

    agent, model = agent_with("never")
    with pytest.raises(SessionError, match="'s' could not be read") as caught:
        await Runner.run(agent, "go", session=Unreadable("s"))
    assert isinstance(caught.value.__cause__, OSError)
    assert not model.requests


async def test_two_runs_at_once_on_one_session_keep_whole_turns() -> None:
    session = MemorySession("s")

    async def slow(request: Any) -> str:
        for _ in range(3):
            await asyncio.sleep(0)
        return "answer"

    agents = [agent_with(call("add", x=n), slow)[0] for n in range(5)]
    await asyncio.gather(*[Runner.run(agent, f"run {n}", session=session) for n, agent in enumerate(agents)])
    items = await shown(session)
    turns = [items[start : start + 4] for start in range(0, 20, 4)]
    assert sorted(turns) == [[f"run {n}", "call", f"add gave {n}", "answer"] for n in range(5)]


async def test_a_resumed_run_without_the_session_leaves_it_alone() -> None:
    session = Counting()
    agent, _ = agent_with(call("pay", x=1), "paid")
    state = (await Runner.run(agent, "go", session=session, run_config=RunConfig())).to_state()
    state.approve(state.interruptions[0])
    await Runner.run(agent, state)
    assert await shown(session) == ["go"]
