"""The four protocols as the fake server speaks them: what a request asks for, and a reply of a script, whole or streamed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from benchmarks import fake

Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What a request says, whatever its protocol."""

    model: str
    stream: bool
    tools: bool
    calls: list[str]
    """The ids of the calls in its history."""
    results: list[tuple[str, str]]
    """The id and the text of each result in its history."""


class Dialect(Protocol):
    """A protocol."""

    def read(self, path: str, request: Json) -> Asked:
        """What `request` says."""
        ...

    def whole(self, model: str, reply: fake.Reply) -> Json:
        """The body of an answer in one piece."""
        ...

    def events(self, model: str, reply: fake.Reply, request: Json) -> list[str]:
        """The data of the events of a stream."""
        ...


class Chat:
    """`POST /v1/chat/completions`."""

    USAGE: ClassVar[Json] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}

    def read(self, path: str, request: Json) -> Asked:
        messages = request["messages"]
        calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        results = [(one["tool_call_id"], json.dumps(one["content"])) for one in messages if one["role"] == "tool"]
        return Asked(request["model"], bool(request.get("stream")), bool(request.get("tools")), calls, results)

    def whole(self, model: str, reply: fake.Reply) -> Json:
        message: Json = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [self._call(call) for call in reply.calls]
        choice = {"index": 0, "message": message, "finish_reason": self._finish(reply), "logprobs": None}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model}
        return {**head, "choices": [choice], "usage": self.USAGE}

    def events(self, model: str, reply: fake.Reply, request: Json) -> list[str]:
        deltas: list[Json] = [{"role": "assistant", "content": None if reply.calls else ""}]
        deltas += [{"tool_calls": [{"index": index, **self._call(call)}]} for index, call in enumerate(reply.calls)]
        deltas += [{"content": delta} for delta in reply.deltas]
        choices: list[list[Json]] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
        choices.append([{"index": 0, "delta": {}, "finish_reason": self._finish(reply)}])
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
        chunks: list[Json] = [{**head, "choices": choice} for choice in choices]
        if (request.get("stream_options") or {}).get("include_usage"):
            chunks.append({**head, "choices": [], "usage": self.USAGE})
        return [*map(json.dumps, chunks), "[DONE]"]

    def _call(self, call: fake.Call) -> Json:
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}

    def _finish(self, reply: fake.Reply) -> str:
        return "tool_calls" if reply.calls else "stop"


class Responses:
    """`POST /v1/responses`."""

    USAGE: ClassVar[Json] = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 110,
    }

    def read(self, path: str, request: Json) -> Asked:
        entries = request["input"]
        calls = [entry["call_id"] for entry in entries if entry.get("type") == "function_call"]
        results = [
            (entry["call_id"], json.dumps(entry["output"])) for entry in entries if entry.get("type") == "function_call_output"
        ]
        return Asked(request["model"], bool(request.get("stream")), bool(request.get("tools")), calls, results)

    def whole(self, model: str, reply: fake.Reply) -> Json:
        head = {"id": "resp_1", "object": "response", "created_at": 1, "model": model, "status": "completed", "error": None}
        return {**head, "incomplete_details": None, "output": self._output(reply), "usage": self.USAGE}

    def events(self, model: str, reply: fake.Reply, request: Json) -> list[str]:
        whole = self.whole(model, reply)
        events: list[Json] = [
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
        ]
        for index, item in enumerate(whole["output"]):
            at = {"output_index": index, "item_id": item["id"]}
            empty = {"content": []} if item["type"] == "message" else {"arguments": ""}
            events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, **empty}})
            if item["type"] == "message":
                kind = "response.output_text.delta"
                events += [{"type": kind, **at, "content_index": 0, "delta": delta} for delta in reply.deltas]
            else:
                events.append({"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": whole})
        return [json.dumps({**event, "sequence_number": number}) for number, event in enumerate(events)]

    def _output(self, reply: fake.Reply) -> list[Json]:
        calls: list[Json] = [
            {
                "type": "function_call",
                "id": f"fc_{call.id}",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
                "status": "completed",
            }
            for call in reply.calls
        ]
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        return calls or [message]


class Anthropic:
    """`POST /v1/messages`."""

    USAGE: ClassVar[Json] = {
        "input_tokens": 100,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 10,
    }

    def read(self, path: str, request: Json) -> Asked:
        contents = [message["content"] for message in request["messages"]]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        results = [(one["tool_use_id"], json.dumps(one["content"])) for one in blocks if one["type"] == "tool_result"]
        return Asked(request["model"], bool(request.get("stream")), bool(request.get("tools")), calls, results)

    def whole(self, model: str, reply: fake.Reply) -> Json:
        head = self._head(model)
        return {**head, "content": self._blocks(reply), "stop_reason": self._stop(reply), "usage": self.USAGE}

    def events(self, model: str, reply: fake.Reply, request: Json) -> list[str]:
        start = {**self._head(model), "content": [], "stop_reason": None, "usage": self.USAGE}
        events: list[Json] = [{"type": "message_start", "message": start}]
        for index, block in enumerate(self._blocks(reply)):
            text = block["type"] == "text"
            empty = {"text": ""} if text else {"input": {}}
            events.append({"type": "content_block_start", "index": index, "content_block": {**block, **empty}})
            deltas: list[Json] = [{"type": "text_delta", "text": delta} for delta in reply.deltas]
            if not text:
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
            events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": index})
        delta = {"stop_reason": self._stop(reply), "stop_sequence": None}
        events += [{"type": "message_delta", "delta": delta, "usage": self.USAGE}, {"type": "message_stop"}]
        return [json.dumps(event) for event in events]

    def _head(self, model: str) -> Json:
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "stop_sequence": None}

    def _blocks(self, reply: fake.Reply) -> list[Json]:
        calls: list[Json] = [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)} for call in reply.calls
        ]
        return calls or [{"type": "text", "text": reply.text}]

    def _stop(self, reply: fake.Reply) -> str:
        return "tool_use" if reply.calls else "end_turn"


class Google:
    """`POST /v1beta/models/{model}:generateContent`, the calls signed."""

    USAGE: ClassVar[Json] = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}

    def read(self, path: str, request: Json) -> Asked:
        model, _, method = path.rpartition("/")[2].partition(":")
        parts = [part for content in request["contents"] for part in content["parts"]]
        calls = [part["functionCall"]["id"] for part in parts if "functionCall" in part]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        results = [(answer["id"], json.dumps(answer["response"])) for answer in answers]
        return Asked(model, method.startswith("stream"), bool(request.get("tools")), calls, results)

    def whole(self, model: str, reply: fake.Reply) -> Json:
        calls: list[Json] = [
            {"functionCall": {"id": call.id, "name": call.name, "args": json.loads(call.arguments)}} for call in reply.calls
        ]
        if calls:
            calls[0]["thoughtSignature"] = "c2lnbmF0dXJl"
        return self._chunk(model, calls or [{"text": reply.text}], last=True)

    def events(self, model: str, reply: fake.Reply, request: Json) -> list[str]:
        chunks = [self._chunk(model, [{"text": delta}], last=False) for delta in reply.deltas]
        last = self.whole(model, reply) if reply.calls else self._chunk(model, [{"text": ""}], last=True)
        return [json.dumps(chunk) for chunk in (*chunks, last)]

    def _chunk(self, model: str, parts: list[Json], *, last: bool) -> Json:
        candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if last:
            candidate["finishReason"] = "STOP"
        return {"candidates": [candidate], "usageMetadata": self.USAGE, "modelVersion": model, "responseId": "fake"}


def dialect_of(path: str) -> Dialect:
    """The protocol that has this path."""
    if path.startswith("/v1beta/"):
        return Google()
    return {"/v1/messages": Anthropic, "/v1/responses": Responses}.get(path, Chat)()
