"""`dataclass`: that of the standard library, built in a quarter of the time.

`dataclasses` compiles six functions for each frozen class, together 12 ms of `import agentsdk`. Only `__init__` is called often
enough to be worth that; the others are closures here. What they do is the same, and type checkers see the standard decorator.
"""

from __future__ import annotations

import dataclasses
import reprlib
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options: bool):
        """As `dataclasses.dataclass`, of whose options it takes `frozen`, `slots`, `kw_only`, `eq` and `repr`."""
        return _build(cls, **options) if cls is not None else lambda cls: _build(cls, **options)


class _Factory:
    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()
"""Stands in a signature for a default that is made anew for each object."""


def _build(
    cls: type[Any], *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True, repr: bool = True
) -> type[Any]:
    if any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:]):
        return dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only, eq=eq, repr=repr)(cls)
    own = set(vars(cls))
    made: type[Any] = dataclasses.dataclass(init=False, slots=slots, kw_only=kw_only, eq=False, repr=False)(cls)
    params: Any = made.__dataclass_params__  # what a dataclass that is derived from this one asks
    params.init, params.frozen, params.eq, params.repr = True, frozen, eq, repr
    fields = dataclasses.fields(made)
    methods: dict[str, Callable[..., object] | None] = {"__init__": _init(made, fields, frozen)}
    if repr:
        methods["__repr__"] = _repr([field.name for field in fields if field.repr])
    if eq:
        methods["__eq__"], methods["__hash__"] = _comparison([field.name for field in fields if field.compare])
        if not frozen:
            methods["__hash__"] = None
    if frozen:
        methods["__setattr__"], methods["__delattr__"] = _frozen(made, {field.name for field in fields})
    if frozen and slots:
        methods["__getstate__"], methods["__setstate__"] = _pickling([field.name for field in fields])
    for name in methods.keys() - own:
        setattr(made, name, methods[name])
    return made


def _init(cls: type[Any], fields: tuple[dataclasses.Field[Any], ...], frozen: bool) -> Callable[..., None]:
    missing = dataclasses.MISSING
    names: dict[str, object] = {"_set": object.__setattr__, "_factory": _FACTORY}
    parameters: dict[bool, list[str]] = {False: ["self"], True: []}
    body: list[str] = []
    for field in fields:
        name = value = field.name
        if field.default is not missing:
            names[f"_{name}"] = field.default
        elif field.default_factory is not missing:
            names |= {f"_{name}": _FACTORY, f"_make_{name}": field.default_factory}
            value = f"_make_{name}() if {name} is _factory else {name}"
        parameters[bool(field.kw_only)].append(f"{name}=_{name}" if f"_{name}" in names else name)
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    head = ", ".join([*parameters[False], *(["*"] if parameters[True] else []), *parameters[True]])
    lines = "\n  ".join(body or ["pass"])
    found: dict[str, Any] = {}
    exec(
        f"def make({', '.join(names)}):\n def __init__({head}):\n  {lines}\n return __init__",
        vars(sys.modules[cls.__module__]),
        found,
    )
    init: Any = found["make"](**names)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {**{field.name: field.type for field in fields}, "return": None}
    made: Callable[..., None] = init
    return made


def _repr(names: list[str]) -> Callable[[Any], str]:
    @reprlib.recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _comparison(names: list[str]) -> tuple[Callable[[Any, Any], bool], Callable[[Any], int]]:
    several: Callable[[object], tuple[object, ...]] | None = attrgetter(*names) if len(names) > 1 else None
    values = several or (lambda of: tuple([getattr(of, name) for name in names]))

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __eq__, __hash__


def _frozen(cls: type[Any], names: set[str]) -> tuple[Callable[[Any, str, object], None], Callable[[Any, str], None]]:
    """A field, and whatever is no attribute of a derived class, can neither be set nor deleted."""

    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _pickling(names: list[str]) -> tuple[Callable[[Any], list[object]], Callable[[Any, list[object]], None]]:
    """Without these, a pickle of slots is read by setting attributes."""

    def __getstate__(self: Any) -> list[object]:  # noqa: N807
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: list[object]) -> None:  # noqa: N807
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return __getstate__, __setstate__
