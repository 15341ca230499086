"""Keyword arguments and attributes that there are not: the error says which one is meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

T = TypeVar("T", bound=type)

Meant = Callable[[str], str]
"""What to write for a name from another library, or one that belongs elsewhere; `""` where nothing is known of it."""


def unexpected(what: str, given: str, known: Collection[str], meant: Meant) -> TypeError:
    """The error for the keyword argument `given`, which `what` does not have."""
    close = get_close_matches(given, known, 1)
    remedy = meant(given) or (f"{close[0]}=..." if close else "")
    said = f"write {remedy}" if remedy else f"expected some of {', '.join(known)}"
    return TypeError(f"{what} got an unexpected keyword argument {given!r}; {said}")


def says_what_is_meant(meant: Meant) -> Callable[[T], T]:
    """A decorator of a class: who makes an object of it with an argument that there is not, is told which one is meant."""

    def decorate(kind: T) -> T:
        make: Any = kind.__init__  # type: ignore[misc]

        @functools.wraps(make)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                make(self, *args, **kwargs)
            except TypeError:
                known = [name for name in inspect.signature(make).parameters if name != "self"]
                wrong = next((name for name in kwargs if name not in known), None)
                if wrong is None:
                    raise
                raise unexpected(f"{kind.__name__}.__init__()", wrong, known, meant) from None

        kind.__init__ = init  # type: ignore[misc]
        return kind

    return decorate


class Elsewhere:
    """What objects of other libraries have under this name: to read it is an `AttributeError` that says what to write here.

    It stands in the class: a `__getattr__` there would make each attribute that there is slower to read in Python 3.11.
    """

    def __init__(self, name: str, remedy: str) -> None:
        self._name = name
        self._remedy = remedy

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}; write {self._remedy}")


def says_where_it_is(remedies: Mapping[str, str]) -> Callable[[T], T]:
    """A decorator of a class: who reads an attribute of another library's is told the remedy; `remedies` as for `known`."""

    def decorate(kind: T) -> T:
        for remedy, names in remedies.items():
            for name in names.split():
                setattr(kind, name, Elsewhere(name, remedy))
        return kind

    return decorate


def known(remedies: Mapping[str, str], given: str) -> str:
    """The remedy for what was given, of a table that has for each remedy the names that call for it, with spaces between."""
    return next((remedy for remedy, names in remedies.items() if given in names.split()), "")


_LIMITS = {
    "cost=...": "max_cost cost_limit budget max_budget max_usd",
    "tokens=...": "max_tokens max_total_tokens token_limit total_tokens total_tokens_limit",
    "input_tokens=...": "max_input_tokens input_tokens_limit",
    "output_tokens=...": "max_output_tokens output_tokens_limit response_tokens_limit",
    "turns=...": "max_turns max_iterations recursion_limit",
    "requests=...": "max_requests request_limit",
    "tool_calls=...": "max_tool_calls tool_calls_limit",
    "deadline=...": "timeout max_time",
}


def meant_for_limits(given: str) -> str:
    """What of `RunLimits` is meant."""
    return known(_LIMITS, given)


def meant_for_settings(given: str) -> str:
    """What of `ModelSettings` is meant."""
    if given in ("max_output_tokens", "max_completion_tokens", "max_tokens_to_sample"):
        return "max_tokens=..."
    if given in ("stop_sequences", "stop_words"):
        return "stop=[...]"
    if given in ("reasoning", "effort"):
        return "reasoning_effort=..., or thinking=..."
    return "retry=ModelRetrySettings(max_retries=...)" if given in ("max_retries", "retries") else ""
