r"""A chat service: answers are streamed over HTTP as they are written, and each user's conversations are kept and theirs alone.

    pip install 'agentsdk[web,local]' uvicorn && python -m agentsdk.models.local   # a local model; or AGENTSDK_MODEL and a key
    python examples/chat_service.py              # plays two users
    uvicorn --app-dir examples chat_service:app --timeout-graceful-shutdown 5   # serves

    curl -N -H 'authorization: Bearer ada' localhost:8000/chat/ --json \
        '{"id": "trip", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Where is Rome?"}]}]}'
    curl -H 'authorization: Bearer ada' localhost:8000/chat/trip/messages

The stream is that of the Vercel AI SDK, so `useChat` is a page for it. A run outlives its request: where the page is closed, or
this process is killed, it is finished all the same.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

import agentsdk
from agentsdk import Agent, MemoryRunStore, ModelSettings, SQLiteRunStore, Worker
from agentsdk.web import Caller, vercel_app

USERS = {"ada", "bob"}  # yours: sessions, or OAuth

guide = Agent[None, str](
    name="Guide",
    instructions="Answer in one short sentence.",
    model_settings=ModelSettings(temperature=0, max_tokens=60, stop=("\n",)),
)
store = MemoryRunStore() if __name__ == "__main__" else SQLiteRunStore("chats.db")  # played, it begins with nothing


def authenticate(request: Request) -> Caller | None:
    """Who asks. A conversation belongs to a tenant: here each user is one, so that nobody reads another's."""
    user = request.headers.get("authorization", "").removeprefix("Bearer ")
    return Caller(tenant=user, user=user) if user in USERS else None


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """The worker works for as long as the service is up. In the same process, on the same store object, it streams words."""
    worker = Worker(store, agents=[guide])
    working = asyncio.create_task(worker.run())
    yield
    worker.stop()
    await working
    await store.aclose()
    await agentsdk.aclose()


app = Starlette(lifespan=lifespan, routes=[Mount("/chat", vercel_app(store, agents=[guide], authenticate=authenticate))])


async def say(client: httpx.AsyncClient, user: str, chat: str, number: int, text: str) -> None:
    """What a page does: send the user's message, and show the answer while it comes."""
    message = {"id": f"{chat}-{number}", "role": "user", "parts": [{"type": "text", "text": text}]}
    print(f"{user}: {text}\n  guide: ", end="")
    headers, body = {"authorization": f"Bearer {user}"}, {"id": chat, "messages": [message]}
    async with client.stream("POST", "/chat/", headers=headers, json=body) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                part = json.loads(line.removeprefix("data: "))
                print(part["delta"] if part["type"] == "text-delta" else "", end="", flush=True)
    print()


async def main() -> None:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has nothing to wait for
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        await say(client, "ada", "trip", 1, "What is the capital of Italy?")
        await say(client, "ada", "trip", 2, "And of Spain?")
        await say(client, "bob", "trip", 1, "What is the capital of Norway?")
        for user in ("ada", "bob", "eve"):
            kept = await client.get("/chat/trip/messages", headers={"authorization": f"Bearer {user}"})
            print(f"{user} has {len(kept.json())} messages" if kept.is_success else f"{user}: HTTP {kept.status_code}")
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main())
