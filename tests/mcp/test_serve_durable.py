"""Durable runs behind an MCP server: named by the client, gone on with after a lost connection or a killed server."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path

import mcp_types as wire
import pytest
from mcp import Client

from agentsdk import Agent, RunConfig, Runner, RunQuery, SQLiteRunStore, UserError, function_tool
from agentsdk.mcp.serving.serve import agent_server
from agentsdk.testing import ScriptedModel
from agentsdk.workflow import flow, workflow
from tests.mcp.served import Work, add, clerk, shop
from tests.mcp.test_serve import CANCEL, Person, accept, both, connected, text

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]


@workflow
async def nap(at: float) -> str:
    """Sleep until then."""
    await flow.until(at)
    return "awake"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[SQLiteRunStore, None]:
    store = SQLiteRunStore(tmp_path / "runs.db")
    yield store
    await store.aclose()


@contextmanager
def serving(tmp_path: Path, thing: str, *options: str, hangs: bool = False) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process over HTTP, its store and its journal in `tmp_path`, and its address."""
    arguments = [f"tests.mcp.served:{thing}", "--http", "127.0.0.1:0", "--store", f"sqlite:{tmp_path}/runs.db", "--verbose"]
    environment = {
        **os.environ,
        "MCP_JOURNAL": f"{tmp_path}/journal",
        "PYTHONPATH": str(ROOT),
        **({"MCP_HANGS": "1"} if hangs else {}),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "agentsdk", "mcp", *arguments, *options],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        address = None
        while address is None:
            line = process.stderr.readline()
            assert line, "the server ended before it listened"
            address = re.search(r"listens at (\S+)", line)
        yield process, f"{address[1]}/mcp"
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def journal(tmp_path: Path) -> list[str]:
    path = tmp_path / "journal"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


async def until(tmp_path: Path, line: str) -> None:
    async with asyncio.timeout(60):
        while line not in journal(tmp_path):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.02)


@both
async def test_a_call_with_a_run_id_is_done_once_and_its_result_given_again(
    era: str, store: SQLiteRunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_JOURNAL", str(tmp_path / "journal"))
    for _ in range(2):
        async with connected(shop, era, {"store": store}) as client:
            result = await client.call_tool("Shop", {"input": "Order 7, please.", "run_id": "order-7"})
            assert (text(result), (result.meta or {})["agentsdk/run_id"]) == ("All done.", "order-7")
    async with connected(shop, era, {"store": store}) as client:
        named = await client.call_tool("Shop", {"input": "Order 7, please."}, meta={"agentsdk/run_id": "order-7"})
        assert text(named) == "All done."
        stands = await client.call_tool("get_run", {"run_id": "order-7"})
        assert stands.structured_content == {
            "run_id": "order-7",
            "tool": "Shop",
            "status": "finished",
            "waits_for": [],
            "output": "All done.",
        }
    assert journal(tmp_path) == ["paid 7", "shipping 7"]


@both
async def test_a_call_without_a_run_id_is_a_new_run_and_says_its_id(era: str, store: SQLiteRunStore) -> None:
    async with connected([add], era, {"store": store}) as client:
        ids = [(await client.call_tool("add", {"a": 1, "b": 1})).meta["agentsdk/run_id"] for _ in range(2)]  # type: ignore[index]
        assert ids[0] != ids[1]
        stands = await client.call_tool("get_run", {"run_id": ids[0]})
        assert stands.structured_content is not None and stands.structured_content["output"] == "2"


@both
async def test_a_run_id_of_other_arguments_is_refused(era: str, store: SQLiteRunStore) -> None:
    async with connected([add], era, {"store": store}) as client:
        await client.call_tool("add", {"a": 1, "b": 1, "run_id": "sum"})
        other = await client.call_tool("add", {"a": 1, "b": 2, "run_id": "sum"})
        assert other.is_error and (other.meta or {})["agentsdk/error"] == "RunConflictError"
        for wrong in ("", 7, "x" * 201, "a\0b"):
            refused = await client.call_tool("add", {"a": 1, "b": 1, "run_id": wrong})
            assert refused.is_error and "the run_id of a call is no text" in text(refused)
        unknown = await client.call_tool("get_run", {"run_id": "nobody's"})
        assert unknown.is_error and text(unknown).startswith("RunNotFoundError: there is no run")


@both
async def test_what_waits_outlives_the_client_and_is_decided_in_the_store_or_at_the_next_one(
    era: str, store: SQLiteRunStore
) -> None:
    config = RunConfig(store=store)
    given = {"input": "Pay order 1 back.", "run_id": "refund-1"}
    async with connected(clerk, era, {"store": store}) as client:
        waits = await client.call_tool("Clerk", given)
        assert waits.is_error and 'Clerk: may refund({"order":1}) run?' in text(waits) and "'refund-1'" in text(waits)
        stands = (await client.call_tool("get_run", {"run_id": "refund-1"})).structured_content
        assert stands is not None and (stands["status"], stands["waits_for"]) == (
            "waiting",
            ['Clerk: may refund({"order":1}) run?'],
        )
    async with connected(clerk, era, {"store": store}, elicitation_callback=Person(CANCEL)) as client:
        assert (await client.call_tool("Clerk", given)).is_error
    (run,) = await store.list(RunQuery(metadata={"mcp.run_id": "refund-1"}))
    assert run.run_id in text(waits)
    state = await Runner.load(run.run_id, run_config=config)
    state.approve(state.interruptions[0], by="ann")
    await Runner.decide(state, run_config=config)
    async with connected(clerk, era, {"store": store}) as client:
        assert text(await client.call_tool("Clerk", given)) == "Your money is on its way."


@both
async def test_a_run_that_sleeps_says_until_when_and_asks_nobody(era: str, store: SQLiteRunStore) -> None:
    async with connected(nap, era, {"store": store}, elicitation_callback=Person(CANCEL)) as client:
        given = {"input": "4102444800.0", "run_id": "nap-1"}
        waits = await client.call_tool("nap", given)
        assert waits.is_error and "waits until 2100-01-01 00:00:00 UTC." in text(waits) and "Call again then" in text(waits)
        stands = (await client.call_tool("get_run", {"run_id": "nap-1"})).structured_content
        assert stands is not None
        assert stands["waits_for"] == ['until({"at":4102444800.0}) waits until 2100-01-01 00:00:00 UTC.']


@both
async def test_a_call_that_names_its_run_is_answered_by_the_person_at_the_client(era: str, store: SQLiteRunStore) -> None:
    async with connected(clerk, era, {"store": store}, elicitation_callback=Person(accept(approve=True))) as client:
        result = await client.call_tool("Clerk", {"input": "Pay order 1 back.", "run_id": "refund-1"})
    assert text(result) == "Your money is on its way."


@both
async def test_two_calls_of_one_run_at_once_are_one_run(era: str, store: SQLiteRunStore) -> None:
    work = Work()
    async with connected([work.tool()], era, {"store": store}) as client:
        calls = [asyncio.create_task(client.call_tool("work", {"run_id": "one"})) for _ in range(3)]
        await work.began.wait()
        calls[0].cancel()
        await asyncio.wait(calls[:1])
        work.may_end.set()
        assert [text(await each) for each in calls[1:]] == ["done", "done"]
    assert work.bodies == 1


async def test_users_cannot_reach_each_others_runs_nor_runs_that_did_not_begin_here(store: SQLiteRunStore) -> None:
    config = RunConfig(store=store, run_id="secret")
    await Runner.run(Agent("Other", model=ScriptedModel(["hidden"])), "Hello", run_config=config)
    async with connected([add], "auto", {"store": store}) as client:
        assert (await client.call_tool("get_run", {"run_id": "secret"})).is_error
        assert text(await client.call_tool("add", {"a": 1, "b": 1, "run_id": "secret"})) == "2"


@both
async def test_a_cancelled_call_goes_on_when_it_is_called_again(era: str, store: SQLiteRunStore) -> None:
    attempts = 0
    began = asyncio.Event()

    @function_tool(effect="idempotent")
    async def work() -> str:
        """Work."""
        nonlocal attempts
        attempts += 1
        began.set()
        if attempts == 1:
            await asyncio.Event().wait()
        return f"done in attempt {attempts}"

    async with connected([work], era, {"store": store}) as client:
        first = asyncio.create_task(client.call_tool("work", {"run_id": "one"}))
        await began.wait()
        first.cancel()
        await asyncio.wait([first])
        assert text(await client.call_tool("work", {"run_id": "one"})) == "done in attempt 2"


async def test_a_name_that_the_server_needs_is_refused(store: SQLiteRunStore) -> None:
    taken = function_tool(lambda: "", name_override="get_run", description_override="Mine.")
    agent_server([taken], {})
    with pytest.raises(UserError, match="named 'get_run', which a server with a store has itself"):
        agent_server([taken], {"store": store})


@both
async def test_a_killed_server_goes_on_with_the_run_when_it_is_called_again(era: str, tmp_path: Path) -> None:
    """Shown: what was done before the kill is not done again, what was under way is."""
    given = {"input": "Order 7, please.", "run_id": "order-7"}
    with serving(tmp_path, "shop", "--lease", "1", hangs=True) as (process, address):  # noqa: SIM117
        with pytest.raises(BaseException):  # noqa: B017 - the package's own, of a connection that broke
            async with Client(address, mode=era, cache=None) as client:
                calling = asyncio.create_task(client.call_tool("Shop", given))
                await until(tmp_path, "shipping 7")
                process.send_signal(signal.SIGKILL)
                await calling
    assert journal(tmp_path) == ["paid 7", "shipping 7"]
    with serving(tmp_path, "shop", "--lease", "1") as (_, address):
        async with Client(address, mode=era, cache=None) as client:
            assert text(await client.call_tool("Shop", given)) == "All done."
    assert journal(tmp_path) == ["paid 7", "shipping 7", "shipping 7"]


async def test_an_answer_reaches_a_run_whose_server_was_killed_while_it_waited(tmp_path: Path) -> None:
    """The request's state names the run: a person answers what another process asked."""
    given = {"input": "Pay order 1 back."}
    with serving(tmp_path, "clerk", "--lease", "1") as (process, address):
        async with Client(address, cache=None, elicitation_callback=Person()) as client:
            asked = await client.session.call_tool("Clerk", given, allow_input_required=True)
            assert isinstance(asked, wire.InputRequiredResult) and asked.input_requests is not None
        process.send_signal(signal.SIGKILL)
    answers = dict.fromkeys(asked.input_requests, accept(approve=True))
    with serving(tmp_path, "clerk") as (_, address):
        async with Client(address, cache=None) as client:
            result = await client.call_tool("Clerk", given, input_responses=answers, request_state=asked.request_state)
            assert text(result) == "Your money is on its way."
