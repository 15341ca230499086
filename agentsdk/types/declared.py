"""Validation of what a user declares, where it is given: one table per declared object says what each of its fields must be."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from math import inf
from typing import cast

import msgspec
from msgspec import Struct, structs

from agentsdk.types.errors import UserError

MOST_WHOLE = 2**63 - 1
"""The largest whole number that every store, provider and JSON reader takes."""

_LARGEST_FLOAT = 1.7976931348623157e308

MAX_SHOWN = 80
"""How many characters of a wrong value are repeated."""


_NOTHING = object()
_NO_FIELDS: Mapping[str, object] = {}
_KEPT = frozenset((type(None), bool, int, float, str))
"""The types of values that, having passed once, do so again, and hold nothing of the user's alive."""


class Expected(Struct, frozen=True):
    """What a value must be: `text` says it, and what to do, to a person; `fits` decides.

    `entries` is what each entry of a sequence must be. A `secret` value is never shown.
    """

    text: str
    fits: Callable[[object], bool]
    entries: Expected | None = None
    secret: bool = False


class Fields:
    """The fields of one kind of declared object, and what each must be: `Fields("Inbox", clock=CALLABLE)`.

    `kind` is a name for errors, or the class that the objects have: the defaults of its fields pass unseen.
    """

    __slots__ = ("_expected", "_kind", "_optional", "_passed")

    def __init__(self, kind: str | type, /, **expected: Expected) -> None:
        self._kind = kind if isinstance(kind, str) else kind.__name__
        self._expected = expected
        # The default or the plain value that passed last, by field: most fields of most objects are left at their defaults.
        self._passed: dict[str, object] = dict.fromkeys(expected, _NOTHING)
        if isinstance(kind, type):
            self._passed.update((field, getattr(kind, field)) for field in expected if hasattr(kind, field))
        self._optional = frozenset([field for field, given in expected.items() if _fits(given, None)])

    def check(self, declared: object, noun: str = "") -> None:
        """Raises `UserError` for the first wrong field of `declared`, known by `noun` and its name where a noun is given."""
        values: Mapping[str, object] = getattr(declared, "__dict__", _NO_FIELDS)  # half the time of getattr
        for field, passed in self._passed.items():
            value = values[field] if field in values else getattr(declared, field)
            if value is not passed and not self._passes(field, value):
                raise self._wrong(field, value, _named(noun, declared))

    def check_given(self, name: str = "", /, **given: object) -> None:
        """The same of arguments; `name` says whose they are. Those that the table does not know pass."""
        passed, optional = self._passed, self._optional
        for field, value in given.items():
            if (value is None and field in optional) or field not in passed or value is passed[field]:
                continue  # most arguments are left out
            self.check_one(field, value, name)

    def check_one(self, field: str, value: object, name: str = "") -> None:
        """The same of one field."""
        if field in self._expected and not self._passes(field, value):
            raise self._wrong(field, value, name)

    def _passes(self, field: str, value: object) -> bool:
        expected, kind = self._expected[field], type(value)
        if expected.entries is not None and kind is list and not value:
            return True
        try:
            if not expected.fits(value):
                return False
        except Exception:  # of a comparison or a property of the value's own
            return False
        if kind in _KEPT and not expected.secret:
            self._passed[field] = value
        return True

    def _wrong(self, field: str, given: object, name: str) -> UserError:
        expected, value = self._expected[field], given
        inner = expected.entries
        if inner is not None and isinstance(given, list | tuple):
            entries = enumerate(cast("Sequence[object]", given))
            wrong = next(((position, entry) for position, entry in entries if not _fits(inner, entry)), None)
            if wrong is not None:
                field, value, expected = f"{field}[{wrong[0]}]", wrong[1], inner
        repeated = f"<{_type_name(value)}>" if expected.secret else shown(value)
        field = field.lstrip("_")
        which = f"{name} has {field}={repeated}" if name else f"{self._kind}({field}={repeated})"
        return UserError(f"{which}, expected {expected.text}")


def _named(noun: str, declared: object) -> str:
    name: object = getattr(declared, "name", None) if noun else None
    return f"{noun} {_repr(name)}" if isinstance(name, str) and str.__len__(name) else ""


def _fits(expected: Expected, value: object) -> bool:
    try:
        return expected.fits(value)
    except Exception:  # of a comparison or a property of the value's own
        return False


def shown(value: object) -> str:
    """A wrong value as an error may repeat it: a plain value cut to a line, of a URL its scheme, of all else the kind only."""
    if isinstance(value, str) and "://" in value:
        return repr(value.partition("://")[0][:MAX_SHOWN] + "://...")
    kind = type(value)
    if kind in _PLAIN or isinstance(value, type | Enum) or (kind in _CONTAINERS and not value):
        text = _repr(value)
        return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
    named = getattr(value, "__qualname__", None) if kind.__name__ in _FUNCTIONS else None
    return f"<{kind.__name__} {named}>" if isinstance(named, str) else f"<{_type_name(value)}>"


_PLAIN = (str, int, float, bool, bytes, Decimal, type(None))
_CONTAINERS = (list, tuple, dict, set)
_FUNCTIONS = ("function", "builtin_function_or_method", "method")


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # an integer of too many digits, a metaclass of the user's
        return f"<{_type_name(value)}>"


def _type_name(value: object) -> str:
    return type(value).__name__


def is_real(value: object) -> bool:
    """Whether it is a finite number that a float can hold, True and False aside."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST_FLOAT <= value <= _LARGEST_FLOAT


def is_whole(value: object, least: float = -MOST_WHOLE, most: float = MOST_WHOLE) -> bool:
    """Whether it is a whole number in a range, True and False aside."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def any_text(what: str) -> Expected:
    """Any text."""
    return Expected(what, lambda value: isinstance(value, str))


def a_name(what: str) -> Expected:
    """A text that is not empty."""
    return Expected(what, lambda value: isinstance(value, str) and bool(str.__len__(value)))


def a_tool_name(what: str) -> Expected:
    """A name that providers take for a tool."""
    return Expected(
        f"{what}: 1 to 64 letters, digits, '_' or '-'", lambda value: isinstance(value, str) and is_tool_name(value)
    )


_TOOL_NAME = re.compile("[A-Za-z0-9_-]{1,64}")


def is_tool_name(text: str) -> bool:
    """Whether providers take it as the name of a tool."""
    return _TOOL_NAME.fullmatch(text) is not None


def whole(what: str, least: float = -MOST_WHOLE) -> Expected:
    """A whole number, `least` or more."""
    return Expected(what, lambda value: is_whole(value, least))


def number(what: str, *, above: float = -inf, least: float = -inf, most: float = inf) -> Expected:
    """A finite number in a range."""

    def fits(value: object) -> bool:
        return is_real(value) and above < cast(float, value) and least <= cast(float, value) <= most

    return Expected(what, fits)


def one_of(what: str, values: Collection[str]) -> Expected:
    """One of these texts."""
    return Expected(what, lambda value: isinstance(value, str) and value in values)


def a(kind: type | tuple[type, ...], what: str) -> Expected:
    """An object of a class."""
    return Expected(what, lambda value: isinstance(value, kind))


def having(methods: Iterable[str], what: str, *, texts: Iterable[str] = ()) -> Expected:
    """An object with these methods, and with texts under those names: what a Protocol asks for. Not a class."""
    methods, texts = tuple(methods), tuple(texts)

    def fits(value: object) -> bool:
        if isinstance(value, type):
            return False
        for method in methods:
            if not callable(getattr(value, method, None)):
                return False
        for text in texts:  # noqa: SIM110 - half the time of all()
            if not isinstance(getattr(value, text, None), str):
                return False
        return True

    return Expected(what, fits)


def sequence_of(entries: Expected, what: str) -> Expected:
    """A list or tuple whose entries are all as they must be."""

    def fits(value: object) -> bool:
        is_one = type(value) in (list, tuple) or (
            isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)
        )
        return is_one and all(map(entries.fits, cast("Sequence[object]", value)))

    return Expected(what, fits, entries)


def mapping_of(values: Expected, what: str, *, keys: Collection[str] | None = None) -> Expected:
    """A mapping of texts, of `keys` only where they are given, to what they must be."""

    def fits(value: object) -> bool:
        return isinstance(value, Mapping) and all(
            isinstance(key, str) and (keys is None or key in keys) and values.fits(entry)
            for key, entry in cast("Mapping[object, object]", value).items()
        )

    return Expected(what, fits, secret=values.secret)


def json_object(what: str) -> Expected:
    """A dict that is a JSON object."""

    def fits(value: object) -> bool:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in cast("dict[object, object]", value)):
            return False
        msgspec.json.encode(cast("dict[str, object]", value))
        return True

    return Expected(what, fits)


def either(*alternatives: Expected, what: str) -> Expected:
    """One of several."""

    def fits(value: object) -> bool:
        for expected in alternatives:  # noqa: SIM110 - a third of the time of any()
            if _fits(expected, value):
                return True
        return False

    return Expected(what, fits)


def optional(expected: Expected) -> Expected:
    """That, or None."""
    fits = expected.fits

    def fits_or_none(value: object) -> bool:
        return value is None or fits(value)

    what, semicolon, remedy = expected.text.partition(";")
    return structs.replace(expected, text=f"{what}, or None{semicolon}{remedy}", fits=fits_or_none)


def secret(expected: Expected) -> Expected:
    """That, never shown."""
    return structs.replace(expected, secret=True)


FLAG = Expected("True or False", lambda value: value is True or value is False)
CALLABLE = Expected("a callable; pass a def", callable)
SYNC = Expected(
    "a callable that is not async; pass a def", lambda value: callable(value) and not inspect.iscoroutinefunction(value)
)
RULE = either(FLAG, CALLABLE, what="True, False or a callable; pass a def or async def that says which")
SECONDS = number("finite seconds above 0; 30 suits most", above=0)
ANYTHING = Expected("anything", lambda value: True)
