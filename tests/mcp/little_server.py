"""A server of raw JSON-RPC over stdio, small enough to start in a moment: `python little_server.py [handshake|modern]`.

Its tools do what their names say. `rename NAME` lists the tool `mutable` under another description from then on.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

ERA = sys.argv[1] if len(sys.argv) > 1 else "handshake"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
lock = threading.Lock()
asking: dict[str, tuple[object, str]] = {}  # by the ids of its questions the calls that wait for an answer, and their texts
state: dict[str, Any] = {"description": "First.", "calls": 0, "level": None}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"Does {name}.", "inputSchema": TEXT, **more}


def tools() -> list[dict[str, Any]]:
    deep: dict[str, Any] = TEXT
    for _ in range(100):
        deep = {"type": "object", "properties": {"inner": deep}}
    return [
        *[tool(f"deep_{number}", inputSchema=deep) for number in range(int(os.environ.get("DEEP", 0)))],
        tool("echo", annotations={"readOnlyHint": True}),
        tool("environment"),
        tool("count"),
        tool("die"),
        tool("hang", annotations={"readOnlyHint": True}),
        tool("slow"),
        tool("log"),
        tool("ask"),
        tool("fail"),
        tool("refuse"),
        tool("wipe", annotations={"destructiveHint": True, "idempotentHint": True}),
        tool("dotted.name/one"),
        tool("mutable", description=state["description"]),
        tool("change"),
        tool("pictures"),
        tool("structured", outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    ]


def send(message: dict[str, Any]) -> None:
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def called(number: object, params: dict[str, Any]) -> None:
    name, text = params["name"], str(params.get("arguments", {}).get("text", ""))
    token = params.get("_meta", {}).get("progressToken")
    state["calls"] += 1
    if "CALLS" in os.environ:
        with open(os.environ["CALLS"], "a") as calls:
            calls.write(f"{name}\n")
    answer: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if name == "die":
        os._exit(3)
    elif name == "hang":
        return send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 0}})
    elif name == "environment":
        answer["content"][0]["text"] = json.dumps(dict(os.environ))
    elif name == "count":
        answer["content"][0]["text"] = f"{os.getpid()} {state['calls']}"
    elif name == "slow":
        for step in range(1, 4):
            progress = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
            send({"method": "notifications/progress", "params": progress})
    elif name == "log":
        said = {"level": "warning", "logger": "stock", "data": f"low on\nstock (asked for {state['level']})"}
        send({"method": "notifications/message", "params": said})
    elif name == "ask" and ERA == "modern":
        given = params.get("inputResponses", {}).get("who")
        if given is None:
            form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
            asked = {"mode": "form", "message": "Who is it for?", "requestedSchema": form}
            requests = {"who": {"method": "elicitation/create", "params": asked}}
            result = {"resultType": "input_required", "inputRequests": requests, "requestState": f"state of {text}"}
            return send({"id": number, "result": result})
        answer["content"][0]["text"] = f"{given['action']} {given.get('content')} {params['requestState']}"
        if text == "hang":
            return send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 0}})
    elif name == "ask":
        form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        asking[f"question {number}"] = number, text
        asked = {"mode": "form", "message": "Who is it for?", "requestedSchema": form}
        send({"id": f"question {number}", "method": "elicitation/create", "params": asked})
        if text == "busy":
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 0}})
        return None
    elif name == "fail":
        answer = {"content": [{"type": "text", "text": "no such thing"}], "isError": True}
    elif name == "refuse":
        return send({"id": number, "error": {"code": -32602, "message": "not like this"}})
    elif name == "change":
        state["description"] = text
        send({"method": "notifications/tools/list_changed"})
    elif name == "pictures":
        image = {"type": "image", "mimeType": "image/png"}
        answer["content"] = [{"type": "text", "text": "two"}, {**image, "data": PIXEL}, {**image, "data": "no base64!"}]
    elif name == "structured":
        answer = {"content": [], "structuredContent": json.loads(text)}
    send({"id": number, "result": {**answer, **({"resultType": "complete"} if ERA == "modern" else {})}})


def answered(message: dict[str, Any]) -> None:
    number, method, params = message.get("id"), message.get("method"), message.get("params", {})
    capabilities = {"tools": {"listChanged": True}, "logging": {}}
    if method == "server/discover" and ERA == "modern":
        found = {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, "instructions": "Use it well."}
        send({"id": number, "result": {**found, "resultType": "complete", "ttlMs": 0, "cacheScope": "public"}})
    elif method == "initialize" and ERA == "handshake":
        info = {"serverInfo": {"name": "little", "version": "1"}, "instructions": "Use it well."}
        send({"id": number, "result": {"protocolVersion": "2025-11-25", "capabilities": capabilities, **info}})
    elif method == "tools/list":
        more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"} if ERA == "modern" else {}
        send({"id": number, "result": {"tools": tools(), **more}})
    elif method == "tools/call":
        called(number, params)
    elif method == "logging/setLevel":
        state["level"] = params["level"]
        send({"id": number, "result": {}})
    elif method == "notifications/cancelled":
        sys.stderr.write(f"cancelled {params['requestId']}\n")
        sys.stderr.flush()
    elif number in asking:
        call, text = asking.pop(number)
        if text == "hang":
            return send({"method": "notifications/message", "params": {"level": "warning", "data": "answered"}})
        result = message.get("result", {"action": message.get("error", {}).get("message")})
        text = f"{result['action']} {result.get('content')}"
        send({"id": call, "result": {"content": [{"type": "text", "text": text}]}})
    elif number is not None and method is not None:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    for number in range(int(os.environ.get("BANNER", 0))):
        print("starting", number)
    sys.stderr.write("hello\n")
    sys.stderr.flush()
    for line in sys.stdin:
        answered(json.loads(line))
