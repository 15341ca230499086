"""A content block of a reply, put together from its deltas."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Literal, cast

from agentsdk.models.loose import as_list, as_object, as_text
from agentsdk.types.base import JsonObject

_MERGED_DEPTH = 4

Kind = Literal["text", "reasoning", "call", "other"]


class Block:
    """A content block. `fields` are what came of it as an object: a call without its arguments, or a block of another kind."""

    __slots__ = (
        "citations",
        "fields",
        "index",
        "kind",
        "number",
        "output_index",
        "pieces",
        "redacted",
        "signatures",
        "stopped",
    )

    def __init__(self, index: int, kind: Kind, fields: JsonObject, number: int) -> None:
        self.index = index
        self.kind: Kind = kind
        self.number = number  # of calls before it
        self.fields = fields
        self.output_index = 0
        self.pieces: list[str] = []
        self.signatures: list[str] = []
        self.redacted: list[str] = []
        self.citations: list[JsonObject] = []
        self.stopped = False

    @property
    def text(self) -> str:
        """The text, reasoning or JSON so far."""
        return "".join(self.pieces)

    @property
    def encrypted(self) -> str:
        """The redacted reasoning, in base64: pieces of it are encoded each by itself."""
        if len(self.redacted) < 2:
            return "".join(self.redacted)
        try:
            return base64.b64encode(b"".join(map(base64.b64decode, self.redacted))).decode()
        except (binascii.Error, ValueError):
            return "".join(self.redacted)


def kind_of(fields: JsonObject) -> Kind:
    """What a block, or the beginning or a delta of one, is of. A call of a tool that the provider runs is no call here."""
    if "toolUse" in fields:
        return "other" if as_object(fields["toolUse"]).get("type") else "call"
    if "reasoningContent" in fields:
        return "reasoning"
    return "text" if "text" in fields or "citation" in fields or "citationsContent" in fields else "other"


def texts_of(fields: JsonObject) -> str:
    """The text of a whole block."""
    cited = as_list(as_object(fields.get("citationsContent")).get("content"))
    return as_text(fields.get("text")) or "".join(as_text(as_object(one).get("text")) for one in cited)


def add_reasoning(block: Block, told: JsonObject) -> str:
    """Add a delta of reasoning, or a whole block of it; its text."""
    whole = as_object(told.get("reasoningText"))
    for one in (told, whole):
        if signature := as_text(one.get("signature")):
            block.signatures.append(signature)
    if redacted := as_text(told.get("redactedContent")):
        block.redacted.append(redacted)
    return as_text(told.get("text")) or as_text(whole.get("text"))


def add_other(block: Block, delta: JsonObject) -> None:
    """Add a delta of a block of another kind: of a tool that the provider runs, or of what is not known."""
    if use := as_object(delta.get("toolUse")):
        block.pieces.append(as_text(use.get("input")))
    elif results := as_list(delta.get("toolResult")):
        known = as_object(block.fields.get("toolResult"))
        block.fields["toolResult"] = {**known, "content": [*as_list(known.get("content")), *results]}
    else:
        _merge(block.fields, delta, _MERGED_DEPTH)


def whole_other(block: Block) -> JsonObject | None:
    """A block of another kind as it goes back; None where the end of the reply truncated its input."""
    if not block.pieces:
        return block.fields
    try:
        given: object = json.loads(block.text)
    except (ValueError, RecursionError):
        return None
    return {**block.fields, "toolUse": {**as_object(block.fields.get("toolUse")), "input": given}}


def _merge(fields: JsonObject, delta: JsonObject, depth: int) -> None:
    """Add a delta: texts and lists grow, down to `depth`; everything else is replaced."""
    for name, value in delta.items():
        known = fields.get(name)
        if depth and isinstance(known, dict) and (inner := as_object(value)):
            fields[name] = merged = dict(as_object(cast(object, known)))
            _merge(merged, inner, depth - 1)
        elif isinstance(known, str) and isinstance(value, str):
            fields[name] = known + value
        elif isinstance(known, list) and (more := as_list(value)):
            fields[name] = [*as_list(cast(object, known)), *more]
        else:
            fields[name] = value
