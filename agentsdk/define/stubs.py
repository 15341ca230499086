"""Tools as the functions that a program may call: their names and types as a model is shown them, arguments and results as
values."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from agentsdk.define.agent import AgentTool
from agentsdk.define.declaration import Declaration
from agentsdk.define.tool import FunctionTool
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError

_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_NOT_A_NAME = re.compile(r"\W")
_MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Stub:
    """A tool as a function of a program. `name` is what the program calls it by, `returns` the JSON schema of what it gets:
    None for text as it is, empty where nothing is known of it."""

    name: str
    tool: str
    parameters: tuple[str, ...]
    returns: JsonObject | None
    text: str

    def arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> str:
        """A call's arguments as JSON text. Raises `TypeError`, in Python's words, for what cannot be arguments."""
        if len(args) > len(self.parameters):
            raise TypeError(f"{self.name}() takes {len(self.parameters)} positional arguments but {len(args)} were given")
        given = dict(zip(self.parameters, args, strict=False))
        if twice := [name for name in kwargs if name in given]:
            raise TypeError(f"{self.name}() got multiple values for argument {twice[0]!r}")
        given.update(kwargs)
        try:
            return json.dumps(given, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"{self.name}() takes JSON-like values only: {error}") from None

    def result(self, text: str) -> object:
        """The value of a result: as its type says, or the text itself."""
        if self.returns is None:
            return text
        try:
            value: object = msgspec.json.decode(text)
        except msgspec.DecodeError:
            return text  # one of several types it may have, or a guardrail's words
        if not self.returns:  # what is no object or list may be a text that looks like something else
            return text if _KINDS[type(value)] not in ("array", "object") else value
        return value if _may_be(value, self.returns) else text


def stubs_of(tools: Sequence[FunctionTool[Any]]) -> dict[str, Stub]:
    """The functions of a program, by their names. Raises `UserError` as `FunctionTool.spec` does."""
    stubs: dict[str, Stub] = {}
    for tool in tools:
        name = _function_name(tool.name, stubs)
        stubs[name] = _stub(name, tool)
    return stubs


def _function_name(tool: str, taken: Mapping[str, Stub]) -> str:
    """A name that Python takes, and that means nothing else in a program."""
    name = _NOT_A_NAME.sub("_", tool)
    if name[0].isdigit():
        name = f"_{name}"
    while keyword.iskeyword(name) or hasattr(builtins, name) or name in taken:
        name += "_"
    return name


def _stub(name: str, tool: FunctionTool[Any]) -> Stub:
    spec, returns = tool.spec, _returned(tool)
    properties = cast("dict[str, JsonObject]", spec.parameters.get("properties", {}))
    required = cast("Sequence[str]", spec.parameters.get("required", ()))
    definitions = cast("dict[str, JsonObject]", spec.parameters.get("$defs", {}))
    shown: list[str] = []
    notes: list[str] = []
    for key, schema in properties.items():
        kind = _type(schema, definitions)
        parameter = f"{key}: {kind}" if key.isidentifier() else f"**{{{key!r}: {kind}}}"
        if key in tool.defaults or key not in required:
            parameter += f" = {_shown(tool.defaults.get(key, ...))}"
        shown.append(parameter)
        if note := _without_default(str(schema.get("description", ""))):
            notes.append(f"{key}: {note}")
    result = "str" if returns is None else _type(returns, cast("dict[str, JsonObject]", returns.get("$defs", {})))
    words = "\n".join(filter(None, [spec.description, *notes])).replace('"""', "'''").replace("\n", "\n    ")
    body = f'    """{words}"""' if words else "    ..."
    return Stub(name, tool.name, tuple(properties), returns, f"async def {name}({', '.join(shown)}) -> {result}:\n{body}")


def _returned(tool: FunctionTool[Any]) -> JsonObject | None:
    """The JSON schema of a tool's result; None for text, an empty one where nothing is known of it."""
    if isinstance(tool, AgentTool):
        if tool.custom_output_extractor is not None:
            return {}
        output = Declaration.of(tool.agent).spec.output
        return None if output is None else output.schema
    try:
        schema = tool.answer_type.schema
    except UserError:
        return {}  # parts, or a type that pydantic does not know
    return None if schema == {"type": "string"} else schema or {}


def _type(schema: JsonObject, definitions: Mapping[str, JsonObject], depth: int = 0) -> str:
    """A JSON schema as a type of Python; the fields of an object as a dict of types."""

    def inside(part: object) -> str:
        return _type(cast(JsonObject, part), definitions, depth + 1)

    reference = schema.get("$ref")
    if isinstance(reference, str):
        schema = definitions.get(reference.rpartition("/")[2], {})
    if depth > _MAX_DEPTH:
        return "Any"
    if "enum" in schema or "const" in schema:
        values = cast("Sequence[object]", schema.get("enum") or [schema.get("const")])
        return f"Literal[{', '.join(map(repr, values))}]"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " | ".join(dict.fromkeys(inside(one) for one in cast("Sequence[object]", schema[several])))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(inside({**schema, "type": one}) for one in cast("list[str]", kind))
    if kind == "array":
        return f"list[{inside(schema['items'])}]" if "items" in schema else "list"
    if kind == "object":
        fields = cast("dict[str, JsonObject]", schema.get("properties", {}))
        if fields:
            return f"{{{', '.join(f'{key!r}: {inside(field)}' for key, field in fields.items())}}}"
        entry = schema.get("additionalProperties")
        return f"dict[str, {inside(cast(object, entry))}]" if isinstance(entry, dict) and entry else "dict"
    return _TYPES.get(cast(str, kind), "Any")


_KINDS: Mapping[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    list: "array",
    dict: "object",
}


def _may_be(value: object, schema: JsonObject) -> bool:
    """Whether a type that text may have too, `str | None` say, has this value: if not, what looks like JSON is text."""
    kinds = {arm.get("type") for arm in cast("Sequence[JsonObject]", schema.get("anyOf", [schema]))}
    return "string" not in kinds or None in kinds or _KINDS[type(value)] in kinds


def _without_default(description: str) -> str:
    """A parameter's description without the default, which a strict schema says there."""
    words, found, default = description.rpartition(" (default: ")
    if found and default.endswith(")"):
        return words
    return "" if description.startswith("Default: ") else description


def _shown(default: object) -> str:
    return repr(default) if default is None or isinstance(default, str | int | float | bool) or default == [] else "..."


def _plain(value: object) -> object:
    """What is no JSON as the JSON that it stands for: a date as its text, an object of the program's as its fields."""
    if hasattr(value, "isoformat"):
        return cast(Any, value).isoformat()
    attributes = getattr(value, "attributes", None)
    if isinstance(attributes, dict):
        return cast(JsonObject, attributes)
    raise TypeError(f"got a {type(value).__name__}")
