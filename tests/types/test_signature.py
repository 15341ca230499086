"""Signatures whose options have names."""

from __future__ import annotations

import inspect
from typing import TypedDict, Unpack

from agentsdk.types.signature import full_signature


class Options(TypedDict, total=False):
    size: int
    name: str | None


def test_options_are_shown_by_name_with_their_types_and_defaults() -> None:
    def function(own: str, *, flag: bool = True, **options: Unpack[Options]) -> None: ...

    shown = full_signature(function, Options, {"size": 3})
    assert str(shown) == "(own: 'str', *, flag: 'bool' = True, size: 'int' = 3, name: 'str | None' = None)"


def test_a_function_without_options_keeps_its_parameters() -> None:
    def function(own: str) -> None: ...

    assert full_signature(function, Options).parameters == inspect.signature(function).parameters
