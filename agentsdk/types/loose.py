"""Lenient reading of JSON that somebody else may have shaped otherwise."""

from __future__ import annotations

from typing import cast

from agentsdk.types.base import JsonObject


def as_object(value: object) -> JsonObject:
    """`value` if it is a JSON object, else an empty one."""
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """`value` if it is a JSON array, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """`value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""
