"""What a command prints, bounded: the first and the last part of a stream are kept, however long it is."""

from __future__ import annotations


class HeadTail:
    """Keeps `size` bytes of a stream: the first half, and the last half of what came after it."""

    __slots__ = ("_half", "_head", "_left_out", "_tail")

    def __init__(self, size: int) -> None:
        self._half = max(size // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def feed(self, data: bytes) -> None:
        """More of the stream. Costs O(len(data))."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-2 * self._half :]
        self._left_out += max(len(data) - 2 * self._half, 0)
        if (more := len(self._tail) - 2 * self._half) > 0:  # cut rarely: moving the tail costs its length
            more += self._half
            del self._tail[:more]
            self._left_out += more

    @property
    def truncated(self) -> bool:
        """Whether something was left out."""
        return self._left_out > 0 or len(self._tail) > self._half

    def text(self) -> str:
        """What was kept, as UTF-8, with a line that says how much is missing where something is."""
        cut = max(len(self._tail) - self._half, 0)
        tail = bytes(self._tail[cut:])
        if not self.truncated:
            return (bytes(self._head) + tail).decode(errors="replace")
        note = f"\n[... {self._left_out + cut} bytes left out ...]\n"
        return self._head.decode(errors="ignore") + note + tail.decode(errors="ignore")
