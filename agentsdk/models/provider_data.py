"""What a reply holds beside its items, usage and finish: kept under the provider's own names, as far as there is room."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

import msgspec

from agentsdk.models.loose import as_object, storable
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import MalformedResponseError

MAX_BYTES = 262_144
"""How much of a reply's data is kept, as JSON: it is in the log with every reply."""

LEFT_OUT = "left_out"
"""The entry that names those there was no room for."""


def provider_data(fields: Mapping[str, object]) -> JsonObject:
    """Those of `fields` that are not empty. What there is no room for, or nests too deep, is named in `left_out`."""
    sizes: list[tuple[int, str, object]] = []
    left_out: list[str] = []
    for name, value in fields.items():
        if value is None or value in ("", [], {}):
            continue
        try:
            value = storable(value)
            sizes.append((len(msgspec.json.encode(value)), name, value))
        except (MalformedResponseError, msgspec.MsgspecError, ValueError, OverflowError):
            left_out.append(name)
    total = 0
    kept: set[str] = set()
    for size, name, _ in sorted(sizes, key=lambda entry: entry[0]):
        total += size
        if total <= MAX_BYTES:
            kept.add(name)
        else:
            left_out.append(name)
    data: JsonObject = {name: value for _, name, value in sizes if name in kept}
    return {**data, LEFT_OUT: cast(object, left_out)} if left_out else data


def uncounted(usage: object, counted: Collection[str]) -> JsonObject:
    """What a provider's usage holds beside the numbers that are `counted`; zeros are left out."""
    others: JsonObject = {}
    for name, value in as_object(usage).items():
        if isinstance(value, dict):
            value = {key: inner for key, inner in cast(JsonObject, value).items() if inner and key not in counted}
        if value and name not in counted:
            others[name] = value
    return others
