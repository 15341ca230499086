"""AWS event streams: binary frames from bytes, without input or output of its own.

```
total length, length of headers, CRC of these 8 bytes | headers | payload | CRC of all before it      (each number: 4 bytes)
a header: length of its name, name, type, value
```
A chunk may end anywhere. The pieces of an unfinished frame are joined once, when it is complete: the cost is linear in the
bytes, however they are divided.
"""

from __future__ import annotations

import struct
from zlib import crc32

from agentsdk.models.loose import storable_json
from agentsdk.models.sse import ServerSentEvent
from agentsdk.types.errors import MalformedResponseError, ModelConnectionError, ModelError

_PRELUDE, _CRC = struct.Struct(">III"), struct.Struct(">I")
_MAX_HEADERS, _MAX_FRAME = 128 * 1024, 24 * 1024 * 1024
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}  # of a header's value, by its type; types 6 and 7 say it themselves
_TEXT = 7


class FrameDecoder:
    """Turns the bytes of an event stream, divided anywhere, into its events: their type and their JSON.

    An exception or error that the server sends in the stream is an event `"error"`. `feed` raises `MalformedResponseError` for
    what is no such stream, and `ModelConnectionError` for a frame that was damaged on its way.
    """

    __slots__ = ("_begun", "_missing", "_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._missing = _PRELUDE.size  # so many bytes are needed to go on
        self._begun = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that `chunk` completes."""
        self._pieces.append(chunk)
        self._size += len(chunk)
        if self._size < self._missing:
            return []
        known, position = b"".join(self._pieces), 0
        events: list[ServerSentEvent] = []
        while (length := self._frame_length(known, position)) and position + length <= len(known):
            events.append(self._event(known[position : position + length]))
            position += length
        rest = known[position:]
        self._pieces, self._size, self._missing = [rest], len(rest), length or _PRELUDE.size
        return events

    def close(self) -> list[ServerSentEvent]:
        """At the end of the bytes: a frame that is not whole says nothing."""
        self._pieces = []
        return []

    def _frame_length(self, known: bytes, position: int) -> int:
        """The length of the frame that begins at `position`, 0 where too little of it is there."""
        if len(known) - position < _PRELUDE.size:
            return 0
        total, headers, checksum = _PRELUDE.unpack_from(known, position)
        if crc32(known[position : position + 8]) != checksum:
            raise self._damaged()
        if headers > _MAX_HEADERS or not headers + _PRELUDE.size + _CRC.size <= total <= _MAX_FRAME:
            raise MalformedResponseError("the reply is no AWS event stream: the lengths in a frame cannot be")
        length: int = total
        return length

    def _event(self, frame: bytes) -> ServerSentEvent:
        (checksum,) = _CRC.unpack_from(frame, len(frame) - _CRC.size)
        if crc32(frame[: -_CRC.size]) != checksum:
            raise self._damaged()
        self._begun = True
        end = _PRELUDE.size + _PRELUDE.unpack_from(frame)[1]
        try:
            headers = _headers(frame[_PRELUDE.size : end])
            payload = frame[end : -_CRC.size].decode()
        except (struct.error, KeyError, IndexError, UnicodeDecodeError):
            raise MalformedResponseError("the reply is no AWS event stream: a frame cannot be read") from None
        kind = headers.get(":message-type", "event")
        if kind == "event":
            return ServerSentEvent(payload, headers.get(":event-type", "message"))
        told = headers.get(":exception-type") or headers.get(":error-code") or kind
        message = headers.get(":error-message") or payload
        return ServerSentEvent(storable_json({"exception": told, "message": message}), "error")

    def _damaged(self) -> ModelError:
        if not self._begun:
            return MalformedResponseError("the reply is no AWS event stream: its first checksum is wrong; check base_url")
        return ModelConnectionError("a frame of the stream was damaged on its way: its checksum is wrong", retryable=True)


def _headers(data: bytes) -> dict[str, str]:
    """The headers that are texts."""
    headers: dict[str, str] = {}
    position = 0
    while position < len(data):
        end = position + 1 + data[position]
        name = data[position + 1 : end].decode()
        kind = data[end]
        position = end + 1
        if kind in (6, _TEXT):
            (size,) = struct.unpack_from(">H", data, position)
            position += 2
        else:
            size = _SIZES[kind]
        if position + size > len(data):
            raise IndexError
        if kind == _TEXT:
            headers[name] = data[position : position + size].decode()
        position += size
    return headers
