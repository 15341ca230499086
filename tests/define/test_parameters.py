"""Signatures: resolved annotations, the context, names that only the defining scope knows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.define.parameters import MISSING, local_names, read_parameters, unwrapped
from agentsdk.types.errors import UserError

if TYPE_CHECKING:
    from decimal import Decimal


class MyContext(ToolContext[int]):
    __slots__ = ()


def read(func: Callable[..., object], **scope: object) -> dict[str, object]:
    parameters, _ = read_parameters(func, "it", scope)
    return {parameter.name: parameter.annotation for parameter in parameters}


def with_wrapper(ctx: RunContextWrapper[int], x: int) -> None: ...
def with_tool_context(ctx: ToolContext[Any], x: int) -> None: ...
def with_bare_context(ctx: ToolContext, x: int) -> None: ...
def with_subclass(ctx: MyContext, x: int) -> None: ...
def with_annotated(ctx: Annotated[ToolContext[int], "c"], x: int) -> None: ...
def with_positional(ctx: ToolContext[int], /, x: int) -> None: ...


@pytest.mark.parametrize(
    "func", [with_wrapper, with_tool_context, with_bare_context, with_subclass, with_annotated, with_positional]
)
def test_the_context_comes_first_and_is_left_out(func: Callable[..., object]) -> None:
    parameters, takes_context = read_parameters(func, "it", {})
    assert takes_context
    assert [parameter.name for parameter in parameters] == ["x"]


def late(x: int, ctx: RunContextWrapper[int]) -> None: ...
def by_keyword(*, ctx: RunContextWrapper[int]) -> None: ...
def several(*ctx: RunContextWrapper[int]) -> None: ...


@pytest.mark.parametrize("func", [late, by_keyword, several])
def test_a_context_elsewhere_is_refused(func: Callable[..., object]) -> None:
    with pytest.raises(UserError, match="'it' takes its context as parameter 'ctx'"):
        read_parameters(func, "it", {})


def test_variable_parameters_read_as_list_and_object() -> None:
    def func(*args: int, **kwargs: str) -> None: ...
    def bare(*args, **kwargs): ...  # type: ignore[no-untyped-def]

    assert read(func) == {"args": list[int], "kwargs": dict[str, str]}
    assert read(bare) == {"args": list[Any], "kwargs": dict[str, Any]}


def test_an_absent_annotation_is_missing() -> None:
    def func(x, y=1): ...  # type: ignore[no-untyped-def]

    assert read(func) == {"x": MISSING, "y": MISSING}


def test_text_annotations_resolve_in_globals_closure_and_scope() -> None:
    class Local: ...

    def uses_closure(x: Local, y: Annotated[int, "why"]) -> None:
        Local()

    def uses_scope(x: list[Local]) -> None: ...

    assert read(uses_closure) == {"x": Local, "y": Annotated[int, "why"]}
    assert read(uses_scope, Local=Local) == {"x": list[Local]}


def test_the_return_annotation_does_not_matter() -> None:
    def func(x: int) -> Decimal:
        raise NotImplementedError

    assert read(func) == {"x": int}


def test_an_unknown_name_is_told_with_its_parameter() -> None:
    def func(x: int, price: Decimal) -> None: ...

    with pytest.raises(UserError, match=r"'it' has an annotation 'Decimal' at parameter 'price' that cannot be resolved"):
        read(func)


def test_partials_methods_and_callable_objects() -> None:
    class Shop:
        def buy(self, x: int) -> None: ...
        def __call__(self, y: str) -> None: ...

    def func(x: int, y: str) -> None: ...

    assert read(Shop().buy) == {"x": int}
    assert read(Shop()) == {"y": str}
    assert read(functools.partial(func, 1)) == {"y": str}
    assert unwrapped(functools.partial(functools.partial(func))) is func
    assert unwrapped(Shop()) is Shop.__call__


def test_wrapped_functions_show_what_they_wrap() -> None:
    def inner(x: int) -> None: ...

    @functools.wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> None: ...

    assert read(outer) == {"x": int}


def test_builtins_without_a_signature_are_refused() -> None:
    with pytest.raises(UserError, match="no signature"):
        read_parameters(type, "it", {})


def test_local_names_finds_what_the_annotations_name() -> None:
    class Local: ...

    unrelated = 1

    def func(x: Local | None) -> None: ...

    assert local_names(func, 1) == {"Local": Local}
    assert unrelated
    assert local_names(with_wrapper, 1) == {}
    assert local_names(object(), 1) == {}
