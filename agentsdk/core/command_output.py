"""Results of commands, JSON like `{"output": [{"stdout", "stderr", "outcome"}, ...]}`: cut so that they stay what they are.

Cut as a text such a result would be no JSON, and the exit codes lost to whom they are sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import msgspec

from agentsdk.types.base import JsonObject
from agentsdk.types.loose import as_list, as_object

_STREAMS = ("stdout", "stderr")


def cut_streams(text: str, limit: int, marker: Callable[[int, int, int, int], str]) -> str | None:
    """The result with the middle of each long stream left out, of `limit` characters at most.

    None for a text that is no such result, and for one that cannot be as short. `marker` is given the first character of a
    stream that is left out, the first that is not, how many the stream has, and where in `text` the first of them is.
    """
    result = _result(text)
    entries = [as_object(entry) for entry in as_list(result.get("output"))]
    if not all(isinstance(entry.get(name), str) for entry in entries for name in _STREAMS):
        return None
    most = limit
    while entries and most > 0:
        result["output"] = [_cut(entry, most, text, marker) for entry in entries]
        cut = msgspec.json.encode(result).decode()
        if len(cut) <= limit:
            return cut
        most = most * 3 // 4
    return None


def _result(text: str) -> JsonObject:
    """What the text holds; nothing where it is another."""
    try:
        return as_object(msgspec.json.decode(text)) if text.startswith('{"output"') else {}
    except (msgspec.DecodeError, RecursionError):
        return {}


def _cut(entry: JsonObject, most: int, text: str, marker: Callable[[int, int, int, int], str]) -> JsonObject:
    """An entry with at most this many characters of each stream."""
    cut = dict(entry)
    for name in _STREAMS:
        stream = cast(str, entry[name])
        if len(stream) > most:
            head = most * 3 // 4
            end = len(stream) - (most - head)
            at = max(text.find(_escaped(stream)), 0) + len(_escaped(stream[:head]))
            cut[name] = stream[:head] + marker(head, end, len(stream), at) + stream[end:]
    return cut


def _escaped(stream: str) -> str:
    """A text as JSON has it between its quotes."""
    return msgspec.json.encode(stream).decode()[1:-1]
