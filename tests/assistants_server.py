"""A fake of the Assistants API: it keeps assistants, threads and runs, and asks a chat-completions server for the replies.

A run goes on when it is looked at, so a client that polls sees each of its states.
"""

from __future__ import annotations

import itertools
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


class Assistants:
    """What the service keeps."""

    def __init__(self, model_url: str) -> None:
        self._model_url = model_url
        self._numbers = itertools.count(1)
        self._assistants: dict[str, dict[str, Any]] = {}
        self._threads: dict[str, list[dict[str, Any]]] = {}
        self._runs: dict[str, dict[str, Any]] = {}
        self.app = Starlette(
            routes=[
                Route("/v1/assistants", self.make_assistant, methods=["POST"]),
                Route("/v1/threads", self.make_thread, methods=["POST"]),
                Route("/v1/threads/{thread}/messages", self.add_message, methods=["POST"]),
                Route("/v1/threads/{thread}/messages", self.list_messages, methods=["GET"]),
                Route("/v1/threads/{thread}/runs", self.make_run, methods=["POST"]),
                Route("/v1/threads/{thread}/runs/{run}", self.look_at_run, methods=["GET"]),
                Route("/v1/threads/{thread}/runs/{run}/submit_tool_outputs", self.take_outputs, methods=["POST"]),
            ]
        )

    async def make_assistant(self, request: Request) -> JSONResponse:
        made = {"id": self._id("asst"), "object": "assistant", "created_at": 1, **await request.json()}
        self._assistants[made["id"]] = made
        return JSONResponse(made)

    async def make_thread(self, request: Request) -> JSONResponse:
        name = self._id("thread")
        self._threads[name] = []
        return JSONResponse({"id": name, "object": "thread", "created_at": 1, "metadata": {}})

    async def add_message(self, request: Request) -> JSONResponse:
        message = await request.json()
        self._threads[request.path_params["thread"]].append(message)
        return JSONResponse(_shown(self._id("msg"), message))

    async def list_messages(self, request: Request) -> JSONResponse:
        said = [one for one in self._threads[request.path_params["thread"]] if one["role"] != "tool" and one.get("content")]
        if request.query_params.get("order", "desc") == "desc":
            said.reverse()
        page = said[: int(request.query_params.get("limit", "20"))]
        data = [_shown(f"msg_{number}", one) for number, one in enumerate(page)]
        return JSONResponse({"object": "list", "data": data, "has_more": len(page) < len(said)})

    async def make_run(self, request: Request) -> JSONResponse:
        thread = request.path_params["thread"]
        run = {"id": self._id("run"), "object": "thread.run", "created_at": 1, "thread_id": thread, "status": "queued"}
        self._runs[run["id"]] = run | await request.json()
        return JSONResponse(self._runs[run["id"]])

    async def look_at_run(self, request: Request) -> JSONResponse:
        run = self._runs[request.path_params["run"]]
        if run["status"] == "queued":
            run["status"] = "in_progress"
        elif run["status"] == "in_progress":
            await self._ask_the_model(run)
        return JSONResponse(run)

    async def take_outputs(self, request: Request) -> JSONResponse:
        run = self._runs[request.path_params["run"]]
        for given in (await request.json())["tool_outputs"]:
            message = {"role": "tool", "tool_call_id": given["tool_call_id"], "content": given["output"]}
            self._threads[run["thread_id"]].append(message)
        run.update(status="queued", required_action=None)
        return JSONResponse(run)

    async def _ask_the_model(self, run: dict[str, Any]) -> None:
        assistant, thread = self._assistants[run["assistant_id"]], self._threads[run["thread_id"]]
        messages = [{"role": "system", "content": assistant["instructions"]}, *thread]
        asked = {"model": assistant["model"], "messages": messages, "tools": assistant["tools"]}
        async with httpx.AsyncClient() as client:
            reply = (await client.post(f"{self._model_url}/chat/completions", json=asked)).raise_for_status().json()
        message = reply["choices"][0]["message"]
        thread.append(message)
        if calls := message.get("tool_calls"):
            needed = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": calls}}
            run.update(status="requires_action", required_action=needed)
        else:
            run["status"] = "completed"

    def _id(self, kind: str) -> str:
        return f"{kind}_{next(self._numbers)}"


def _shown(name: str, message: dict[str, Any]) -> dict[str, Any]:
    """A message as the service shows it."""
    content = [{"type": "text", "text": {"value": message["content"], "annotations": []}}]
    return {"id": name, "object": "thread.message", "created_at": 1, "role": message["role"], "content": content}
