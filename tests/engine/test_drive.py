"""`Runner.drive`: one call that begins a stored run, goes on with it, or gives what it has come to."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionTool,
    MemorySession,
    Message,
    RunConfig,
    RunConflictError,
    RunLimits,
    Runner,
    RunNotFoundError,
    RunStore,
    UserError,
    function_tool,
)
from agentsdk.errors import StateMismatchError
from agentsdk.testing import ScriptedModel, call
from tests.engine.conftest import OpenStore
from tests.models.wire import FakeClock

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]


def config_of(store: RunStore, clock: FakeClock | None = None, **options: Any) -> RunConfig:
    return RunConfig(**{"store": store, "clock": clock or FakeClock(), **options})


def paid(effects: list[int]) -> FunctionTool[Any]:
    @function_tool(needs_approval=True, effect="once")
    async def pay(x: int) -> str:
        effects.append(x)
        return f"paid {x}"

    return pay


def clerk(*replies: Any, tools: list[FunctionTool[Any]] | None = None, name: str = "clerk", **fields: Any) -> Agent[Any, Any]:
    return Agent(name, model=ScriptedModel(list(replies)), tools=tools or [], **fields)


async def rev_of(store: RunStore, run_id: str = "r") -> int:
    summary = await store.summary(run_id)
    return 0 if summary is None else summary.rev


async def test_one_call_begins_waits_goes_on_and_gives_the_end(open_store: OpenStore) -> None:
    effects: list[int] = []

    def process() -> tuple[Agent[Any, Any], RunConfig]:
        return clerk(call("pay", x=1), "done", tools=[paid(effects)]), config_of(open_store())

    agent, config = process()
    first = await Runner.drive(agent, "r", "pay", run_config=config)
    assert [item.tool_name for item in first.interruptions] == ["pay"]
    assert config.store is not None
    before = await rev_of(config.store)
    for _ in range(3):  # a job that is delivered again while the run waits adds nothing
        other, again = process()
        paused = await Runner.drive(other, "r", "pay", run_config=again)
        assert [item.call_id for item in paused.interruptions] == [first.interruptions[0].call_id]
        assert not paused.is_finished
    assert await rev_of(config.store) == before and effects == []

    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    agent.model = ScriptedModel(["done"])
    assert (await Runner.drive(agent, "r", run_config=config)).final_output == "done"
    end = await rev_of(config.store)
    agent.model = ScriptedModel([])
    assert (await Runner.drive(agent, "r", "pay", run_config=config)).final_output == "done"
    assert effects == [1] and await rev_of(config.store) == end


async def test_of_many_at_once_one_takes_the_run(open_store: OpenStore) -> None:
    begun, goes_on, effects = asyncio.Event(), asyncio.Event(), list[int]()

    @function_tool(effect="once")
    async def send() -> str:
        effects.append(1)
        begun.set()
        await goes_on.wait()
        return "sent"

    def agent() -> Agent[Any, Any]:
        return clerk(call("send"), "done", tools=[send])

    clock = FakeClock()
    drives = [
        asyncio.ensure_future(Runner.drive(agent(), "r", "send", run_config=config_of(open_store(), clock))) for _ in range(8)
    ]
    await begun.wait()
    for refused in itertools.islice(asyncio.as_completed(drives), 7):
        with pytest.raises(RunConflictError):
            await refused
    [winner] = [one for one in drives if not one.done()]
    goes_on.set()
    assert (await winner).final_output == "done"
    late = await Runner.drive(agent(), "r", "send", run_config=config_of(open_store(), clock))
    assert late.final_output == "done" and effects == [1]


async def test_a_run_that_was_cancelled_by_a_deploy_goes_on(open_store: OpenStore) -> None:
    looked = asyncio.Event()

    @function_tool(effect="none")
    async def look() -> str:
        looked.set()
        await asyncio.Event().wait()
        return "never"

    config = config_of(open_store())
    task = asyncio.ensure_future(Runner.drive(clerk(call("look"), tools=[look]), "r", "go", run_config=config))
    await looked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    @function_tool(effect="none", name_override="look")
    async def look_again() -> str:
        return "seen"

    again = clerk("done", tools=[look_again])
    assert (await Runner.drive(again, "r", "go", run_config=config_of(open_store()))).final_output == "done"


async def test_what_is_decided_runs_while_the_rest_waits(open_store: OpenStore) -> None:
    effects: list[int] = []
    config = config_of(open_store())
    agent = clerk([call("pay", x=1), call("pay", x=2)], "done", tools=[paid(effects)])
    await Runner.drive(agent, "r", "pay both", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    paused = await Runner.drive(agent, "r", run_config=config)
    assert effects == [1] and [item.arguments for item in paused.interruptions] == ['{"x":2}']


async def test_nested_calls_that_wait_suspend_the_run(open_store: OpenStore) -> None:
    effects: list[int] = []
    child = clerk(call("pay", x=1), "paid it", tools=[paid(effects)], name="child")
    agent = clerk(call("ask_child", input="pay"), "done", tools=[child.as_tool("ask_child")])
    config = config_of(open_store())
    assert (await Runner.drive(agent, "r", "go", run_config=config)).interruptions[0].path
    assert config.store is not None
    before = await rev_of(config.store)
    assert (await Runner.drive(agent, "r", "go", run_config=config)).interruptions and await rev_of(config.store) == before
    state = await Runner.load("r", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    assert (await Runner.drive(agent, "r", run_config=config)).final_output == "done"
    assert effects == [1]


async def test_a_run_that_waits_at_a_limit_is_suspended_until_it_is_raised(open_store: OpenStore) -> None:
    @function_tool(effect="none")
    def look(x: int) -> str:
        return f"seen {x}"

    config = config_of(open_store(), limits=RunLimits(turns=1), on_limit="pause")
    agent = clerk(call("look", x=1), "done", tools=[look])
    first = await Runner.drive(agent, "r", "go", run_config=config)
    assert first.limit_reached is not None and config.store is not None
    before = await rev_of(config.store)
    again = await Runner.drive(agent, "r", "go", run_config=config)
    assert again.limit_reached is not None and await rev_of(config.store) == before
    state = await Runner.load("r", run_config=config)
    state.raise_limit("turns", 3)
    await Runner.decide(state, run_config=config)
    assert (await Runner.drive(agent, "r", run_config=config)).final_output == "done"


async def test_a_registry_gives_each_run_its_agent(open_store: OpenStore) -> None:
    billing = clerk("it is paid", name="billing")
    triage = clerk(call("transfer_to_billing"), name="triage", handoffs=[billing])
    config = config_of(open_store())
    assert (
        await Runner.drive([triage, billing], "a", "pay", run_config=config, begin_with="triage")
    ).final_output == "it is paid"
    by_name = {agent.name: agent for agent in (triage, billing)}
    assert (await Runner.drive(by_name, "a", run_config=config)).last_agent is billing

    with pytest.raises(StateMismatchError, match="begun by agent 'triage', which is not among"):
        await Runner.drive([billing], "a", run_config=config)
    alone = clerk(name="triage")
    with pytest.raises(StateMismatchError, match="is at agent 'billing'"):
        await Runner.drive([alone, billing], "a", run_config=config)
    for begin_with in (None, "nobody"):
        with pytest.raises(UserError, match=r"expected one of \['billing', 'triage'\]; pass begin_with"):
            await Runner.drive([triage, billing], "new", "pay", run_config=config, begin_with=begin_with)
    assert config.store is not None and await rev_of(config.store, "new") == 0


async def test_what_is_no_registry_is_refused(open_store: OpenStore) -> None:
    agent, config = clerk("hi"), config_of(open_store())
    wrong: list[tuple[Any, str]] = [
        (None, "expected an Agent, a list of them or a dict by name"),
        ("clerk", "expected an Agent, a list of them or a dict by name"),
        ([], "the registry is empty"),
        ([agent, "clerk"], "the registry holds a 'str'"),
        ({"other": agent}, "has agent 'clerk' under 'other'"),
        ([agent, clerk("ho")], "two agents named 'clerk'"),
    ]
    for agents, message in wrong:
        with pytest.raises(UserError, match=message):
            await Runner.drive(agents, "r", "go", run_config=config)


async def test_a_run_keeps_the_input_it_began_with(open_store: OpenStore) -> None:
    config = config_of(open_store())
    with pytest.raises(RunNotFoundError):
        await Runner.drive(clerk("hi"), "r", run_config=config)
    assert (await Runner.drive(clerk("hi"), "r", "hello", run_config=config)).final_output == "hi"
    with pytest.raises(RunConflictError, match="begun with another input"):
        await Runner.drive(clerk("hi"), "r", "something else", run_config=config)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda config: Runner.drive(clerk(), "", "go", run_config=config),
        lambda config: Runner.drive(clerk(), "r", "go", run_config=RunConfig()),
        lambda config: Runner.drive(clerk(), "r", 5, run_config=config),
    ],
)
async def test_wrong_arguments(open_store: OpenStore, wrong: Callable[[RunConfig], Any]) -> None:
    with pytest.raises(UserError):
        await wrong(config_of(open_store()))
    with pytest.raises(TypeError, match="nexpected keyword argument 'bogus'"):
        await Runner.drive(clerk(), "r", "go", run_config=config_of(open_store()), bogus=1)  # type: ignore[call-overload]


async def test_processes_that_drive_the_same_runs_run_each_once(tmp_path: Path) -> None:
    rounds = 10
    command = [
        sys.executable,
        "-m",
        "tests.engine.driven_run",
        str(tmp_path / "runs.db"),
        str(tmp_path / "effects"),
        str(rounds),
    ]
    processes = [await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT) for _ in range(4)]
    for process in processes:
        output, _ = await process.communicate()
        assert output.decode().splitlines() == [f"paid {number}" for number in range(rounds)]
    assert sorted(map(int, (tmp_path / "effects").read_text().split())) == list(range(rounds))


async def test_a_conversation_delivered_again_is_the_same_input(open_store: OpenStore) -> None:
    config, session = config_of(open_store()), MemorySession("ada")
    await session.add_items([Message("user", "hello"), Message("assistant", "hi")])
    # A caller's own copy of the conversation, with a call that has no result: the run's start keeps it made valid.
    given = [Message("user", "hello"), Message("assistant", "hi"), Message("user", "go on"), FunctionCall("c", "pay", "{}")]
    for _ in range(2):
        result = await Runner.drive(clerk("done"), "r", given, run_config=config, session=session)
        assert result.final_output == "done"
    with pytest.raises(RunConflictError, match="begun with another input"):
        await Runner.drive(clerk("done"), "r", [*given, Message("user", "more")], run_config=config, session=session)
    wrong: Any = 5
    with pytest.raises(UserError, match="was given the input 'int'"):
        await Runner.drive(clerk("done"), "r", wrong, run_config=config)
    wrong = result
    with pytest.raises(UserError, match=r"was given the input 'RunResult', .*; pass result\.to_state\(\)$"):
        await Runner.drive(clerk("done"), "r", wrong, run_config=config)
