"""The events of runs over real sockets: all of them, once each, wherever a client was cut off; and those who do not read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from agentsdk import Agent, ContextCodec, MemoryRunStore, RunConfig, Runner, SQLiteRunStore, ToolContext, function_tool
from agentsdk.testing import ScriptedModel, call
from agentsdk.web import WebLimits
from agentsdk.web.feeds import Reader
from tests.web.served import ASKS, BOB, EVE, Client, clerk, served
from tests.web.test_app import refusal

pytestmark = pytest.mark.anyio

Event = tuple[int, dict[str, Any]]


async def events(client: Client, run_id: str, after: int | None = None, **options: Any) -> AsyncGenerator[Event, None]:
    """The events of one stream as a browser reads them: the id and the data; the id is 0 where there is none."""
    headers = {} if after is None else {"last-event-id": str(after)}
    async with client.stream("GET", f"/runs/{run_id}/events", headers=headers, timeout=60, **options) as answer:
        assert answer.status_code == 200, answer.status_code
        assert answer.headers["content-type"].startswith("text/event-stream")
        number = 0
        async for line in answer.aiter_lines():
            if line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith("data: "):
                yield number, json.loads(line[6:])
                number = 0


async def all_of(client: Client, run_id: str, after: int | None = None) -> list[Event]:
    """Those up to the end of the stream."""
    return [event async for event in events(client, run_id, after)]


async def decided(client: Client, run_id: str, action: str = "approve") -> None:
    """Decide what waits."""
    [waiting] = (await client.until(run_id, "waiting"))["calls"]
    await client.post(f"/runs/{run_id}/decisions", json={"call_id": waiting["call_id"], "action": action})


async def test_a_client_sees_what_happens_while_it_happens_and_the_end() -> None:
    async with served() as client:
        run_id = await client.begin()
        seen: list[Event] = []
        async with asyncio.timeout(60):
            async for number, data in events(client, run_id):
                seen.append((number, data))
                if data["type"] == "ModelReplied" and data["items"][0]["type"] == "call":
                    await decided(client, run_id)
        recorded = [(number, data) for number, data in seen if number]
        assert [number for number, _ in recorded] == list(range(1, len(recorded) + 1))
        assert all(data["revision"] == number and data["path"] == [] for number, data in recorded)
        by_type = {data["type"]: data for _, data in recorded}
        assert by_type["RunStarted"]["agent"] == "Clerk"
        assert (by_type["ApprovalDecided"]["tool"], by_type["ApprovalDecided"]["by"]) == ("pay", "ada")
        assert by_type["ToolFinished"]["output"] == "3 paid to Ada"
        assert by_type["ModelReplied"]["items"] == [{"type": "message", "text": "Ada has her money."}]
        assert recorded[-1][1]["output"] == "Ada has her money."
        texts = "".join(data["text"] for number, data in seen if not number and data["type"] == "text")
        assert texts.endswith("Ada has her money."), "what the model says comes while it says it"


async def test_a_client_goes_on_from_any_event_with_none_missing_and_none_twice(tmp_path: Any) -> None:
    store = SQLiteRunStore(tmp_path / "runs.db")
    async with served(store=store) as client:
        run_id = await client.begin()
        await decided(client, run_id)
        await client.until(run_id, "finished")
        whole = await all_of(client, run_id)
        for after in range(len(whole)):
            assert await all_of(client, run_id, after) == whole[after:]
        answer = await client.get(f"/runs/{run_id}/events", params={"after": len(whole) - 1})
        assert answer.text.count("id: ") == 1
        answer = await client.get(f"/runs/{run_id}/events", headers={"last-event-id": str(len(whole))})
        assert answer.status_code == 204, "a browser comes again after anything else"
    await store.aclose()


async def test_asked_for_its_head_a_stream_is_none() -> None:
    async with served(works=False) as client:
        answer = await client.head(f"/runs/{await client.begin()}/events")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


async def test_an_id_that_no_event_has_is_refused() -> None:
    async with served(works=False) as client:
        run_id = await client.begin()
        for forged in ("2", "-1", "x", "9" * 5_000, "1.5", "１"):
            headers = {"last-event-id": forged.encode()}
            refusal(await client.get(f"/runs/{run_id}/events", headers=headers), 422)


async def test_the_events_of_a_run_are_not_there_for_other_tenants() -> None:
    async with served(works=False) as client:
        run_id = await client.begin()
        refusal(await client.get(f"/runs/{run_id}/events", headers=EVE), 404)
        refusal(await client.get(f"/runs/{run_id}/events", headers={"authorization": "of nobody"}), 401)
        async with aclosing(events(client, run_id)) as mine:
            assert (await anext(mine))[1]["type"] == "RunStarted"


async def test_many_follow_one_run_and_it_is_watched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[str] = []
    watch = Runner.watch

    def counting(run_id: str, **options: Any) -> Any:
        watched.append(run_id)
        return watch(run_id, **options)

    monkeypatch.setattr(Runner, "watch", staticmethod(counting))
    async with served(limits=WebLimits(streams=50)) as client:
        run_id = await client.begin()
        following = [asyncio.create_task(all_of(client, run_id)) for _ in range(20)]
        await decided(client, run_id)
        async with asyncio.timeout(60):
            seen = await asyncio.gather(*following)
        whole = await all_of(client, run_id)
        assert all([event for event in each if event[0]] == whole for each in seen)
        assert len(watched) <= 3, "not one for each"


async def test_a_client_may_have_so_many_streams_and_one_that_is_closed_counts_no_more() -> None:
    async with served(works=False, limits=WebLimits(streams=2, request_burst=10_000)) as client:
        run_id = await client.begin()
        async with aclosing(events(client, run_id)) as first, aclosing(events(client, run_id)) as second:
            await anext(first), await anext(second)
            answer = await client.get(f"/runs/{run_id}/events")
            refusal(answer, 429, "2 streams")
            assert answer.headers["retry-after"]
            async with aclosing(events(client, run_id, params={"user": "bob"})) as third:
                with pytest.raises(AssertionError, match="429"):
                    await anext(third)
        async with Client(str(client.base_url), client.store, headers=BOB) as other, aclosing(events(other, run_id)) as theirs:
            await anext(theirs)
        await until_there_is_room(client, run_id)


async def until_there_is_room(client: Client, run_id: str) -> None:
    """Return when the client may open a stream."""
    async with asyncio.timeout(60):
        while True:
            async with client.stream("GET", f"/runs/{run_id}/events") as answer:
                if answer.status_code == 200:
                    return
                assert answer.status_code == 429


async def test_a_client_that_never_reads_is_left() -> None:
    """The kernel takes a few megabytes for it, the service no more."""
    limits = WebLimits(streams=1, stall_seconds=0.05, request_burst=100_000, requests_per_second=1e6)
    async with served(clerk("long " * 4_000_000), limits=limits) as client:
        run_id = await client.begin("Tell me all.")
        await client.until(run_id, "finished")
        reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port, limit=1024)
        writer.write(f"GET /runs/{run_id}/events HTTP/1.1\r\nhost: x\r\nauthorization: of ada\r\n\r\n".encode())
        await reader.readline()
        await until_there_is_room(client, run_id)
        writer.transport.abort()


async def test_a_stream_ends_after_its_time_and_pings_meanwhile() -> None:
    async with served(works=False, limits=WebLimits(ping_seconds=0.01, stream_seconds=0.2)) as client:
        run_id = await client.begin()
        answer = await client.get(f"/runs/{run_id}/events")
        assert answer.text.startswith("retry: ") and ": still here\n\n" in answer.text
        assert answer.text.count("id: ") == 1, "the client comes again, and is asked again who it is"


async def test_a_client_that_lags_is_cut_off_and_comes_again_with_none_missing() -> None:
    async with served(limits=WebLimits(stream_bytes=1)) as client:
        run_id = await client.begin()
        seen: list[int] = []
        deciding = asyncio.create_task(decided(client, run_id))
        async with asyncio.timeout(60):
            while (summary := await client.store.summary(run_id)) is None or not summary.is_over or seen[-1] < summary.rev:
                async for number, _ in events(client, run_id, seen[-1] if seen else None):
                    seen += [number] if number else []
        await deciding
        assert seen == list(range(1, len(seen) + 1))


async def test_a_reader_keeps_so_much_and_then_is_over() -> None:
    reader = Reader(2, 10)
    for revision, piece in [(1, b"old"), (2, b"old"), (3, b"12345"), (0, b"67890"), (0, b"lost"), (4, b"late"), (5, b"later")]:
        reader.offer(revision, piece)
    assert await reader.take(1) == b"1234567890" and reader.revision == 3
    assert await reader.take(1) is None, "it comes again, from event 3 on"
    behind = Reader(2, 10)
    behind.offer(3, b"three")
    behind.revision = 3  # which it had from the store meanwhile
    behind.offer(4, b"four")
    assert await behind.take(1) == b"four"
    fresh = Reader(0, 10)
    fresh.offer(1, b"longer than all its room")
    assert await fresh.take(1) == b"longer than all its room" and not fresh.is_over
    fresh.offer(2, b"next")
    assert await fresh.take(1) == b"next"


async def test_a_store_that_is_closed_ends_the_streams() -> None:
    store = MemoryRunStore()
    async with served(store=store, works=False) as client:
        run_id = await client.begin()
        async with asyncio.timeout(60), aclosing(events(client, run_id)) as stream:
            await anext(stream)
            await store.aclose()
            assert [event async for event in stream] == []


async def test_what_a_tool_tells_of_its_progress_is_seen() -> None:
    go = asyncio.Event()

    @function_tool(effect="none")
    async def dig(ctx: ToolContext[Any]) -> str:
        """Dig."""
        await go.wait()
        ctx.emit({"meters": 3})
        ctx.emit(object())  # has no JSON form
        return "done"

    agent: Agent[Any, Any] = Agent(name="Clerk", tools=[dig], model=ScriptedModel([call("dig"), "Deep."]))
    async with served(agent) as client:
        run_id = await client.begin("Dig.")
        deltas = []
        async with asyncio.timeout(60):
            async for number, data in events(client, run_id):
                if data["type"] == "ToolsIntended":
                    go.set()
                if not number and data["type"] == "progress":
                    deltas.append(data)
        assert [(data["tool"], data["data"]) for data in deltas] == [("dig", {"meters": 3})]


async def test_instructions_and_the_saved_context_do_not_leave_the_service() -> None:
    codec = ContextCodec(lambda context: "the SECRET of the context", lambda text: text)
    config = RunConfig(context_codec=codec)
    agent: Agent[Any, Any] = Agent(name="Clerk", instructions="Our SECRET price is 3.", model=ScriptedModel(["Hello."]))
    async with served(agent, config=config) as client:
        run_id = await client.begin("Hello.")
        await client.until(run_id, "finished")
        answers = [await client.get(f"/runs/{run_id}{path}") for path in ("", "/events")] + [await client.get("/runs")]
        assert all(answer.status_code == 200 and "SECRET" not in answer.text for answer in answers)
        assert "the SECRET of the context" in b"".join(await client.store.read(run_id)).decode(), "it was saved"


async def test_where_output_is_held_back_for_guardrails_a_reply_shows_no_text() -> None:
    async with served(config=RunConfig(buffer_output=True)) as client:
        run_id = await client.begin()
        await decided(client, run_id)
        await client.until(run_id, "finished")
        replies = [data["items"] for _, data in await all_of(client, run_id) if data["type"] == "ModelReplied"]
        assert [[item["type"] for item in items] for items in replies] == [["call"], []]


async def test_a_question_of_a_nested_agent_says_where_it_is() -> None:
    inner = clerk(*ASKS)
    outer: Agent[Any, Any] = Agent(
        name="Desk", tools=[inner.as_tool("ask_clerk")], model=ScriptedModel([call("ask_clerk", input="size"), "Done."])
    )
    async with served(outer) as client:
        answer = await client.post("/runs", json={"input": "A coffee."})
        run_id = answer.json()["run_id"]
        [waiting] = (await client.until(run_id, "waiting"))["calls"]
        assert len(waiting["path"]) == 1
        body = {"call_id": waiting["call_id"], "path": waiting["path"], "answer": "small"}
        assert (await client.post(f"/runs/{run_id}/answers", json=body)).status_code == 202
        await client.until(run_id, "finished")
        awaited = [data for _, data in await all_of(client, run_id) if data["type"] == "AnswerAwaited"]
        assert [(data["question"], data["path"]) for data in awaited] == [("Which size?", waiting["path"])]
