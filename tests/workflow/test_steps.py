"""Steps: plain functions outside workflows; recorded, tried again, in doubt, failed and undone within."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import math
from collections.abc import Callable
from typing import Any

import pydantic
import pytest

from agentsdk import MemoryRunStore, RunConfig, Runner, RunState, UserError
from agentsdk.core.next_step import ToolInDoubtItem
from agentsdk.errors import CallbackError, StateMismatchError, StepFailedError, WorkflowChangedError, WorkflowFailedError
from agentsdk.events import ToolAttemptFailed, ToolFinished
from agentsdk.tools import ToolRetrySettings
from agentsdk.types.events import StepBegan
from agentsdk.workflow import flow, step, timeouts, workflow
from tests.workflow.programs import AT_ONCE, Clock

pytestmark = pytest.mark.anyio


class Order(pydantic.BaseModel):
    id: str
    at: datetime.datetime


@dataclasses.dataclass
class Box:
    orders: list[Order]
    photo: bytes
    weight: float


BOX = Box([Order(id="o-1", at=datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC))], b"\xff\0", math.inf)


async def test_a_step_outside_a_workflow_is_the_function() -> None:
    @step(retry=3, effect="none")
    async def add(a: int, b: int = 2) -> int:
        raise ValueError("no") if a < 0 else Returned(a + b)

    class Returned(Exception):
        pass

    with pytest.raises(Returned, match="3"):
        await add(1)
    with pytest.raises(ValueError):
        await add(-1)


async def test_the_body_of_a_step_calls_plain_functions() -> None:
    called: list[str] = []

    @step
    async def inner() -> str:
        called.append("inner")
        return "x"

    @step
    async def outer() -> str:
        return await inner() + str(await flow.now() > 0)

    @workflow
    async def program(x: None) -> str:
        return await outer()

    result = await program.run(None)
    assert (result.final_output, called) == ("xTrue", ["inner"])
    assert [event.name for event in result.to_state().value.log if isinstance(event, StepBegan)] == ["outer"]


async def test_arguments_and_results_of_every_kind_come_back_as_they_were() -> None:
    seen: list[Box] = []

    @step(effect="none")
    async def pack(box: Box, *, times: tuple[int, ...], kind: type[int] | None = None) -> list[Box]:
        return [box for _ in times]

    @workflow
    async def program(box: Box) -> list[Box]:
        boxes = await pack(box, times=(1, 2))
        seen.extend(boxes)
        return boxes

    result = await program.run(BOX)
    again = await Runner.run(program, result.to_state())
    for boxes in (result.final_output, again.final_output, seen):
        assert [dataclasses.replace(box, photo=b"", weight=0) for box in boxes] == [
            dataclasses.replace(BOX, photo=b"", weight=0)
        ] * 2
        assert all(box is not BOX for box in boxes), "what is recorded is what the program sees"


async def test_a_long_argument_is_compared_by_its_digest() -> None:
    texts = ["x" * 20_000]

    @step(effect="none")
    async def count(text: str) -> int:
        return len(text)

    @workflow
    async def program(x: int) -> int:
        total = await count(texts[0])
        if x and not await flow.ask("more?"):
            return total
        return -1

    result = await program.run(1)
    (began, _) = [event for event in result.to_state().value.log if isinstance(event, StepBegan)]
    assert (began.arguments, len(began.digest)) == ("", 40)
    state = result.to_state()
    state.answer(state.interruptions[0], False)
    assert (await Runner.run(program, state)).final_output == 20_000
    texts[0] = "y" * 20_000
    with pytest.raises(WorkflowChangedError, match="step 'count' otherwise than is recorded: its arguments"):
        await Runner.run(program, state)


async def test_a_failed_attempt_is_recorded_with_the_time_of_the_next() -> None:
    clock, tried = Clock(), []

    @step(effect="idempotent", retry=ToolRetrySettings(max_retries=2, initial_delay=4.0, max_delay=9.0, jitter=0.0))
    async def put() -> str:
        tried.append((clock.now, flow.idempotency_key()))
        raise ConnectionError(f"attempt {len(tried)}")

    @workflow
    async def program(x: int) -> str:
        try:
            return await put()
        except StepFailedError as error:
            return f"{error.step} {error.error_type} {error.detail}"

    result = await program.run(1, run_config=RunConfig(clock=clock))
    assert result.final_output == "put ConnectionError attempt 3"
    assert [at for at, _ in tried] == [1000.0, 1004.0, 1012.0] and len({key for _, key in tried}) == 1
    failed = [event for event in result.to_state().value.log if isinstance(event, ToolAttemptFailed)]
    assert [(event.error, event.at, event.next_at) for event in failed] == [
        ("ConnectionError", 1000.0, 1004.0),
        ("ConnectionError", 1004.0, 1012.0),
    ]


async def test_a_timeout_fails_a_step_that_may_run_again_and_leaves_one_that_may_not_in_doubt() -> None:
    hangs = asyncio.Event()

    @step(effect="none", retry=0, timeout=0.001)
    async def look() -> str:
        await hangs.wait()
        return "seen"

    @step(timeout=0.001)
    async def pay() -> str:
        await hangs.wait()
        return "paid"

    @workflow
    async def program(x: int) -> str:
        try:
            await look()
        except StepFailedError as error:
            return f"{error.error_type}, {await pay()}"
        return ""

    result = await program.run(1)
    (item,) = result.interruptions
    assert isinstance(item, ToolInDoubtItem) and (item.tool_name, item.call_id) == ("pay", "pay")
    for decide, output in ((RunState.retry, "paid"), (_provide, "by hand"), (_fail, "MarkedFailed")):
        state = RunState.from_string(program, result.to_state().to_string())
        decide(state, state.interruptions[0])
        hangs.set()
        try:
            ended = await Runner.run(program, state)
            assert ended.final_output == f"TimeoutError, {output}"
        except WorkflowFailedError as error:
            assert output in str(error) and isinstance(error.__cause__, StepFailedError)
            assert error.__cause__.detail == "the bank says no"


@pytest.mark.parametrize(
    ("options", "runs"),
    [({"effect": "none"}, 4), ({"effect": "idempotent"}, 4), ({"effect": "none", "retry": 0}, 1), ({}, 1), ({"retry": 0}, 1)],
)
async def test_a_step_that_may_run_again_is_tried_three_times_more_where_it_says_nothing(options: Any, runs: int) -> None:
    tried: list[str] = []

    @step(**options)
    async def put() -> None:
        tried.append("put")
        raise ConnectionError

    @workflow
    async def program(x: int) -> None:
        await put()

    with pytest.raises(WorkflowFailedError):
        await program.run(1, run_config=RunConfig(clock=Clock()))
    assert tried == ["put"] * runs


async def test_a_step_has_a_timeout_where_it_says_nothing() -> None:
    @step
    async def says_nothing() -> None: ...

    @says_nothing.undo
    async def undo_it(nothing: None) -> None: ...

    @step(timeout=None)
    async def forever() -> None: ...

    @forever.undo
    async def undo_forever(nothing: None) -> None: ...

    assert [one.timeout for one in (says_nothing, undo_it, forever, undo_forever)] == [300.0, 300.0, None, None]


async def test_each_body_has_its_own_time_and_ends_within_it() -> None:
    cut: list[str] = []
    hangs = asyncio.Event()

    async def hang(name: str) -> str:
        try:
            await hangs.wait()
        except asyncio.CancelledError:
            cut.append(name)
            if name == "late":
                return "it was done all the same"
            if name == "worse":
                raise ConnectionError from None
            raise
        return name

    def named(name: str, timeout: float | None) -> Any:
        @step(name=name, effect="none", retry=0, timeout=timeout)
        async def one() -> str:
            return await hang(name)

        return one

    @step(effect="none", retry=0)
    async def after() -> str:
        hangs.set()
        return "after"

    async def outcome(one: Any) -> str:
        try:
            return str(await one())
        except StepFailedError as error:
            return error.error_type

    @workflow
    async def program(x: int) -> list[str]:
        patient = asyncio.create_task(outcome(named("patient", 60)))
        said = await asyncio.gather(*[outcome(named(name, 0.002 * at)) for at, name in enumerate(("b", "late", "worse"), 1)])
        said += await asyncio.gather(outcome(named("a", 0.001)), outcome(named("none", 0.001)))
        return [*said, await after(), await patient]

    result = await program.run(1)
    assert result.final_output == ["TimeoutError", "it was done all the same", "ConnectionError"] + ["TimeoutError"] * 2 + [
        "after",
        "patient",
    ]
    assert sorted(cut) == ["a", "b", "late", "none", "worse"]


async def test_a_body_that_ignores_its_timeout_ends_the_run_and_not_the_process(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(timeouts, "TIMEOUT_GRACE", 0.001)
    let_go, ignored = asyncio.Event(), 0

    @step(timeout=0.001)
    async def deaf() -> str:
        nonlocal ignored
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                ignored += 1
        return "at last"

    @workflow
    async def program(x: int) -> str:
        return await deaf()

    with pytest.raises(CallbackError, match=r"step 'deaf' passed its timeout of 0\.001 seconds and ignores") as raised:
        await program.run(1, run_config=RunConfig(cancel_grace=0.01))
    assert (ignored, "still running although cancelled: 'agentsdk program'" in caplog.text) == (2, True)
    let_go.set()
    assert raised.value.state is not None
    (item,) = (await Runner.run(program, raised.value.state)).interruptions
    assert isinstance(item, ToolInDoubtItem), "it may have had its effect"


def _provide(state: RunState, item: Any) -> None:
    state.provide_result(item, result="by hand")


def _fail(state: RunState, item: Any) -> None:
    state.mark_failed(item, "the bank says no")


async def test_a_result_of_a_person_that_does_not_fit_stops_the_run_and_can_be_forked_away() -> None:
    @step(timeout=0.001)
    async def pay() -> int:
        await asyncio.Event().wait()
        return 1

    @workflow
    async def program(x: int) -> int:
        return await pay()

    store = MemoryRunStore()
    config = RunConfig(store=store, run_id="r")
    result = await program.run(1, run_config=config)
    state = await Runner.load("r", run_config=config)
    state.provide_result(state.interruptions[0], result="a lot")
    await Runner.decide(state, run_config=config)
    with pytest.raises(StateMismatchError, match="result of step 'pay' does not fit"):
        await program.resume("r", run_config=config)
    at = next(number for number, event in enumerate(state.value.log) if isinstance(event, ToolFinished))
    fork = await Runner.fork("r", at=at, new_run_id="f", run_config=config)
    state = await Runner.load(fork, run_config=config)
    state.provide_result(state.interruptions[0], result="7")
    await Runner.decide(state, run_config=config)
    assert (await program.resume(fork, run_config=config)).final_output == 7
    assert result.interruptions


async def test_a_result_that_cannot_be_recorded_stops_the_run_and_is_not_taken_for_a_failure() -> None:
    @step(effect="none")
    async def look() -> int:
        return "text"  # type: ignore[return-value]

    @workflow
    async def program(x: int) -> int:
        try:
            return await look()
        except Exception:
            return -1

    with pytest.raises(UserError, match="the result of step 'look' is a 'str' that cannot be recorded"):
        await program.run(1)


async def test_a_program_that_raises_something_else_is_stopped_undone_by_nobody_and_goes_on_once_mended() -> None:
    did: list[str] = []
    mended: list[bool] = []

    @step
    async def pay() -> str:
        did.append("pay")
        return "paid"

    @pay.undo
    async def take_back(paid: str) -> None:
        did.append("take back")

    @workflow
    async def program(x: int) -> str:
        paid = await pay()
        return paid if mended else {}["nothing"]

    with pytest.raises(CallbackError, match="workflow 'program' raised KeyError") as raised:
        await program.run(1)
    mended.append(True)
    assert raised.value.state is not None
    assert (await Runner.run(program, raised.value.state)).final_output == "paid"
    assert did == ["pay"]


async def test_finished_steps_are_undone_in_reverse_and_what_cannot_be_is_named() -> None:
    did: list[str] = []

    @step(effect="none")
    async def one(x: int) -> int:
        return x

    @one.undo
    async def undo_one(x: int) -> None:
        did.append(f"undo {x} under {flow.idempotency_key()[:0]}")

    @step(effect="none", retry=AT_ONCE)
    async def two(x: int) -> int:
        return x

    @two.undo
    async def undo_two(x: int) -> None:
        did.append("tried")
        raise ConnectionError

    @step(effect="none")
    async def slow() -> int:
        for _ in range(20):
            await asyncio.sleep(0)
        did.append("slow is over")
        return 3

    @slow.undo
    async def undo_slow(x: int) -> None:
        did.append("undo slow")

    @step
    async def bad() -> int:
        raise ValueError("no")

    async def goes_on() -> None:
        await slow()
        await one(99)

    @workflow
    async def program(x: int) -> None:
        await one(1)
        await two(2)
        await one(3)
        async with asyncio.TaskGroup() if x else _Gathered() as group:
            group.create_task(goes_on())
            group.create_task(bad())

    with pytest.raises(
        WorkflowFailedError, match=r"step 'bad' .ValueError.*undone: '1/slow', 'one#2', 'one'; not undone: 'two'"
    ) as r:
        await program.run(0)
    assert (r.value.step, r.value.undone, r.value.not_undone) == ("bad", ("1/slow", "one#2", "one"), ("two",))
    assert did == ["slow is over", "undo slow", "undo 3 under ", *["tried"] * 4, "undo 1 under "]
    with pytest.raises(WorkflowFailedError) as again:
        await Runner.run(program, r.value.state)
    assert (str(again.value), len(did)) == (str(r.value), 8), "what is recorded is not done again"


class _Gathered:
    """Tasks that are awaited together, the others left to go on where one raises."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []

    async def __aenter__(self) -> _Gathered:
        return self

    def create_task(self, job: Any) -> None:
        self.tasks.append(asyncio.create_task(job))

    async def __aexit__(self, *error: object) -> None:
        await asyncio.gather(*self.tasks)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: step(len), "step was given a 'builtin_function_or_method' that is no async function, expected one"),
        (lambda: workflow(lambda x: x), "workflow was given a 'function' that is no async function"),
        (lambda: step(effect="twice"), r"step has effect='twice', expected 'none', 'idempotent' or 'once'"),
        (lambda: step(retry=2)(_body), "step '_body' has a retry and the effect 'once', expected one that may run again"),
        (lambda: step(timeout=0)(_body), "step has timeout=0, expected seconds above 0"),
        (lambda: step(retry=-1, effect="none")(_body), "step has retry=-1, expected how often it is tried again"),
        (lambda: step(name="")(_body), "step has name='', expected a name for the step"),
        (lambda: flow.ask("?"), r"flow\.ask was called outside of a workflow's program, expected within one"),
        (lambda: flow.idempotency_key(), r"flow\.idempotency_key\(\) was called outside the body of a workflow's step"),
        (lambda: flow.each(_body, [1], limit=0), r"flow\.each has limit=0, expected a whole number, 1 or more"),
        (
            lambda: setattr(workflow(_body), "tools", []),
            "workflow '_body' was given tools=..., which is for agents",
        ),
        (lambda: workflow(_body).clone(name="x"), r"workflow '_body' has no fields \['name'\] to change"),
    ],
)
async def test_a_wrong_declaration_says_what_is_expected(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        made = make()
        made(_body) if callable(made) else None


async def _body(x: int) -> int:
    return x


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("any_number", r"step 'any_number' takes any number of arguments by 'xs', expected named ones"),
        ("no_type", r"argument 'x' of step 'no_type' has a type that cannot be recorded"),
        ("unknown", r"step 'unknown' has an annotation that cannot be resolved \(NameError\)"),
        ("wrong", r"argument 'x' of step 'wrong' is a 'str' that cannot be recorded as what it is annotated with"),
    ],
)
async def test_a_step_that_cannot_be_recorded_stops_the_run(program: str, message: str) -> None:
    class Opaque:
        pass

    @step
    async def any_number(*xs: int) -> int:
        return 1

    @step
    async def no_type(x: Opaque) -> int:
        return 1

    @step
    async def unknown(x: Nowhere) -> int:  # type: ignore[name-defined]  # noqa: F821
        return 1

    @step
    async def wrong(x: int) -> int:
        return 1

    steps: dict[str, Any] = {"any_number": any_number, "no_type": no_type, "unknown": unknown, "wrong": wrong}
    given = {"any_number": 1, "no_type": Opaque(), "unknown": 1, "wrong": "secret"}[program]

    @workflow
    async def calling(x: int) -> int:
        return int(await steps[program](given))

    with pytest.raises(UserError, match=message) as raised:
        await calling.run(1)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("given", ["a surrogate", "a cycle"])
async def test_what_json_cannot_be_begins_nothing(given: str) -> None:
    did: list[object] = []

    @step
    async def keep(x: list[Any]) -> None:
        did.append(x)

    @workflow
    async def program(x: int) -> None:
        await keep(["\ud800"] if given == "a surrogate" else _in_itself())

    with pytest.raises(UserError, match="argument 'x' of step 'keep' is a 'list' that cannot be recorded") as raised:
        await program.run(1)
    assert isinstance(raised.value.state, RunState) and did == []
    assert not any(isinstance(event, StepBegan) for event in raised.value.state.value.log)


def _in_itself() -> list[Any]:
    given: list[Any] = []
    given.append(given)
    return given


async def test_a_workflow_takes_one_argument_of_its_type() -> None:
    @workflow
    async def two(x: int, y: int) -> int:  # type: ignore[misc]
        return x

    @workflow
    async def one(x: int) -> int:
        return x

    with pytest.raises(UserError, match="workflow 'two' takes 2 arguments, expected one"):
        await two.run(1)
    with pytest.raises(UserError, match="argument 'x' of workflow 'one' is a 'list' that cannot be recorded"):
        await one.run([])  # type: ignore[arg-type]
    with pytest.raises(UserError, match="workflow 'one' was given an input that does not fit its argument"):
        await Runner.run(one, "hello")
    assert await one(3) == 3, "outside of a workflow it is the function"
