"""Print the public API, a line per name: what `tests/public_api.txt` holds. `make api` writes it anew."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import types
from collections.abc import Iterator
from typing import get_origin

import msgspec

import agentsdk
from agentsdk.types.misnamed import Elsewhere

MODULES = (agentsdk, *(importlib.import_module(f"agentsdk.{name}") for name in agentsdk.SUBMODULES))


def parameters(function: object) -> str:
    """Names of the parameters, with `=` where there is a default: what a call can rely on."""
    if isinstance(function, type) and issubclass(function, msgspec.Struct):
        return fields(function)
    if getattr(function, "_is_protocol", False) or get_origin(function) is not None:  # an alias is called by nobody
        return ""
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type]
    except (NameError, TypeError, ValueError):
        return "(...)"
    parts: list[str] = []
    star = False
    for parameter in signature.parameters.values():
        mark = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or parameter.kind in (parameter.VAR_POSITIONAL, parameter.KEYWORD_ONLY)
        parts.append(mark + parameter.name + ("" if parameter.default is parameter.empty else "="))
    return f"({', '.join(parts)})"


def fields(struct: type[msgspec.Struct]) -> str:
    """The same for a plain value, whose annotations need not be resolved for it."""
    names, defaults = struct.__struct_fields__, struct.__struct_defaults__
    required = len(names) - len(defaults)
    parts = [
        name if place < required or defaults[place - required] is msgspec.NODEFAULT else f"{name}="
        for place, name in enumerate(names)
    ]
    return f"({', '.join(parts)})"


def members(owner: type) -> Iterator[str]:
    """Public methods and properties declared by our own classes."""
    names = {name for base in owner.__mro__ if base.__module__.startswith("agentsdk") for name in vars(base)}
    if dataclasses.is_dataclass(owner):
        names.difference_update(field.name for field in dataclasses.fields(owner))
    for name in sorted(names.difference(getattr(owner, "__struct_fields__", ()))):
        value = inspect.getattr_static(owner, name)
        if name.startswith("_") or isinstance(value, Elsewhere):
            continue
        if isinstance(value, staticmethod | classmethod | types.FunctionType):
            function = getattr(owner, name)
            kind = "async " if inspect.iscoroutinefunction(function) else ""
            yield f"{kind}{name}{parameters(function)}"
        else:
            yield name


def lines() -> Iterator[str]:
    """The snapshot. A submodule's line is short where the root has the name as well."""
    for module in MODULES:
        for name in sorted(module.__all__):
            value = getattr(module, name)
            where = f"{module.__name__}.{name}"
            if module is not agentsdk and name in agentsdk.__all__:
                assert value is getattr(agentsdk, name)
                yield f"{where} is agentsdk.{name}"
                continue
            if isinstance(value, type):
                is_error = issubclass(value, BaseException)
                base = f" < {value.__bases__[0].__name__}" if is_error else ""
                yield f"{where}{'' if is_error else parameters(value)}{base}"
                yield from (f"{where}.{member}" for member in members(value) if not is_error or value.__bases__[0] is Exception)
            elif callable(value):
                yield f"{where}{parameters(value)}"
            else:
                yield where


if __name__ == "__main__":
    print("\n".join(lines()))
