"""A web service of durable runs: HTTP in front, a worker in the same process, and a store that outlives both.

    pip install starlette uvicorn
    uvicorn --app-dir examples service:app          # SIGTERM and kill -9 it as you like: nothing is lost
    curl -X POST localhost:8000/runs/invoice-7 -d '{"input": "Please send invoice 7.", "user": "ada"}'
    curl localhost:8000/runs/invoice-7
    curl -N localhost:8000/runs/invoice-7/events

To have more machines do the work: PostgresRunStore or RedisRunStore, and on each
`python -m agentsdk worker service:agents --store ...`.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agentsdk import (
    Agent,
    ModelSettings,
    RunConfig,
    RunConflictError,
    Runner,
    RunNotFoundError,
    RunQuery,
    RunSummary,
    SQLiteRunStore,
    UserError,
    Worker,
    aclose,
    function_tool,
)
from agentsdk.events import RecordedEvent
from agentsdk.runs import Decision

LEASE = float(os.environ.get("SERVICE_LEASE", "30"))


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
config = RunConfig(store=store, lease=LEASE)


def shown(run: RunSummary) -> dict[str, Any]:
    """What a client sees of a run."""
    return {
        "run_id": run.run_id,
        "status": run.status,
        "waiting": run.waiting,
        "reason": run.reason,
        "turns": run.turns,
        "revision": run.rev,
    }


async def submit(request: Request) -> Response:
    """Put a run in; the client chooses its id, so that it may send the request again."""
    given = await request.json()
    run_id = request.path_params["run_id"]
    await Runner.submit(clerk, given["input"], run_id=run_id, run_config=config)
    return JSONResponse({"run_id": run_id}, status_code=202)


async def list_runs(request: Request) -> Response:
    """A page of the runs, the latest first."""
    status: Any = request.query_params.get("status")
    page = await store.list(RunQuery(status=status, after=request.query_params.get("after"), limit=50))
    return JSONResponse({"runs": [shown(run) for run in page], "after": page[-1].cursor if page else None})


async def show_run(request: Request) -> Response:
    """Where a run stands, the calls that wait for a person, and its answer."""
    run_id = request.path_params["run_id"]
    summary = await store.summary(run_id)
    if summary is None:
        raise RunNotFoundError(f"there is no run {run_id!r}")
    state = await Runner.load(run_id, run_config=config)
    calls = [{"call_id": item.call_id, "tool": item.tool_name, "arguments": item.arguments} for item in state.interruptions]
    ended = state.value.ended
    return JSONResponse({**shown(summary), "calls": calls, "output": None if ended is None else ended.output})


async def events(request: Request) -> Response:
    """What happens in a run, as server-sent events; a client that reconnects goes on where it was cut off."""
    after = int(request.headers.get("last-event-id", request.query_params.get("after", "0")))
    watching = Runner.watch(request.path_params["run_id"], run_config=config, after=after)

    async def lines() -> AsyncIterator[str]:
        async for event in watching:
            if isinstance(event, RecordedEvent):
                data = {"event": type(event.event).__name__, "path": list(event.path)}
                yield f"id: {event.revision}\ndata: {json.dumps(data)}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


async def decide(request: Request) -> Response:
    """A person's word on a call that waits."""
    given = await request.json()
    await Runner.decide(request.path_params["run_id"], Decision(**given), run_config=config)
    return Response(status_code=204)


async def refused(request: Request, error: Exception) -> Response:
    """A typed error as a status code."""
    code = 404 if isinstance(error, RunNotFoundError) else 409 if isinstance(error, RunConflictError) else 400
    return JSONResponse({"error": str(error)}, status_code=code)


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
        Route("/runs", list_runs),
        Route("/runs/{run_id}", submit, methods=["POST"]),
        Route("/runs/{run_id}", show_run),
        Route("/runs/{run_id}/events", events),
        Route("/runs/{run_id}/decisions", decide, methods=["POST"]),
    ],
    exception_handlers={UserError: refused, RunNotFoundError: refused, RunConflictError: refused},
)
