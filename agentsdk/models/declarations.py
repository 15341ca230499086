"""Declarations as OpenAI's models read them: tools as a namespace of TypeScript functions, an output schema as JSON.

OpenAI documents this form for gpt-oss. What its other models bill is close to it: see `tests/models/test_token_counter.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentsdk.models.loose import as_list, as_object, as_text
from agentsdk.models.plain_tools import function_description
from agentsdk.models.prefix import to_json
from agentsdk.types.base import JsonObject
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec

_MAX_DEPTH = 32


def tools_text(tools: Sequence[ToolSpec | HandoffSpec]) -> str:
    """The tools as text: those that the model is told of."""
    told = [tool for tool in tools if isinstance(tool, HandoffSpec) or not tool.defer_loading]
    functions = "\n\n".join(map(_function, told))
    return f"# Tools\n\n## functions\n\nnamespace functions {{\n\n{functions}\n\n}} // namespace functions"


def output_schema_text(output: OutputSpec) -> str:
    """The output's schema as text."""
    return f"# Response Formats\n\n## {output.name}\n\n{to_json(output.schema).decode()}"


def _function(tool: ToolSpec | HandoffSpec) -> str:
    parameters = as_object(tool.parameters.get("properties"))
    given = f"_: {_object(tool.parameters, tool.parameters, 0)}" if parameters else ""
    return f"{_comment(function_description(tool))}type {tool.name} = ({given}) => any;"


def _object(schema: JsonObject, root: JsonObject, depth: int) -> str:
    required = as_list(schema.get("required"))
    lines = ["{"]
    for name, declared in as_object(schema.get("properties")).items():
        field = as_object(declared)
        default = f" // default: {to_json(field['default']).decode()}" if "default" in field else ""
        optional = "" if name in required else "?"
        lines.append(f"{_comment(as_text(field.get('description')))}{name}{optional}: {_type(field, root, depth)},{default}")
    return "\n".join([*lines, "}"])


def _type(schema: JsonObject, root: JsonObject, depth: int) -> str:
    if depth == _MAX_DEPTH:  # a schema may refer to itself
        return "any"
    if reference := as_text(schema.get("$ref")):
        return _type(_referred(reference, root), root, depth + 1)
    if "enum" in schema or "const" in schema:
        return " | ".join(to_json(value).decode() for value in as_list(schema.get("enum")) or [schema.get("const")])
    for either in ("anyOf", "oneOf", "allOf"):
        if either in schema:
            return " | ".join(_type(as_object(one), root, depth + 1) for one in as_list(schema[either]))
    kinds = as_list(schema.get("type")) or [schema.get("type")]
    return " | ".join(_of_kind(kind, schema, root, depth) for kind in kinds)


def _of_kind(kind: object, schema: JsonObject, root: JsonObject, depth: int) -> str:
    match kind:
        case "object":
            return _object(schema, root, depth + 1)
        case "array":
            return f"{_type(as_object(schema.get('items')), root, depth + 1)}[]"
        case "integer":
            return "number"
        case str():
            return kind
        case _:
            return "any"


def _referred(reference: str, root: JsonObject) -> JsonObject:
    found = root
    for step in reference.split("/")[1:]:
        found = as_object(found.get(step))
    return found


def _comment(description: str) -> str:
    return "".join(f"// {line.strip()}\n" for line in description.splitlines() if line.strip())
