"""`ScriptedModel`: a model whose replies a test has scripted."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import cast

import msgspec
from msgspec import structs

from agentsdk.core.deltas import deltas_of
from agentsdk.ports.model import ModelRequest
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import UserError
from agentsdk.types.items import FunctionCall, Message, ProviderItem, Reasoning
from agentsdk.types.response import ModelResponse, OutputItem
from agentsdk.types.usage import Usage

Say = str | OutputItem | Sequence[OutputItem] | ModelResponse
"""A model's reply: a text, an item or several, or a whole response."""

ScriptedReply = Say | BaseException | Callable[[ModelRequest], object]
"""A reply of a script: what to say, an exception to raise, or a callable (async too) that gets the request and returns one."""

USAGE = Usage(requests=1, input_tokens=10, output_tokens=5)
"""What every scripted reply costs, unless it is a `ModelResponse` with a usage of its own."""


def call(name: str, /, **arguments: object) -> FunctionCall:
    """A call of the tool `name`; its id is given when it is said: `call_1_1` is the first call of the first reply."""
    return FunctionCall("", name, msgspec.json.encode(arguments).decode())


class ScriptedModel:
    """A model that gives `replies` one after another and keeps the `requests` it got.

    A streamed request gets its text word by word. Raises `UserError` when the script is at its end, and
    for one reply in place of a list.
    """

    def __init__(self, replies: Iterable[ScriptedReply], *, name: str = "scripted", usage: Usage = USAGE) -> None:
        if isinstance(replies, str | FunctionCall):
            raise UserError(
                f"ScriptedModel was given a {type(replies).__name__!r}, expected a list of replies; write [...] around it"
            )
        self.name = name
        self.requests: list[ModelRequest] = []
        self._replies = list(replies)
        self._usage = usage

    def __repr__(self) -> str:
        return f"ScriptedModel({len(self._replies)} replies, {len(self.requests)} given)"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """The script's next reply."""
        self.requests.append(request)
        number = len(self.requests)
        if number > len(self._replies):
            raise UserError(
                f"{self.name!r} was asked for reply number {number}, but its script has {len(self._replies)}; "
                "add replies, or find out why the run asks again"
            )
        reply: object = self._replies[number - 1]
        while callable(reply):
            reply = reply(request)
            if inspect.isawaitable(reply):
                awaitable: Awaitable[object] = reply
                reply = await awaitable
        if isinstance(reply, BaseException):
            raise reply
        response = to_response(reply, number, self._usage)
        if request.stream:
            for event in deltas_of(response):
                yield event
        yield ResponseCompleted(response)


def to_response(reply: object, number: int, usage: Usage = USAGE) -> ModelResponse:
    """The response that says `reply`, calls without an id named after the reply's `number`.

    Raises `UserError` for what is not a `Say`.
    """
    if isinstance(reply, ModelResponse):
        given = reply if reply.usage != Usage() else structs.replace(reply, usage=usage)
        return structs.replace(given, output=_with_ids(given.output, number))
    if isinstance(reply, str):
        items: tuple[object, ...] = (Message("assistant", reply),) if reply else ()
    else:
        items = tuple(cast("Iterable[object]", reply)) if isinstance(reply, Iterable) else (reply,)
    output = [item for item in items if isinstance(item, Message | FunctionCall | Reasoning | ProviderItem)]
    if len(output) != len(items):
        kind = items[0].__class__.__name__ if len(items) == 1 else "a list"
        raise UserError(
            f"a scripted reply is of type {kind!r}; expected a str, items, a ModelResponse, an exception, "
            "or a callable that returns one of them"
        )
    calls = any(isinstance(item, FunctionCall) for item in output)
    return ModelResponse(_with_ids(output, number), usage, "tool_calls" if calls else "stop", f"resp_{number}", "scripted")


def _with_ids(items: Iterable[OutputItem], number: int) -> tuple[OutputItem, ...]:
    output: list[OutputItem] = []
    calls = 0
    for item in items:
        if isinstance(item, FunctionCall):
            calls += 1
            if not item.call_id:
                item = structs.replace(item, call_id=f"call_{number}_{calls}")
        output.append(item)
    return tuple(output)
