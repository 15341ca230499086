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
    cap_output,
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


def test_a_short_result_is_not_cut() -> None:
    text = "x" * 100
    assert cap_output(text, 100) == (text, None)
    parts = (InputText(text), ToolOutputImage(image_url="data:" + "x" * 1000))
    assert cap_output(parts, 100) == (parts, None)


def test_a_long_result_keeps_head_and_tail_and_names_the_rest() -> None:
    text = "".join(map(str, range(10_000)))
    cut, overflow = cap_output(text, 400)
    assert overflow is not None
    assert isinstance(cut, str)
    assert overflow.text == text
    assert overflow.limit == 400
    head, marker, tail = cut.split("\n")
    assert (head, tail) == (text[:300], text[-100:])
    assert (
        marker == f"[... {len(text) - 400} of {len(text)} characters left out; the whole result has the id {overflow.id!r} ...]"
    )
    assert cap_output(text, 400) == (cut, overflow)
    assert cap_output(text + "x", 400)[1] != overflow


@given(st.text(min_size=1), st.integers(0, 50))
def test_the_cut_text_holds_what_the_limit_allows(text: str, limit: int) -> None:
    cut, overflow = cap_output(text, limit)
    if len(text) <= limit:
        assert (cut, overflow) == (text, None)
    else:
        assert overflow is not None
        assert isinstance(cut, str)
        assert cut.startswith(text[: limit * 3 // 4])
        assert cut.endswith(text[len(text) - (limit - limit * 3 // 4) :])


def test_the_text_of_parts_is_cut_together_and_the_rest_stays() -> None:
    image = ToolOutputImage(file_id="f")
    cut, overflow = cap_output((InputText("a" * 60), image, OutputText("b" * 60)), 100)
    assert overflow is not None
    assert overflow.text == "a" * 60 + "b" * 60
    assert isinstance(cut, tuple)
    assert isinstance(cut[0], InputText)
    assert cut[0].text.startswith("a" * 60)
    assert cut[0].text.endswith("b" * 25)
    assert cut[1:] == (image,)


def test_twenty_megabytes_are_cut() -> None:
    cut, overflow = cap_output(to_output("x" * 20_000_000))
    assert overflow is not None
    assert len(cut) < 101_000
    assert len(overflow.text) == 20_000_000
