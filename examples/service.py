"""A web service of durable runs: a front page, an API, a worker in the same process, and a store that outlives them.

    pip install 'agentsdk[web]' uvicorn
    uvicorn --app-dir examples service:app --timeout-graceful-shutdown 5

http://localhost:8000 is the page; "ada" is a token it takes. SIGTERM and kill -9 the service as you like: nothing is lost.
The API:

    curl -H 'authorization: Bearer ada' -H 'idempotency-key: 7' localhost:8000/api/runs --json '{"input": "Send invoice 7."}'
    curl -H 'authorization: Bearer ada' localhost:8000/api/runs
    curl localhost:8000/api/openapi.json

To have more machines do the work: PostgresRunStore or RedisRunStore, and on each
`python -m agentsdk worker service:agents --store ...`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from agentsdk import Agent, ModelSettings, RunConfig, SQLiteRunStore, Worker, aclose, function_tool
from agentsdk.web import Caller, web_app

USERS = {"ada": Caller("acme", "ada"), "bob": Caller("acme", "bob"), "eve": Caller("evil", "eve")}  # yours: sessions, or OAuth
PAGE = Path(__file__).parent / "service_page"


@function_tool(needs_approval=True)
def send_invoice(number: int) -> str:
    """Send an invoice."""
    with open("sent.txt", "a") as sent:
        sent.write(f"invoice {number}\n")
    return f"Invoice {number} is sent."


clerk = Agent[None, str](
    name="Clerk",
    tools=[send_invoice],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="send_invoice", temperature=0, max_tokens=60),
)
agents = [clerk]
store = SQLiteRunStore(os.environ.get("SERVICE_STORE", "runs.db"))
config = RunConfig(store=store, lease=float(os.environ.get("SERVICE_LEASE", "30")))


def caller(request: Request) -> Caller | None:
    """Who makes a request: by the cookie of the page, which no script can read, or by a token."""
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    return USERS.get(token or request.cookies.get("token", ""))


async def sign_in(request: Request) -> Response:
    """Give the page its cookie."""
    token = (await request.json()).get("token")
    answer = Response(status_code=204 if token in USERS else 401)
    if token in USERS:
        answer.set_cookie("token", token, httponly=True, samesite="strict")
    return answer


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
    """The worker works for as long as the service is up; then it hands its runs back."""
    worker = Worker(store, agents=agents, config=config, grace=5.0)
    working = asyncio.create_task(worker.run())
    yield
    worker.stop()
    with suppress(asyncio.CancelledError):
        await working
    await store.aclose()
    await aclose()


app = Starlette(
    lifespan=lifespan,
    routes=[
        Mount("/api", web_app(store, agents=agents, authenticate=caller, config=config)),
        Route("/sign-in", sign_in, methods=["POST"]),
        Mount("/", StaticFiles(directory=PAGE, html=True)),
    ],
)
