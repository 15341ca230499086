"""The operations of a `web_app`, and their OpenAPI description: the routes are made from the same table."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, get_args

import msgspec

from agentsdk.types.base import JsonObject
from agentsdk.types.summary import RunStatus
from agentsdk.web.bodies import (
    AnswerBody,
    Body,
    CancelBody,
    DecisionBody,
    EmptyBody,
    ForkBody,
    Health,
    MessageBody,
    Posted,
    ReasonBody,
    RunDetail,
    RunPage,
    SignalBody,
    StartBody,
    Started,
)
from agentsdk.web.problems import Problem

_REF = "#/components/schemas/{name}"


class Operation(msgspec.Struct, frozen=True):
    """One thing that can be asked: `name` is the handler's. `answer` is None for a stream of events. `open`: to everybody."""

    name: str
    method: str
    path: str
    summary: str
    answer: type[msgspec.Struct] | None
    body: type[Body] | None = None
    status: int = 200
    open: bool = False


OPERATIONS = (
    Operation("list", "GET", "/runs", "The caller's runs, the latest first", RunPage),
    Operation("start", "POST", "/runs", "Begin a run", Started, StartBody, 201),
    Operation("get", "GET", "/runs/{run_id}", "How a run stands, the calls that wait, and its output", RunDetail),
    Operation("events", "GET", "/runs/{run_id}/events", "What happens in a run, as server-sent events", None),
    Operation("decide", "POST", "/runs/{run_id}/decisions", "Decide on a call that waits", Posted, DecisionBody, 202),
    Operation("answer", "POST", "/runs/{run_id}/answers", "Answer a call that waits for it", Posted, AnswerBody, 202),
    Operation("send", "POST", "/runs/{run_id}/messages", "Send the run a user's message", Posted, MessageBody, 202),
    Operation("signal", "POST", "/runs/{run_id}/signals", "Give a workflow data that it waits for", Posted, SignalBody, 202),
    Operation("pause", "POST", "/runs/{run_id}/pause", "Have the run go no further than its turn", Posted, ReasonBody, 202),
    Operation("unpause", "POST", "/runs/{run_id}/unpause", "Let a paused run go on", Posted, EmptyBody, 202),
    Operation("cancel", "POST", "/runs/{run_id}/cancel", "Stop the run", Posted, CancelBody, 202),
    Operation("fork", "POST", "/runs/{run_id}/fork", "Begin a run that goes on from there", Started, ForkBody, 201),
    Operation("health", "GET", "/health", "Whether the process serves", Health, open=True),
    Operation("ready", "GET", "/ready", "Whether its store answers too", Health, open=True),
)


def _parameter(name: str, where: str, schema: JsonObject, description: str) -> JsonObject:
    return {"name": name, "in": where, "required": where == "path", "schema": schema, "description": description}


_RUN_ID = _parameter("run_id", "path", {"type": "string"}, "The run's id")
_KEY = _parameter(
    "Idempotency-Key", "header", {"type": "string", "minLength": 1, "maxLength": 255}, "The same key, the same run"
)
_PARAMETERS: dict[str, list[JsonObject]] = {
    "list": [
        _parameter("status", "query", {"enum": list(get_args(RunStatus))}, "Only runs of this status"),
        _parameter("agent", "query", {"type": "string"}, "Only runs that are at this agent"),
        _parameter("started_after", "query", {"type": "number"}, "Only runs begun then or later, a Unix timestamp"),
        _parameter("started_before", "query", {"type": "number"}, "Only runs begun before that, a Unix timestamp"),
        _parameter("limit", "query", {"type": "integer", "minimum": 1}, "How many, at most"),
        _parameter("after", "query", {"type": "string"}, "The `after` of the page before"),
    ],
    "start": [_KEY],
    "fork": [_KEY],
    "events": [
        _parameter("Last-Event-ID", "header", {"type": "integer", "minimum": 0}, "The id of the last event that was seen"),
        _parameter("after", "query", {"type": "integer", "minimum": 0}, "The same, where no header can be sent"),
    ],
}


def description(version: str, server: str) -> JsonObject:
    """The OpenAPI 3.1 description of the service at the path `server`, which may be `""`."""
    kinds = [kind for each in OPERATIONS for kind in (each.answer, each.body) if kind is not None]
    _, schemas = msgspec.json.schema_components([*kinds, Problem], ref_template=_REF, schema_hook=_any)
    paths: dict[str, JsonObject] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Runs of agents", "version": version},
        "servers": [{"url": server or "/"}],
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _described(operation: Operation) -> JsonObject:
    parameters = [*([_RUN_ID] if "{run_id}" in operation.path else []), *_PARAMETERS.get(operation.name, [])]
    described: JsonObject = {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": {
            str(operation.status): _answered(operation),
            **(
                {"204": {"description": "The run is over, and nothing is behind that event"}}
                if operation.answer is None
                else {}
            ),
            "default": {"description": "A problem", "content": {"application/problem+json": {"schema": _ref(Problem)}}},
        },
    }
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref(operation.body)}}}
    return described


def _answered(operation: Operation) -> JsonObject:
    if operation.answer is None:
        content: JsonObject = {"text/event-stream": {"schema": {"type": "string"}}}
    else:
        content = {"application/json": {"schema": _ref(operation.answer)}}
    return {"description": HTTPStatus(operation.status).phrase, "content": content}


def _ref(kind: type) -> JsonObject:
    return {"$ref": _REF.format(name=kind.__name__)}


def _any(kind: type) -> dict[str, Any]:
    """The schema of `object`, which is any JSON."""
    return {"description": "Any JSON"}
