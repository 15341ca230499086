"""Cassettes: the replies of a real model, recorded once in a file of JSON lines and replayed in tests, without a network.

What is kept is the conversation, not the wire: for each call a line with what was asked and the events that came.
```
{"version": 1, "model": "gpt-5", "request": {...}, "events": [...], "error": null}
```
So one cassette serves whichever provider's model made it, streamed or not, and has no place for keys or headers.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import cast, get_args

import msgspec
from msgspec import Struct, structs

from agentsdk.models.prefix import to_json
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.types import errors
from agentsdk.types.base import JsonObject
from agentsdk.types.deltas import Delta, ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import ModelError, UserError

VERSION = 1
"""The version of the lines written."""

_NOT_ASKED = ("extra_headers", "retry")
_ERROR_FIELDS = ("status", "code", "request_id", "retryable", "retry_after", "partial", "refusal", "output")
_EVENTS: dict[str, type[Delta]] = {kind.type: kind for kind in get_args(ModelStreamEvent)}
_ERRORS: dict[str, type[ModelError]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, ModelError)
}


class CassetteError(UserError):
    """A cassette cannot be used."""


class CassetteCorruptError(CassetteError):
    """A line is not what `RecordingModel` wrote."""


class CassetteVersionError(CassetteError):
    """A line was written by another version."""


class CassetteExhaustedError(CassetteError):
    """Every recorded reply has been given."""


class CassetteMismatchError(CassetteError):
    """The request differs from the recorded one: at `path`, where `recorded` was asked then and `asked` now (None: nothing)."""

    def __init__(self, message: str, *, path: str, recorded: object, asked: object) -> None:
        super().__init__(message)
        self.path = path
        self.recorded = recorded
        self.asked = asked


class _SavedError(Struct, frozen=True, forbid_unknown_fields=True):
    kind: str
    message: str
    fields: JsonObject = {}


class _Line(Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    model: str
    request: JsonObject
    events: list[JsonObject]
    error: _SavedError | None = None


class _Version(Struct, frozen=True):
    version: int


class _Reply(Struct, frozen=True):
    """A recorded call, read."""

    model: str
    request: JsonObject
    events: tuple[ModelStreamEvent, ...]
    error: ModelError | None


class RecordingModel:
    """Asks `model`, and adds each reply, complete, streamed, failed or left early, to the cassette at `path`.

    A cassette that exists is added to: delete it to record again. Raises a `CassetteError` for a file that is no cassette.
    """

    def __init__(self, model: Model, path: str | os.PathLike[str]) -> None:
        self._model = model
        self._path = Path(path)
        self.name = model.name
        if self._path.exists():
            _read(self._path, growing=True)

    def __repr__(self) -> str:
        return f"RecordingModel({self._model!r}, {str(self._path)!r})"

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply. Raises what the model raises, and `CassetteError` when the file cannot be written."""
        return self._recorded(request, self._model.stream(request))

    async def _recorded(
        self, request: ModelRequest, events: AsyncGenerator[ModelStreamEvent, None]
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        asked = _asked(request)  # what the request refers to may change while the model answers
        heard: list[ModelStreamEvent] = []
        try:
            async with aclosing(events):
                async for event in events:
                    heard.append(event)
                    yield event
        except ModelError as error:
            self._add(asked, heard, error)
            raise
        except Exception:
            raise  # no reply, but a mistake in the test
        except BaseException:
            self._add(asked, heard, None)
            raise
        self._add(asked, heard, None)

    def _add(self, asked: JsonObject, events: list[ModelStreamEvent], error: ModelError | None) -> None:
        """Add a line in one write, so that the lines of several writers do not mix."""
        saved: list[JsonObject] = [{"type": event.type, **structs.asdict(event)} for event in events]
        line = to_json(msgspec.to_builtins(_Line(VERSION, self.name, asked, saved, _save_error(error)))) + b"\n"
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
            try:
                written = os.write(file, line)
            finally:
                os.close(file)
        except OSError as failed:
            raise CassetteError(
                f"the cassette {str(self._path)!r} cannot be written: {failed.strerror}; fix its path"
            ) from failed
        if written != len(line):
            raise CassetteError(f"the cassette {str(self._path)!r} ends within a line, expected room on the disk; delete it")


class ReplayModel:
    """Gives the replies of the cassette at `path` again, each once, in place of the model that made them.

    A request gets the first unused reply that was recorded for an equal request: equal in instructions, items, names of tools
    and output, settings (`extra_headers` and `retry` aside) and whether it is streamed. So calls that go on at once may come
    in another order. Raises a `CassetteError` for a file that is missing or no cassette.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._unused = _read(self._path)
        self._count = len(self._unused)
        self.name = self._unused[0].model if self._unused else "replay"

    def __repr__(self) -> str:
        return f"ReplayModel({str(self._path)!r})"

    @property
    def unused(self) -> int:
        """How many recorded replies have not been given yet."""
        return len(self._unused)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Give the recorded reply, or raise the recorded error.

        Raises `CassetteMismatchError` naming the first difference to the next recorded request, `CassetteExhaustedError` when
        there is none, and `CassetteError` after a reply that was left before its end.
        """
        reply = self._take(_asked(request))
        for event in reply.events:
            yield event
        if reply.error is not None:
            raise reply.error
        if not (reply.events and isinstance(reply.events[-1], ResponseCompleted)):
            raise CassetteError(
                f"a reply in the cassette {str(self._path)!r} has no end, as its reader left early, expected a reader that "
                "leaves again; record it anew"
            )

    def _take(self, asked: JsonObject) -> _Reply:
        if not self._unused:
            raise CassetteExhaustedError(
                f"the cassette {str(self._path)!r} has no reply left, expected at most {self._count} requests; record it anew, "
                "or find out why the run asks again"
            )
        for position, reply in enumerate(self._unused):
            if reply.request == asked:
                return self._unused.pop(position)
        path, recorded, now = _difference(self._unused[0].request, asked, "")
        number = self._count - len(self._unused) + 1
        raise CassetteMismatchError(
            f"request {number} differs from the cassette {str(self._path)!r} at {path!r}: {_kind(recorded)} was recorded and "
            f"{_kind(now)} is asked; fix the test, or delete the cassette and record it again",
            path=path,
            recorded=recorded,
            asked=now,
        )


def _asked(request: ModelRequest) -> JsonObject:
    """What must be equal, as JSON would give it back. Headers may hold keys, and ids differ from run to run."""
    settings = {name: value for name, value in request.settings.given().items() if name not in _NOT_ASKED}
    asked: JsonObject = {
        "stream": request.stream,
        "instructions": request.instructions,
        "items": [*request.items, *request.tail],
        "tools": [tool.name for tool in request.tools],
        "output": request.output and request.output.name,
        "settings": settings,
    }
    plain: JsonObject = msgspec.json.decode(to_json(msgspec.to_builtins(asked)))
    return plain


def _read(path: Path, *, growing: bool = False) -> list[_Reply]:
    """The cassette's calls. While it is `growing`, its last line may still be half written, and is left out."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CassetteError(
            f"the cassette {str(path)!r} cannot be read: {error.strerror}; record it with RecordingModel"
        ) from error
    if growing:
        data = data[: data.rfind(b"\n") + 1]
    elif data and not data.endswith(b"\n"):
        raise CassetteCorruptError(f"the cassette {str(path)!r} ends in mid-line, expected whole lines; record it anew")
    lines = enumerate(data.splitlines(), 1)
    return [_read_line(line, f"line {number} of the cassette {str(path)!r}") for number, line in lines]


def _read_line(data: bytes, place: str) -> _Reply:
    try:
        version = msgspec.json.decode(data, type=_Version).version
        if version != VERSION:
            raise CassetteVersionError(f"{place} is of version {version}, expected {VERSION}; record it anew")
        line = msgspec.json.decode(data, type=_Line)
        events = tuple(map(_read_event, line.events))
        return _Reply(line.model, line.request, events, _read_error(line.error) if line.error else None)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError, KeyError) as error:
        raise CassetteCorruptError(
            f"{place} is no recorded call ({type(error).__name__}), expected what RecordingModel wrote; record it anew"
        ) from error


def _read_event(data: JsonObject) -> ModelStreamEvent:
    kind = _EVENTS[str(data["type"])]
    fields = {name: value for name, value in data.items() if name != "type"}
    if not fields.keys() <= set(kind.__struct_fields__):
        raise TypeError(f"{kind.type} has other fields")
    return cast(ModelStreamEvent, msgspec.convert(fields, kind))


def _save_error(error: ModelError | None) -> _SavedError | None:
    if error is None:
        return None
    kind = next(base.__name__ for base in type(error).__mro__ if base.__name__ in _ERRORS)
    fields = {name: value for name, value in vars(error).items() if name in _ERROR_FIELDS}
    return _SavedError(kind, str(error), fields)


def _read_error(saved: _SavedError) -> ModelError:
    if not saved.fields.keys() <= set(_ERROR_FIELDS):
        raise TypeError(f"{saved.kind} has other fields")
    return _ERRORS[saved.kind](saved.message, **saved.fields)


def _difference(recorded: object, asked: object, path: str) -> tuple[str, object, object]:
    """The first place where two unequal JSON values differ, and what is there in each."""
    here: tuple[str, object, object] = (path, recorded, asked)
    if isinstance(recorded, dict) and isinstance(asked, dict):
        mine, other = cast(JsonObject, recorded), cast(JsonObject, asked)
        for key in [*mine, *(key for key in other if key not in mine)]:
            if key not in mine or key not in other or mine[key] != other[key]:
                return _difference(mine.get(key), other.get(key), f"{path}.{key}" if path else key)
    if isinstance(recorded, list) and isinstance(asked, list):
        then, now = cast("list[object]", recorded), cast("list[object]", asked)
        for position in range(max(len(then), len(now))):
            pair = [entries[position] if position < len(entries) else None for entries in (then, now)]
            if pair[0] != pair[1]:
                return _difference(pair[0], pair[1], f"{path}[{position}]")
    return here


def _kind(value: object) -> str:
    """What a value is, without the value: it may be the user's."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"text of {len(value)} characters"
    if isinstance(value, dict):
        kind = cast(JsonObject, value).get("type")
        return f"{kind!r}" if isinstance(kind, str) else "an object"
    return type(value).__name__


__all__ = [
    "CassetteCorruptError",
    "CassetteError",
    "CassetteExhaustedError",
    "CassetteMismatchError",
    "CassetteVersionError",
    "RecordingModel",
    "ReplayModel",
]
