"""The signature of a function with its `**options` by name, for `help`, `inspect` and editors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., object])

_NONE: Mapping[str, object] = MappingProxyType({})


def full_signature(function: Callable[..., Any], options: type, defaults: Mapping[str, object] = _NONE) -> inspect.Signature:
    """The signature of `function` with the keys of the TypedDict `options` in place of its `**options`, if it takes any.

    An option that `defaults` does not name is None by default.
    """
    own = inspect.signature(function).parameters.values()
    named = [parameter for parameter in own if parameter.kind is not parameter.VAR_KEYWORD]
    if len(named) == len(own):
        return inspect.Signature(named)
    keyword = inspect.Parameter.KEYWORD_ONLY
    annotations = {name: getattr(given, "__forward_arg__", given) for name, given in options.__annotations__.items()}
    shared = [
        inspect.Parameter(name, keyword, default=defaults.get(name), annotation=annotation)
        for name, annotation in annotations.items()
    ]
    return inspect.Signature([*named, *shared])


def named_only(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of `function` without its `**rest`."""
    own = inspect.signature(function)
    return own.replace(parameters=[each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD])


def shows_options(options: type, defaults: Mapping[str, object] = _NONE) -> Callable[[F], F]:
    """A decorator: `help` and `inspect` show the `**options` of a function by name, with their defaults, as editors do."""

    def decorate(function: F) -> F:
        vars(function)["__signature__"] = full_signature(function, options, defaults)
        return function

    return decorate
