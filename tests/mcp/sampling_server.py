"""A server of raw JSON-RPC over stdio that asks for its client's model: `python sampling_server.py [handshake|modern] [early]`.

Its tool `sample` asks `times` times, with `params` in place of its own; in the modern era a `person` too. What it answers are
the answers, a line each. `abilities` answers what the client says that it can do. With `early` it asks before it lists its
tools, and describes them by the answer.
"""

from __future__ import annotations

import json
import sys
from typing import Any

ERA = sys.argv[1]
MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"} if ERA == "modern" else {}
TYPES = {"times": "integer", "person": "boolean", "params": "object"}
SCHEMA = {"type": "object", "properties": {name: {"type": kind} for name, kind in TYPES.items()}}
abilities: dict[str, Any] = {}
waiting: dict[str, tuple[object, int, list[str], dict[str, Any]]] = {}


def send(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def request(arguments: dict[str, Any]) -> dict[str, Any]:
    messages = [{"role": "user", "content": {"type": "text", "text": "What is it?"}}]
    return {
        "method": "sampling/createMessage",
        "params": {"messages": messages, "maxTokens": 50, **arguments.get("params", {})},
    }


def line(answer: dict[str, Any]) -> str:
    if "error" in answer:
        return f"error {answer['error']['code']}: {answer['error']['message']}"
    result = answer["result"]
    return f"{result['content']['text']} ({result['model']}, {result['stopReason']})"


def finish(number: object, lines: list[str]) -> None:
    send({"id": number, "result": {"content": [{"type": "text", "text": "\n".join(lines)}], **MODERN}})


def ask(call: object, left: int, lines: list[str], arguments: dict[str, Any]) -> None:
    """Ask over the open connection, one after the other."""
    if not left:
        return finish(call, lines)
    waiting[f"{call}-{left}"] = call, left, lines, arguments
    send({"id": f"{call}-{left}", **request(arguments)})


def called(number: object, params: dict[str, Any]) -> None:
    arguments = params.get("arguments", {})
    times = arguments.get("times", 1)
    if params["name"] == "abilities":
        shown = abilities or next((value for key, value in params["_meta"].items() if key.endswith("clientCapabilities")), {})
        return finish(number, [json.dumps(shown)])
    if ERA == "handshake":
        return ask(number, times, [], arguments)
    given = params.get("inputResponses")
    if given is None:
        wanted = {f"s{at}": request(arguments) for at in range(times)}
        if arguments.get("person"):
            form = {"type": "object", "properties": {"name": {"type": "string"}}}
            wanted["who"] = {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": "Who?", "requestedSchema": form},
            }
        return send({"id": number, "result": {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"}})
    lines = [line({"result": answer}) for key, answer in given.items() if key != "who"]
    finish(number, [*lines, *([json.dumps(given["who"]["content"])] if "who" in given else [])])


def list_tools(number: object, description: str) -> None:
    more = {"description": description, "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
    send({"id": number, "result": {"tools": [{"name": name, **more} for name in ("sample", "abilities")], **MODERN}})


def answered(message: dict[str, Any]) -> None:
    number, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if method == "server/discover" and ERA == "modern":
        send({"id": number, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **MODERN}})
    elif method == "initialize" and ERA == "handshake":
        abilities.update(params["capabilities"])
        info = {"serverInfo": {"name": "samples", "version": "1"}, "capabilities": {"tools": {}}}
        send({"id": number, "result": {"protocolVersion": "2025-11-25", **info}})
    elif method == "tools/list":
        if "early" in sys.argv:
            waiting["early"] = number, 0, [], {}
            return send({"id": "early", **request({})})
        list_tools(number, "")
    elif method == "tools/call":
        called(number, params)
    elif number == "early":
        list_tools(waiting.pop("early")[0], line(message))
    elif number in waiting:
        call, left, lines, arguments = waiting.pop(str(number))
        ask(call, left - 1, [*lines, line(message)], arguments)
    elif number is not None and method is not None:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


for given in sys.stdin:
    answered(json.loads(given))
