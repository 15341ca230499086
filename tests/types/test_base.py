"""What every plain value is."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import msgspec
import pytest

import agentsdk.types
from agentsdk.types.base import Compact, Value


def every_struct() -> Iterator[type[msgspec.Struct]]:
    for module in pkgutil.iter_modules(agentsdk.types.__path__):
        for kind in vars(importlib.import_module(f"agentsdk.types.{module.name}")).values():
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__module__.startswith("agentsdk.types"):
                yield kind


@pytest.mark.parametrize("kind", sorted(set(every_struct()), key=lambda kind: kind.__name__), ids=lambda kind: kind.__name__)
def test_every_plain_value_is_frozen_and_says_what_it_is(kind: type[msgspec.Struct]) -> None:
    assert kind.__struct_config__.frozen
    assert kind.__doc__
    if issubclass(kind, Value | Compact):
        assert kind.__struct_config__.forbid_unknown_fields


def test_a_value_is_an_object_and_a_compact_one_an_array() -> None:
    class Point(Value, tag="point"):
        x: int
        y: int = 0

    class Pair(Compact, tag="pair"):
        x: int
        y: int = 0

    assert msgspec.json.encode(Point(1)) == b'{"type":"point","x":1}'
    assert msgspec.json.encode(Pair(1)) == b'["pair",1,0]'
    for kind, text in ((Point, b'{"type":"point","x":1,"z":2}'), (Pair, b'["pair",1,0,2]')):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(text, type=kind)
