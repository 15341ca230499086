"""What a request says, checked: its body, its query, its key, and the input of the run that it begins."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec
from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request

from agentsdk.define.agent import Agent
from agentsdk.types.errors import UserError
from agentsdk.types.items import InputItem, Message, messages_from_input
from agentsdk.types.summary import RunQuery, RunSummary
from agentsdk.web.bodies import Body
from agentsdk.web.caller import Caller
from agentsdk.web.limits import WebLimits
from agentsdk.web.problems import ProblemError
from agentsdk.workflow import Workflow

B = TypeVar("B", bound=Body)

MAX_KEY_CHARS = 255
"""How long an `Idempotency-Key` may be."""

_CLOSE = {"connection": "close"}  # or else the server would read what is left of the body


async def body_of(request: Request, kind: type[B], limits: WebLimits) -> B:
    """The body of a request. Raises `ProblemError`."""
    data = await json_of(request, limits)
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise ProblemError(422, f"the body does not fit: {error}; see /openapi.json") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ProblemError(400, "the body is not JSON, expected a JSON object; see /openapi.json") from None


async def json_of(request: Request, limits: WebLimits) -> bytes:
    """The bytes of a body that is declared as JSON. Raises `ProblemError`."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != "application/json":  # a form of a strange page can send all but that
        raise ProblemError(415, "the body is of another type, expected JSON; send content-type: application/json", _CLOSE)
    return await _read(request, limits)


async def _read(request: Request, limits: WebLimits) -> bytes:
    """The bytes of a body. What is too long is not read."""
    most = limits.body_bytes
    too_long = ProblemError(413, f"the body is too long, expected at most {most} bytes; send less", _CLOSE)
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdecimal() and int(declared[:20]) > most:
        raise too_long
    data = bytearray()
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for chunk in request.stream():
                data += chunk
                if len(data) > most:
                    raise too_long
    except TimeoutError:
        raise ProblemError(408, f"the body did not come within {limits.body_seconds:g} seconds; send it anew", _CLOSE) from None
    except ClientDisconnect:
        raise ProblemError(400, "the connection ended before the body, expected all of it; send it anew", _CLOSE) from None
    return bytes(data)


def key_of(request: Request) -> str | None:
    """The `Idempotency-Key` of a request. Raises `ProblemError` for one that is none."""
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= MAX_KEY_CHARS and key.isascii() and key.isprintable()):
        raise ProblemError(
            400, f"the Idempotency-Key is not 1 to {MAX_KEY_CHARS} printable ASCII characters, expected that; choose another"
        )
    return key


def query_of(request: Request, caller: Caller | None, most: int) -> RunQuery:
    """Which runs a request lists. Raises `ProblemError` for an unknown parameter, `UserError` for a wrong value."""
    given = request.query_params
    if unknown := sorted(set(given) - {"status", "agent", "after", "limit", "started_after", "started_before"}):
        raise ProblemError(422, f"the query has {unknown[0]!r}, expected what /openapi.json lists; leave it out")
    limit = number_of(given, "limit", int) or most
    return RunQuery(
        status=cast(Any, given.get("status")),
        agent=given.get("agent"),
        started_after=number_of(given, "started_after", float),
        started_before=number_of(given, "started_before", float),
        metadata={} if caller is None else caller.sees,
        limit=min(limit, most),
        after=given.get("after"),
    )


def last_event_of(request: Request, run: RunSummary) -> int:
    """The revision of the last event that a client saw: its `Last-Event-ID`, or else `after` in its query.

    Raises `ProblemError` for what is none of the run's.
    """
    text = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
    if not (text.isascii() and text.isdecimal() and int(text[:20]) <= run.rev):
        raise ProblemError(
            422, f"the last event is {text[:40]!r}, expected a revision from 0 to {run.rev}; send that of an event"
        )
    return int(text)


N = TypeVar("N", int, float)


def number_of(given: Mapping[str, str], name: str, kind: type[N]) -> N | None:
    """A number of a query. Raises `ProblemError` for what is none."""
    text = given.get(name)
    if text is None:
        return None
    try:
        return kind(text[:40])
    except ValueError:
        raise ProblemError(422, f"{name} is {text[:40]!r}, expected a number; write one") from None


def input_for(agent: Agent[Any, Any], given: object) -> str | list[InputItem]:
    """What a run of `agent` begins with. Raises `UserError` where that is not for it.

    A client speaks as a user: a system's message, or a call with its result, would be somebody else's word.
    """
    if agent.driver is not None:
        return _input_of_workflow(cast("Workflow[Any, Any]", agent), given)
    where = f"agent {agent.name!r}"
    if isinstance(given, str):
        return given
    if not isinstance(given, list) or not given:
        raise UserError(f"{where} was given an input of another type, expected a text or a list of user's messages; send one")
    return user_messages(cast("list[InputItem]", given), where)


def user_messages(given: list[InputItem], where: str) -> list[InputItem]:
    """Messages, all of them a user's. Raises `UserError`."""
    messages = messages_from_input(given, where)
    if any(message.role != "user" for message in messages):
        raise UserError(f"{where} was given a message of another role, expected a user's; send role 'user'")
    return [Message(message.role, message.content) for message in messages]


def _input_of_workflow(workflow: Workflow[Any, Any], given: object) -> str:
    (codec,) = workflow.signature.parameters.values()
    try:
        return workflow.written(codec.read(msgspec.json.encode(given).decode()))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        at = ".".join(map(str, first["loc"][1:]))
        where = f"input.{at}" if at else "input"
        raise UserError(f"the {where} of workflow {workflow.name!r} does not fit: {first['msg']}; send what it takes") from None
