"""Who gets through to the page: hosts, origins, tokens; and what a browser may do with the answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from urllib.parse import quote

import httpx
import pytest

from agentsdk import MemoryRunStore, UserError
from agentsdk.ui import app, serve
from tests.asgi_server import listening
from tests.ui.runs import CONFIG, HOSTILE, clerk, finished, page_of, waiting

pytest.importorskip("starlette", reason="the page needs starlette and uvicorn: pip install 'agentsdk[ui]'")

pytestmark = pytest.mark.anyio

TOKEN = "a token of this test's own"
GOOD = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    store = MemoryRunStore()
    await waiting(store, "r")
    application = app(store, agents=clerk(), token=TOKEN, config=CONFIG)
    async with listening(application) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"authorization": "Bearer another"}, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401),
        ({"authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        ({**GOOD, "host": "evil.example"}, 403),
        ({**GOOD, "host": "127.0.0.1.evil.example:80"}, 403),
        ({**GOOD, "host": "[::1"}, 403),
        ({**GOOD, "origin": "http://evil.example"}, 403),
        ({**GOOD, "origin": "null"}, 403),
        ({**GOOD, "sec-fetch-site": "cross-site"}, 403),
        ({**GOOD, "sec-fetch-site": "same-site"}, 403),
        (GOOD, 200),
        ({**GOOD, "sec-fetch-site": "same-origin"}, 200),
    ],
)
async def test_data_is_for_who_has_the_token_and_asks_for_this_page(
    client: httpx.AsyncClient, headers: dict[str, str], status: int
) -> None:
    answer = await client.get("/api/runs", headers=headers)
    assert answer.status_code == status, answer.text
    assert status == 200 or "r" not in json.dumps(answer.json().get("runs", ""))


async def test_another_host_is_refused_also_for_the_page_itself(client: httpx.AsyncClient) -> None:
    assert (await client.get("/", headers={"host": "evil.example"})).status_code == 403
    assert (await client.get("/static/main.js", headers={"host": "evil.example"})).status_code == 403
    assert (await client.get("/")).status_code == 200


async def test_a_form_of_another_page_does_nothing(client: httpx.AsyncClient) -> None:
    path, body = "/api/runs/r/decide", json.dumps({"call_id": "call_3_1", "action": "approve"})
    for headers in (
        {"content-type": "text/plain"},
        {"content-type": "application/json", "origin": "http://evil.example"},
        {**GOOD, "content-type": "text/plain"},
        {**GOOD, "content-type": "application/json", "origin": "http://evil.example"},
    ):
        assert (await client.post(path, content=body, headers=headers)).status_code in (401, 403, 415)
    assert (await client.get(path, headers=GOOD)).status_code == 405
    assert (await client.get("/api/runs/r", headers=GOOD)).json()["calls"]


async def test_bodies_that_are_too_long_or_no_json_are_refused(client: httpx.AsyncClient) -> None:
    headers = {**GOOD, "content-type": "application/json"}
    for body, status in (
        (b"x" * 2_000_000, 413),
        (b"{", 400),
        (b"[]", 422),
        (b'{"call_id":1,"action":"approve"}', 422),
        (b'{"call_id":"c","action":"approve","by":"somebody"}', 422),
        (b'{"call_id":"c","action":"approve","answer":' + b"[" * 50_000, 400),
    ):
        answer = await client.post("/api/runs/r/decide", content=body, headers=headers)
        assert answer.status_code == status, (body[:40], answer.text)
        assert answer.headers["content-type"] == "application/problem+json"


async def test_a_browser_runs_no_script_but_the_page_s(client: httpx.AsyncClient) -> None:
    for path in ("/", "/static/main.js", "/api/runs", "/nowhere"):
        headers = (await client.get(path, headers=GOOD)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers
    page = (await client.get("/")).text
    assert "onclick" not in page and "style=" not in page and "<script>" not in page


@pytest.mark.parametrize(
    "path", ["/static/../service.py", "/static/%2e%2e/service.py", "/static//etc/passwd", "/static/..%2fguard.py"]
)
async def test_nothing_but_the_page_s_files_is_served(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path, headers=GOOD)).status_code in (401, 404)


async def test_ids_and_texts_of_any_kind_are_data() -> None:
    store = MemoryRunStore()
    ids = ["a/b", "../x", "<script>", "a?b#c", "\u202e", " ", "%2F", "\n"]
    for run_id in ids:
        await finished(store, run_id, note=HOSTILE.replace("\x00", ""))
    async with page_of(store) as (_, client):
        listed = (await client.get("runs?limit=50")).json()["runs"]
        assert {run["run_id"] for run in listed} == {*ids}
        for run_id in ids:
            answer = await client.get(f"runs/{quote(run_id, safe='')}")
            assert answer.status_code == 200 and answer.json()["run"]["run_id"] == run_id, run_id
            assert answer.headers["content-type"] == "application/json"


async def test_a_stream_that_nobody_reads_and_one_that_is_left_hold_nothing_up() -> None:
    store = MemoryRunStore()
    await waiting(store, "r")
    async with page_of(store, agents=clerk()) as (_, client):
        for _ in range(20):
            async with client.stream("GET", "runs/r/events?after=0") as response:
                assert response.status_code == 200  # and left, unread
        silent = client.build_request("GET", "runs/r/events?after=0")
        left = await client.send(silent, stream=True)
        answer = await client.post("runs/r/decide", json={"call_id": "call_3_1", "action": "approve"})
        assert answer.status_code == 202
        while (run := await store.summary("r")) is None or run.status != "finished":
            await store.wait("r", 0 if run is None else run.rev, 0.2)
        await left.aclose()
        assert (await client.get("runs/r/events?after=99999")).status_code == 422


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"token": "short"}, "16 printable"),
        ({"hosts": "localhost"}, "list or tuple"),
        ({"config": {}}, "a RunConfig"),
        ({"evals": [1]}, "EvalReport"),
        ({"agents": []}, "registry is empty"),
    ],
)
def test_what_it_is_given_is_checked(given: dict[str, object], says: str) -> None:
    with pytest.raises(UserError, match=says):
        app(MemoryRunStore(), **given)  # type: ignore[arg-type]


async def test_it_serves_this_machine_until_it_is_cancelled_and_says_where() -> None:
    said: asyncio.Queue[str] = asyncio.Queue()
    store = MemoryRunStore()
    await waiting(store, "r")
    serving = asyncio.create_task(serve(store, say=said.put_nowait))
    url = await said.get()
    base, _, token = url.partition("/#token=")
    assert base.startswith("http://127.0.0.1:") and len(token) >= 16
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{base}/api/runs", headers={"authorization": f"Bearer {token}"})
        assert [run["run_id"] for run in answer.json()["runs"]] == ["r"]
    serving.cancel()
    await asyncio.wait((serving,))
