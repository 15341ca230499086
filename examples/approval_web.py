r"""Approval by web: a run waits for a person, who approves on a page or over HTTP; the service may be killed meanwhile.

    pip install 'agentsdk[ui,local]' && python -m agentsdk.models.local   # a model on this machine; or AGENTSDK_MODEL and a key
    python examples/approval_web.py              # plays it: asks, kills the service while it waits, starts it, approves
    uvicorn --app-dir examples approval_web:app  # serves; http://localhost:8000/runs/#token=change-me-change-me is the page

    curl -H 'authorization: Bearer shop' -H 'idempotency-key: 1815' \
        localhost:8000/api/runs --json '{"input": "Refund order 1815."}'
    curl -H 'authorization: Bearer shop' localhost:8000/api/runs
    curl -H 'authorization: Bearer ann' localhost:8000/api/runs/RUN/decisions --json '{"call_id": "CALL", "action": "approve"}'

A person needs one of the two only. Whatever waits is in the store, and in no process.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

import agentsdk
from agentsdk import Agent, ModelSettings, SQLiteRunStore, Worker, function_tool, ui
from agentsdk.web import Caller, web_app

KEYS = {  # yours: sessions, or OAuth
    "shop": Caller("acme", "the shop", may_decide=False),
    "ann": Caller("acme", "ann"),  # a manager
}


@function_tool(needs_approval=True)  # effect="once": a call that was cut in the middle is never run again by itself
def refund(order: int) -> str:
    """Pay an order back."""
    return f"Order {order} is paid back."


# The call is forced because a small model would often rather talk, and what the tool returns is the answer.
clerk = Agent[None, str](
    name="Clerk",
    tools=[refund],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="refund", temperature=0, max_tokens=60),
)
store = SQLiteRunStore("runs.db")


def authenticate(request: Request) -> Caller | None:
    """Who asks; None refuses them. Only managers decide, and a run's log says who it was."""
    return KEYS.get(request.headers.get("authorization", "").removeprefix("Bearer "))


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """The worker works for as long as the service is up, and hands back what it has when it stops."""
    worker = Worker(store, agents=[clerk])
    working = asyncio.create_task(worker.run())
    yield
    worker.stop()
    await working
    await store.aclose()
    await agentsdk.aclose()


api = web_app(store, agents=[clerk], authenticate=authenticate)
page = ui.app(store, agents=[clerk], token=os.environ.get("PAGE_TOKEN", "change-me-change-me"))
app = Starlette(lifespan=lifespan, routes=[Mount("/api", api), Mount("/runs", page)])


def serve(port: int) -> subprocess.Popen[bytes]:
    """The service as a process of its own."""
    command = ["-m", "uvicorn", "--app-dir", str(Path(__file__).parent), "approval_web:app", "--log-level", "warning"]
    return subprocess.Popen([sys.executable, *command, "--port", str(port)])


async def until(client: httpx.AsyncClient, path: str, status: str = "") -> dict[str, Any]:
    """What the service says there, once it is up, and the run has this status."""
    while True:
        try:
            said: dict[str, Any] = (await client.get(path)).json()
            if not status or said["status"] == status:
                return said
        except httpx.TransportError:
            pass  # it is not up yet
        await asyncio.sleep(0.1)


async def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    first = serve(port)
    headers = {"authorization": "Bearer shop", "idempotency-key": "1815"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/api", headers=headers, timeout=60) as client:
        await until(client, "/health")
        run_id = (await client.post("/runs", json={"input": "Refund order 1815."})).json()["run_id"]
        (call,) = (await until(client, f"/runs/{run_id}", "waiting"))["calls"]
        print(f"waits:    {call['tool']}({call['arguments']})")
        first.kill()
        print(f"killed:   the service, exit code {first.wait()}")
        second = serve(port)
        await until(client, f"/runs/{run_id}", "waiting")
        decision = {"call_id": call["call_id"], "action": "approve"}
        for who in ("shop", "ann", "ann"):
            client.headers["authorization"] = f"Bearer {who}"
            said = await client.post(f"/runs/{run_id}/decisions", json=decision)
            print(f"approved: by {who}, HTTP {said.status_code}")
        print(f"finished: {(await until(client, f'/runs/{run_id}', 'finished'))['output']}")
    second.terminate()
    second.wait()


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # played in a new folder, with an empty store
    asyncio.run(main())
