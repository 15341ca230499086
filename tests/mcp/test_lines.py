"""Lines out of pieces: the same lines however they arrive, and none over the cap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentsdk.mcp.lines import CappedLines

LINES = st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=6)


@given(lines=LINES, rest=st.binary(max_size=8).map(lambda line: line.replace(b"\n", b"")), sizes=st.lists(st.integers(1, 9)))
def test_lines_are_the_same_however_they_arrive(lines: list[bytes], rest: bytes, sizes: list[int]) -> None:
    text = b"".join(line + b"\n" for line in lines) + rest
    capped = CappedLines(8)
    found: list[bytes | None] = []
    for size in [*sizes, len(text)]:
        found += capped.split(text[:size])
        text = text[size:]
    assert found == [line if len(line) <= 8 else None for line in lines]
    assert capped.rest() == rest


def test_a_line_is_too_long_before_it_ends_and_keeps_nothing() -> None:
    capped = CappedLines(8)
    assert list(capped.split(b"123456789")) == [None]
    assert [*capped.split(b"0"), *capped.split(b"1\n2\n3")] == [b"2"]
    assert capped.rest() == b"3"
    assert list(capped.split(b"456789012")) == [None]
    assert capped.rest() == b""
