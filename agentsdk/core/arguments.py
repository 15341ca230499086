"""Parsing a call's arguments: strict JSON, so that what a person approves, what is hashed and what is run cannot differ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn, cast

import msgspec

from agentsdk.types.base import JsonObject
from agentsdk.types.errors import InvalidArgumentsError
from agentsdk.types.text import clean_text, clean_value, storable_text

MAX_ARGUMENTS_CHARS = 1_000_000
"""The longest arguments text that is read."""

MAX_ARGUMENTS_DEPTH = 64
"""How deep objects and arrays may nest, the outermost object counting as 1."""

_KEY_END = re.compile(r'"\s*:')
_decode = msgspec.json.Decoder().decode


def parse_arguments(text: str) -> JsonObject:
    """The arguments as a dict of its own; text that is empty or blank counts as `{}`, as some models send it for no arguments.

    Lone surrogates and NUL become U+FFFD. Raises `InvalidArgumentsError` for anything but one JSON object: other JSON, a key
    given twice at any level, NaN or an infinite number, nesting past `MAX_ARGUMENTS_DEPTH`, text past `MAX_ARGUMENTS_CHARS`.
    """
    if "\\u" not in text and len(text) <= MAX_ARGUMENTS_CHARS and text.count("{") + text.count("[") <= MAX_ARGUMENTS_DEPTH:
        # The fast decoder silently keeps the last of two equal keys. Every key is a quote before a colon, so as many keys as
        # those proves that none was dropped; fewer (a string may hold such a pair too) leaves the answer to the slow parser.
        try:
            value = _decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return _parse_slowly(text)
        if type(value) is dict:
            arguments = cast(JsonObject, value)
            keys = _count_keys(arguments)
            if keys == text.count(":") or keys == len(_KEY_END.findall(text)):
                return arguments
    return _parse_slowly(text)


def canonical_arguments(text: str) -> str:
    """The arguments as compact JSON with sorted keys: equal for texts that mean the same. Invalid text stands for itself."""
    try:
        arguments = parse_arguments(text)
    except InvalidArgumentsError:
        return clean_text(text)
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def approval_digest(tool_name: str, call_id: str, arguments_text: str) -> str:
    """What a person is shown of a call: the sha256 (hex) of tool, call and canonical arguments."""
    import hashlib  # as in `core.keys`

    subject = [clean_text(tool_name), clean_text(call_id), canonical_arguments(arguments_text)]
    return hashlib.sha256(msgspec.json.encode(subject)).hexdigest()


def _count_keys(value: object) -> int:
    inside: Iterable[object]
    if isinstance(value, dict):
        pairs = cast(JsonObject, value)
        inside = pairs.values()
        count = len(pairs)
    else:
        inside = cast("list[object]", value)
        count = 0
    for inner in inside:
        if type(inner) is dict or type(inner) is list:
            count += _count_keys(cast(object, inner))
    return count


def _parse_slowly(text: str) -> JsonObject:
    """What the fast path cannot decide, and every message to the model."""
    if len(text) > MAX_ARGUMENTS_CHARS:
        raise InvalidArgumentsError(
            f"the arguments have {len(text)} characters, expected at most {MAX_ARGUMENTS_CHARS}; send less"
        )
    if not text or text.isspace():
        return {}
    try:
        value: object = json.loads(clean_text(text), object_pairs_hook=_unique, parse_float=_finite, parse_constant=_not_finite)
    except json.JSONDecodeError as error:
        raise InvalidArgumentsError(
            f"the arguments are not valid JSON: {error.msg} at character {error.pos}; send one JSON object"
        ) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise InvalidArgumentsError("the arguments hold an integer with too many digits; send a smaller one") from None
    if not isinstance(value, dict):
        raise InvalidArgumentsError(
            f"the arguments are {_KINDS[type(value)]}, expected one JSON object with the parameters by name"
        )
    arguments = cast(JsonObject, value)
    _check_depth(arguments)
    return cast(JsonObject, _without_nul(clean_value(arguments)))


def _unique(pairs: Sequence[tuple[str, object]]) -> JsonObject:
    arguments: JsonObject = {}
    for key, value in pairs:
        key = storable_text(key)
        if key in arguments:
            raise InvalidArgumentsError(f"the arguments give the key {key[:100]!r} twice; send each key once")
        arguments[key] = value
    return arguments


def _finite(digits: str) -> float:
    number = float(digits)
    return number if abs(number) != float("inf") else _not_finite(digits)


def _not_finite(_: str) -> NoReturn:
    raise InvalidArgumentsError("the arguments hold a number that is not finite; send a finite number or null")


def _check_depth(value: object) -> None:
    level: list[object] = [value]
    for _ in range(MAX_ARGUMENTS_DEPTH):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return
    raise _too_deep()


def _containers(value: object) -> list[object]:
    inside: Sequence[object]
    inside = list(cast(JsonObject, value).values()) if isinstance(value, dict) else cast("list[object]", value)
    return [inner for inner in inside if isinstance(inner, dict | list)]


def _too_deep() -> InvalidArgumentsError:
    return InvalidArgumentsError(f"the arguments nest deeper than {MAX_ARGUMENTS_DEPTH} levels; send a flatter object")


def _without_nul(value: object) -> object:
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {key: _without_nul(inner) for key, inner in cast(JsonObject, value).items()}
    return [_without_nul(inner) for inner in cast("list[object]", value)] if isinstance(value, list) else value


_KINDS: dict[type, str] = {list: "an array", str: "a string", int: "a number", float: "a number", bool: "true or false"}
_KINDS[type(None)] = "null"
