"""Tools as the functions of a program: what a model is shown of them, arguments and results as values."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import pytest
from typing_extensions import TypedDict

from agentsdk import Agent, FunctionTool, function_tool
from agentsdk.define.stubs import Stub, stubs_of
from agentsdk.testing import ScriptedModel
from agentsdk.tools import ToolOutputImage, to_output


class Row(TypedDict):
    name: str
    sizes: list[int]


class Color(enum.Enum):
    RED = "red"


@dataclass
class Node:
    value: int
    child: Node | None = None


def stub_of(function: Callable[..., object], **options: Any) -> Stub:
    (stub,) = stubs_of([function_tool(function, **options)]).values()
    return stub


def signature(stub: Stub) -> str:
    return stub.text.partition(":\n")[0]


def test_types_defaults_and_words_are_shown() -> None:
    def find(query: str, limit: int = 10, kind: Literal["a", "b"] = "a", day: date | None = None) -> list[Row]:
        """Find rows.

        Args:
            query: What to
                look for.
            limit: At most \"\"\"so many\"\"\".
        """
        raise NotImplementedError

    assert stub_of(find).text == (
        "async def find(query: str, limit: int = 10, kind: Literal['a', 'b'] = 'a', day: str | None = None)"
        " -> list[{'name': str, 'sizes': list[int]}]:\n"
        "    \"\"\"Find rows.\n    query: What to\n    look for.\n    limit: At most '''so many'''.\"\"\""
    )


@pytest.mark.parametrize(
    ("returned", "shown"),
    [
        (str, "str"),
        (str | None, "str | None"),
        (dict[str, int], "dict[str, int]"),
        (dict[str, Any], "dict"),
        (list[Any], "list[Any]"),
        (Color, "Literal['red']"),
        (Node, "{'value': int, 'child': {'value': int, 'child': "),
        (Any, "Any"),
        (ToolOutputImage, "Any"),
    ],
)
def test_the_type_of_a_result(returned: Any, shown: str) -> None:
    def give() -> Any:
        raise NotImplementedError

    give.__annotations__ = {"return": returned}
    assert signature(stub_of(give)).startswith(f"async def give() -> {shown}")


@pytest.mark.parametrize(
    ("returned", "value", "got"),
    [
        (str, "5", "5"),
        (str | None, "5", "5"),
        (str | None, "[1]", "[1]"),
        (str | None, None, None),
        (int | str, 5, 5),
        (int, 5, 5),
        (float, 2.5, 2.5),
        (list[Row], [{"name": "a", "sizes": [1]}], [{"name": "a", "sizes": [1]}]),
        (date, date(2026, 1, 2), "2026-01-02"),
        (Color, Color.RED, "red"),
        (Any, {"a": 1}, {"a": 1}),
        (Any, "0815", "0815"),
        (Any, "815", "815"),
        (Any, "not { json", "not { json"),
    ],
)
def test_a_result_has_the_type_that_the_function_says(returned: Any, value: object, got: object) -> None:
    def give() -> Any:
        raise NotImplementedError

    give.__annotations__ = {"return": returned}
    text = to_output(value)
    assert isinstance(text, str)
    assert stub_of(give).result(text) == got


def test_names_are_names_of_python_that_mean_nothing_else() -> None:
    async def invoke(ctx: Any, arguments: str) -> str:
        raise NotImplementedError

    names = ["get-row", "get_row", "print", "class", "3d", "sum"]
    tools: list[FunctionTool[Any]] = [FunctionTool(name, "", {"type": "object", "properties": {}}, invoke) for name in names]
    stubs = stubs_of(tools)
    assert {name: stub.tool for name, stub in stubs.items()} == {
        "get_row": "get-row",
        "get_row_": "get_row",
        "print_": "print",
        "class_": "class",
        "_3d": "3d",
        "sum_": "sum",
    }


def test_of_a_given_schema_what_is_not_required_may_be_left_out() -> None:
    async def invoke(ctx: Any, arguments: str) -> str:
        raise NotImplementedError

    schema: dict[str, object] = {
        "type": "object",
        "properties": {"a": {"type": ["integer", "null"]}, "max-rows": {"const": 5}, "b": {"type": "array"}},
        "required": ["a"],
    }
    (stub,) = stubs_of([FunctionTool("rows", "Rows.", schema, invoke, strict_json_schema=False)]).values()
    assert signature(stub) == "async def rows(a: int | None, **{'max-rows': Literal[5]} = ..., b: list = ...) -> Any"
    assert stub.arguments((1,), {"max-rows": 5}) == '{"a":1,"max-rows":5}'


def test_an_agent_gives_its_output() -> None:
    text = Agent[None, str]("Writer", model=ScriptedModel([]))
    typed = Agent[None, list[int]]("Adder", model=ScriptedModel([]), output_type=list[int])
    changed = typed.as_tool("changed", "", lambda value: {"first": value[0]})
    stubs = stubs_of([text.as_tool("writer"), typed.as_tool("adder"), changed])
    returned = [signature(stub).partition(" -> ")[2] for stub in stubs.values()]
    assert returned == ["str", "{'response': list[int]}", "Any"]


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((1, 2, 3), {}, "f() takes 2 positional arguments but 3 were given"),
        ((1,), {"a": 2}, "f() got multiple values for argument 'a'"),
        ((object(),), {}, "f() takes JSON-like values only: got a object"),
        ((float("inf"),), {}, "f() takes JSON-like values only"),
        (({(1, 2): 3},), {}, "f() takes JSON-like values only"),
    ],
)
def test_what_cannot_be_arguments_is_told(args: tuple[object, ...], kwargs: dict[str, object], told: str) -> None:
    def f(a: Any, b: int = 1) -> None: ...

    with pytest.raises(TypeError) as raised:
        stub_of(f, strict_mode=False).arguments(args, kwargs)
    assert str(raised.value).startswith(told)


def test_what_nests_for_ever_cannot_be_an_argument() -> None:
    def f(a: Any) -> None: ...

    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(TypeError, match="takes JSON-like values only"):
        stub_of(f, strict_mode=False).arguments((loop,), {})
