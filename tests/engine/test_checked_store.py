"""A store of one's own may raise and return anything: the error is a `StoreError` that names the run and the method."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import structs

from agentsdk import (
    Agent,
    AgentsException,
    MemoryRunStore,
    RunConfig,
    Runner,
    RunSummary,
    StoreError,
    function_tool,
    read_result,
)
from agentsdk.core.overflow import result_id
from agentsdk.engine.checked_store import CheckedStore
from agentsdk.testing import ScriptedModel, call
from tests.engine.test_callbacks import CALLBACKS, gives, raises

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:coroutine 'later' was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

LONG = "x" * 300_000
SUMMARY = RunSummary(run_id="r", rev=1, status="waiting", agent="A", started_at=0.0, updated_at=0.0)
METHODS = ("append", "read", "summary", "attach", "attachment")


def later(value: object) -> Callable[..., Awaitable[object]]:
    async def method(*args: object) -> object:
        return value

    return method


WRONGS = CALLBACKS | {
    "later gives None": later(None),
    "later gives True": later(True),
    "later gives a number": later(3),
    "later gives a text": later("x"),
    "later gives bytes": later(b"x"),
    "later gives a list": later([1]),
    "later gives a list of bytes": later([b"x"]),
    "later gives no bytes": later([]),
    "later gives another's summary": later(SUMMARY),
    "later gives a summary of no revision": later(structs.replace(SUMMARY, rev="1")),
    "later gives a summary of a time that is none": later(structs.replace(SUMMARY, held_until=None)),
}


@function_tool(effect="none")
def look() -> str:
    """Look."""
    return LONG


@function_tool(needs_approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


def made() -> Agent[Any, Any]:
    read_on = call("read_result", result_id=result_id(LONG), offset=0)
    return Agent("A", model=ScriptedModel([call("look"), read_on, call("pay"), "done"]), tools=[look, read_result, pay])


class Kept(MemoryRunStore):
    """A store of which one method does wrong from now on."""

    def break_(self, method: str, wrong: Any) -> None:
        setattr(self, method, wrong)


async def everything(store: Kept, config: RunConfig, wrong: Callable[[], None]) -> list[AgentsException]:
    """Each thing that is done with a store, on a run that waits for approval there; the errors it came to."""
    errors: list[AgentsException] = []
    agent = made()
    paused = (await Runner.run(agent, "go", run_config=config)).to_state()
    decided = await Runner.load("r", run_config=config)
    decided.approve(decided.interruptions[0])
    wrong()
    steps: list[Callable[[], Awaitable[object]]] = [
        lambda: Runner.run(made(), "go", run_config=dataclasses.replace(config, run_id="new")),
        lambda: Runner.load("r", run_config=config),
        lambda: Runner.decide(decided, run_config=config),
        lambda: Runner.fork("r", run_config=config),
        lambda: Runner.diff("r", "r", run_config=config),
        lambda: Runner.replay(agent, "r", run_config=config),
        lambda: Runner.replay(agent, "r", model=ScriptedModel(["x"]), run_config=config),
        lambda: Runner.run(agent, paused, run_config=config),
        lambda: Runner.resume(agent, "r", run_config=config),
        lambda: Runner.resume(agent, "r", take_over=True, run_config=config),
    ]
    for step in steps:
        try:
            async with asyncio.timeout(10):
                await step()
        except AgentsException as error:
            errors.append(error)
    return errors


@pytest.mark.parametrize("wrong", WRONGS)
@pytest.mark.parametrize("method", METHODS)
async def test_whatever_a_store_does_the_error_is_typed(method: str, wrong: str) -> None:
    store = Kept()
    config = RunConfig(store=store, run_id="r", store_timeout=0.0)
    for error in await everything(store, config, lambda: store.break_(method, WRONGS[wrong])):
        assert "please report it" not in str(error), repr(error.__cause__)


@pytest.mark.parametrize("method", (*METHODS, "wait"))
async def test_the_error_names_the_run_and_the_method(method: str) -> None:
    store = Kept()
    store.break_(method, raises(ValueError("no")))
    asked = CheckedStore(store)
    calls: dict[str, Awaitable[object]] = {
        "append": asked.append("r", 1, [], SUMMARY),
        "read": asked.read("r"),
        "summary": asked.summary("r"),
        "attach": asked.attach("r", "a", b""),
        "attachment": asked.attachment("r", "a"),
        "wait": asked.wait("r", 0, 0.0),
    }
    with pytest.raises(StoreError, match=f"the store of run 'r' raised ValueError in {method}, expected") as caught:
        await calls.pop(method)
    assert isinstance(caught.value.__cause__, ValueError)
    for unused in calls.values():
        unused.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("method", "given", "shown", "expected"),
    [
        ("read", None, "None", "a list of bytes"),
        ("read", ["x"], "<list>", "a list of bytes"),
        ("summary", 5, "5", "the RunSummary that was appended last, or None"),
        ("summary", structs.replace(SUMMARY, rev=-1), "<RunSummary>", "the RunSummary that was appended last, or None"),
        ("attachment", "text", "'text'", "the bytes that were attached, or None"),
        ("wait", None, "None", "the run's revision"),
        ("wait", -1, "-1", "the run's revision"),
    ],
)
async def test_what_a_store_returns_is_checked(method: str, given: object, shown: str, expected: str) -> None:
    store = Kept()
    store.break_(method, later(given))
    asked = CheckedStore(store)
    arguments: tuple[object, ...] = {"attachment": ("r", "a"), "wait": ("r", 0, 0.0)}.get(method, ("r",))
    with pytest.raises(StoreError, match=f"the store of run 'r' gave {shown} from {method}, expected {expected}"):
        await getattr(asked, method)(*arguments)


async def test_a_method_that_is_not_async_is_told() -> None:
    store = Kept()
    store.break_("append", gives(None))
    with pytest.raises(StoreError, match="the store of run 'r' raised TypeError in append"):
        await Runner.run(made(), "go", run_config=RunConfig(store=store, run_id="r"))
