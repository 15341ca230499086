"""The plain loop in the other protocols: httpx, the same body as the adapters send, encoded again each turn."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar, Protocol

from benchmarks import fake
from benchmarks.contestants.bare import SCHEMAS

Json = dict[str, Any]
Called = tuple[str, str, Json]
"""A call: its id, the tool's name, its arguments."""

FUNCTION = SCHEMAS["add"]["function"]
DESCRIPTION = "Add two numbers."


class Wire(Protocol):
    """A protocol, as a client writes and reads it."""

    headers: ClassVar[dict[str, str]]

    def url(self, base: str, model: str, *, stream: bool) -> str: ...
    def start(self) -> list[Json]: ...
    def body(self, model: str, history: list[Json], *, stream: bool) -> Json: ...
    def read(self, answer: Json, history: list[Json]) -> tuple[list[Called], str]: ...
    def add_results(self, results: list[tuple[Called, str]], history: list[Json]) -> None: ...
    def delta(self, event: Json) -> str: ...


class Responses:
    headers: ClassVar[dict[str, str]] = {"Authorization": "Bearer none"}

    def url(self, base: str, model: str, *, stream: bool) -> str:
        return f"{base}/responses"

    def start(self) -> list[Json]:
        return [{"role": "user", "content": fake.PROMPT}]

    def body(self, model: str, history: list[Json], *, stream: bool) -> Json:
        tools = [{"type": "function", **FUNCTION, "description": DESCRIPTION, "strict": True}]
        fields = {"model": model, "tools": tools, "instructions": fake.INSTRUCTIONS, "stream": stream, "store": False}
        return {**fields, "input": history}

    def read(self, answer: Json, history: list[Json]) -> tuple[list[Called], str]:
        calls: list[Called] = []
        text = ""
        for item in answer["output"]:
            if item["type"] == "function_call":
                calls.append((item["call_id"], item["name"], json.loads(item["arguments"])))
                history.append({name: item[name] for name in ("type", "call_id", "name", "arguments")})
            else:
                text += "".join(part["text"] for part in item["content"])
        return calls, text

    def add_results(self, results: list[tuple[Called, str]], history: list[Json]) -> None:
        history += [{"type": "function_call_output", "call_id": call[0], "output": text} for call, text in results]

    def delta(self, event: Json) -> str:
        return event["delta"] if event["type"] == "response.output_text.delta" else ""


class Anthropic:
    headers: ClassVar[dict[str, str]] = {"x-api-key": "none", "anthropic-version": "2023-06-01"}

    def url(self, base: str, model: str, *, stream: bool) -> str:
        return f"{base}/messages"

    def start(self) -> list[Json]:
        return [{"role": "user", "content": [{"type": "text", "text": fake.PROMPT}]}]

    def body(self, model: str, history: list[Json], *, stream: bool) -> Json:
        tools = [{"name": "add", "description": DESCRIPTION, "input_schema": FUNCTION["parameters"]}]
        fields = {"model": model, "max_tokens": 8192, "stream": stream, "system": fake.INSTRUCTIONS, "tools": tools}
        return {**fields, "messages": history}

    def read(self, answer: Json, history: list[Json]) -> tuple[list[Called], str]:
        blocks = answer["content"]
        history.append({"role": "assistant", "content": blocks})
        calls = [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
        return calls, "".join(block["text"] for block in blocks if block["type"] == "text")

    def add_results(self, results: list[tuple[Called, str]], history: list[Json]) -> None:
        blocks = [{"type": "tool_result", "tool_use_id": call[0], "content": text} for call, text in results]
        history.append({"role": "user", "content": blocks})

    def delta(self, event: Json) -> str:
        return event["delta"].get("text", "") if event["type"] == "content_block_delta" else ""


class Google:
    headers: ClassVar[dict[str, str]] = {"x-goog-api-key": "none"}

    def url(self, base: str, model: str, *, stream: bool) -> str:
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"{base.removesuffix('/v1')}/v1beta/models/{model}:{method}"

    def start(self) -> list[Json]:
        return [{"role": "user", "parts": [{"text": fake.PROMPT}]}]

    def body(self, model: str, history: list[Json], *, stream: bool) -> Json:
        declaration = {"name": "add", "description": DESCRIPTION, "parametersJsonSchema": FUNCTION["parameters"]}
        system = {"parts": [{"text": fake.INSTRUCTIONS}]}
        return {"systemInstruction": system, "tools": [{"functionDeclarations": [declaration]}], "contents": history}

    def read(self, answer: Json, history: list[Json]) -> tuple[list[Called], str]:
        content = answer["candidates"][0]["content"]
        history.append(content)
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        text = "".join(part.get("text", "") for part in content["parts"])
        return [(call["id"], call["name"], call["args"]) for call in calls], text

    def add_results(self, results: list[tuple[Called, str]], history: list[Json]) -> None:
        parts = [{"functionResponse": {"id": call[0], "name": call[1], "response": {"output": text}}} for call, text in results]
        history.append({"role": "user", "parts": parts})

    def delta(self, event: Json) -> str:
        return "".join(part.get("text", "") for part in event["candidates"][0]["content"]["parts"])


WIRES: dict[str, type[Wire]] = {"responses": Responses, "anthropic": Anthropic, "google": Google}


class Loop:
    """The loop over one shared httpx client."""

    def __init__(self, base: str, model: str, protocol: str) -> None:
        import httpx

        self.client = httpx.AsyncClient(timeout=60)
        self.base = base
        self.model = model
        self.wire = WIRES[protocol]()
        self.headers = {"Content-Type": "application/json", **self.wire.headers}

    def request(self, history: list[Json], *, stream: bool) -> dict[str, Any]:
        body = self.wire.body(self.model, history, stream=stream)
        content = json.dumps(body, separators=(",", ":")).encode()
        return {"url": self.wire.url(self.base, self.model, stream=stream), "content": content, "headers": self.headers}

    async def run(self) -> str:
        history = self.wire.start()
        while True:
            response = await self.client.post(**self.request(history, stream=False))
            response.raise_for_status()
            calls, text = self.wire.read(json.loads(response.content), history)
            if not calls:
                return text
            outputs = await asyncio.gather(*(fake.add(**arguments) for _, _, arguments in calls))
            self.wire.add_results(list(zip(calls, outputs, strict=True)), history)

    async def stream(self) -> tuple[int, str]:
        pieces: list[str] = []
        request = self.request(self.wire.start(), stream=True)
        async with self.client.stream("POST", **request) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data: ") and (delta := self.wire.delta(json.loads(line[6:]))):
                    pieces.append(delta)
        return len(pieces), "".join(pieces)
