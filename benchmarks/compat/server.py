"""A server that speaks OpenAI's two APIs and makes up its replies: a call of each tool once, then text or JSON that fits."""

from __future__ import annotations

import json
import random
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from agentsdk.testing.example_values import example_of

_TEXT = "This is the answer of the model."
_ids = count(1)


def _example(schema: Any) -> str:
    if not schema:
        return "{}"
    try:
        return json.dumps(example_of(schema, random.Random(7), "a tool"))
    except Exception:
        return "{}"


def _chosen(tools: list[dict[str, Any]], entries: list[Any], choice: object) -> dict[str, Any] | None:
    """The tool that is called now: one that has not been, in a conversation that has few calls."""
    if choice == "none":
        return None
    called = [entry for entry in entries if isinstance(entry, dict) and str(entry.get("type", "")).endswith("_call")]
    called += [call for entry in entries if isinstance(entry, dict) for call in entry.get("tool_calls") or []]
    names = {str(one.get("name") or one.get("function", {}).get("name") or one.get("type")) for one in called}
    functions = [tool for tool in tools if tool.get("name") and tool.get("type", "function") == "function"]
    left = [tool for tool in functions if tool["name"] not in names]
    return left[0] if left and len(called) < 3 else None


def _said(text_format: Any) -> str:
    schema = (text_format or {}).get("schema")
    return _example(schema) if schema else _TEXT


def responses_output(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of a reply of the Responses API."""
    given = body.get("input")
    entries = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
    number = next(_ids)
    tool = _chosen(body.get("tools") or [], entries, body.get("tool_choice"))
    if tool is not None:
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed"}
        return [{**call, "name": tool["name"], "arguments": _example(tool.get("parameters"))}]
    text = _said((body.get("text") or {}).get("format"))
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
    shell = any(tool.get("type") == "shell" and tool.get("environment") for tool in body.get("tools") or [])
    return [*(_in_container(number) if shell else []), {**message, "content": [part]}]


def _in_container(number: int) -> list[dict[str, Any]]:
    """A command that the provider has run itself, and what it printed."""
    known = {"call_id": f"call_{number}", "status": "completed"}
    where = {"type": "container_reference", "container_id": "cntr_1"}
    call = {"type": "shell_call", "id": f"sh_{number}", **known, "environment": where, "action": {"commands": ["ls"]}}
    printed = [{"stdout": "totals.csv", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    return [call, {"type": "shell_call_output", "id": f"sho_{number}", **known, "output": printed, "max_output_length": 100}]


def _response(body: dict[str, Any], output: list[dict[str, Any]], status: str) -> dict[str, Any]:
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"resp_{next(_ids)}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": body.get("model") or "gpt-4.1",
        "output": output,
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def responses_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a streamed reply."""
    output = responses_output(body)
    events: list[dict[str, Any]] = [{"type": "response.created", "response": _response(body, [], "in_progress")}]
    for at, item in enumerate(output):
        place = {"output_index": at, "item_id": item["id"]}
        if item["type"] == "message":
            text = item["content"][0]["text"]
            events.append({"type": "response.output_item.added", "output_index": at, "item": {**item, "content": []}})
            for piece in re.findall(r".{1,12}", text, re.DOTALL):
                events.append(
                    {"type": "response.output_text.delta", "content_index": 0, "delta": piece, "logprobs": [], **place}
                )
        elif item["type"] == "function_call":
            events.append({"type": "response.output_item.added", "output_index": at, "item": {**item, "arguments": ""}})
            for piece in re.findall(r".{1,12}", item["arguments"], re.DOTALL):
                events.append({"type": "response.function_call_arguments.delta", "delta": piece, **place})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": _response(body, output, "completed")})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def chat_message(body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The message of a chat completion, and why it ends."""
    tools = [{**tool.get("function", {}), "type": "function"} for tool in body.get("tools") or []]
    tool = _chosen(tools, body.get("messages") or [], body.get("tool_choice"))
    if tool is not None:
        function = {"name": tool["name"], "arguments": _example(tool.get("parameters"))}
        call = {"id": f"call_{next(_ids)}", "type": "function", "function": function, "index": 0}
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    return {"role": "assistant", "content": _example(schema) if schema else _TEXT}, "stop"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _json(self, data: Any) -> None:
        raw = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _events(self, events: list[dict[str, Any]], *, named: bool) -> None:
        lines = [(f"event: {one['type']}\n" if named else "") + f"data: {json.dumps(one)}\n\n" for one in events]
        raw = ("".join(lines) + ("" if named else "data: [DONE]\n\n")).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [], "has_more": False, "first_id": None, "last_id": None})

    def do_DELETE(self) -> None:
        self._json({"id": "x", "object": "deleted", "deleted": True})

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(size)
        try:
            body: dict[str, Any] = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        if self.path.endswith("/chat/completions"):
            message, why = chat_message(body)
            base = {"id": f"chatcmpl_{next(_ids)}", "created": 1, "model": body.get("model", "m")}
            usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
            if body.get("stream"):
                chunk = {**base, "object": "chat.completion.chunk"}
                self._events(
                    [
                        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": why}]},
                        {**chunk, "choices": [], "usage": usage},
                    ],
                    named=False,
                )
            else:
                choice = {"index": 0, "message": message, "finish_reason": why, "logprobs": None}
                self._json({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        elif self.path.endswith("/responses"):
            if body.get("stream"):
                self._events(responses_events(body), named=True)
            else:
                self._json(_response(body, responses_output(body), "completed"))
        elif self.path.endswith("/responses/compact"):
            self._json({"id": "resp_c", "object": "response.compaction", "created_at": 1, "output": [], "usage": None})
        else:
            self._json({"id": f"conv_{next(_ids)}", "object": "conversation", "created_at": 1, "metadata": {}, "data": []})


def serve() -> tuple[ThreadingHTTPServer, str]:
    """Begin to serve on a port of this machine: the server, and its address as `OPENAI_BASE_URL` has it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, name="fake openai", daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}/v1"


def main() -> None:
    """Serve until stdin is closed; the address is on stdout."""
    server, address = serve()
    print(address, flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
