"""Server-sent events from bytes, without input or output of its own.

An event is lines, ended by an empty one. A line ends with CR, LF or CRLF and with nothing else, so lines are split as bytes: a
splitter for text would also split at U+2028 and U+0085, which JSON carries unescaped.

A chunk may end anywhere: within a character, or between the CR and the LF of one line end. So a line is decoded only once it is
complete, and the decoder remembers that the last chunk ended with CR. The pieces of an unfinished line are joined once, when
its end comes: the cost is linear in the bytes, however they are divided.
"""

from __future__ import annotations

from msgspec import Struct

from agentsdk.types.errors import MalformedResponseError

_BOM = b"\xef\xbb\xbf"


class ServerSentEvent(Struct, frozen=True):
    """One event: its `data` lines joined by LF, and its type. `id` and `retry` fields are ignored, as nothing reconnects."""

    data: str
    event: str = "message"


class SSEDecoder:
    """Turns the bytes of an event stream, divided anywhere, into its events.

    `max_event_bytes` bounds what one event may hold. `feed` and `close` raise `MalformedResponseError` for a larger event and
    for bytes that are not UTF-8.
    """

    __slots__ = ("_after_cr", "_at_start", "_data", "_event", "_max", "_partial", "_size")

    def __init__(self, *, max_event_bytes: int = 64 * 1024 * 1024) -> None:
        self._max = max_event_bytes
        self._partial: list[bytes] = []  # the pieces of a line whose end has not come
        self._size = 0  # bytes seen since the last event, give or take a chunk
        self._data: list[bytes] = []
        self._event = ""
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events completed by `chunk`; comments complete none."""
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[0] == 10:  # the LF of a CRLF whose CR ended the last chunk
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_cr = chunk[-1] == 13
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = chunk.rfind(b"\n")
        self._size += len(chunk)
        if end < 0:
            if chunk:
                self._partial.append(chunk)
            self._check_size()
            return []
        block = chunk[:end]
        if self._partial:
            self._partial.append(block)
            block = b"".join(self._partial)
            self._partial.clear()
        rest = chunk[end + 1 :]
        if rest:
            self._partial.append(rest)
        events = self._lines(block.split(b"\n"))
        self._check_size()
        return events

    def close(self) -> list[ServerSentEvent]:
        """The events completed by the end of the stream: an event needs neither its last line end nor its blank line."""
        return self._lines([b"".join(self._partial), b""])

    def _lines(self, lines: list[bytes]) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        if self._at_start:
            self._at_start = False
            lines[0] = lines[0].removeprefix(_BOM)
        data = self._data
        for line in lines:
            if not line:
                if data:
                    events.append(self._dispatch())
                self._event = ""
                self._size = 0
            elif line.startswith(b"data: "):
                data.append(line[6:])
            else:
                field, _, value = line.partition(b":")
                value = value.removeprefix(b" ")
                if field == b"data":
                    data.append(value)
                elif field == b"event":
                    self._event = _decode(value)
        return events

    def _dispatch(self) -> ServerSentEvent:
        data = self._data
        text = _decode(data[0] if len(data) == 1 else b"\n".join(data))
        data.clear()
        return ServerSentEvent(text, self._event or "message")

    def _check_size(self) -> None:
        if self._size > self._max:
            raise MalformedResponseError(f"an event of the stream exceeds {self._max} bytes; expected smaller events")


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise MalformedResponseError(
            f"the event stream is not UTF-8: {error.reason} at byte {error.start} of an event; expected UTF-8"
        ) from None
