"""Conversion of a tool's return value to the result sent to the model: text, or content parts."""

from __future__ import annotations

import dataclasses
import enum
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, cast, get_args
from uuid import UUID

import msgspec

from agentsdk.core.overflow import Output
from agentsdk.types.items import InputFile, InputImage, InputText, Part
from agentsdk.types.text import storable_text

if TYPE_CHECKING:
    from agentsdk.types.media import OutputMedia

ToolOutputText = InputText
ToolOutputImage = InputImage
ToolOutputFileContent = InputFile

MAX_DEPTH = 50
"""How deep a result may nest before the rest is left out."""

_Buffer = bytes | bytearray | memoryview
_PARTS: tuple[type[Part], ...] = get_args(Part)
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


def to_output(value: object) -> Output:
    """The result for the model. Never raises.

    - `str` is itself; lone surrogates and NUL become U+FFFD, here and in everything below.
    - a part (`ToolOutputText`, `ToolOutputImage`, `ToolOutputFileContent`, audio), or a list or tuple of parts only, is parts.
    - `bytes` that are UTF-8 text are that text; others are named with their size (wrap them in a part to send them).
    - all else is JSON: `None` is `null`; pydantic models, dataclasses, structs and mappings are objects; enums are their
      values; sets are sorted; dates, UUIDs, decimals and paths are strings; NaN and infinities are `"NaN"`, `"Infinity"`.
    - what has no JSON form is its `str()`, or `<ClassName>` where that would show a memory address; so is a cycle.
    """
    if type(value) is str:
        return value if value.isascii() and "\0" not in value else storable_text(value)
    if isinstance(value, str):
        return storable_text(str.__str__(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes_text(cast(_Buffer, value))
    if getattr(type(value), "is_output_media", False) is True:  # the final output of an agent used as a tool
        return (cast("OutputMedia", value).as_part(),)
    parts = _parts(value)
    if parts:
        return parts
    return msgspec.json.encode(_plain(value, MAX_DEPTH, ())).decode()


def _parts(value: object) -> tuple[Part, ...]:
    """The parts that `value` is or holds, cleaned; `()` when it is anything else."""
    given = cast("Sequence[object]", value if isinstance(value, list | tuple) else (value,))
    if not all(isinstance(part, _PARTS) for part in given):
        return ()
    try:
        return tuple(
            msgspec.convert(_plain(msgspec.to_builtins(part), MAX_DEPTH, ()), cast("type[Part]", type(part))) for part in given
        )
    except Exception:
        return ()  # its fields are not what their types say, so it is shown as any other value


def _bytes_text(value: _Buffer) -> str:
    given = bytes(value)
    try:
        return storable_text(given.decode())
    except UnicodeDecodeError:
        return f"<{len(given)} bytes of binary data>"


def _plain(value: object, depth: int, outer: tuple[int, ...]) -> object:
    """`value` as JSON-like data. `outer` are the ids of the containers around it."""
    kind = type(value)
    if kind is str:
        return storable_text(cast(str, value))
    if value is None or kind is bool:
        return value
    if kind is int:
        return _plain_int(cast(int, value))
    if kind is float:
        return _plain_float(cast(float, value))
    if depth == 0 or id(value) in outer:
        return f"<{kind.__name__}>"
    try:
        return _plain_object(value, depth - 1, (*outer, id(value)))
    except Exception:
        return f"<{kind.__name__}>"


def _plain_int(value: int) -> object:
    if -(2**63) <= value < 2**64:
        return value
    bits = value.bit_length()
    return str(value) if bits <= 4096 else f"<integer of {bits} bits>"


def _plain_float(value: float) -> object:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _plain_object(value: object, depth: int, outer: tuple[int, ...]) -> object:
    def inside(entry: object) -> object:
        return _plain(entry, depth, outer)

    if isinstance(value, enum.Enum):
        return inside(value.value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes_text(cast(_Buffer, value))
    if isinstance(value, str):
        return storable_text(str.__str__(value))
    if isinstance(value, int):
        return _plain_int(int(value))
    if isinstance(value, float):
        return _plain_float(float(value))
    fields = _fields(value)
    if fields is not None:
        return {_key(key, inside): inside(entry) for key, entry in fields}
    if isinstance(value, AbstractSet):
        return sorted((inside(entry) for entry in cast("Iterable[object]", value)), key=msgspec.json.encode)
    if isinstance(value, Sequence):
        return [inside(entry) for entry in cast("Sequence[object]", value)]
    return _object_text(value)


def _fields(value: object) -> Iterable[tuple[object, object]] | None:
    """The fields of what reads as an object, or None."""
    if isinstance(value, Mapping):
        return cast("Mapping[object, object]", value).items()
    if isinstance(value, type):
        return None
    dump = cast("Callable[..., object] | None", getattr(value, "model_dump", None))
    if dump is not None and hasattr(value, "__pydantic_validator__"):
        dumped = dump(by_alias=True)
        # A RootModel dumps to whatever it wraps.
        return cast("Mapping[object, object]", dumped).items() if isinstance(dumped, Mapping) else [("root", dumped)]
    if dataclasses.is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, msgspec.Struct):
        tag = value.__struct_config__.tag
        pairs: list[tuple[object, object]] = [] if tag is None else [(value.__struct_config__.tag_field, tag)]
        return pairs + [(name, getattr(value, name)) for name in value.__struct_fields__]
    return None


def _key(key: object, inside: Callable[[object], object]) -> str:
    if isinstance(key, str):
        return storable_text(str.__str__(key))
    plain = inside(key)
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()


def _object_text(value: object) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID | timedelta):
        return str(value)
    if isinstance(value, os.PathLike):
        return storable_text(os.fsdecode(cast("os.PathLike[str]", value)))
    kind = type(value)
    has_text = kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__
    text = str(value) if has_text else ""
    return f"<{kind.__name__}>" if not has_text or _ADDRESS.search(text) else storable_text(text)
