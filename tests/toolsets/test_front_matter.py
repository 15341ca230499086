"""The reader of front matter: what it understands a YAML reader reads the same, and what it does not it refuses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentsdk.toolsets.front_matter import FrontMatterError, Value, read_front_matter

KNOWN = ("a", "b", "c")


class Anything(tuple[str]):
    """What contains every text."""

    def __contains__(self, text: object) -> bool:
        return True


def read(text: str, known: Collection[str] = KNOWN) -> dict[str, Value]:
    fields, _ = read_front_matter(f"---\n{text}\n---\n", known)
    return {key: field.value for key, field in fields.items()}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: plain text", "plain text"),
        ("a: 1.0  # a comment", "1.0"),
        ("a: goes on\n  below\n\n  and further  # at last\n", "goes on below\nand further"),
        ("a:\n  begins below\n  and goes on", "begins below and goes on"),
        ("a: 'it''s # quoted: so'", "it's # quoted: so"),
        (r'a: "caf\u00e9\n\"x\" \U0001F600\x41"  # here', 'caf\u00e9\n"x" \U0001f600A'),
        ("a: |\n  one\n    two\n\n  three\n# a comment", "one\n  two\n\nthree"),
        ("a: >-  # folded\n\n  one\n  two\n\n  three\n    kept\n  four", "one two\nthree\n  kept\nfour"),
        ("a: |", ""),
        ("a:", ""),
        ("a: # nothing", ""),
        ("a:\n  - one\n  # between\n  - 'two, three'", ("one", "two, three")),
        ("a:\n- one\n- two\nb: x", ("one", "two")),
        ("a: [one, 'two', Bash(git:*)]", ("one", "two", "Bash(git:*)")),
        ("a:\n  b: 1.0\n  c: |\n    x\n    y\n  d:\n  e: 'q'", {"b": "1.0", "c": "x\ny", "d": "", "e": "q"}),
    ],
)
def test_what_is_understood(text: str, value: Value) -> None:
    assert read(text)["a"] == value


def test_lines_and_the_text_below() -> None:
    fields, below = read_front_matter("---\r\n# hi\r\na: x\r\n\r\nb: y\r\n---\r\n\r\n# Title  \r\n\r\nText.\r\n---\r\n", KNOWN)
    assert {key: (field.value, field.line) for key, field in fields.items()} == {"a": ("x", 3), "b": ("y", 5)}
    assert below == "# Title  \n\nText.\n---"


def test_fields_that_nobody_asks_for_are_not_looked_at() -> None:
    assert read("x: {a: [b\n  }\ny: &anchor *alias\nz:\n  - deep:\n      - er\na: text") == {"a": "text"}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: {b: c}", 2, "'{b: c}' has a colon in it"),
        ("a: {b}", 2, "'{b}', expected a text; put it in quotes"),
        ("a: *alias", 2, "expected a text"),
        ("a: - b", 2, "a list or keys below 'a'"),
        ("a: 'open\n  below'", 2, "a text in quotes that goes on below"),
        ("a: 'open", 2, "expected quotes that end on the line"),
        (r'a: "\q"', 2, r"the escape '\\q', expected one of JSON's"),
        ("a: x # y\n  z", 2, "a comment within a text"),
        ("a: x\n  y: z", 3, "has a colon in it"),
        ("a: |2\n  x", 2, "expected '|' or '>' alone"),
        ("a: |\n    x\n  y", 4, "expected the indentation of the lines before it"),
        ("a: [x,\n  y]", 2, "a list that goes on below"),
        ("a: [[x]]", 2, "expected texts, or a line '- ...' for each"),
        ("a:\n  - x\n  y", 4, "expected '- ' and a text"),
        ("a:\n  - b: c", 3, "has a colon in it"),
        ("a:\n  b: c\n  b: d", 4, "a second 'b'"),
        ("a:\n  b:\n    - c", 4, "a list or keys below 'b'"),
        ("a:\n  b: [c]", 3, "expected a text"),
        ("a: x\nnonsense", 3, "'nonsense', expected 'key: value'"),
        ("  a: x\nb: y", 3, "'b: y', expected 'key: value'"),
        ("a: x\n\x85", 3, r"the character '\x85'"),
        ("a: x\n" + "y" * 100, 3, "'" + "y" * 57 + "...', expected"),
    ],
)
def test_what_is_refused(text: str, line: int, problem: str) -> None:
    with pytest.raises(FrontMatterError) as refused:
        read(text)
    assert problem in str(refused.value)
    assert refused.value.line == line


PIECES = [
    "a:",
    "b:",
    " ",
    "  ",
    "\n",
    "\n  ",
    "\n    ",
    "\n- ",
    "- ",
    "x",
    "y z",
    ": ",
    ":",
    "#",
    " # c",
    "'",
    '"',
    "\\n",
    "\\u00e9",
]
PIECES += [
    "|",
    ">",
    "|-",
    ">+",
    "[",
    "]",
    ",",
    "{",
    "}",
    "1.0",
    "é",
    "---x",
    "\n\n",
    "'q'",
    '"dq"',
    "&",
    "*",
    "!",
    "%",
    "@",
    "`",
    "?",
]
STARTS = ["a: ", "a: >\n  ", "a: |\n    ", "a:\n  ", "a:\n  - ", "a: [", "a:\n  b: "]


@given(start=st.sampled_from(STARTS), rest=st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
@example(start="a: >\n  ", rest="x\n\n    y\n  z")
def test_a_yaml_reader_reads_the_same(start: str, rest: str) -> None:
    yaml: Any = pytest.importorskip("yaml")
    text = "\n".join([line.rstrip(" ") for line in (start + rest).split("\n")])
    try:
        ours = read(text, Anything())
    except FrontMatterError:
        return
    theirs = yaml.load(f"{text}\n", yaml.BaseLoader)
    assert ours == {key: trimmed(value) for key, value in theirs.items()}


def trimmed(value: Any) -> Value:
    if isinstance(value, list):
        return tuple([str(trimmed(one)) for one in value])
    if isinstance(value, Mapping):
        return {key: str(trimmed(one)) for key, one in value.items()}
    return value.strip()
