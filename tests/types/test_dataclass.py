"""Our `dataclass` does what the standard library's does."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from agentsdk.types.dataclass import dataclass

T = TypeVar("T")
OPTIONS: list[dict[str, bool]] = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "eq": False},
    {"eq": False, "repr": False},
    {"frozen": True, "slots": True, "repr": False},
]
each = pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options) or "plain")


def made(decorator: Callable[..., Any], options: dict[str, bool]) -> Any:
    """A class called `Point`, which pickle finds as this module's."""

    class Point(Generic[T]):
        """A point."""

        x: int
        y: int = 2
        tags: list[str] = dataclasses.field(default_factory=list)
        note: str = dataclasses.field(default="", repr=False, compare=False)
        count: ClassVar[int] = 7

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x is negative")

    Point.__qualname__ = "Point"
    Point.__module__ = __name__
    return decorator(**options)(Point)


def told(do: Callable[[], object]) -> object:
    try:
        return do()
    except Exception as error:
        return type(error), str(error)


def facts(kind: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What can be seen of the class and its objects."""
    monkeypatch.setattr(sys.modules[__name__], "Point", kind, raising=False)
    one, same, other = kind(x=1), kind(x=1, note="said"), kind(x=1, y=3)
    default = object.__repr__(one)
    return {
        "signature": str(inspect.signature(kind)),
        "doc": kind.__doc__,
        "annotations": kind.__init__.__annotations__,
        "name": kind.__init__.__qualname__,
        "fields": [(field.name, field.type, field.default, field.kw_only) for field in dataclasses.fields(kind)],
        "match": kind.__match_args__,
        "params": str(kind.__dataclass_params__),
        "slots": getattr(kind, "__slots__", None),
        "repr": told(lambda: repr(one) if repr(one) != default else "the default"),
        "equal": (one == same, one == other, one == 1, one != same),
        "hash": told(lambda: hash(kind(x=1, tags=())) == hash(kind(x=1, tags=(), note="said"))),
        "too few": told(kind),
        "checked": told(lambda: kind(x=-1)),
        "set": told(lambda: setattr(one, "x", 5)),
        # With slots and frozen the standard one fails for another reason than it means to, in Python 3.11.
        "set what is none": told(lambda: setattr(one, "z", 5)) if not hasattr(kind, "__slots__") else None,
        "delete": told(lambda: delattr(other, "x")),
        "own lists": kind(x=1).tags is not kind(x=1).tags,
        "dict": dataclasses.asdict(same),
        "replaced": dataclasses.asdict(dataclasses.replace(same, y=9)),
        "copied": dataclasses.asdict(copy.deepcopy(same)),
        "pickled": dataclasses.asdict(pickle.loads(pickle.dumps(same))),
    }


@each
def test_it_does_what_the_standard_one_does(options: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    assert facts(made(dataclass, options), monkeypatch) == facts(made(dataclasses.dataclass, options), monkeypatch)


@each
@pytest.mark.parametrize("decorator", [dataclass, dataclasses.dataclass], ids=["ours", "standard"])
def test_one_can_be_derived_from_it(options: dict[str, bool], decorator: Callable[..., Any]) -> None:
    base = made(dataclass, options)
    derived = decorator(**options)(type("Derived", (base,), {"__annotations__": {"z": "int"}, "z": 3, "__doc__": "Derived."}))
    one = derived(x=1, z=5)
    assert (one.x, one.y, one.z) == (1, 2, 5)
    if options.get("frozen"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.z = 6
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.x = 6


def test_a_derived_class_that_is_none_may_have_attributes_of_its_own() -> None:
    base = made(dataclass, {"frozen": True})

    class Derived(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(1)
            self.own = 2
            del self.own
            self.own = 3

    assert Derived().own == 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        Derived().x = 3


def test_what_a_class_has_of_its_own_stays() -> None:
    @dataclass(frozen=True)
    class Point:
        x: int

        def __repr__(self) -> str:
            return "mine"

        def __hash__(self) -> int:
            return 7

    assert (repr(Point(1)), hash(Point(1))) == ("mine", 7)


def test_a_cycle_can_be_shown() -> None:
    @dataclass
    class Node:
        next: Any = None

    node = Node()
    node.next = node
    assert repr(node).endswith("Node(next=...)")
