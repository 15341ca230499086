"""The limit: the same work by a plain asyncio loop. Over HTTP it is plain httpx, the whole body encoded again each turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks import fake

SHARED = True
NO_PAUSE = ""

Message = dict[str, Any]


def _schema(name: str, **properties: str) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(properties),
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


SCHEMAS = {"add": _schema("add", a="integer", b="integer"), "publish": _schema("publish", title="string")}


@dataclass
class Agent:
    ask: Callable[[list[Message], list[Any]], Awaitable[Message]]
    ask_streamed: Callable[[list[Message], list[Any]], AsyncIterator[str]]
    tools: dict[str, Callable[..., Awaitable[str]]]
    gated: frozenset[str]
    schemas: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.schemas = [SCHEMAS[name] for name in self.tools]


def make_agent(url: str | None, script: str, *, gated: bool = False, protocol: str = "chat") -> Any:
    if url is not None and protocol != "chat":
        from benchmarks.contestants.bare_protocols import Loop

        return Loop(url, script, protocol)
    if url is None:
        ask, ask_streamed = fake_model, fake_model_streamed
    else:
        model = HttpModel(url, script)
        ask, ask_streamed = model.ask, model.ask_streamed
    tools: dict[str, Callable[..., Awaitable[str]]] = {"add": fake.add}
    if gated:
        tools["publish"] = fake.publish
    return Agent(ask, ask_streamed, tools, frozenset({"publish"}))


async def run(agent: Any) -> str:
    if not isinstance(agent, Agent):
        return await agent.run()
    return (await proceed(agent, start()))[-1]["content"]


async def stream(agent: Any) -> tuple[int, str]:
    if not isinstance(agent, Agent):
        return await agent.stream()
    pieces: list[str] = []
    async for delta in agent.ask_streamed(start(), agent.schemas):
        pieces.append(delta)
    return len(pieces), "".join(pieces)


async def pause(agent: Agent) -> list[Message]:
    return await proceed(agent, start())


def dump(paused: list[Message]) -> bytes:
    return json.dumps(paused).encode()


async def load(agent: Agent, data: bytes) -> list[Message]:
    return json.loads(data)


async def resume(agent: Agent, loaded: list[Message]) -> str:
    await call_tools(agent, loaded)
    return (await proceed(agent, loaded))[-1]["content"]


def start() -> list[Message]:
    return [{"role": "system", "content": fake.INSTRUCTIONS}, {"role": "user", "content": fake.PROMPT}]


async def proceed(agent: Agent, messages: list[Message]) -> list[Message]:
    """The loop: until the model calls no tool, or one that needs an approval."""
    while True:
        message = await agent.ask(messages, agent.schemas)
        messages.append(message)
        calls = message.get("tool_calls")
        if not calls or any(call["function"]["name"] in agent.gated for call in calls):
            return messages
        await call_tools(agent, messages)


async def call_tools(agent: Agent, messages: list[Message]) -> None:
    messages.extend(await asyncio.gather(*(call_tool(agent, call) for call in messages[-1]["tool_calls"])))


async def call_tool(agent: Agent, call: dict[str, Any]) -> Message:
    function = call["function"]
    result = await agent.tools[function["name"]](**json.loads(function["arguments"]))
    return {"role": "tool", "tool_call_id": call["id"], "content": result}


async def fake_model(messages: list[Message], tools: list[Any]) -> Message:
    reply = await fake.answer()
    if not reply.calls:
        return {"role": "assistant", "content": reply.text}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reply.calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


async def fake_model_streamed(messages: list[Message], tools: list[Any]) -> AsyncIterator[str]:
    for delta in (await fake.answer()).deltas:
        yield delta


class HttpModel:
    """Chat completions over one shared httpx client."""

    def __init__(self, url: str, model: str) -> None:
        import httpx

        self.client = httpx.AsyncClient(timeout=60)
        self.url = f"{url}/chat/completions"
        self.model = model

    def body(self, messages: list[Message], tools: list[Any], *, stream: bool) -> bytes:
        return json.dumps({"model": self.model, "messages": messages, "tools": tools, "stream": stream}).encode()

    async def ask(self, messages: list[Message], tools: list[Any]) -> Message:
        response = await self.client.post(self.url, content=self.body(messages, tools, stream=False), headers=HEADERS)
        response.raise_for_status()
        return json.loads(response.content)["choices"][0]["message"]

    async def ask_streamed(self, messages: list[Message], tools: list[Any]) -> AsyncIterator[str]:
        body = self.body(messages, tools, stream=True)
        async with self.client.stream("POST", self.url, content=body, headers=HEADERS) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    for choice in json.loads(line[6:])["choices"]:
                        if delta := choice["delta"].get("content"):
                            yield delta


HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer none"}
