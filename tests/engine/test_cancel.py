"""Cancellation: wherever a run is left, its history is valid, nothing goes on behind it, and it can go on itself."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from typing import Any, ClassVar

import httpx
import pytest

import agentsdk.engine.begin
from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    MemoryRunStore,
    MemorySession,
    OpenAIChatCompletionsModel,
    RunConfig,
    RunContextWrapper,
    Runner,
    RunState,
    SessionError,
    ToolInDoubtItem,
    UserError,
    function_tool,
    input_guardrail,
    output_guardrail,
)
from agentsdk.core.state import UNKNOWN_OUTCOME
from agentsdk.engine.run import Run
from agentsdk.testing import FakeOpenAIServer, ScriptedModel, call
from agentsdk.types.items import Item, items_from_input
from tests.scenarios import Brain, World, agent_of, thread_tool, tool_of
from tests.steps import Outcome, at_every_step


class SlowSession(MemorySession):
    """A session that takes a few steps for everything, and keeps each write whole."""

    async def get_items(self, limit: int | None = None) -> list[Item]:
        await asyncio.sleep(0)
        return await super().get_items(limit)

    async def add_items(self, items: Sequence[Any]) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        await super().add_items(items)

    async def pop_item(self) -> Item | None:
        await asyncio.sleep(0)
        return await super().pop_item()


class Noted(Run, eq=False, kw_only=True):
    """Every root run there was, in order: a cancelled `Runner.run` gives its caller none."""

    seen: ClassVar[list[Run]] = []

    def __post_init__(self) -> None:
        if self.parent is None:
            Noted.seen.append(self)


@pytest.fixture(autouse=True)
def _noted(monkeypatch: pytest.MonkeyPatch) -> None:
    Noted.seen = []
    monkeypatch.setattr(agentsdk.engine.begin, "Run", Noted)


# The run that is cancelled everywhere: parallel calls of every kind, guardrails on both ends, an agent as tool, a session.

REPLIES: dict[str, Any] = {
    "1": [call("read", x=1), call("pay", x=1), call("put", x=1)],
    "2": [call("sync", x=2), call("pay", x=2), call("helper", input="dig")],
    "3": [call("pay", x=3), call("read", x=3)],
    "4": "all done here",
}
HELPER_REPLIES: dict[str, Any] = {"1": [call("dig", x=1)], "2": "dug"}


def busy_agent(world: World, model: Any = None, helper_model: Any = None) -> Agent[Any, Any]:
    @input_guardrail
    async def polite(ctx: RunContextWrapper[Any], agent: Agent[Any, Any], given: object) -> GuardrailFunctionOutput:
        for _ in range(3):
            await asyncio.sleep(0)
        return GuardrailFunctionOutput(None, False)

    @output_guardrail
    async def proper(ctx: RunContextWrapper[Any], agent: Agent[Any, Any], output: object) -> GuardrailFunctionOutput:
        await asyncio.sleep(0)
        return GuardrailFunctionOutput(None, False)

    helper = Agent("helper", model=helper_model or Brain(world, HELPER_REPLIES), tools=[tool_of(world, "dig", "once", steps=2)])
    return Agent(
        "main",
        model=model or Brain(world, REPLIES),
        tools=[
            tool_of(world, "read", "none", steps=2),
            tool_of(world, "pay", "once", steps=3),
            tool_of(world, "put", "idempotent"),
            thread_tool(world, "sync", "idempotent"),
            helper.as_tool(),
        ],
        input_guardrails=[polite],
        output_guardrails=[proper],
    )


async def run_plain(agent: Agent[Any, Any], given: Any, session: Any, config: RunConfig) -> Any:
    return (await Runner.run(agent, given, session=session, run_config=config)).final_output


async def run_stream(agent: Agent[Any, Any], given: Any, session: Any, config: RunConfig) -> Any:
    async with Runner.run_streamed(agent, given, session=session, run_config=config) as stream:
        async for _ in stream:
            pass
    return stream.final_output


async def run_awaited(agent: Agent[Any, Any], given: Any, session: Any, config: RunConfig) -> Any:
    return (await Runner.run_streamed(agent, given, session=session, run_config=config)).final_output


MODES = pytest.mark.parametrize("mode", [run_plain, run_stream, run_awaited], ids=["run", "stream", "awaited stream"])


def check_pairs(items: Sequence[Item]) -> None:
    """Every call has one result, after it; every result has its call."""
    calls = [item.call_id for item in items if isinstance(item, FunctionCall)]
    results = [item.call_id for item in items if isinstance(item, FunctionCallOutput)]
    assert sorted(calls) == sorted(results) == sorted(set(calls)), items
    kinds = [(type(item), item.call_id) for item in items if isinstance(item, FunctionCall | FunctionCallOutput)]
    assert all(kinds.index((FunctionCall, one)) < kinds.index((FunctionCallOutput, one)) for one in calls), items


def check_marks(run: Run) -> None:
    """In the history, what has no result is marked so, and nothing else is."""
    turn = run.state.turn
    items = RunState(run.state).items()
    marked = {item.call_id for item in items if isinstance(item, FunctionCallOutput) and item.output == UNKNOWN_OUTCOME}
    assert marked == (set() if turn is None else {one.call_id for one in turn.calls} - turn.results.keys())


def passed(run: Run) -> list[Item]:
    """What a session may hold of a run of `busy_agent`: nothing before its guardrails have let it pass."""
    state, turn = run.state, run.state.turn
    if not state.input_verdicts:
        return []
    is_waiting = turn is not None and turn.response is not None and not turn.calls
    return list(state.transcript) if is_waiting else list(RunState(state).items())


async def resumed(agent: Agent[Any, Any], state: RunState, session: Any, config: RunConfig, mode: Any) -> Any:
    """The run gone on from its saved state, calls in doubt settled with the results they have."""
    for _ in range(5):
        state = RunState.from_string(agent, state.to_string())
        for item in state.interruptions:
            assert isinstance(item, ToolInDoubtItem)
            x = item.arguments.partition(":")[2].rstrip("}")
            state.provide_result(item, result=f"{item.tool_name} gave {x}")
        try:
            return await mode(agent, state, session, config)
        except UserError:
            run = Noted.seen[-1]
            state = RunState(run.state)
            assert state.interruptions
    raise AssertionError("the run does not come to its end")


@MODES
def test_cancelled_at_every_step_a_run_is_whole_and_goes_on(mode: Any) -> None:
    async def main() -> None:
        config = RunConfig(run_id="r")
        expected_session = SlowSession("s")
        expected = await mode(busy_agent(World()), "go", expected_session, config)
        expected_items = RunState(Noted.seen[-1].state).items()
        expected_usage = Noted.seen[-1].state.usage
        worlds: list[World] = []
        sessions: list[SlowSession] = []

        async def work() -> Any:
            Noted.seen = []
            worlds.append(World())
            sessions.append(SlowSession("s"))
            return await mode(busy_agent(worlds[-1]), "go", sessions[-1], config)

        async def check(outcome: Outcome[Any]) -> None:
            where = f"cancelled at step {outcome.at}"
            assert isinstance(outcome.error, asyncio.CancelledError), f"{where}: {outcome.error!r}"
            assert outcome.left_running == [], where
            world, session = worlds[-1], sessions[-1]
            check_pairs(await session.get_items())
            if not Noted.seen or not Noted.seen[-1].state.log:
                assert not world.asked, where
                return
            run = Noted.seen[-1]
            check_pairs(RunState(run.state).items())
            check_marks(run)
            # In its very last step a task ends as cancelled although its run was over.
            assert (
                run.state.stopped is not None and run.state.stopped.reason == "CancelledError"
            ) or run.state.ended is not None, where
            assert await session.get_items() == passed(run), where
            again = World()
            assert await resumed(busy_agent(again), RunState(run.state), session, config, mode) == expected, where
            state = Noted.seen[-1].state
            assert RunState(state).items() == expected_items, where
            assert await session.get_items() == await expected_session.get_items(), where
            assert state.usage == expected_usage, where
            once = [key for key in (*world.done, *again.done) if names[key] in ("pay", "dig")]
            assert len(once) == len(set(once)), f"{where}: an effect was repeated"

        names = dict(effects_of(expected_items))
        steps = await at_every_step(work, check)
        assert steps > 50

    asyncio.run(main())


def effects_of(items: Sequence[Item]) -> list[tuple[str, str]]:
    """The idempotency key of each call with its tool; the nested run's call is known."""
    outer = [(f"r/{item.call_id}", item.name) for item in items if isinstance(item, FunctionCall)]
    return [*outer, *((f"{key}/call_1_1", "dig") for key, name in outer if name == "helper")]


@MODES
def test_cancelled_at_every_step_over_a_socket_no_connection_is_left(mode: Any) -> None:
    def say(request: Any) -> Any:
        asked_before = sum(message["role"] == "assistant" for message in request.json["messages"])
        return [[call("read", x=1), call("put", x=1)], "all done here"][asked_before]

    async def main() -> None:
        async with FakeOpenAIServer([say] * 10_000) as server:
            # Nothing is kept alive, so whatever connection there is at the end is one that was not closed.
            limits = httpx.Limits(max_keepalive_connections=0)
            async with httpx.AsyncClient(limits=limits) as client:
                model = OpenAIChatCompletionsModel("fake", base_url=server.base_url, http_client=client)
                config = RunConfig(run_id="r")

                def agent(world: World) -> Agent[Any, Any]:
                    return busy_agent(world, model)

                async def work() -> Any:
                    Noted.seen = []
                    return await mode(agent(World()), "go", None, config)

                async def check(outcome: Outcome[Any]) -> None:
                    where = f"cancelled at step {outcome.at}"
                    assert isinstance(outcome.error, asyncio.CancelledError), f"{where}: {outcome.error!r}"
                    assert outcome.left_running == [], where
                    assert client._transport._pool.connections == [], where  # type: ignore[attr-defined]
                    await asyncio.wait_for(server.all_closed(), 10)
                    if Noted.seen and Noted.seen[-1].state.log:
                        run = Noted.seen[-1]
                        check_pairs(RunState(run.state).items())
                        assert await resumed(agent(World()), RunState(run.state), None, config, mode) == "all done here", where

                assert await at_every_step(work, check) > 30

    asyncio.run(main())


def test_cancelled_at_every_step_a_request_gives_its_pool_slot_back() -> None:
    async def main() -> None:
        async with FakeOpenAIServer(["hello"] * 10_000) as server, httpx.AsyncClient() as client:
            model = OpenAIChatCompletionsModel("fake", base_url=server.base_url, http_client=client)

            async def work() -> Any:
                return await Runner.run(Agent("main", model=model), "go")

            async def check(outcome: Outcome[Any]) -> None:
                slots = client._transport._pool.connections  # type: ignore[attr-defined]
                assert [one for one in slots if not one.is_idle()] == [], f"cancelled at step {outcome.at}"

            await at_every_step(work, check)

    asyncio.run(main())


async def settle_down() -> None:
    """Let what is running end; fails when it does not within a few hundred steps."""
    for _ in range(500):
        if len(asyncio.all_tasks()) == 1:
            return
        await asyncio.sleep(0)
    raise AssertionError(f"still running: {asyncio.all_tasks()}")


class Endless:
    """A tool that waits until it is cancelled, and tells when it began and how it ended."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.was_cancelled = False

        async def wait() -> str:
            self.began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.was_cancelled = True
                raise
            return "never"

        self.tool = function_tool(wait, effect="none")

    def agent(self, *rest: Any) -> Agent[Any, Any]:
        return Agent("main", model=ScriptedModel([call("wait"), *rest]), tools=[self.tool])


def test_breaking_out_of_the_stream_stops_the_run() -> None:
    async def main() -> None:
        endless = Endless()
        async for event in Runner.run_streamed(endless.agent(), "go"):
            if event.type == "run_item_stream_event":
                break
        await settle_down()
        assert endless.was_cancelled or not endless.began.is_set()

    asyncio.run(main())


def test_breaking_out_and_closing_waits_for_the_end() -> None:
    async def main() -> None:
        endless = Endless()
        stream = Runner.run_streamed(endless.agent(), "go")
        async for event in stream:
            if event.type == "run_item_stream_event":
                await endless.began.wait()
                break
        await stream.aclose()
        assert endless.was_cancelled
        assert len(asyncio.all_tasks()) == 1
        assert stream.is_complete and not stream.is_finished

    asyncio.run(main())


def test_leaving_the_with_block_waits_for_the_end() -> None:
    async def main() -> None:
        endless = Endless()
        async with Runner.run_streamed(endless.agent(), "go") as stream:
            await endless.began.wait()
        assert endless.was_cancelled
        assert len(asyncio.all_tasks()) == 1
        assert stream.to_state().items()[-1] == FunctionCallOutput("call_1_1", UNKNOWN_OUTCOME, True)

    asyncio.run(main())


def test_an_error_of_the_reader_stops_the_run() -> None:
    class Mine(Exception):
        pass

    async def main() -> None:
        endless = Endless()
        with pytest.raises(Mine):
            async with Runner.run_streamed(endless.agent(), "go") as stream:
                async for _ in stream:
                    await endless.began.wait()
                    raise Mine
        assert endless.was_cancelled
        assert len(asyncio.all_tasks()) == 1

        endless = Endless()
        with pytest.raises(Mine):
            async for _ in Runner.run_streamed(endless.agent(), "go"):
                raise Mine
        await settle_down()

    asyncio.run(main())


def test_cancel_immediate_ends_the_stream_without_an_error_and_the_run_goes_on_later() -> None:
    async def main() -> None:
        endless = Endless()
        agent = endless.agent()
        stream = Runner.run_streamed(agent, "go")
        names = []
        async for event in stream:
            if event.type == "run_item_stream_event":
                names.append(event.name)
                await endless.began.wait()
                stream.cancel()
        assert names == ["tool_called"]
        assert len(asyncio.all_tasks()) == 1
        with pytest.raises(UserError, match="no final output"):
            _ = stream.final_output
        done = function_tool(lambda: "waited", name_override="wait", effect="none")
        goes_on = agent.clone(model=ScriptedModel(["well"]), tools=[done])
        result = await Runner.run(goes_on, stream.to_state())
        assert result.final_output == "well"
        assert result.to_input_list()[2]["output"] == "waited"

    asyncio.run(main())


def test_cancel_after_turn_stops_between_turns() -> None:
    async def main() -> None:
        world = World()
        agent = agent_of(world, [call("add", x=1), call("add", x=2), "sum"], tools=[tool_of(world, "add")])
        config = RunConfig(run_id="r")
        stream = Runner.run_streamed(agent, "go", run_config=config)
        async for event in stream:
            if event.type == "run_item_stream_event" and event.name == "tool_called":
                stream.cancel("after_turn")
        assert [one.partition("-")[2] for one in world.asked] == ["1"]
        assert world.done == Counter({"r/call_1_1": 1})
        assert stream.to_state().value.turn is None
        assert not stream.is_finished
        result = await Runner.run(agent, stream.to_state(), run_config=config)
        assert result.final_output == "sum"
        assert [one.partition("-")[2] for one in world.asked] == ["1", "2", "3"]

    asyncio.run(main())


def test_cancel_after_turn_before_the_start_allows_one_turn() -> None:
    async def main() -> None:
        world = World()
        agent = agent_of(world, [call("add", x=1), "sum"], tools=[tool_of(world, "add")])
        stream = Runner.run_streamed(agent, "go", run_config=RunConfig(run_id="r"))
        stream.cancel("after_turn")
        async for _ in stream:
            pass
        assert [one.partition("-")[2] for one in world.asked] == ["1"]

    asyncio.run(main())


def test_cancel_before_the_start_starts_nothing() -> None:
    async def main() -> None:
        world = World()
        stream = Runner.run_streamed(agent_of(world, ["never"]), "go")
        stream.cancel()
        assert [event async for event in stream] == []
        assert not world.asked
        with pytest.raises(UserError, match="has not started"):
            stream.to_state()

    asyncio.run(main())


@pytest.mark.leaves_tasks
def test_a_tool_that_ignores_its_cancellation_is_left_behind_and_named(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        release = asyncio.Event()
        began = asyncio.Event()

        async def stubborn() -> str:
            began.set()
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    pass
            return "at last"

        agent = Agent("main", model=ScriptedModel([call("stubborn")]), tools=[function_tool(stubborn)])
        task = asyncio.create_task(Runner.run(agent, "go", run_config=RunConfig(cancel_grace=0.02)))
        await began.wait()
        task.cancel()
        try:
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            assert any("'tool stubborn'" in note for note in caught.value.__notes__)
            assert "'tool stubborn'" in caplog.text
            ended = RunState(Noted.seen[-1].state)
        finally:
            release.set()
        await settle_down()
        assert Noted.seen[-1].state == ended.value, "what is left behind changes a run that has ended"

    with caplog.at_level(logging.WARNING, "agentsdk"):
        asyncio.run(main())


def test_a_second_cancellation_does_not_cut_the_grace_short() -> None:
    async def main() -> None:
        began, cleaning, cleaned = asyncio.Event(), asyncio.Event(), []

        async def careful() -> None:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                cleaning.set()
                for _ in range(5):
                    await asyncio.sleep(0)
                cleaned.append(True)

        agent = Agent("main", model=ScriptedModel([call("careful")]), tools=[function_tool(careful)])
        task = asyncio.create_task(Runner.run(agent, "go"))
        await began.wait()
        task.cancel()
        await cleaning.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cleaned == [True]
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_a_cancellation_while_a_guardrail_trips_is_not_swallowed() -> None:
    async def main() -> None:
        closing = asyncio.Event()

        class SlowToClose:
            name = "slow"

            async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
                try:
                    await asyncio.Event().wait()
                    yield None
                finally:
                    closing.set()
                    for _ in range(5):
                        await asyncio.sleep(0)

        @input_guardrail
        async def trips(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
            await asyncio.sleep(0)
            return GuardrailFunctionOutput(None, True)

        agent = Agent("main", model=SlowToClose(), input_guardrails=[trips])
        task = asyncio.create_task(Runner.run(agent, "go"))
        await closing.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(InputGuardrailTripwireTriggered):
            await Runner.run(agent, RunState(Noted.seen[-1].state))

    asyncio.run(main())


def test_a_cancellation_while_a_timed_out_tool_cleans_up_leaves_nothing() -> None:
    async def main() -> None:
        cleaning, cleaned = asyncio.Event(), []

        async def late() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                cleaning.set()
                for _ in range(5):
                    await asyncio.sleep(0)
                cleaned.append(True)

        agent = Agent("main", model=ScriptedModel([call("late")]), tools=[function_tool(late, timeout=0.001)])
        task = asyncio.create_task(Runner.run(agent, "go"))
        await cleaning.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1
        assert cleaned == [True]

    asyncio.run(main())


def test_a_tool_that_raises_cancelled_error_itself_is_an_error_for_the_model() -> None:
    async def main() -> None:
        async def confused() -> None:
            raise asyncio.CancelledError

        model = ScriptedModel([[call("confused"), call("fine")], "ok"])
        agent = Agent("main", model=model, tools=[function_tool(confused), function_tool(lambda: "yes", name_override="fine")])
        result = await Runner.run(agent, "go")
        assert result.final_output == "ok"
        outputs = [item["output"] for item in result.to_input_list() if item["type"] == "function_call_output"]
        assert "nobody cancelled it" in str(outputs[0])
        assert outputs[1] == "yes"

    asyncio.run(main())


class Hard(BaseException):
    """Not an Exception: nothing of ours may swallow or change it."""


def hard_agent(world: World, error: type[BaseException]) -> Agent[Any, Any]:
    async def breaks() -> None:
        world.did("breaks")
        await asyncio.sleep(0)
        raise error

    replies = [[call("breaks"), call("pay", x=1)], "carried on"]
    return agent_of(world, replies, tools=[function_tool(breaks), tool_of(world, "pay", steps=5)])


@MODES
def test_a_base_exception_of_a_tool_passes_unchanged_and_leaves_the_call_in_doubt(mode: Any) -> None:
    async def main() -> None:
        world, session, config = World(), SlowSession("s"), RunConfig(run_id="r")
        with pytest.raises(Hard):
            await mode(hard_agent(world, Hard), "go", session, config)
        assert len(asyncio.all_tasks()) == 1
        assert world.done == Counter({"breaks": 1, "r/call_1_2": 1})
        items = await session.get_items()
        check_pairs(items)
        assert items[-2:] == [
            FunctionCallOutput("call_1_1", UNKNOWN_OUTCOME, True),
            FunctionCallOutput("call_1_2", "pay gave 1"),
        ]
        state = RunState(Noted.seen[-1].state)
        assert state.value.stopped is not None and state.value.stopped.reason == "Hard"

        again = World()
        result = await Runner.run(hard_agent(again, Hard), state, run_config=config)
        assert [type(item) for item in result.interruptions] == [ToolInDoubtItem]
        decided = result.to_state()
        decided.mark_failed(decided.interruptions[0], "it broke")
        assert (await Runner.run(hard_agent(again, Hard), decided, run_config=config)).final_output == "carried on"
        assert not again.done

    asyncio.run(main())


@pytest.mark.leaves_tasks
@MODES
def test_a_keyboard_interrupt_in_a_tool_passes_after_the_session_is_saved(mode: Any) -> None:
    session = SlowSession("s")
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(mode(hard_agent(World(), KeyboardInterrupt), "go", session, RunConfig()))
    items = asyncio.run(session.get_items())
    check_pairs(items)
    assert items[0] == items_from_input("go")[0]
    assert FunctionCallOutput("call_1_1", UNKNOWN_OUTCOME, True) in items


def test_a_timeout_around_a_run() -> None:
    async def main() -> None:
        endless = Endless()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await Runner.run(endless.agent(), "go")
        assert endless.was_cancelled
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_a_slow_reader_holds_the_model_back() -> None:
    async def main() -> None:
        sent = 0

        class Chatty:
            name = "chatty"

            async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
                nonlocal sent
                from agentsdk import Message, ModelResponse, OutputTextDelta
                from agentsdk.events import ResponseCompleted

                for _ in range(5_000):
                    sent += 1
                    yield OutputTextDelta("word ")
                yield ResponseCompleted(ModelResponse((Message("assistant", "that's all"),)))

        read = 0
        most_ahead = 0
        async with Runner.run_streamed(Agent("main", model=Chatty()), "go") as stream:
            for _ in range(50):
                await asyncio.sleep(0)
            assert sent <= 300
            async for _ in stream:
                read += 1
                most_ahead = max(most_ahead, sent - read)
                if read % 100 == 0:
                    await asyncio.sleep(0)
        assert sent == 5_000 and read > 5_000
        assert most_ahead <= 300
        assert stream.final_output == "that's all"

    asyncio.run(main())


class BrokenSession(MemorySession):
    async def add_items(self, items: Sequence[Any]) -> None:
        raise OSError("no space left on device")


@MODES
def test_a_failing_session_write_reaches_the_caller_with_the_state(mode: Any) -> None:
    async def main() -> None:
        session = BrokenSession("s")
        agent = agent_of(World(), ["hello"])
        with pytest.raises(SessionError, match="'s' could not be written") as caught:
            await mode(agent, "go", session, RunConfig())
        assert isinstance(caught.value.__cause__, OSError)
        assert len(asyncio.all_tasks()) == 1
        repaired = MemorySession("s")
        state = caught.value.state
        assert isinstance(state, RunState)
        assert (await Runner.run(agent, state, session=repaired)).final_output == "hello"
        assert [getattr(item, "content", "") for item in await repaired.get_items()] == ["go", "hello"]

    asyncio.run(main())


def test_without_a_running_loop_the_error_says_so() -> None:
    agent = agent_of(World(), ["hello"])
    with pytest.raises(UserError, match="running asyncio event loop"):
        Runner.run(agent, "go").send(None)
    stream = Runner.run_streamed(agent, "go")
    with pytest.raises(UserError, match="running asyncio event loop"):
        stream.__aiter__().__anext__().send(None)  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="running asyncio event loop"):
        next(stream.__await__())
    with pytest.raises(UserError, match="running asyncio event loop"):
        stream.__aenter__().send(None)  # type: ignore[attr-defined]


def test_run_sync_needs_a_thread_without_a_loop() -> None:
    async def main() -> None:
        with pytest.raises(UserError, match="run_sync was called inside a running event loop"):
            Runner.run_sync(agent_of(World(), ["hello"]), "go")

    asyncio.run(main())
    outputs: list[str] = []
    thread = threading.Thread(target=lambda: outputs.append(Runner.run_sync(agent_of(World(), ["hello"]), "go").final_output))
    thread.start()
    thread.join()
    assert outputs == ["hello"]


def test_one_agent_serves_many_runs_at_once() -> None:
    async def main() -> None:
        world = World()
        agent = busy_agent(world)
        runs = [Runner.run(agent, f"go {n}", run_config=RunConfig(run_id=f"run{n}")) for n in range(20)]
        results = await asyncio.gather(*runs)
        assert {result.final_output for result in results} == {"all done here"}
        assert {result.run_id for result in results} == {f"run{n}" for n in range(20)}
        assert set(world.done.values()) == {1}
        assert len(world.done) == 20 * 8
        first = list(results[0].to_input_list()[1:])
        assert all(result.to_input_list()[1:] == first for result in results)

    asyncio.run(main())


who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


@MODES
def test_context_variables_of_the_caller_reach_every_callable(mode: Any) -> None:
    async def main() -> None:
        seen: list[tuple[str, str]] = []

        async def from_async() -> None:
            seen.append(("async tool", who.get()))

        def from_thread() -> None:
            seen.append(("thread tool", who.get()))

        def instructions(ctx: Any, agent: Any) -> str:
            seen.append(("instructions", who.get()))
            return ""

        @input_guardrail
        def guard(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
            seen.append(("guardrail", who.get()))
            return GuardrailFunctionOutput(None, False)

        agent = Agent(
            "main",
            model=ScriptedModel([[call("from_async"), call("from_thread")], "ok"]),
            instructions=instructions,
            tools=[function_tool(from_async), function_tool(from_thread)],
            input_guardrails=[guard],
        )
        who.set("ada")
        await mode(agent, "go", None, RunConfig())
        assert {what for what, _ in seen} == {"async tool", "thread tool", "instructions", "guardrail"}
        assert {name for _, name in seen} == {"ada"}

    asyncio.run(main())


# Winding down: one bound for all of it, and the run let go of.


class Winding:
    """A stored run with a session, whose parts can be made slow or to hang by their names."""

    def __init__(self, **steps: float) -> None:
        self.steps = steps
        self.winding = asyncio.Event()
        self.begun = asyncio.Event()
        me = self

        class Store(MemoryRunStore):
            async def append(self, *args: Any) -> int:
                await me.take("store")
                return await super().append(*args)

        class Session(MemorySession):
            async def add_items(self, items: Sequence[Any]) -> None:
                me.winding.set()
                await me.take("session")
                await super().add_items(items)

        self.store = Store()
        self.session = Session("s")

    async def take(self, what: str) -> None:
        for _ in range(int(self.steps.get(what, 0)) if self.begun.is_set() else 0):
            await asyncio.sleep(0)
        if self.begun.is_set() and self.steps.get(what) == float("inf"):
            await asyncio.Event().wait()

    def agent(self, fails: bool) -> Agent[Any, Any]:
        async def work() -> str:
            self.begun.set()
            if fails:
                raise ValueError("boom")
            await asyncio.Event().wait()
            return ""

        tool = function_tool(work, failure_error_function=None, effect="none")
        return Agent("main", model=ScriptedModel([call("work"), "done"]), tools=[tool])

    async def end(self, fails: bool, cancels: int, grace: float = 5.0) -> BaseException:
        config = RunConfig(store=self.store, run_id="r", cancel_grace=grace)
        run = Runner.run(self.agent(fails), "go", run_config=config, session=self.session)
        task = asyncio.create_task(run)
        await (self.winding if fails else self.begun).wait()
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0)
        async with asyncio.timeout(20):
            error: Any = (await asyncio.gather(task, return_exceptions=True))[0]
        return error

    async def held(self) -> bool:
        summary = await self.store.summary("r")
        assert summary is not None
        return summary.status == "running"


@pytest.mark.parametrize("fails", [False, True], ids=["cancelled", "failed"])
@pytest.mark.parametrize("cancels", [1, 2, 5, 20])
@pytest.mark.parametrize("slow", ["", "store", "session"])
def test_however_often_a_run_is_cancelled_while_it_winds_down_it_is_let_go_of(fails: bool, cancels: int, slow: str) -> None:
    async def main() -> None:
        run = Winding(**({slow: 10} if slow else {}))
        error = await run.end(fails, cancels)
        assert isinstance(error, asyncio.CancelledError)
        assert not await run.held()
        check_pairs(await run.session.get_items())
        assert len(await run.session.get_items()) == 3
        assert len(asyncio.all_tasks()) == 1
        work = function_tool(lambda: "well", name_override="work", effect="none")
        agent = run.agent(False).clone(model=ScriptedModel(["done"]), tools=[work])
        result = await Runner.resume(agent, "r", run_config=RunConfig(store=run.store), session=run.session)
        assert result.final_output == "done"

    asyncio.run(main())


@pytest.mark.parametrize("fails", [False, True], ids=["cancelled", "failed"])
@pytest.mark.parametrize("cancels", [1, 3])
@pytest.mark.parametrize("hangs", ["session", "store", "both"])
def test_what_hangs_while_a_cancelled_run_winds_down_is_given_up_within_the_grace(
    fails: bool, cancels: int, hangs: str
) -> None:
    async def main() -> None:
        never = float("inf")
        run = Winding(**({"store": never, "session": never} if hangs == "both" else {hangs: never}))
        if fails and hangs != "session":
            return  # a store that hangs is not cancelled by then
        error = await run.end(fails, cancels, grace=0.2)
        assert isinstance(error, asyncio.CancelledError)
        assert len(asyncio.all_tasks()) == 1
        if hangs == "session":
            assert not await run.held(), "the store is told, whatever became of the session"

    asyncio.run(main())


def test_an_error_of_ones_own_passes_unchanged_however_often_its_run_is_cancelled_on_the_way() -> None:
    async def main() -> None:
        run = Winding(session=10)
        agent = hard_agent(World(), Hard)
        task = asyncio.create_task(
            Runner.run(agent, "go", run_config=RunConfig(store=run.store, run_id="r"), session=run.session)
        )
        await run.winding.wait()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(Hard):
            await task
        assert not await run.held()

    asyncio.run(main())


# The thread of a sync tool cannot be stopped.


@pytest.mark.parametrize("effect", ["once", "idempotent", "none"])
def test_the_thread_of_a_cancelled_run_is_waited_for_and_its_result_is_kept(effect: Any) -> None:
    async def main() -> None:
        store, begun, go_on, bodies = MemoryRunStore(), threading.Event(), threading.Event(), list[int]()

        def put() -> str:
            bodies.append(1)
            begun.set()
            go_on.wait()
            return "the result"

        agent = Agent("main", model=ScriptedModel([call("put"), "done"]), tools=[function_tool(put, effect=effect)])
        config = RunConfig(store=store, run_id="r")
        task = asyncio.create_task(Runner.run(agent, "go", run_config=config))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
            task.cancel()
        summary = await store.summary("r")
        assert not task.done() and summary is not None and summary.status == "running", "nobody else may begin it"
        go_on.set()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert not getattr(caught.value, "__notes__", ())
        result = await Runner.resume(agent, "r", run_config=RunConfig(store=store))
        assert result.final_output == "done" and bodies == [1]
        assert result.to_input_list()[2]["output"] == "the result"

    asyncio.run(main())


@pytest.mark.parametrize("effect", ["once", "idempotent"])
def test_a_thread_that_outlives_the_grace_is_named_and_its_call_in_doubt(effect: Any) -> None:
    async def main() -> None:
        store, begun, go_on, bodies = MemoryRunStore(), threading.Event(), threading.Event(), list[int]()

        def put() -> str:
            bodies.append(1)
            begun.set()
            if len(bodies) == 1:
                go_on.wait()
            return "the result"

        agent = Agent("main", model=ScriptedModel([call("put"), "done"]), tools=[function_tool(put, effect=effect)])
        config = RunConfig(store=store, run_id="r", cancel_grace=0.02)
        task = asyncio.create_task(Runner.run(agent, "go", run_config=config))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert caught.value.__notes__ == ["still running although cancelled: the thread of tool 'put'"]
        result = await Runner.resume(agent, "r", run_config=RunConfig(store=store))
        if effect == "once":
            assert [type(item) for item in result.interruptions] == [ToolInDoubtItem] and bodies == [1]
        else:
            assert result.final_output == "done" and bodies == [1, 1]
        go_on.set()

    asyncio.run(main())


def test_the_result_of_a_sync_tool_that_ends_soon_after_its_timeout_is_its_result() -> None:
    async def main() -> None:
        timed_out = threading.Event()

        def late() -> str:
            timed_out.wait()
            return "paid"

        agent = Agent("main", model=ScriptedModel([call("late"), "done"]), tools=[function_tool(late, timeout=0.01)])
        asyncio.get_running_loop().call_later(0.03, timed_out.set)
        result = await Runner.run(agent, "go")
        assert result.to_input_list()[2]["output"] == "paid"

    asyncio.run(main())
