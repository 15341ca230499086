"""Sanitization of text at the boundary: what neither JSON, UTF-8 nor a database can carry is replaced, both ways."""

from __future__ import annotations

from typing import TypeVar, cast

from agentsdk.types.errors import UserError

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


def storable_text(text: str) -> str:
    """`text` cleaned, with each NUL replaced too: PostgreSQL keeps none."""
    return clean_text(text).replace("\0", "\ufffd")


def shortened(text: str, limit: int) -> str:
    """`text`, or its beginning and "..." where it is longer than `limit` characters."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def require_text(what: str, name: str) -> None:
    """Raises `UserError` for a name that holds lone surrogates: it is recorded, and cleaned it could be another's."""
    if clean_text(name) is not name:
        raise UserError(f"{what} is named {name!r}, expected text without lone surrogates; choose another name")


def escaped(text: str) -> str:
    """`text` on one line, for errors and logs: line ends, control, invisible and bidi characters become escapes."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def text_of(error: BaseException) -> str:
    """The message of an exception, which may be a class of anybody's: `""` where its own `str()` raises."""
    try:
        return str(error)
    except Exception:
        return ""


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
