"""openai's own types for raw items and events, where the package `openai` is there; else objects of the same fields."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, cast


class Raw:
    """The fields of a raw item or event as attributes. Also read like a dict."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update({name: _raw(value) for name, value in fields.items()})

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def get(self, name: str, default: Any = None) -> Any:
        """A field, or `default` where there is none."""
        return self.__dict__.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raw) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # pyright: ignore

    def __repr__(self) -> str:
        return f"Raw({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """The fields as dicts and lists."""
        return {name: _plain(value) for name, value in self.__dict__.items()}


def _raw(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Raw(cast("Mapping[str, Any]", value))
    return [_raw(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Raw):
        return value.model_dump()
    return [_plain(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value


ITEMS = {
    "message": "ResponseOutputMessage",
    "function_call": "ResponseFunctionToolCall",
    "reasoning": "ResponseReasoningItem",
    "computer_call": "ResponseComputerToolCall",
    "web_search_call": "ResponseFunctionWebSearch",
    "file_search_call": "ResponseFileSearchToolCall",
    "code_interpreter_call": "ResponseCodeInterpreterToolCall",
    "custom_tool_call": "ResponseCustomToolCall",
    "compaction": "ResponseCompactionItem",
    "shell_call": "ResponseFunctionShellToolCall",
    "apply_patch_call": "ResponseApplyPatchToolCall",
    "local_shell_call": "response_output_item.LocalShellCall",
    "image_generation_call": "response_output_item.ImageGenerationCall",
    "mcp_call": "response_output_item.McpCall",
    "mcp_list_tools": "response_output_item.McpListTools",
    "mcp_approval_request": "response_output_item.McpApprovalRequest",
}
"""The types of items that a model gives, by their `type`."""


@functools.cache
def class_of(name: str) -> Any:
    """openai's class of that name; None without `openai`, or where its version has none."""
    try:
        from openai import types
        from openai.types import responses
    except ImportError:
        return None
    place: Any = responses
    if "." in name:
        import importlib

        module, _, name = name.partition(".")
        try:
            place = importlib.import_module(f"openai.types.responses.{module}")
        except ImportError:
            return None
    found = getattr(place, name, None)
    if found is None:
        found = getattr(getattr(types, "shared", None), name, None)
    return found


def built(name: str, fields: Mapping[str, Any]) -> Any:
    """An object of openai's class `name`, unchecked, its parts too."""
    kind = class_of(name)
    return Raw(fields) if kind is None else kind.construct(**fields)


@functools.cache
def _shape(name: str) -> tuple[Any, dict[str, Any], frozenset[str]] | None:
    """openai's class of that name, its defaults, and its fields."""
    kind = class_of(name)
    return None if kind is None else (kind, dict(kind.construct().__dict__), frozenset(kind.model_fields))


def shaped(name: str, fields: dict[str, Any]) -> Any:
    """The same of fields whose parts are built already: openai's own way looks at each field's type, which takes long."""
    shape = _shape(name)
    if shape is None:
        return Raw(fields)
    kind, defaults, names = shape
    if not fields.keys() <= names:  # of another version of openai
        return kind.construct(**fields)
    made = _new(kind)
    _put(made, "__dict__", {**defaults, **fields} if defaults else fields)
    _put(made, "__pydantic_fields_set__", set(fields))
    _put(made, "__pydantic_extra__", {})
    _put(made, "__pydantic_private__", None)
    return made


_new, _put = object.__new__, object.__setattr__


def built_item(fields: Mapping[str, Any]) -> Any:
    """The item that a model gave, by its `type`."""
    return built(ITEMS.get(str(fields.get("type")), ""), fields)
