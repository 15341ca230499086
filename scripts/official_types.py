"""Say which values the providers' own client libraries would not take.

Reads lines of JSON `["package.module:Type", value]` from stdin, and prints a line for each value that is not of that type or
has what the type does not know. Exit status 1 if there is one. It runs in the environment that `official_clients.py` makes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError


@cache
def adapter(name: str) -> TypeAdapter[Any]:
    """What checks values of a type."""
    module, _, attribute = name.partition(":")
    return TypeAdapter(getattr(import_module(module), attribute))


def extras(value: object) -> Iterator[str]:
    """The fields that the classes of these libraries keep without knowing them."""
    if isinstance(value, BaseModel):
        yield from value.model_extra or ()
        for field in type(value).model_fields:
            yield from extras(getattr(value, field))
    elif isinstance(value, list):
        for entry in value:
            yield from extras(entry)


def fault(name: str, value: object) -> str:
    """What is wrong with a value; `""` if nothing is."""
    try:
        read = adapter(name).validate_python(value)
        if unknown := sorted(set(extras(read))):
            return f"unknown fields {unknown}"
        if isinstance(read, BaseModel):
            return ""
        kept = json.loads(adapter(name).dump_json(read, by_alias=True))  # a typed dict leaves out what it does not know
    except ValidationError as error:
        return str(error)
    return "" if kept == value else f"only this of it is known: {json.dumps(kept)}"


def main() -> int:
    """Exit status."""
    faults = 0
    for line in sys.stdin:
        name, value = json.loads(line)
        if why := fault(name, value):
            faults += 1
            print(f"{name} {json.dumps(value)}\n  {why}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
