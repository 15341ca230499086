"""Calls that fail with what may pass: tried again where that repeats no effect, each attempt recorded."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCallOutput,
    FunctionTool,
    MemoryRunStore,
    RunConfig,
    RunLimits,
    Runner,
    RunState,
    RunSummary,
    ToolContext,
    ToolError,
    UserError,
    function_tool,
)
from agentsdk.core.codec import decode_events
from agentsdk.errors import AgentsException, StoreUnavailableError, ToolCircuitOpenError, ToolTimeoutError, TransientToolError
from agentsdk.events import RunEvent, ToolAttemptFailed, ToolFinished, ToolsIntended
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ToolRetrySettings
from agentsdk.types.settings import backoff
from tests.engine.recorded import stored
from tests.models.wire import FakeClock

pytestmark = pytest.mark.anyio

T = FakeClock().now
PLAIN = ToolRetrySettings(jitter=0)
PATIENT = RunLimits(consecutive_errors=None)


class Flaky:
    """A service that is away for as many calls as it has errors, and notes under which key and attempt it was called."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.asked: list[tuple[str, int]] = []

    def tool(self, name: str = "fetch", effect: Any = "none", **options: Any) -> FunctionTool[Any]:
        async def body(ctx: ToolContext[Any], x: int = 0) -> str:
            self.asked.append((ctx.idempotency_key, ctx.attempt))
            if self.errors:
                raise self.errors.pop(0)
            return f"{name} gave {x}"

        return function_tool(body, name_override=name, effect=effect, **{"retry": PLAIN, **options})


def agent_with(tools: Sequence[FunctionTool[Any]], *replies: Any, **fields: Any) -> Agent[Any, Any]:
    return Agent("main", model=ScriptedModel([*replies, "done"]), tools=tools, **fields)


def outputs_of(state: RunState) -> list[str]:
    return [str(item.output) for item in state.items() if isinstance(item, FunctionCallOutput)]


def attempts_of(log: Sequence[RunEvent]) -> list[ToolAttemptFailed]:
    return [event for event in log if isinstance(event, ToolAttemptFailed)]


def failures_of(log: Sequence[RunEvent]) -> list[str]:
    return [event.failure for event in log if isinstance(event, ToolFinished)]


async def run_with(tool: FunctionTool[Any], config: RunConfig, *replies: Any) -> RunState:
    replies = replies or (call(tool.name, x=1),)
    result = await Runner.run(agent_with([tool], *replies), "go", run_config=config)
    assert result.final_output == "done"
    return result.to_state()


@pytest.mark.parametrize("effect", ["none", "idempotent"])
async def test_what_may_pass_is_tried_again_under_the_same_key_and_each_attempt_is_recorded(effect: str) -> None:
    service, clock = Flaky(ConnectionError("reset"), TransientToolError("busy")), FakeClock()
    state = await run_with(service.tool(effect=effect), RunConfig(clock=clock))
    assert outputs_of(state) == ["fetch gave 1"]
    assert len({key for key, _ in service.asked}) == 1
    assert [attempt for _, attempt in service.asked] == [1, 2, 3]
    assert clock.slept == [0.5, 1.0]
    log = state.value.log
    assert attempts_of(log) == [
        ToolAttemptFailed("call_1_1", "ConnectionError", T, T, T + 0.5),
        ToolAttemptFailed("call_1_1", "TransientToolError", T + 0.5, T + 0.5, T + 1.5),
    ]
    (finished,) = [event for event in log if isinstance(event, ToolFinished)]
    assert (finished.started_at, finished.at) == (T + 1.5, T + 1.5)
    assert state.value.failures == {}


@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
async def test_waits_double_up_to_the_longest_less_some_of_their_jitter(jitter: float) -> None:
    service, clock = Flaky(*[TimeoutError() for _ in range(4)]), FakeClock()
    settings = ToolRetrySettings(max_retries=4, initial_delay=1, max_delay=4, jitter=jitter)
    await run_with(service.tool(retry=settings), RunConfig(clock=clock))
    for waited, longest in zip(clock.slept, [1, 2, 4, 4], strict=True):
        assert longest * (1 - jitter) <= waited <= longest


@pytest.mark.parametrize(
    ("error", "effect"),
    [(ConnectionError("reset"), "once"), (TransientToolError("busy"), "once"), (ValueError("no"), "none"), (OSError(), "none")],
    ids=["once", "once-transient", "permanent", "not-declared"],
)
async def test_other_errors_and_tools_with_an_effect_go_to_the_model_at_once(error: Exception, effect: str) -> None:
    service, clock = Flaky(error), FakeClock()
    state = await run_with(service.tool(effect=effect), RunConfig(clock=clock))
    assert len(service.asked) == 1 and clock.slept == []
    assert outputs_of(state)[0].startswith("Error")


async def test_arguments_that_do_not_fit_go_to_the_model_at_once() -> None:
    service = Flaky()
    state = await run_with(service.tool(), RunConfig(clock=FakeClock()), call("fetch", x="one"))
    assert service.asked == [] and "x: expected an integer" in outputs_of(state)[0]


async def test_a_tool_declares_which_errors_may_pass() -> None:
    class Busy(Exception):
        pass

    service = Flaky(Busy(), ConnectionError("reset"))
    state = await run_with(service.tool(transient=(Busy,)), RunConfig(clock=FakeClock()))
    assert len(service.asked) == 2 and outputs_of(state) == ["Error while running the tool: ConnectionError: reset"]


async def test_once_the_retries_are_spent_the_model_is_told_of_the_last_error() -> None:
    service = Flaky(*[ConnectionError(f"reset {n}") for n in range(9)])
    state = await run_with(service.tool(), RunConfig(clock=FakeClock()))
    assert outputs_of(state) == ["Error while running the tool: ConnectionError: reset 2"]
    assert len(attempts_of(state.value.log)) == 2 and failures_of(state.value.log) == ["transient"]
    assert state.value.failures["fetch"].count == 1


async def test_without_an_error_function_the_last_error_ends_the_run() -> None:
    service = Flaky(*[ConnectionError("reset") for _ in range(3)])
    with pytest.raises(ToolError, match="'fetch' raised ConnectionError") as caught:
        await run_with(service.tool(failure_error_function=None), RunConfig(clock=FakeClock()))
    assert len(service.asked) == 3
    assert failures_of(caught.value.state.value.log) == ["transient"]


async def test_a_service_that_says_when_to_return_is_heard() -> None:
    service, clock = Flaky(TransientToolError("busy", retry_after=20)), FakeClock()
    await run_with(service.tool(), RunConfig(clock=clock))
    assert clock.slept == [20]


async def test_a_wait_longer_than_allowed_is_not_waited_for() -> None:
    service, clock = Flaky(TransientToolError("busy", retry_after=61)), FakeClock()
    state = await run_with(service.tool(), RunConfig(clock=clock))
    assert clock.slept == [] and outputs_of(state) == ["Error: busy"]


async def test_no_attempt_begins_after_the_deadline_of_the_call() -> None:
    service, clock = Flaky(*[ConnectionError() for _ in range(9)]), FakeClock()
    settings = ToolRetrySettings(max_retries=9, initial_delay=2, jitter=0, deadline=10)
    await run_with(service.tool(retry=settings), RunConfig(clock=clock))
    assert clock.slept == [2, 4]


async def test_an_attempt_is_cut_when_the_deadline_of_the_call_passes() -> None:
    timeouts: list[str] = []

    def tell(ctx: ToolContext[Any], error: Exception) -> str:
        timeouts.append(str(error))
        return "late"

    async def forever() -> None:
        await asyncio.Event().wait()

    settings = ToolRetrySettings(max_retries=9, initial_delay=0.1, jitter=0, deadline=0.05)
    tool = function_tool(forever, timeout=60, effect="none", retry=settings, failure_error_function=tell)
    await run_with(tool, RunConfig(clock=FakeClock()), call("forever"))
    assert timeouts == ["tool 'forever' passed its timeout of 0.05 seconds and was stopped"]


async def test_each_attempt_has_the_arguments_of_the_first() -> None:
    seen: list[list[int]] = []

    async def spoil(values: list[int]) -> int:
        seen.append(list(values))
        values.append(99)
        if len(seen) < 2:
            raise ConnectionError
        return len(values)

    await run_with(function_tool(spoil, effect="none", retry=PLAIN), RunConfig(clock=FakeClock()), call("spoil", values=[1, 2]))
    assert seen == [[1, 2], [1, 2]]


async def test_an_attempt_that_is_over_shows_no_progress_any_more() -> None:
    contexts: list[ToolContext[Any]] = []

    async def fetch(ctx: ToolContext[Any]) -> str:
        contexts.append(ctx)
        if len(contexts) == 1:
            raise ConnectionError
        contexts[0].emit("late")
        ctx.emit("in time")
        return "fetched"

    tool = function_tool(fetch, effect="none", retry=PLAIN)
    stream = Runner.run_streamed(agent_with([tool], call("fetch")), "go", run_config=RunConfig(clock=FakeClock()))
    shown = [event.data async for event in stream if event.type == "tool_progress_stream_event"]
    assert shown == ["in time"]


async def test_siblings_go_on_while_a_call_waits() -> None:
    class Held(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await paid.wait()
            await super().sleep(seconds)

    paid = asyncio.Event()
    service = Flaky(ConnectionError())

    async def pay() -> str:
        paid.set()
        return "paid"

    agent = agent_with([service.tool(), function_tool(pay)], [call("fetch", x=1), call("pay")])
    result = await Runner.run(agent, "go", run_config=RunConfig(clock=Held()))
    assert outputs_of(result.to_state()) == ["fetch gave 1", "paid"]


# Settings of the tool, its agent and the run.


@pytest.mark.parametrize(
    ("tool", "agent", "run", "retries"),
    [(None, None, 4, 4), (None, 3, 4, 3), (1, 3, 4, 1), (0, 3, 4, 0)],
    ids=["run", "agent", "tool", "tool-none"],
)
async def test_the_tools_own_settings_come_first_then_its_agents_then_the_runs(
    tool: int | None, agent: int | None, run: int, retries: int
) -> None:
    def settings(number: int | None) -> Any:
        return None if number is None else ToolRetrySettings(max_retries=number)

    service = Flaky(*[ConnectionError() for _ in range(9)])
    made = agent_with([service.tool(retry=settings(tool))], call("fetch"), tool_retry=settings(agent))
    await Runner.run(made, "go", run_config=RunConfig(clock=FakeClock(), tool_retry=settings(run)))
    assert len(service.asked) == 1 + retries


@pytest.mark.parametrize(
    ("tool", "agent", "run", "seconds"),
    [
        (None, None, 0.01, "0.01"),
        (None, 0.02, 60, "0.02"),
        (0.03, math.inf, math.inf, "0.03"),
    ],
    ids=["run", "agent", "tool"],
)
async def test_a_tool_without_a_timeout_has_its_agents_or_the_runs(
    tool: float | None, agent: float | None, run: float, seconds: str
) -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    made = agent_with([function_tool(forever, timeout=tool)], call("forever"), tool_timeout=agent)
    result = await Runner.run(made, "go", run_config=RunConfig(tool_timeout=run))
    assert outputs_of(result.to_state()) == [f"Error: tool 'forever' passed its timeout of {seconds} seconds and was stopped"]


async def test_a_tool_with_an_infinite_timeout_has_none() -> None:
    async def slow() -> str:
        await asyncio.sleep(0.02)
        return "slept"

    made = agent_with([function_tool(slow, timeout=math.inf)], call("slow"))
    result = await Runner.run(made, "go", run_config=RunConfig(tool_timeout=0.001))
    assert outputs_of(result.to_state()) == ["slept"]


async def test_an_agent_as_tool_has_no_timeout_but_its_own() -> None:
    async def slow() -> str:
        await asyncio.sleep(0.02)
        return "slept"

    helper = Agent("helper", model=ScriptedModel([call("slow"), "rested"]), tools=[function_tool(slow, timeout=60)])
    made = agent_with([helper.as_tool(timeout=math.inf)], call("helper", input="rest"))
    result = await Runner.run(made, "go", run_config=RunConfig(tool_timeout=0.001))
    assert outputs_of(result.to_state()) == ["rested"]


async def test_a_timeout_may_pass_too() -> None:
    tries: list[int] = []

    async def slow(ctx: ToolContext[Any]) -> str:
        tries.append(ctx.attempt)
        if ctx.attempt == 1:
            await asyncio.Event().wait()
        return "in time"

    tool = function_tool(slow, effect="none", retry=PLAIN)
    state = await run_with(tool, RunConfig(clock=FakeClock(), tool_timeout=0.01), call("slow"))
    assert tries == [1, 2] and outputs_of(state) == ["in time"]
    assert [event.error for event in attempts_of(state.value.log)] == [ToolTimeoutError.__name__]


@pytest.mark.parametrize(
    "make",
    [
        lambda: function_tool(print, retry=3),  # type: ignore[arg-type]
        lambda: function_tool(print, transient=(BaseException,)),  # type: ignore[arg-type]
        lambda: function_tool(print, transient=ConnectionError),  # type: ignore[arg-type]
        lambda: function_tool(print, timeout=-1),
        lambda: function_tool(print, timeout=math.nan),
        lambda: Agent("main", tool_timeout=0),
        lambda: Agent("main", tool_retry=2),  # type: ignore[arg-type]
        lambda: RunConfig(tool_timeout="30"),  # type: ignore[arg-type]
        lambda: RunConfig(tool_retry=None),  # type: ignore[arg-type]
        lambda: ToolRetrySettings(max_retries=-1),
        lambda: ToolRetrySettings(multiplier=0.5),
        lambda: ToolRetrySettings(jitter=2),
        lambda: ToolRetrySettings(deadline=0),
        lambda: ToolRetrySettings(circuit_failures=0),
    ],
)
def test_wrong_settings_are_refused_where_they_are_given(make: Callable[[], object]) -> None:
    with pytest.raises(UserError, match="expected"):
        make()


def test_a_huge_number_of_retries_keeps_to_the_longest_wait() -> None:
    assert backoff(ToolRetrySettings(multiplier=1e300), 9, 0.0) == 8.0


# The circuit.


async def test_a_tool_whose_calls_go_on_failing_is_not_called_for_a_while() -> None:
    service, clock = Flaky(*[ConnectionError("reset") for _ in range(2)]), FakeClock()
    tool = service.tool(retry=ToolRetrySettings(max_retries=0, circuit_failures=2))
    state = await run_with(tool, RunConfig(clock=clock, limits=PATIENT), *[call("fetch", x=n) for n in range(3)])
    assert len(service.asked) == 2
    assert outputs_of(state)[2] == (
        "Error: tool 'fetch' was not called: its last 2 calls failed, after which it is not tried again for 60 seconds; "
        "go on without it"
    )
    log = state.value.log
    assert failures_of(log) == ["transient", "transient", "circuit"]
    assert [event.call_ids for event in log if isinstance(event, ToolsIntended)] == [("call_1_1",), ("call_2_1",)]


async def test_a_success_between_failures_leaves_the_circuit_closed() -> None:
    service = Flaky(ConnectionError())
    tool = service.tool(retry=ToolRetrySettings(max_retries=0, circuit_failures=2))

    def fails(request: Any) -> Any:
        service.errors.append(ConnectionError())
        return call("fetch")

    state = await run_with(tool, RunConfig(clock=FakeClock()), call("fetch"), call("fetch"), fails, call("fetch"))
    assert len(service.asked) == 4 and state.value.failures == {}


async def test_an_open_circuit_ends_the_retries_of_calls_beside() -> None:
    service = Flaky(*[ConnectionError() for _ in range(99)])
    tool = service.tool(retry=ToolRetrySettings(max_retries=1, circuit_failures=1, jitter=0))
    other = Flaky(*[ConnectionError() for _ in range(99)]).tool("other")
    agent = agent_with([tool, other], [call("fetch", x=1), call("fetch", x=2)], call("other"))
    result = await Runner.run(agent, "go", run_config=RunConfig(clock=FakeClock()))
    assert {name: failed.count for name, failed in result.to_state().value.failures.items()} == {"fetch": 2, "other": 1}


async def test_after_its_time_an_open_circuit_lets_one_attempt_through() -> None:
    service, clock = Flaky(*[ConnectionError() for _ in range(7)]), FakeClock()
    tool = service.tool(retry=ToolRetrySettings(max_retries=5, circuit_failures=1, circuit_reset=30))

    def later(request: Any) -> Any:
        clock.now += 30
        return call("fetch")

    config = RunConfig(clock=clock, limits=PATIENT)
    state = await run_with(tool, config, call("fetch"), call("fetch"), later, later)
    # Six attempts that open it, a refusal, one that opens it anew, one that closes it.
    assert [attempt for _, attempt in service.asked] == [1, 2, 3, 4, 5, 6, 1, 1]
    assert outputs_of(state)[3] == "fetch gave 0" and state.value.failures == {}


async def test_a_refusal_of_the_circuit_is_typed() -> None:
    told: list[Exception] = []

    def tell(ctx: ToolContext[Any], error: Exception) -> str:
        told.append(error)
        return "down"

    tool = Flaky(ConnectionError()).tool(
        effect="once", retry=ToolRetrySettings(circuit_failures=1), failure_error_function=tell
    )
    await run_with(tool, RunConfig(clock=FakeClock()), call("fetch"), call("fetch"))
    assert [type(error) for error in told] == [ConnectionError, ToolCircuitOpenError]


async def test_without_an_error_function_the_refusal_ends_the_run_which_goes_on_later() -> None:
    service, clock = Flaky(ConnectionError()), FakeClock()
    tool = service.tool(retry=ToolRetrySettings(max_retries=0, circuit_failures=1))
    agent = agent_with([tool.clone(failure_error_function=None)], call("fetch"))
    with pytest.raises(ToolError) as caught:
        await Runner.run(agent_with([tool.clone(failure_error_function=None)], call("fetch")), "go")
    agent = agent_with([tool.clone(failure_error_function=None)], call("fetch", x=2))
    config = RunConfig(clock=clock)
    clock.now = caught.value.state.value.failures["fetch"].at
    with pytest.raises(ToolCircuitOpenError) as refused:
        await Runner.run(agent, caught.value.state, run_config=config)
    clock.now += 60
    result = await Runner.run(agent, refused.value.state, run_config=config)
    assert outputs_of(result.to_state())[-1] == "fetch gave 2"


# Left in the middle, and gone on with.


async def test_a_run_cancelled_in_a_wait_goes_on_with_the_attempts_that_are_left() -> None:
    waiting = asyncio.Event()

    class Held(FakeClock):
        async def sleep(self, seconds: float) -> None:
            waiting.set()
            await asyncio.Event().wait()

    store = MemoryRunStore()
    service = Flaky(*[ConnectionError() for _ in range(9)])
    agent = agent_with([service.tool(effect="idempotent")], call("fetch"))
    task = asyncio.create_task(Runner.run(agent, "go", run_config=RunConfig(store=store, run_id="r", clock=Held())))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    clock = FakeClock(T + 0.2)
    result = await Runner.resume(agent, "r", run_config=RunConfig(store=store, clock=clock))
    assert [round(seconds, 3) for seconds in clock.slept] == [0.3, 1.0]  # what is left of the first wait, and the second
    assert [attempt for _, attempt in service.asked] == [1, 2, 3]
    assert len({key for key, _ in service.asked}) == 1
    assert result.final_output == "done"


async def test_a_process_that_died_in_a_wait_is_followed_by_one_that_waits_no_longer_than_is_left() -> None:
    store = MemoryRunStore()
    service = Flaky(ConnectionError())
    await run_with(service.tool(), RunConfig(store=store, run_id="r", clock=FakeClock()))
    log = list(decode_events(await store.read("r")))
    cut = next(at for at, event in enumerate(log) if isinstance(event, ToolAttemptFailed)) + 1
    config = await stored(log[:cut])
    clock, again = FakeClock(T + 100), Flaky()
    agent = agent_with([again.tool()])
    result = await Runner.resume(agent, "r", run_config=RunConfig(store=config.store, clock=clock))
    assert clock.slept == [] and [attempt for _, attempt in again.asked] == [2]
    assert outputs_of(result.to_state()) == ["fetch gave 1"]


async def test_a_store_that_fails_between_attempts_leaves_the_call_to_be_made() -> None:
    class Away(MemoryRunStore):
        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
            if any(b"attempt_failed" in event for event in events):
                raise StoreUnavailableError("away")
            return await super().append(run_id, expected_rev, events, summary)

    service = Flaky(ConnectionError())
    agent = agent_with([service.tool()], call("fetch"))
    with pytest.raises(StoreUnavailableError) as caught:
        await Runner.run(agent, "go", run_config=RunConfig(store=Away(), clock=FakeClock(), store_timeout=0))
    assert caught.value.state.value.turn.results == {}
    result = await Runner.run(agent, caught.value.state, run_config=RunConfig(clock=FakeClock()))
    assert outputs_of(result.to_state()) == ["fetch gave 0"]


def test_the_tree_of_errors() -> None:
    assert issubclass(TransientToolError, ToolError) and issubclass(ToolCircuitOpenError, ToolError)
    assert issubclass(ToolError, AgentsException)
