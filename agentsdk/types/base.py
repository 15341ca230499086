"""The base of every plain value: frozen, closed-schema, encodable.

The values are `msgspec.Struct` rather than dataclasses because a run makes several of them a turn: a frozen Struct is built in
0.05 µs and replaced in 0.05 µs, where a frozen slotted dataclass takes 0.45 and 0.95 µs (CPython 3.11), and the codec that
checks a saved state comes from the same declaration. They hold plain data only, which cannot form cycles, so the garbage
collector is spared them (`gc=False`).
"""

from __future__ import annotations

from typing import dataclass_transform

from msgspec import Struct, field

# What JSON can carry. Recursive aliases are not expressible for both type checkers and msgspec at once, hence `object` inside.
JsonObject = dict[str, object]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))  # frozen is inherited: say so to type checkers
class Value(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, tag_field="type"):
    """A frozen value that reads and writes as a JSON object, its kind under `"type"`."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Compact(Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """A frozen value that reads and writes as a JSON array: what a log holds thousands of."""
