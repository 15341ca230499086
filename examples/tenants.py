"""Several customers on one service: none sees another's runs, and each has a limit on cost over all of theirs.

    pip install 'agentsdk[web,local]' uvicorn && python -m agentsdk.models.local   # a local model; or AGENTSDK_MODEL and a key
    python examples/tenants.py                   # plays two customers, of whom one comes to its limit
    uvicorn --app-dir examples tenants:app       # serves

    curl -H 'authorization: Bearer bolt-key' localhost:8000/runs --json '{"input": "What is a lease?"}'

The store of a service outlives it: begin each budget with what is left then (see `budget_of`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import Decimal

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

import agentsdk
from agentsdk import (
    Agent,
    MemoryRunStore,
    ModelPrice,
    ModelSettings,
    RunConfig,
    RunQuery,
    RunSummary,
    SQLiteRunStore,
    Worker,
    shared_limits,
)
from agentsdk.limits import Budget
from agentsdk.web import Caller, web_app

KEYS = {"acme-key": Caller("acme", "ann"), "bolt-key": Caller("bolt", "bob")}  # yours: a table of hashed keys, or OAuth
DOLLARS = {"acme": Decimal("0.01"), "bolt": Decimal("1.00")}  # what a customer may spend

clerk = Agent[None, str](
    name="Clerk",
    instructions="Answer in one short sentence.",
    model_settings=ModelSettings(temperature=0, max_tokens=150, stop=("\n",)),
)
# A model whose price is in the lists of 'agentsdk[prices]' needs none here. The local one costs nothing; here it does.
PRICE = ModelPrice(input="20", output="60")
MODEL = os.environ.get("AGENTSDK_MODEL") or "smollm2"
config = RunConfig(prices={MODEL.rpartition(":")[2]: PRICE})
store = MemoryRunStore() if __name__ == "__main__" else SQLiteRunStore("runs.db")  # played, it begins with nothing
budgets: dict[str, Budget] = {}


def authenticate(request: Request) -> Caller | None:
    """Who asks: everything of a run follows from this."""
    return KEYS.get(request.headers.get("authorization", "").removeprefix("Bearer "))


async def budget_of(run: RunSummary) -> Budget:
    """The budget of the customer whose run it is: what earlier runs in the store have left of it."""
    tenant = run.metadata["web.tenant"]
    if tenant not in budgets:
        runs = await store.list(RunQuery(metadata={"web.tenant": tenant}, limit=1000))
        spent = sum((one.cost or Decimal(0) for one in runs), Decimal(0))
        if tenant not in budgets:  # no other run has made it meanwhile
            with shared_limits(cost=max(DOLLARS[tenant] - spent, Decimal(0))) as budgets[tenant]:
                pass
    return budgets[tenant]


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """The worker works for as long as the service is up."""
    worker = Worker(store, agents=[clerk], config=config, budget=budget_of)
    working = asyncio.create_task(worker.run())
    yield
    worker.stop()
    await working
    await store.aclose()
    await agentsdk.aclose()


app = Starlette(
    lifespan=lifespan, routes=[Mount("/", web_app(store, agents=[clerk], authenticate=authenticate, config=config))]
)


async def ask(client: httpx.AsyncClient, key: str, question: str) -> str:
    """Begin a run as a customer, and wait for its end; its id."""
    client.headers["authorization"] = f"Bearer {key}"
    run_id: str = (await client.post("/runs", json={"input": question})).json()["run_id"]
    while (run := (await client.get(f"/runs/{run_id}")).json())["status"] not in ("finished", "failed"):
        await store.wait(run_id, run["revision"], timeout=1)
    print(f"{KEYS[key].tenant}: {run['status']}: {run.get('output') or run['reason']}")
    return run_id


async def main() -> None:
    transport = httpx.ASGITransport(app)
    async with lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        first = await ask(client, "acme-key", "What is a lease?")
        await ask(client, "acme-key", "And who signs it?")
        await ask(client, "bolt-key", "What is an invoice?")
        print(f"bolt asks for acme's run: {(await client.get(f'/runs/{first}')).json()['detail']}")
        for tenant, budget in budgets.items():
            print(f"{tenant} has spent {budget.spent.cost:.4f} of {DOLLARS[tenant]} dollars")


if __name__ == "__main__":
    asyncio.run(main())
