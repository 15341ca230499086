"""Functions as tools: schema, and arguments bound to the function."""

from __future__ import annotations

import enum
import gc
import subprocess
import sys
import textwrap
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from agentsdk.define import schema as schema_module
from agentsdk.define.context import ToolContext
from agentsdk.define.schema import FunctionSchema, function_schema
from agentsdk.types.errors import InvalidArgumentsError, UserError


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    """Where someone lives."""

    street: str = Field(description="With the number", min_length=1)
    zip: int | None = None


@dataclass
class Point:
    x: float
    f0: float = 0.0


class Size(TypedDict):
    width: int


class Node(BaseModel):
    value: int
    children: list[Node] = []


def call(func: Callable[..., Any], arguments: dict[str, Any], **options: Any) -> Any:
    args, kwargs = function_schema(func, **options).bind(arguments)
    return func(*args, **kwargs)


def wrong(func: Callable[..., Any], arguments: dict[str, Any], **options: Any) -> str:
    with pytest.raises(InvalidArgumentsError) as caught:
        function_schema(func, **options).bind(arguments)
    return caught.value.reason


def shop(
    name: str, count: int = 1, price: float | None = None, tags: list[str] | None = None, unit: Literal["a", "b"] = "a"
) -> Any:
    """Buy something.

    Args:
        name: What to buy.
        count: How many.
    """
    return name, count, price, tags, unit


def test_the_schema_of_plain_parameters() -> None:
    schema = function_schema(shop)
    assert (schema.name, schema.description, schema.takes_context) == ("shop", "Buy something.", False)
    assert schema.params_json_schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "What to buy."},
            "count": {"type": "integer", "description": "How many. (default: 1)"},
            "price": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
            "unit": {"type": "string", "enum": ["a", "b"], "description": 'Default: "a"'},
        },
        "required": ["name", "count", "price", "tags", "unit"],
        "additionalProperties": False,
    }


def test_the_schema_that_is_not_strict_keeps_defaults_and_optional_parameters() -> None:
    schema = function_schema(shop, strict_json_schema=False).params_json_schema
    assert schema["required"] == ["name"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["count"] == {"type": "integer", "default": 1, "description": "How many."}  # type: ignore[index]


def test_docstring_and_name_can_be_left_out() -> None:
    schema = function_schema(shop, name_override="buy", use_docstring_info=False)
    assert (schema.name, schema.description) == ("buy", "")
    assert "description" not in schema.params_json_schema["properties"]["name"]  # type: ignore[index]


def test_a_function_without_parameters() -> None:
    def now() -> str:
        return "noon"

    assert function_schema(now).params_json_schema == {
        "type": "object", "properties": {}, "required": [], "additionalProperties": False
    }  # fmt: skip
    assert call(now, {}) == "noon"
    assert wrong(now, {"x": 1}) == "- x: unknown, expected only []"


def rich(
    color: Color,
    address: Address,
    point: Point,
    size: Size,
    day: date,
    at: datetime,
    key: UUID,
    sum: Decimal,
    node: Node,
    pair: tuple[float, float],
    names: set[str],
    home: Address | None = None,
    also: Color = Color.RED,
    age: Annotated[int, Field(ge=0, description="In years")] = 1,
    note: Annotated[str, "Said aloud"] = "",
    stars: int = Field(3, le=5),
    extra: list[int] = Field(default_factory=list),  # noqa: B008 - what is tested
) -> dict[str, Any]:
    return locals()


RICH: dict[str, Any] = {
    "color": "blue",
    "address": {"street": "s", "zip": 1},
    "point": {"x": 1, "f0": 2},
    "size": {"width": 1},
    "day": "2020-01-02",
    "at": "2020-01-02T03:04:05Z",
    "key": "12345678-1234-5678-1234-567812345678",
    "sum": "1.10",
    "node": {"value": 1, "children": [{"value": 2, "children": []}]},
    "pair": [1, 2.5],
    "names": ["a", "b"],
}


def test_rich_types_are_read_from_json() -> None:
    got = call(rich, RICH)
    assert got["color"] is Color.BLUE
    assert got["address"] == Address(street="s", zip=1)
    assert got["point"] == Point(1.0, 2.0)
    assert got["size"] == {"width": 1}
    assert got["day"] == date(2020, 1, 2)
    assert got["at"].year == 2020
    assert got["key"] == UUID(RICH["key"])
    assert got["sum"] == Decimal("1.10")
    assert got["node"] == Node(value=1, children=[Node(value=2)])
    assert got["pair"] == (1.0, 2.5)
    assert got["names"] == {"a", "b"}
    assert (got["home"], got["also"], got["age"], got["note"], got["stars"], got["extra"]) == (None, Color.RED, 1, "", 3, [])


def test_rich_types_are_described() -> None:
    schema: Any = function_schema(rich).params_json_schema
    properties = schema["properties"]
    assert schema["required"] == list(properties)
    assert schema["$defs"]["Color"] == {"enum": ["red", "blue"], "type": "string"}
    assert schema["$defs"]["Address"]["properties"]["street"] == {
        "description": "With the number", "minLength": 1, "type": "string"
    }  # fmt: skip
    assert schema["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert properties["age"] == {"minimum": 0, "type": "integer", "description": "In years (default: 1)"}
    assert properties["note"]["description"].startswith("Said aloud")
    assert properties["stars"] == {"maximum": 5, "type": "integer", "description": "Default: 3"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("color", "green"), ("address", {"street": ""}), ("point", {"x": "1"}), ("size", {"width": 1.5}), ("day", 5)),
        *(("age", -1), ("age", "1"), ("stars", 6), ("pair", [1]), ("names", "a"), ("node", {"value": 1, "children": [{}]})),
        *(("note", 1), ("home", []), ("address", {"street": "s", "zip": "1"}), ("extra", ["1"]), ("key", "x")),
    ],
)
def test_rich_types_refuse_what_does_not_fit(field: str, value: Any) -> None:
    assert wrong(rich, RICH | {field: value}).startswith(f"- {field}")


def test_every_wrong_field_is_told() -> None:
    told = wrong(shop, {"count": "5", "tags": ["a", 1], "size": 1})
    assert told.splitlines() == [
        "- name: missing, expected a string",
        "- count: expected an integer, got a string of 1 characters",
        "- tags[1]: expected a string, got an integer",
        "- size: unknown, expected only ['name', 'count', 'price', 'tags', 'unit']",
    ]
    told = wrong(rich, RICH | {"day": "x", "size": {}, "other": 1})
    assert [line.split(":")[0] for line in told.splitlines()] == ["- size.width", "- day", "- other"]
    assert wrong(rich, RICH | {"other": 1}).startswith("- other: unknown")


def test_an_integer_fits_where_a_number_is_asked() -> None:
    got = call(shop, {"name": "x", "price": 2})
    assert got[2] == 2.0
    assert type(got[2]) is float


def test_what_is_left_out_takes_the_functions_own_default() -> None:
    sentinel = object()

    def plain(x: int, y: str = "why") -> Any:
        return x, y

    def odd(day: date, mark: Any = sentinel) -> Any:
        return mark

    assert call(plain, {"x": 1}) == (1, "why")
    assert call(odd, {"day": "2020-01-01"}, strict_json_schema=False) is sentinel


def every_kind(a: int, /, b: int = 2, *args: int, c: str, d: float = 1.0, **kw: int) -> Any:
    return a, b, args, c, d, kw


def test_every_kind_of_parameter() -> None:
    options = {"strict_json_schema": False}
    assert call(every_kind, {"a": 1, "c": "x"}, **options) == (1, 2, (), "x", 1.0, {})
    assert call(every_kind, {"a": 1, "c": "x", "args": [7, 8], "kw": {"z": 3}}, **options) == (1, 2, (7, 8), "x", 1.0, {"z": 3})
    assert call(every_kind, {"a": 1, "b": 5, "c": "x", "d": 2, "args": [7]}, **options) == (1, 5, (7,), "x", 2.0, {})
    assert "kw: ['b'] are arguments of their own" in wrong(every_kind, {"a": 1, "c": "x", "kw": {"b": 1}}, **options)
    assert "args[0]" in wrong(every_kind, {"a": 1, "c": "x", "args": ["7"]}, **options)
    assert "kw.z" in wrong(every_kind, {"a": 1, "c": "x", "kw": {"z": "1"}}, **options)


def test_a_positional_default_stands_in_when_a_later_one_is_given() -> None:
    def func(a: int = 1, b: int = 2, /) -> Any:
        return a, b

    assert call(func, {"b": 5}) == (1, 5)
    assert call(func, {}) == (1, 2)


def test_names_that_clash_with_nothing() -> None:
    def func(model_config: date, schema: str, copy: int, _x: int, f1: int, self: int, arguments: int) -> Any:
        return model_config, schema, copy, _x, f1, self, arguments

    given_arguments = {"model_config": "2020-01-01", "schema": "s", "copy": 1, "_x": 2, "f1": 3, "self": 4, "arguments": 5}
    assert call(func, given_arguments) == (date(2020, 1, 1), "s", 1, 2, 3, 4, 5)


def test_the_context_is_not_an_argument() -> None:
    def func(ctx: ToolContext[int], x: int) -> None: ...

    schema = function_schema(func)
    assert schema.takes_context
    assert list(schema.params_json_schema["properties"]) == ["x"]  # type: ignore[call-overload]
    assert schema.bind({"x": 1}) == ([], {"x": 1})


@given(
    st.dictionaries(st.sampled_from(["name", "count", "price", "tags", "x"]), st.none() | st.integers() | st.lists(st.text()))
)
def test_bind_never_changes_the_arguments(arguments: dict[str, Any]) -> None:
    before = repr(arguments)
    try:
        args, kwargs = function_schema(shop).bind(arguments)
    except InvalidArgumentsError:
        pass
    else:
        for value in kwargs.values():
            if isinstance(value, list):
                value.append("changed")
        kwargs.clear()
        args.clear()
    assert repr(arguments) == before


def test_containers_of_any_type_are_copies() -> None:
    def func(data: dict[str, Any], day: date | None = None) -> Any:
        return data

    inner = {"a": [1, 2**70]}
    got = call(func, {"data": inner}, strict_json_schema=False)
    assert got == inner
    assert got is not inner
    assert got["a"] is not inner["a"]


def unannotated(x) -> None: ...  # type: ignore[no-untyped-def]
def free_keys(x: dict[str, int]) -> None: ...
def anything(x: Any) -> None: ...
def keywords(**kw: int) -> None: ...
def nested_anything(x: list[Address], y: list[dict[str, int]]) -> None: ...


def bare_context(ctx) -> None: ...  # type: ignore[no-untyped-def]
def bare_self(self) -> None: ...  # type: ignore[no-untyped-def]


@pytest.mark.parametrize(
    ("func", "told"),
    [(bare_context, r"; annotate it as ToolContext\[\.\.\.\] "), (bare_self, r": function_tool\(thing\.method\)$")],
)
def test_what_a_bare_parameter_is_by_its_name_is_said(func: Callable[..., Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        function_schema(func)


@pytest.mark.parametrize(
    ("func", "told"),
    [
        (unannotated, "parameter 'x' of tool 'unannotated' has no annotation"),
        (free_keys, "tool 'free_keys' has no strict JSON schema: 'x' is an object with free keys"),
        (anything, "'x' takes a value of any type"),
        (keywords, "'kw' is an object with free keys"),
        (nested_anything, r"'y\[\]' is an object with free keys"),
    ],
)
def test_what_has_no_strict_schema_is_refused_unless_asked(func: Callable[..., Any], told: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        function_schema(func)
    assert "strict_mode=False" in str(caught.value)
    assert function_schema(func, strict_json_schema=False).params_json_schema["type"] == "object"


class Opaque: ...


def callback(day: date, then: Callable[[], None]) -> None: ...
def opaque(x: int, thing: Opaque) -> None: ...
def early(thing: Opaque, x: int) -> None: ...


@pytest.mark.parametrize(
    ("func", "told"),
    [
        (callback, "parameter 'then' of tool 'callback' has no JSON schema"),
        (opaque, "parameter 'thing' of tool 'opaque' has no JSON schema"),
        (early, "parameter 'thing' of tool 'early' has no JSON schema"),
    ],
)
def test_a_type_without_json_schema_is_refused(func: Callable[..., Any], told: str) -> None:
    for strict in (True, False):
        with pytest.raises(UserError, match=told):
            function_schema(func, strict_json_schema=strict)


def test_functions_made_again_share_a_schema() -> None:
    def make(default: int) -> Callable[..., Any]:
        def func(x: int = default) -> int:
            return x

        return func

    assert function_schema(make(1)) is function_schema(make(1))
    assert function_schema(make(1)) is not function_schema(make(2))
    assert function_schema(make(1)) is not function_schema(make(True))
    assert function_schema(make(1)) is not function_schema(make(1), strict_json_schema=False)
    assert function_schema(make(1)) is not function_schema(make(1), name_override="other")


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_module, "_cache", {})
    monkeypatch.setattr(schema_module, "_MAX_CACHED", 2)
    first = function_schema(shop, name_override="first")
    for name in ("second", "third"):
        function_schema(shop, name_override=name)
    assert len(schema_module._cache) == 2
    assert function_schema(shop, name_override="first") is not first


def test_annotations_and_scopes_keep_schemas_apart() -> None:
    def make(kind: Any) -> Callable[..., Any]:
        def func(x: kind) -> Any:
            return x

        func.__annotations__ = {"x": kind}
        return func

    assert function_schema(make(int)) is function_schema(make(int))
    assert function_schema(make(int)) is not function_schema(make(str))
    unhashable = Annotated[int, Field(description="d", json_schema_extra={"a": []}), ["unhashable"]]
    assert function_schema(make(unhashable)).bind({"x": 1}) == ([], {"x": 1})

    def scoped(x: Local) -> Any:  # type: ignore[name-defined]  # noqa: F821
        return x

    first = function_schema(scoped, scope={"Local": int})
    assert first is function_schema(scoped, scope={"Local": int})
    assert function_schema(scoped, scope={"Local": str}).bind({"x": "a"}) == ([], {"x": "a"})


def test_text_annotations_are_read_in_the_functions_own_module() -> None:
    source = textwrap.dedent("""
        from __future__ import annotations
        def func(x: Kind): return x
    """)
    schemas: list[FunctionSchema] = []
    for kind in (int, str):
        module = types.ModuleType("made")
        module.__dict__["Kind"] = kind
        exec(compile(source, "made.py", "exec"), module.__dict__)
        schemas.append(function_schema(module.__dict__["func"]))
    assert [schema.params_json_schema["properties"]["x"]["type"] for schema in schemas] == ["integer", "string"]  # type: ignore[index]


def test_a_schema_keeps_no_function_alive() -> None:
    class Big: ...

    def make() -> tuple[weakref.ref[Big], FunctionSchema]:
        big = Big()

        def func(x: int) -> Any:
            return big

        return weakref.ref(big), function_schema(func)

    held, schema = make()
    gc.collect()
    assert held() is None
    assert schema.bind({"x": 1})


def test_pydantic_is_imported_only_when_a_type_needs_it() -> None:
    code = """
        import sys
        from agentsdk.define.schema import function_schema
        def plain(a: str, b: int | None = None, c: list[float] = []): ...
        function_schema(plain).bind({"a": "x"})
        assert "pydantic" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
