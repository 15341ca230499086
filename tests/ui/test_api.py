"""The JSON API of the page, over a real socket and real stored runs."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsdk import FunctionCallOutput, Message, PostgresRunStore, RunConfig, Runner, RunState, RunStore, SQLiteRunStore
from agentsdk.evals import Case, equals, evaluate
from agentsdk.testing import ScriptedModel, assert_replays
from agentsdk.workflow import step, workflow
from tests import postgres_server
from tests.ui.runs import CONFIG, EVIL, HOSTILE, clerk, finished, page_of, waiting

pytest.importorskip("starlette", reason="the page needs starlette and uvicorn: pip install 'agentsdk[ui]'")

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SQLiteRunStore]:
    store = SQLiteRunStore(tmp_path / "runs.db")
    yield store
    await store.aclose()


@pytest.fixture(params=["SQLite", "PostgreSQL"])
async def any_store(request: pytest.FixtureRequest, store: SQLiteRunStore) -> AsyncIterator[RunStore]:
    if request.param == "SQLite":
        yield store
        return
    database: postgres_server.PostgresServer = request.getfixturevalue("running_postgres")
    postgres = PostgresRunStore(await database.fresh_url())
    yield postgres
    await postgres.aclose()


DAMAGE = "UPDATE agentsdk_run_events SET data = ? WHERE number = 3 AND run = (SELECT key FROM agentsdk_runs WHERE run_id = 'r')"


async def got(client: httpx.AsyncClient, path: str) -> Any:
    response = await client.get(path)
    assert response.status_code == 200, response.text
    return response.json()


async def posted(client: httpx.AsyncClient, path: str, **body: object) -> Any:
    response = await client.post(path, json=body)
    assert response.status_code == 202, response.text
    return response.json()


async def until(store: RunStore, run_id: str, status: str) -> None:
    while (run := await store.summary(run_id)) is None or run.status != status:
        await store.wait(run_id, 0 if run is None else run.rev, 0.2)


async def sent_events(client: httpx.AsyncClient, path: str) -> AsyncGenerator[tuple[str, Any], None]:
    """The server-sent events of a path: their type and data."""
    async with client.stream("GET", path) as response:
        kind = ""
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                yield kind, json.loads(line[6:])


async def test_runs_are_listed_those_that_wait_apart_and_found_by_what_is_known_of_them(any_store: RunStore) -> None:
    await finished(any_store, "first", user="ada")
    await waiting(any_store, "second", user="bob")
    async with page_of(any_store) as (_, client):
        page = await got(client, "runs")
        assert [run["run_id"] for run in page["runs"]] == ["second", "first"]
        assert [run["run_id"] for run in page["waiting"]] == ["second"]
        assert page["runs"][1]["status"] == "finished" and page["runs"][1]["metadata"] == {"user": "ada"}
        assert [run["run_id"] for run in (await got(client, "runs?q=ADA"))["runs"]] == ["first"]
        assert [run["run_id"] for run in (await got(client, "runs?meta=user:bob"))["runs"]] == ["second"]
        assert [run["run_id"] for run in (await got(client, "runs?status=finished"))["runs"]] == ["first"]
        one = await got(client, "runs?limit=1")
        assert [run["run_id"] for run in (await got(client, f"runs?limit=1&after={one['after']}"))["runs"]] == ["first"]
        assert (await client.get("runs?status=nonsense")).status_code == 422
        assert (await client.get("runs/nobody")).status_code == 404


async def test_a_run_is_told_event_by_event_with_the_state_at_each_and_what_it_changed(store: SQLiteRunStore) -> None:
    await finished(store, "r")
    async with page_of(store, agents=clerk()) as (_, client):
        detail = await got(client, "runs/r")
        assert detail["run"]["status"] == "finished" and detail["output"].startswith("Your money is on its way.")
        rows = (await got(client, "runs/r/rows"))["rows"]
        assert [row["rev"] for row in rows] == [*range(1, len(rows) + 1)]
        assert {"RunStarted", "ModelReplied", "ToolsIntended", "ToolFinished", "ApprovalDecided", "RunEnded"} <= {
            row["type"] for row in rows
        }
        assert {len(row.get("path", ())) for row in rows} == {0, 1}  # the colleague's run lies in the clerk's
        assert [row["rev"] for row in (await got(client, "runs/r/rows?after=3&limit=2"))["rows"]] == [4, 5]
        for row in rows:
            one = await got(client, f"runs/r/events/{row['rev']}")
            assert one["row"] == row and one["event"]["type"] in (row["type"], "Nested")
            at = await got(client, f"runs/r/state?at={row['rev']}")
            recorded = (await Runner.load("r", run_config=RunConfig(store=store), at=row["rev"])).value
            assert at["state"].get("turns", 0) == recorded.turns
            assert bool(at["state"].get("ended")) == (recorded.ended is not None)
        reply = next(row["rev"] for row in rows if row["type"] == "ModelReplied" and row["turn"] == 2)
        asked = (await got(client, f"runs/r/events/{reply}"))["request"]
        assert asked["instructions"] == "Help with orders." and [tool["name"] for tool in asked["tools"]][:2] == [
            "look",
            "refund",
        ]
        assert [item["type"] for item in asked["items"]].count("function_call_output") == 2
        changed = (await got(client, f"runs/r/state?at={reply}"))["changed"]
        assert {"path": "turns", "before": 1, "after": 2} in changed
        assert (await client.get("runs/r/events/0")).status_code == 404
        assert (await client.get(f"runs/r/state?at={len(rows) + 1}")).status_code == 422


async def test_what_took_time_is_a_tree_of_spans_that_lie_in_each_other(store: SQLiteRunStore) -> None:
    await finished(store, "r")
    async with page_of(store) as (_, client):
        spans = (await got(client, "runs/r/spans"))["spans"]
    known = {span["id"]: span for span in spans}
    for span in spans:
        assert span["end"] >= span["start"]
        around = known.get(span.get("parent", ""))
        assert around is not None or span["kind"] == "run"
        if around is not None:
            assert around["start"] <= span["start"] and span["end"] <= around["end"]
    colleague = next(span for span in spans if span["name"] == "Colleague")
    assert known[colleague["parent"]]["name"] == "ask_colleague"
    assert sum(span["kind"] == "model" for span in spans) == 6 and sum(span["kind"] == "tool" for span in spans) == 5


async def test_a_run_that_goes_on_is_followed_and_a_click_on_approve_reaches_it(any_store: RunStore) -> None:
    await waiting(any_store, "r")
    async with page_of(any_store, agents=clerk()) as (_, client):
        detail = await got(client, "runs/r")
        (waits,) = detail["calls"]
        assert waits["tool"] == "refund" and waits["waits_for"] == "approval"
        seen: list[tuple[str, Any]] = []

        async def watch() -> None:
            async for kind, data in sent_events(client, f"runs/r/events?after={detail['run']['revision']}"):
                seen.append((kind, data))
                if kind == "end":
                    return

        watching = asyncio.create_task(watch())
        await posted(client, "runs/r/decide", call_id=waits["call_id"], action="approve")
        await watching
        rows = [data for kind, data in seen if kind == "row"]
        assert [row["rev"] for row in rows] == [
            *range(detail["run"]["revision"] + 1, detail["run"]["revision"] + 1 + len(rows))
        ]
        assert rows[-1]["type"] == "RunEnded" and any(row["title"] == "refund approved by the page" for row in rows)
        assert [data["status"] for kind, data in seen if kind == "summary"][-1] == "finished"
        again = [one async for one in sent_events(client, f"runs/r/events?after={rows[-2]['rev']}")]
        assert [data["rev"] for kind, data in again if kind == "row"] == [rows[-1]["rev"]]
        twice = await client.post("runs/r/decide", json={"call_id": waits["call_id"], "action": "approve"})
        assert twice.status_code == 409


async def test_a_rejection_edited_arguments_a_message_a_pause_and_a_cancel_reach_a_run(any_store: RunStore) -> None:
    for run_id in ("rejected", "edited", "paused", "cancelled"):
        await waiting(any_store, run_id)
    async with page_of(any_store, agents=clerk()) as (_, client):
        await posted(client, "runs/rejected/decide", call_id="call_3_1", action="reject", reason="no")
        arguments = {"order": 1815, "amount": 5}
        await posted(client, "runs/edited/decide", call_id="call_3_1", action="approve", arguments=arguments)
        await posted(client, "runs/paused/pause", reason="lunch")
        await posted(client, "runs/cancelled/cancel", reason="no more")
        for run_id in ("rejected", "edited"):
            await until(any_store, run_id, "finished")
        await until(any_store, "cancelled", "cancelled")
        while not (await got(client, "runs/paused"))["paused"]:
            run = await any_store.summary("paused")
            assert run is not None
            await any_store.wait("paused", run.rev, 0.2)
        items = (await got(client, "runs/edited/conversation"))["items"]
        assert any("5.0 euros of order 1815 are paid back." in str(item.get("output")) for item in items)
        await posted(client, "runs/paused/unpause")
        await posted(client, "runs/paused/send", message="Are you there?")
        await posted(client, "runs/cancelled/resume")
        await until(any_store, "cancelled", "waiting")


async def test_a_run_is_forked_at_an_event_and_replayed_with_a_change_and_compared(store: SQLiteRunStore) -> None:
    await finished(store, "r")
    async with page_of(store, agents=clerk()) as (_, client):
        fork = (await posted(client, "runs/r/fork", at=6))["run_id"]
        assert (await got(client, f"runs/{fork}"))["run"]["forked_from"] == "r"
        await until(store, fork, "waiting")  # it goes on, and asks a person anew
        ours, theirs = [(await got(client, f"runs/{run_id}/rows"))["rows"] for run_id in ("r", fork)]
        assert [row["type"] for row in ours[:6]] == [row["type"] for row in theirs[:6]]
        same = await posted(client, "runs/r/replay")
        assert same["run_id"] is None and "came out as recorded" in same["summary"]
        other = await posted(client, "runs/r/replay", instructions="Be brief.")
        assert other["run_id"] and "1 asked for" not in str(await got(client, f"runs/{other['run_id']}"))
        diff = await got(client, f"diff?left=r&right={fork}")
        assert diff["first"] is not None and diff["lines"]["right"] == "nothing more" and diff["left"] and diff["right"]
        assert (await got(client, "diff?left=r&right=r"))["first"] is None
        assert (await client.get("diff?left=r&right=nobody")).status_code == 404


async def test_without_agents_it_only_shows_and_says_why(store: SQLiteRunStore) -> None:
    await waiting(store, "r")
    async with page_of(store) as (_, client):
        info = await got(client, "info")
        assert not info["can_act"] and "no agents were given" in info["readonly_reason"]
        for name in ("decide", "answer", "send", "signal", "pause", "unpause", "cancel", "resume", "fork", "replay"):
            assert (await client.post(f"runs/r/{name}", json={})).status_code == 403
    other = clerk(name="Another")
    async with page_of(store, agents=other) as (_, client):
        refused = await client.post("runs/r/resume", json={})
        assert refused.status_code == 409 and "began with agent 'Clerk'" in refused.json()["detail"]


async def test_a_run_is_exported_as_one_file_that_no_text_of_it_ends(store: SQLiteRunStore) -> None:
    await finished(store, "r")
    async with page_of(store) as (_, client):
        page = (await client.get("runs/r/export")).text
    assert EVIL not in page and "<script>alert" not in page
    inside = page.partition('id="data">')[2].partition("</script>")[0]
    answers = json.loads(inside)["answers"]
    assert answers["runs/r/rows"]["total"] == len(answers["runs/r/rows"]["rows"])
    assert HOSTILE[:20] in json.dumps(answers, ensure_ascii=False)


async def test_copied_as_a_test_it_passes_and_fails_once_the_agent_takes_another_step(
    store: SQLiteRunStore, tmp_path: Path
) -> None:
    await finished(store, "r")
    async with page_of(store) as (_, client):
        copied = await got(client, "runs/r/test")
    (tmp_path / copied["file"]).write_text(copied["record"], encoding="utf-8")
    (tmp_path / "test_copied.py").write_text(copied["python"], encoding="utf-8")
    (tmp_path / "your_agents.py").write_text("from tests.ui.runs import clerk as made\nclerk = made()\n", encoding="utf-8")
    root = str(Path(__file__).parents[2])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_copied.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{tmp_path}:{root}", "PATH": "/usr/bin:/bin"},
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    await assert_replays(clerk(), copied["record"])
    with pytest.raises(AssertionError, match="then not"):
        await assert_replays(clerk(tool_use_behavior="stop_on_first_tool"), copied["record"])


async def test_a_workflow_is_drawn_with_what_has_happened(store: SQLiteRunStore) -> None:
    @step
    async def double(number: int) -> int:
        return 2 * number

    @workflow
    async def counts(number: int) -> int:
        return await double(number)

    await counts.drive("w", 4, run_config=RunConfig(store=store, tracing_disabled=True))
    async with page_of(store, agents=counts) as (_, client):
        assert (await got(client, "runs/w"))["is_workflow"]
        assert (await got(client, "runs/w/workflow"))["svg"].startswith("<svg")
        rows = (await got(client, "runs/w/rows"))["rows"]
        assert any(row["kind"] == "step" and row["tool"] == "double" for row in rows)
    async with page_of(store) as (_, client):
        assert (await client.get("runs/w/workflow")).status_code == 404


async def test_reports_of_evals_are_shown_with_what_changed(store: SQLiteRunStore) -> None:
    from agentsdk import Agent

    good = Agent[None, str](name="good", model=ScriptedModel(["4", "6"]))
    bad = Agent[None, str](name="bad", model=ScriptedModel(["4", "7"]))
    cases = [Case("2+2", expected="4", name="two"), Case("3+3", expected="6", name="three")]
    config = RunConfig(tracing_disabled=True)
    report = await evaluate("sums", cases, {"bad": bad, "good": good}, [equals()], concurrency=1, run_config=config)
    async with page_of(store, evals=[report]) as (_, client):
        assert (await got(client, "evals"))["reports"] == [{"name": "sums", "agents": ["bad", "good"], "cases": 2}]
        shown = await got(client, "evals/sums")
        assert [(case["name"], case["changed"]) for case in shown["cases"]] == [("two", None), ("three", "better")]
        assert (await client.get("evals/none")).status_code == 404


async def test_a_long_result_is_cut_with_a_marker_and_all_of_it_can_be_asked_for(store: SQLiteRunStore) -> None:
    from agentsdk import Agent, function_tool
    from agentsdk.testing import call

    @function_tool(effect="none")
    def much() -> str:
        return "x" * 2_000_000

    agent = Agent[None, str](name="A", model=ScriptedModel([call("much"), "done"]), tools=[much])
    config = RunConfig(store=store, run_id="r", tracing_disabled=True, max_tool_result_chars=3_000_000)
    await Runner.run(agent, "go", run_config=config)
    async with page_of(store) as (_, client):
        rows = (await client.get("runs/r/rows")).content
        assert len(rows) < 20_000
        rev = next(row["rev"] for row in json.loads(rows)["rows"] if row["type"] == "ToolFinished")
        cut = await got(client, f"runs/r/events/{rev}")
        assert cut["cut"] and "1,980,000 characters more" in cut["event"]["output"]
        assert len((await got(client, f"runs/r/events/{rev}?full=1"))["event"]["output"]) == 2_000_000


async def test_secrets_are_masked(store: SQLiteRunStore) -> None:
    from agentsdk import Agent, function_tool
    from agentsdk.testing import call

    key = "sk-abcdefghijklmnop1234567890"

    @function_tool(effect="none")
    def keys() -> dict[str, str]:
        return {"header": f"Authorization: Bearer {key}", "key": key}

    agent = Agent[None, str](name="A", model=ScriptedModel([call("keys"), f"It is {key}."]), tools=[keys])
    await Runner.run(agent, f"My key is {key}", run_config=RunConfig(store=store, run_id="r", tracing_disabled=True))
    async with page_of(store, agents=agent) as (_, client):
        for path in ("runs/r", "runs/r/rows", "runs/r/conversation", "runs/r/state", "runs/r/export"):
            assert "abcdefghijklmnop" not in (await client.get(path)).text, path


async def test_a_record_that_was_written_by_a_newer_version_or_damaged_is_said_so(
    store: SQLiteRunStore, tmp_path: Path
) -> None:
    import sqlite3

    await finished(store, "r")
    await finished(store, "s")
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database, database:
        changed = database.execute(DAMAGE, (b'["nonsense"]',)).rowcount
        assert changed == 1
    async with page_of(store) as (_, client):
        answer = await client.get("runs/r/rows")
        assert answer.status_code in (409, 422, 500) and answer.json()["error"].startswith("State")
        assert (await client.get("runs/s/rows")).status_code == 200
        assert (await client.get("runs")).status_code == 200


async def test_a_history_grows_with_its_run_and_gives_each_state_again(store: SQLiteRunStore) -> None:
    await waiting(store, "r")
    async with page_of(store, agents=clerk()) as (_, client):
        before = (await got(client, "runs/r/rows"))["rows"]
        early = await got(client, "runs/r/state?at=5")
        await posted(client, "runs/r/decide", call_id="call_3_1", action="approve")
        await until(store, "r", "finished")
        after = (await got(client, "runs/r/rows"))["rows"]
        assert after[: len(before)] == before and len(after) > len(before)
        assert await got(client, "runs/r/state?at=5") == early
    state: RunState = await Runner.load("r", run_config=RunConfig(store=store))
    outputs = [item for item in state.value.transcript if isinstance(item, FunctionCallOutput)]
    assert len(outputs) == 4 and isinstance(state.value.transcript[0], Message)
    assert CONFIG.store is None
