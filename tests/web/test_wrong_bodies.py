"""Whatever is sent in a field of a body or a query: it is taken, or it is a problem of the client's. Never a 500."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from agentsdk import RunConfig, SQLiteRunStore
from agentsdk.web import WebLimits
from tests.web.served import clerk, driven, parcel, refund, served

pytestmark = pytest.mark.anyio

WRONG: list[Any] = [
    None,
    True,
    0,
    -1,
    2**63,
    10**400,
    1e308,
    "",
    "\0",
    "\ud800",
    "x" * 100_000,
    "../../etc/passwd",
    [],
    [None],
    [{}],
    [{"role": "user"}],
    [{"role": "user", "content": [{"type": "input_image", "image_url": "file:///etc/passwd"}]}],
    {},
    {"\ud800": 1},
    {"type": "function_call_output", "call_id": "x", "output": "x"},
]
BODIES: dict[str, dict[str, Any]] = {
    "": {"input": "Hello.", "agent": "Clerk", "at": None},
    "/decisions": {
        "call_id": "call_1_1",
        "action": "approve",
        "path": [],
        "result": "",
        "reason": "",
        "always": False,
        "expires_at": None,
        "answer": None,
        "arguments": None,
    },
    "/answers": {"call_id": "call_1_1", "answer": 1, "path": []},
    "/messages": {"message": "hello"},
    "/signals": {"name": "arrived", "data": 1},
    "/pause": {"reason": ""},
    "/cancel": {"mode": "now", "reason": ""},
    "/fork": {"at": None},
}
QUERIES = ["status", "agent", "started_after", "started_before", "limit", "after"]


def texts(value: Any) -> bytes:
    """The value as JSON, lone surrogates and all."""
    return json.dumps(value).encode()


async def test_no_value_of_a_field_is_a_fault_of_the_service(tmp_path: Path) -> None:
    limits = WebLimits(requests_per_second=1e6, request_burst=100_000)
    store = SQLiteRunStore(tmp_path / "runs.db", synchronous="NORMAL")
    async with served(clerk(), refund, parcel, store=store, works=False, limits=limits, config=RunConfig()) as client:
        waiting = await client.begin()
        await driven(client, waiting, clerk())
        asked: list[tuple[str, bytes]] = [("/runs", texts(value)) for value in WRONG]
        for route, body in BODIES.items():
            path = f"/runs/{waiting}{route}" if route else "/runs"
            asked += [(path, texts({**body, field: value})) for field in body for value in WRONG]
        asked += [
            (f"/runs?{name}={quote(str(value)[:2_000], errors='surrogatepass')}", b"") for name in QUERIES for value in WRONG
        ]

        async def ask(path: str, body: bytes) -> None:
            headers = {"content-type": "application/json"}
            answer = await (client.post(path, content=body, headers=headers) if body else client.get(path))
            assert answer.status_code < 500, (path, body[:200], answer.text)
            assert answer.status_code < 400 or answer.headers["content-type"] == "application/problem+json", (path, body[:200])

        for first in range(0, len(asked), 50):
            await asyncio.gather(*[ask(*each) for each in asked[first : first + 50]])
    await store.aclose()
