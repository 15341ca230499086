"""Truncation of tool results: one that is too long keeps its head and tail, and is kept in full elsewhere, under an id."""

from __future__ import annotations

from msgspec import Struct

from agentsdk.core.command_output import cut_streams
from agentsdk.types.items import InputText, OutputText, Part

READ_RESULT = "read_result"
"""The tool that gives the rest of a result. What it gives is bounded, and is not cut as other results are."""

Output = str | tuple[Part, ...]
"""A call's result as the history holds it."""

MAX_RESULT_CHARS = 100_000
"""The cap on a result's text, about 25,000 tokens, where a run sets none of its own."""

MARKER_CHARS = 128
"""No marker is longer, so a text of `limit + MARKER_CHARS` may be one that was cut to `limit` already."""


class Overflow(Struct, frozen=True):
    """A result that was cut: `id` is what the marker in it names, `text` all of its text, `limit` the cap in characters."""

    id: str
    text: str
    limit: int


def output_text(output: Output) -> str:
    """The text of a result: its text parts joined."""
    if isinstance(output, str):
        return output
    return "".join(part.text for part in output if isinstance(part, InputText | OutputText))


def whole_output(output: Output, whole: str) -> Output:
    """A cut result with all of its text, `whole`, in place again."""
    if isinstance(output, str):
        return whole
    return (InputText(whole), *[part for part in output if not isinstance(part, InputText | OutputText)])


def result_id(text: str) -> str:
    """The id under which the whole text of a result is kept."""
    import hashlib  # few results are cut

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def cap_output(output: Output, limit: int = MAX_RESULT_CHARS) -> tuple[Output, Overflow | None]:
    """The output with its text cut to about `limit` characters, and what was cut (None where nothing was).

    Head and tail stay, a marker between them names the id under which the whole text is kept. The text of parts is counted and
    cut together; images, audio and files are not counted.
    """
    text = output if isinstance(output, str) else output_text(output)
    if len(text) <= limit:
        return output, None
    overflow = Overflow(result_id(text), text, limit)
    cut = cut_text(overflow)
    if isinstance(output, str):
        return cut, overflow
    others = tuple(part for part in output if not isinstance(part, InputText | OutputText))
    return (InputText(cut), *others), overflow


def cut_text(overflow: Overflow, *, is_kept: bool = True) -> str:
    """What stays of a result that was cut. The marker says how to read on, if the whole `is_kept` for that."""

    def marker(start: int, end: int, length: int, offset: int) -> str:
        how = f": {READ_RESULT}(result_id={overflow.id!r}, offset={offset})" if is_kept else ""
        return f"\n[... characters {start} to {end} of {length} are left out{how} ...]\n"

    text = overflow.text
    if (cut := cut_streams(text, overflow.limit, marker)) is not None:
        return cut
    head = overflow.limit * 3 // 4
    tail = overflow.limit - head
    end = len(text) - tail
    return text[:head] + marker(head, end, len(text), head) + text[end:]
