"""Results made into what a model can be sent."""

from __future__ import annotations

import collections
import enum
import json
import math
import re
import types
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from pydantic import BaseModel, RootModel

from agentsdk.define.tool_output import (
    MAX_DEPTH,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    to_output,
)
from agentsdk.types.items import InputAudio, InputText, OutputText


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Model(BaseModel):
    day: date
    tags: set[str] = {"b", "a"}


class Root(RootModel[list[int]]):
    pass


@dataclass
class Point:
    x: float
    color: Color = Color.RED


class Row(Struct, tag="row"):
    n: int


class Plain(Struct):
    n: int


class Named(str):
    def __str__(self) -> str:
        return "not the text"


class Count(int):
    pass


class Ratio(float):
    pass


class Opaque:
    pass


class Telling:
    def __str__(self) -> str:
        return "told"


class Leaky:
    def __repr__(self) -> str:
        return f"<Leaky at {hex(id(self))}>"


class Raising:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("text", ["", "hello", "grüße 😀", "a\nb"])
def test_text_is_itself(text: str) -> None:
    assert to_output(text) is text


@pytest.mark.parametrize(("text", "clean"), [("a\ud800b", "a\ufffdb"), ("a\0b", "a\ufffdb"), ("ü\0", "ü\ufffd")])
def test_text_is_cleaned(text: str, clean: str) -> None:
    assert to_output(text) == clean
    assert to_output(Named(text)) == clean
    assert json.loads(str(to_output({text: [text]}))) == {clean: [clean]}


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        *((None, None), (True, True), (3, 3), (1.5, 1.5), (Level.HIGH, 3), (Color.RED, "red"), ([], []), ({}, {})),
        *((math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (2**70, str(2**70)), (Decimal("1.10"), "1.10")),
        *(([Named("a"), Count(3), Ratio(0.5), Ratio("inf")], ["a", 3, 0.5, "Infinity"]), ({Named("a"): 1}, {"a": 1})),
        (10**6000, "<integer of 19932 bits>"),
        ({"a": (1, [2]), 1: None, None: True}, {"a": [1, [2]], "1": None, "null": True}),
        ({("a", 1): 1, Color.RED: 2}, {'["a",1]': 1, "red": 2}),
        (Model(day=date(2020, 1, 2)), {"day": "2020-01-02", "tags": ["a", "b"]}),
        *((Root([1, 2]), {"root": [1, 2]}), (Point(math.nan), {"x": "NaN", "color": "red"})),
        *((Row(1), {"type": "row", "n": 1}), (Plain(1), {"n": 1}), ([Row(1)], [{"type": "row", "n": 1}])),
        *((datetime(2020, 1, 2, 3, 4, tzinfo=UTC), "2020-01-02T03:04:00+00:00"), (time(1, 2), "01:02:00")),
        *((timedelta(seconds=90), "0:01:30"), (UUID(int=0), str(UUID(int=0))), (Path("a") / "b", "a/b")),
        *(({3, 1, 2}, [1, 2, 3]), (frozenset("ba"), ["a", "b"]), (range(3), [0, 1, 2]), (collections.deque([1]), [1])),
        *((types.MappingProxyType({"a": 1}), {"a": 1}), (collections.OrderedDict(a=1), {"a": 1})),
        *((ValueError("bad"), "bad"), (Telling(), "told"), (Opaque(), "<Opaque>"), (Leaky(), "<Leaky>")),
        (Raising(), "<Raising>"),
        *(((n for n in range(3)), "<generator>"), (test_text_is_itself, "<function>"), (Point, f"{Point!r}")),
        *(([b"text", b"\xff\xfe"], ["text", "<2 bytes of binary data>"]), (True + 1j, "(1+1j)")),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_everything_else_is_json(value: object, plain: object) -> None:
    output = to_output(value)
    assert isinstance(output, str)
    assert json.loads(output) == plain


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_are_text_or_named(kind: Any) -> None:
    assert to_output(kind("grüße\0".encode())) == "grüße\ufffd"
    assert to_output(kind(b"\xff\x00\x01")) == "<3 bytes of binary data>"


def test_cycles_end() -> None:
    row: list[Any] = [1]
    row.append({"row": row})
    assert json.loads(str(to_output(row))) == [1, {"row": "<list>"}]
    shared = [1]
    assert json.loads(str(to_output([shared, shared]))) == [[1], [1]]


def test_depth_is_capped() -> None:
    deep: Any = "end"
    for _ in range(100_000):
        deep = [deep]
    text = str(to_output(deep))
    assert text == "[" * MAX_DEPTH + '"<list>"' + "]" * MAX_DEPTH


def test_an_object_that_breaks_inside_does_not_take_its_siblings_along() -> None:
    class Broken(collections.UserDict[str, int]):
        def items(self) -> Any:
            raise RuntimeError("no")

    assert json.loads(str(to_output({"a": 1, "b": Broken()}))) == {"a": 1, "b": "<Broken>"}


def test_parts_stay_parts() -> None:
    image = ToolOutputImage(image_url="data:image/png;base64,AA==")
    assert to_output(image) == (image,)
    parts = (ToolOutputText("a\0"), image, ToolOutputFileContent(file_id="f"), InputAudio("AA==", "wav"), OutputText("b\ud800"))
    cleaned = (InputText("a\ufffd"), *parts[1:4], OutputText("b\ufffd"))
    assert to_output(parts) == cleaned
    assert to_output(list(parts)) == cleaned


def test_parts_among_other_values_are_json() -> None:
    assert json.loads(str(to_output([InputText("a"), 1]))) == [{"type": "input_text", "text": "a"}, 1]


def test_a_part_with_wrong_fields_is_json() -> None:
    wrong: Any = 5
    assert json.loads(str(to_output(InputText(wrong)))) == {"type": "input_text", "text": 5}


leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])) | st.binary()
    | st.builds(Opaque) | st.builds(Leaky) | st.builds(Raising) | st.decimals() | st.dates() | st.complex_numbers()
)  # fmt: skip
anything = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(st.characters(exclude_categories=[])) | st.integers(), inner)
    ),
    max_leaves=10,
)


@given(anything)
def test_any_value_gives_safe_text(value: Any) -> None:
    output = to_output(value)
    assert isinstance(output, str)
    output.encode()
    assert "\0" not in output
    assert not re.search(r"at 0x[0-9a-f]{6,}", output) or isinstance(value, str | bytes)
    if not isinstance(value, str | bytes):
        json.loads(output)
