"""Text made safe at the boundary: what neither JSON, UTF-8 nor a database can carry is replaced, both ways."""

from __future__ import annotations

from typing import TypeVar, cast

T = TypeVar("T")


def clean_text(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD; the same object when there is none."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_value(value: T) -> T:
    """`value`, JSON-like, with every string in it (keys too) cleaned."""
    if isinstance(value, str):
        return cast(T, clean_text(value))
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return cast(T, {clean_value(key): clean_value(inner) for key, inner in pairs})
    if isinstance(value, list | tuple):
        return cast(T, [clean_value(inner) for inner in cast("list[object]", value)])
    return value
