"""Constrained decoding: a small model cannot leave the form that a grammar gives it.

A reply is either an answer or calls, and the first character tells which:

```
reply  = answer | call
answer = text that begins with neither "<" nor white space, or JSON of the output schema
call   = <tool_call>{"name": "...", "arguments": {...}}</tool_call>
```
`tool_choice` decides what the grammar offers: `"auto"` both, `"required"` calls only, a name that tool's call only, `"none"`
the answer only. The grammar is in llguidance's Lark dialect, which llama.cpp takes in the field `grammar`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from msgspec import Struct

from agentsdk.types.base import JsonObject
from agentsdk.types.declared import Fields, whole
from agentsdk.types.errors import BadRequestError, MalformedResponseError
from agentsdk.types.settings import ToolChoice
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec

CALL_BEGIN = "<tool_call>"
CALL_END = "}</tool_call>"
MAX_CALLS = 8
GRAMMAR_IGNORED = (
    "llama.cpp did not take the grammar; simplify the tools' schemas "
    "(no references to other documents, no look-around in patterns)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """What a schema that sets no bound of its own is held to, so that every generation ends.

    `string` in characters, `items` of an array and entries of a free-form object, `magnitude` of a number, which also gets at
    most four decimals.
    """

    string: int = 1000
    items: int = 16
    magnitude: int = 1_000_000_000

    def __post_init__(self) -> None:
        _BOUNDS.check(self)


_BOUND = whole("a whole number above 0", 1)
_BOUNDS = Fields("Bounds", string=_BOUND, items=_BOUND, magnitude=_BOUND)


def choose(tools: Sequence[ToolSpec | HandoffSpec], choice: ToolChoice | None) -> tuple[Sequence[ToolSpec | HandoffSpec], bool]:
    """The tools a reply may call under `choice`, and whether it may be an answer instead.

    Raises `BadRequestError` when `choice` asks for a call that cannot be made.
    """
    if choice is None or choice == "auto":
        return tools, True
    if choice == "none":
        return (), True
    named = tools if choice == "required" else [tool for tool in tools if tool.name == choice]
    if not named:
        names = ", ".join(repr(tool.name) for tool in tools) or "none"
        raise BadRequestError(f"tool_choice={choice!r} asks for a call, but the tools given are: {names}")
    return named, False


def build_grammar(
    tools: Sequence[ToolSpec | HandoffSpec], answer: bool, output: OutputSpec | None, *, parallel: bool, bounds: Bounds
) -> str:
    """The grammar of a reply that may call `tools` and, with `answer`, may answer."""
    rules = ["%llguidance {}", "start: " + " | ".join((["answer"] if answer else []) + (["calls"] if tools else []))]
    if answer and output is not None:
        rules.append(f"answer: {_json_rule(output.schema, bounds)}")
    elif answer:
        rules.append(r"answer: /[^<\s](.|\n)*/")
    if tools:
        rules.append(f'calls: call ("\\n" call){{0,{MAX_CALLS - 1}}}' if parallel else "calls: call")
        rules.append("call: " + " | ".join(f"call{number}" for number in range(len(tools))))
    for number, tool in enumerate(tools):
        begin = json.dumps(_call_head(tool.name))
        arguments = _json_rule({"type": "object", **tool.parameters}, bounds)
        rules.append(f"call{number}: {begin} {arguments} {json.dumps(CALL_END)}")
    return "\n".join(rules)


def call_text(name: str, arguments: str) -> str:
    """A call as the model writes it."""
    return f"{_call_head(name)}{arguments}{CALL_END}"


def _call_head(name: str) -> str:
    return f'{CALL_BEGIN}{{"name": {json.dumps(name)}, "arguments": '


def _json_rule(schema: JsonObject, bounds: Bounds) -> str:
    # Free white space is how a small model runs on for ever. Lenient: a keyword that cannot be enforced is checked after the
    # reply, as every argument is, instead of refusing the schema.
    form = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": ", "lenient": True}
    return "%json " + json.dumps({**bound_schema(schema, bounds), "x-guidance": form})


def bound_schema(schema: JsonObject, bounds: Bounds) -> JsonObject:
    """`schema` with a bound wherever a value could go on for ever. Bounds it has are kept; it is not changed in place."""
    return cast(JsonObject, _bounded(schema, bounds))


_NESTED = ("items", "additionalProperties", "not", "contains")
_NESTED_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NESTED_MAPS = ("properties", "patternProperties", "$defs", "definitions")


def _bounded(schema: object, bounds: Bounds) -> object:
    if not isinstance(schema, dict):
        return schema
    given = cast(JsonObject, schema)
    found = dict(given)
    for key in _NESTED:
        if key in found:
            found[key] = _bounded(found[key], bounds)
    for key in _NESTED_LISTS:
        if isinstance(inner := found.get(key), list):
            found[key] = [_bounded(each, bounds) for each in cast("list[object]", inner)]
    for key in _NESTED_MAPS:
        if isinstance(inner := found.get(key), dict):
            found[key] = {name: _bounded(each, bounds) for name, each in cast(JsonObject, inner).items()}
    if "enum" in found or "const" in found:
        return found
    types = found.get("type")
    kinds = cast("list[object]", types) if isinstance(types, list) else [types]
    if "string" in kinds:
        found.setdefault("maxLength", max(bounds.string, _number(found.get("minLength"))))
    if "array" in kinds:
        found.setdefault("maxItems", max(bounds.items, _number(found.get("minItems"))))
    if "integer" in kinds or "number" in kinds:
        _bound_number(found, bounds)
        if "number" in kinds:
            found.setdefault("multipleOf", 0.0001)
    if isinstance(found.get("additionalProperties"), dict) and not found.get("properties"):
        found.setdefault("maxProperties", max(bounds.items, _number(found.get("minProperties"))))
    return found


def _bound_number(schema: JsonObject, bounds: Bounds) -> None:
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is None:
        schema["minimum"] = min(0, _number(high)) - bounds.magnitude
    if high is None:
        schema["maximum"] = max(0, _number(low)) + bounds.magnitude


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


class Piece(Struct, frozen=True):
    """A part of a reply: text of the answer, the name of the call that begins, arguments of that call, or its end."""

    kind: Literal["text", "name", "arguments", "end"]
    text: str = ""


class ReplyReader:
    """Reads a constrained reply as it comes, in pieces of any size.

    `whole` is True when the reply could end here: after any text, or after the end of a call. Raises `MalformedResponseError`
    for what the grammar does not allow, which is how a grammar that the server ignored is noticed.
    """

    def __init__(self) -> None:
        self.whole = True
        self._buffer = ""
        self._read = self._start
        self._depth = 0
        self._quoted = False
        self._escaped = False

    def feed(self, text: str) -> Iterator[Piece]:
        """The pieces that `text` completes."""
        self._buffer += text
        while self._buffer:
            piece = self._read()
            if piece is None:
                return
            if piece.kind != "text":
                self.whole = piece.kind == "end"
            yield piece

    def _start(self) -> Piece | None:
        text = self._buffer
        if text.startswith(CALL_BEGIN):
            self.whole = False
            self._read = self._name
            return self._name()
        if CALL_BEGIN.startswith(text):
            self.whole = False
            return None
        self.whole = True
        self._read = self._text
        return self._text()

    def _text(self) -> Piece:
        text, self._buffer = self._buffer, ""
        return Piece("text", text)

    def _name(self) -> Piece | None:
        opening = CALL_BEGIN + '{"name": '
        if len(self._buffer) <= len(opening) and opening.startswith(self._buffer):
            return None
        if not self._buffer.startswith(opening):
            raise self._broken()
        try:
            name, end = json.JSONDecoder().raw_decode(self._buffer, len(opening))
        except json.JSONDecodeError:
            return None
        if not isinstance(name, str):
            raise self._broken()
        separator = ', "arguments": '
        rest = self._buffer[end:]
        if len(rest) < len(separator) and separator.startswith(rest):
            return None
        if not rest.startswith(separator):
            raise self._broken()
        self._buffer = rest[len(separator) :]
        self._read = self._arguments
        return Piece("name", name)

    def _arguments(self) -> Piece:
        for position, character in enumerate(self._buffer):
            if self._quoted:
                self._quoted = self._escaped or character != '"'
                self._escaped = character == "\\" and not self._escaped
            elif character == '"':
                self._quoted = True
            elif character in "{[":
                self._depth += 1
            elif character in "}]":
                self._depth -= 1
                if self._depth == 0:
                    self._read = self._end
                    return self._arguments_up_to(position + 1)
        return self._arguments_up_to(len(self._buffer))

    def _arguments_up_to(self, end: int) -> Piece:
        text, self._buffer = self._buffer[:end], self._buffer[end:]
        return Piece("arguments", text)

    def _end(self) -> Piece | None:
        if self._buffer.startswith(CALL_END):
            self._buffer = self._buffer[len(CALL_END) :]
            self._read = self._next
            return Piece("end")
        if CALL_END.startswith(self._buffer):
            return None
        raise self._broken()

    def _next(self) -> Piece | None:
        self._buffer = self._buffer.lstrip("\n")
        if CALL_BEGIN.startswith(self._buffer):
            self.whole = not self._buffer
            return None
        self._read = self._name
        return self._name()

    def _broken(self) -> MalformedResponseError:
        return MalformedResponseError(f"the model's call is not in the form its grammar asks for, so {GRAMMAR_IGNORED}")
