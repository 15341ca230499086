from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    MemoryRunStore,
    MemorySession,
    Message,
    OutputGuardrailTripwireTriggered,
    RateLimitError,
    RunConfig,
    RunHooks,
    Runner,
    RunState,
    Session,
    SessionError,
    SQLiteSession,
    UserError,
    function_tool,
    input_guardrail,
    output_guardrail,
)
from agentsdk.core.state import UNKNOWN_OUTCOME
from agentsdk.errors import HookError
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


async def test_an_orphaned_call_in_the_history_is_repaired_for_the_model() -> None:
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
    class Broken(RunHooks[Any]):
        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
            raise OSError("the hook is down")

    session = MemorySession("s")
    agent, _ = agent_with("first answer")
    with pytest.raises(HookError) as caught:
        await Runner.run(agent, "first", session=session, hooks=Broken())
    other, _ = agent_with("other answer")
    await Runner.run(other, "other", session=session)
    state = caught.value.state
    assert isinstance(state, RunState)
    await Runner.run(agent, state, session=session)
    assert await shown(session) == ["first", "first answer", "other", "other answer"]
    await Runner.run(agent, state, session=session)
    assert await shown(session) == ["first", "first answer", "other", "other answer"]


def refuses(word: str) -> Any:
    def judge(context: Any, agent: Any, given: object) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, word in str(given))

    return judge


BESIDE = input_guardrail(refuses("password"), name="beside")
BEFORE = input_guardrail(refuses("password"), name="before", run_in_parallel=False)


@pytest.mark.parametrize("guardrail", [BESIDE, BEFORE], ids=lambda guardrail: guardrail.name)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_refused_input_is_not_in_the_session(kind: str, guardrail: Any, tmp_path: Path) -> None:
    session = MemorySession("s") if kind == "memory" else SQLiteSession("s", tmp_path / "s.db")
    agent, model = agent_with("Hello!", "Hello!", "Bye.", input_guardrails=[guardrail])
    with pytest.raises(InputGuardrailTripwireTriggered) as caught:
        await Runner.run(agent, "my password is swordfish", session=session)
    assert await shown(session) == []
    state = caught.value.state
    assert isinstance(state, RunState)
    state.replace_input("hi there")
    await Runner.run(agent, state, session=session)
    assert (await shown(session))[0] == "hi there"
    await Runner.run(agent, "next", session=session)
    assert not any("swordfish" in str(item) for item in model.requests[-1].items)
    if isinstance(session, SQLiteSession):
        await session.aclose()


async def test_an_input_that_no_guardrail_has_let_pass_yet_is_not_in_the_session() -> None:
    async def never(context: Any, agent: Any, given: object) -> GuardrailFunctionOutput:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    asked = asyncio.Event()
    session = MemorySession("s")
    agent, _ = agent_with("Hello!", input_guardrails=[InputGuardrail(never, "never")])
    running = asyncio.create_task(Runner.run(agent, "my password is swordfish", session=session))
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await shown(session) == []


async def test_a_blocked_output_is_not_in_the_session() -> None:
    session = MemorySession("s")
    guardrail = output_guardrail(refuses("secret"), name="guard")
    agent, model = agent_with(call("add", x=1), "the secret is 42", "ok", output_guardrails=[guardrail])
    with pytest.raises(OutputGuardrailTripwireTriggered):
        await Runner.run(agent, "first", session=session)
    assert await shown(session) == ["first", "call", "add gave 1"]
    await Runner.run(agent, "second", session=session)
    assert not any("secret" in str(item) for item in model.requests[-1].items)
    assert await shown(session) == ["first", "call", "add gave 1", "second", "ok"]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("meanwhile", [False, True], ids=["alone", "another run has added since"])
async def test_an_input_that_is_replaced_is_replaced_in_the_session(kind: str, meanwhile: bool, tmp_path: Path) -> None:
    session = MemorySession("s") if kind == "memory" else SQLiteSession("s", tmp_path / "s.db")
    guardrail = output_guardrail(refuses("secret"), name="guard")
    agent, _ = agent_with("hello", "the secret is 42", "ok", output_guardrails=[guardrail])
    await Runner.run(agent, "hi", session=session)
    with pytest.raises(OutputGuardrailTripwireTriggered) as caught:
        await Runner.run(agent, "tell me", session=session)
    assert await shown(session) == ["hi", "hello", "tell me"]
    if meanwhile:
        other, _ = agent_with("other answer")
        await Runner.run(other, "other", session=session)
    state = caught.value.state
    assert isinstance(state, RunState)
    state.replace_input("never mind")
    await Runner.run(agent, state, session=session)
    kept = ["hi", "hello", "tell me", "other", "other answer"] if meanwhile else ["hi", "hello"]
    assert await shown(session) == [*kept, "never mind", "ok"]
    if isinstance(session, SQLiteSession):
        await session.aclose()


async def test_a_history_that_is_given_again_beside_its_session_is_sent_once() -> None:
    session = MemorySession("s")
    agent, model = agent_with(call("add", x=1), "1", "2")
    first = await Runner.run(agent, "go", session=session)
    await Runner.run(agent, [*first.to_input_list(), {"role": "user", "content": "again"}], session=session)
    assert [item.type for item in model.requests[-1].items].count("function_call") == 1
    assert await shown(session) == ["go", "call", "add gave 1", "1", "again", "2"]


async def test_call_ids_that_a_session_and_an_input_share_stay_apart() -> None:
    session = MemorySession("s")
    theirs = [FunctionCall("call_0", "add", '{"x": 1}'), FunctionCallOutput("call_0", "theirs")]
    await session.add_items([Message("user", "one"), *theirs])
    agent, model = agent_with("ok")
    mine = [FunctionCall("call_0", "add", '{"x": 2}'), FunctionCallOutput("call_0", "mine"), Message("user", "two")]
    await Runner.run(agent, mine, session=session)
    sent = model.requests[0].items
    results = {item.call_id: item.output for item in sent if isinstance(item, FunctionCallOutput)}
    calls = {item.call_id: item.arguments for item in sent if isinstance(item, FunctionCall)}
    assert [(calls[call_id], output) for call_id, output in results.items()] == [('{"x": 1}', "theirs"), ('{"x": 2}', "mine")]


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


@pytest.mark.parametrize("stored", [False, True], ids=["", "stored"])
@pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])
async def test_a_write_whose_answer_is_lost_stands_once_when_the_state_goes_on(stored: bool, is_done: bool) -> None:
    class Torn(MemorySession):
        writes = 0

        async def add_items(self, items: Any) -> None:
            self.writes += 1
            if self.writes > 1 or is_done:
                await super().add_items(items)
            if self.writes == 1:
                raise OSError("the answer is lost")

    session, model = Torn("s"), ScriptedModel(["hello"])
    agent, config = Agent("main", model=model), RunConfig(run_id="r", store=MemoryRunStore() if stored else None)
    with pytest.raises(SessionError, match="could not be written") as caught:
        await Runner.run(agent, "go", session=session, run_config=config)
    assert session.writes == 1, "what became of it is not known yet"
    assert isinstance(caught.value.state, RunState)
    for _ in range(2):
        result = await Runner.run(agent, caught.value.state, session=session, run_config=config)
        assert result.final_output == "hello"
        assert [getattr(item, "content", "") for item in await session.get_items()] == ["go", "hello"]
        caught.value.state = result.to_state()
    assert len(model.requests) == 1


class Asked(MemorySession):
    """Notes how many items it is asked for."""

    def __init__(self, *items: Item) -> None:
        super().__init__("s")
        self._items = list(items)
        self.asked: list[int | None] = []

    async def get_items(self, limit: int | None = None) -> list[Item]:
        self.asked.append(limit)
        return await super().get_items(limit)


def said(*texts: str) -> list[Item]:
    return [Message("user" if number % 2 == 0 else "assistant", text) for number, text in enumerate(texts)]


def sent(model: ScriptedModel) -> list[str]:
    """What the model was sent last, in short."""
    items = model.requests[-1].items
    return [item.text if isinstance(item, Message) else str(getattr(item, "output", "call")) for item in items]


@pytest.mark.parametrize(
    ("limit", "reads"),
    [
        (0, []),
        (1, ["four"]),
        (3, ["two", "three", "four"]),
        (4, ["one", "two", "three", "four"]),
        (9, ["one", "two", "three", "four"]),
        (None, ["one", "two", "three", "four"]),
    ],
)
async def test_a_run_reads_the_latest_items_and_the_session_keeps_all(limit: int | None, reads: list[str]) -> None:
    session = Asked(*said("one", "two", "three", "four"))
    agent, model = agent_with("six")
    result = await Runner.run(agent, "five", session=session, run_config=RunConfig(session_limit=limit))
    assert sent(model) == [*reads, "five"]
    assert [item.text for item in result.input] == ["five"]  # type: ignore[union-attr]
    assert session.asked == [None if limit is None else limit + 1], "the rest of a long session is not read"
    assert await shown(session) == ["one", "two", "three", "four", "five", "six"]


CALLS: list[Item] = [FunctionCall("a", "add", "{}"), FunctionCall("b", "add", "{}")]
RESULTS: list[Item] = [FunctionCallOutput("a", "A"), FunctionCallOutput("b", "B")]


@pytest.mark.parametrize(
    ("limit", "reads"),
    [(1, ["after"]), (2, ["after"]), (3, ["after"]), (4, ["after"]), (5, ["call", "call", "A", "B", "after"])],
)
async def test_a_turn_that_begins_before_the_limit_is_left_out_whole(limit: int, reads: list[str]) -> None:
    session = Asked(Message("user", "before"), *CALLS, *RESULTS, Message("assistant", "after"))
    agent, model = agent_with("ok")
    await Runner.run(agent, "go", session=session, run_config=RunConfig(session_limit=limit))
    assert sent(model) == [*reads, "go"]


async def test_a_result_whose_call_is_before_the_limit_is_left_out() -> None:
    session = Asked(*CALLS, Message("user", "meanwhile"), *RESULTS)
    agent, model = agent_with("ok")
    await Runner.run(agent, "go", session=session, run_config=RunConfig(session_limit=3))
    assert sent(model) == ["meanwhile", "go"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_callback_says_what_of_the_history_is_sent_and_the_session_gets_what_is_new(is_async: bool) -> None:
    session = MemorySession("s")
    await session.add_items(said("one", "two"))
    given: list[Any] = []

    def merge(history: list[Item], new: list[Item]) -> list[Any]:
        given.append((history, new))
        return [{"role": "developer", "content": "It is Monday."}, *history[-1:], *new]

    async def later(history: list[Item], new: list[Item]) -> list[Any]:
        return merge(history, new)

    agent, model = agent_with("four", "six")
    config = RunConfig(session_input_callback=later if is_async else merge)
    await Runner.run(agent, "three", session=session, run_config=config)
    assert given == [(said("one", "two"), said("three"))]
    assert sent(model) == ["It is Monday.", "two", "three"]
    assert await shown(session) == ["one", "two", "three", "four"]
    result = await Runner.run_streamed(agent, said("five"), session=session, run_config=config)
    assert sent(model) == ["It is Monday.", "four", "five"]
    assert [item.text for item in result.input] == ["five"]  # type: ignore[union-attr]
    assert await shown(session) == ["one", "two", "three", "four", "five", "six"]


async def test_a_callback_is_not_asked_when_a_run_goes_on_or_has_no_session() -> None:
    asked: list[object] = []

    def merge(history: list[Item], new: list[Item]) -> list[Item]:
        asked.append(history)
        return [*history, *new]

    config, session = RunConfig(session_input_callback=merge), MemorySession("s")
    agent, _ = agent_with(call("pay", x=1), "paid", "ok")
    state = (await Runner.run(agent, "go", session=session, run_config=config)).to_state()
    state.approve(state.interruptions[0])
    await Runner.run(agent, state, session=session, run_config=config)
    assert asked == [[]]
    await Runner.run(agent, "go", run_config=config)
    assert asked == [[]]


@pytest.mark.parametrize(
    ("gives", "told"),
    [
        (lambda history, new: history, "returned 2 items that do not end with the 1 new ones, expected"),
        (lambda history, new: [], "returned 0 items that do not end with the 1 new ones"),
        (lambda history, new: [*new, *history], "returned 3 items that do not end with the 1 new ones"),
        (lambda history, new: None, "session_input_callback returned what is no list of items"),
        (lambda history, new: [*history, 5], r"returned what is no list of items: input\[2\] is 'int'"),
    ],
)
async def test_a_callback_that_gives_something_else_is_told_before_anything_is_sent(gives: Any, told: str) -> None:
    session = MemorySession("s")
    await session.add_items(said("one", "two"))
    agent, model = agent_with("never")
    with pytest.raises(UserError, match=told):
        await Runner.run(agent, "go", session=session, run_config=RunConfig(session_input_callback=gives))
    assert not model.requests
    assert await shown(session) == ["one", "two"]


@pytest.mark.parametrize("limit", [None, 1, 2, 3])
@pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("before", [(), ("go", "bye"), ("a", "b", "c", "d", "e", "f"), ("hi", "hello", "a", "b")])
async def test_a_write_whose_answer_is_lost_stands_once_whatever_was_read(
    before: tuple[str, ...], is_done: bool, limit: int | None
) -> None:
    class Torn(MemorySession):
        fails = True

        async def add_items(self, items: Any) -> None:
            if is_done or not self.fails:
                await super().add_items(items)
            if self.fails:
                self.fails = False
                raise OSError("the answer is lost")

    session = Torn("s")
    session.fails = False
    await session.add_items(said(*before))
    session.fails = True
    agent, config = Agent("main", model=ScriptedModel(["hello"])), RunConfig(session_limit=limit)
    with pytest.raises(SessionError) as caught:
        await Runner.run(agent, "hi", session=session, run_config=config)
    assert isinstance(caught.value.state, RunState)
    for _ in range(2):
        await Runner.run(agent, reloaded(agent, caught.value.state), session=session, run_config=config)
        assert await shown(session) == [*before, "hi", "hello"]


async def test_an_exchange_that_repeats_the_one_before_it_is_saved_as_well() -> None:
    session = Counting(fails=1)
    await MemorySession.add_items(session, said("hi", "hello"))
    agent = Agent("main", model=ScriptedModel(["hello"]))
    with pytest.raises(SessionError) as caught:
        await Runner.run(agent, "hi", session=session)
    assert isinstance(caught.value.state, RunState)
    await Runner.run(agent, caught.value.state, session=session)
    assert await shown(session) == ["hi", "hello", "hi", "hello"]
