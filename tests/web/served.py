"""A `web_app` on a real socket, and what the tests of it serve."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.requests import Request

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, Worker, function_tool
from agentsdk.stores import RunStore
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.scripted import Say
from agentsdk.tools import ask_user
from agentsdk.web import Caller, web_app
from agentsdk.workflow import flow, workflow
from tests.asgi_server import listening

TOKENS = {"of ada": Caller("acme", "ada"), "of bob": Caller("acme", "bob"), "of eve": Caller("evil", "eve")}
ADA, BOB, EVE = ({"authorization": token} for token in TOKENS)


def by_token(request: Request) -> Caller | None:
    """The caller whose token the request has."""
    return TOKENS.get(request.headers.get("authorization", ""))


@function_tool(needs_approval=True)
def pay(name: str, amount: int) -> str:
    """Pay somebody."""
    return f"{amount} paid to {name}"


@dataclass
class Order:
    """What a refund is of."""

    id: str
    cents: int


@workflow
async def refund(order: Order) -> str:
    """Ask, and pay back."""
    if not await flow.ask("Refund?", order):
        return "kept"
    return f"{order.cents} paid back"


@workflow
async def parcel(id: str) -> str:
    """Wait until it is somewhere."""
    return f"{id} is in {await flow.wait_for('arrived', str)}"


@workflow
async def nap(seconds: float) -> str:
    """Sleep."""
    await flow.sleep(seconds)
    return "awake"


PAYS: tuple[Say, ...] = (call("pay", name="Ada", amount=3), "Ada has her money.")
ASKS: tuple[Say, ...] = (call("ask_user", question="Which size?", choices=["small", "large"]), "A large one.")


def clerk(*says: Say) -> Agent[Any, Any]:
    """An agent that says these things."""
    return Agent(name="Clerk", tools=[pay, ask_user], model=ScriptedModel(list(says or PAYS)))


class Client(httpx.AsyncClient):
    """A client of the service, and the store behind it."""

    def __init__(self, address: str, store: RunStore, **options: Any) -> None:
        super().__init__(base_url=address, timeout=60, **options)
        self.store = store

    async def begin(self, input: object = "Pay Ada.", headers: Any = None, **more: object) -> str:
        """The id of a run that is begun."""
        answer = await self.post("/runs", json={"agent": "Clerk", "input": input, **more}, headers=headers)
        assert answer.status_code == 201, answer.text
        run_id: str = answer.json()["run_id"]
        return run_id

    async def until(self, run_id: str, status: str) -> dict[str, Any]:
        """The run, once it has the status."""
        async with asyncio.timeout(60):
            while (summary := await self.store.summary(run_id)) is None or summary.status != status:
                await self.store.wait(run_id, 0 if summary is None else summary.rev, timeout=0.1)
        run: dict[str, Any] = (await self.get(f"/runs/{run_id}")).json()
        return run


@asynccontextmanager
async def served(
    *agents: Agent[Any, Any],
    store: RunStore | None = None,
    headers: Any = ADA,
    authenticate: Callable[[Request], Caller | Awaitable[Caller | None] | None] | None = by_token,
    works: bool = True,
    config: RunConfig | None = None,
    **options: Any,
) -> AsyncGenerator[Client, None]:
    """A client, Ada's, of a service of these agents, with a worker beside it if `works`."""
    kept = store or MemoryRunStore()
    of = list(agents) or [clerk(), refund, parcel]
    app = web_app(kept, agents=of, authenticate=authenticate, config=config, **options)
    worker = Worker(kept, agents=of, grace=0.0, config=config)
    working = asyncio.create_task(worker.run()) if works else None
    try:
        async with listening(app) as address, Client(address, kept, headers=headers) as client:
            yield client
    finally:
        worker.stop()
        if working is not None:
            await working
        if store is None:
            await kept.aclose()


async def driven(client: Client, run_id: str, *agents: Agent[Any, Any]) -> None:
    """Drive the run without a worker."""
    await Runner.drive(list(agents), run_id, run_config=RunConfig(store=client.store))
