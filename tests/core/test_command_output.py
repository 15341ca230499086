"""A shell's result that is too long: it stays a shell's result, and what is left out can be found in the whole."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.core.overflow import cap_output, cut_text

MARKER = re.compile(
    r"\n\[\.\.\. characters (\d+) to (\d+) of (\d+) are left out: read_result\(result_id='\w+', offset=(\d+)\) \.\.\.\]\n"
)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.tuples(st.text(st.sampled_from('ab\n"\\\x01é'), max_size=3), st.integers(0, 400)).map(lambda drawn: drawn[0] * drawn[1]),
)
ENTRIES = st.lists(st.tuples(TEXTS, TEXTS, st.integers(0, 255)), min_size=1, max_size=4)


def result(entries: list[tuple[str, str, int]]) -> str:
    output = [{"stdout": out, "stderr": err, "outcome": {"type": "exit", "exit_code": code}} for out, err, code in entries]
    return json.dumps({"output": output, "max_output_length": 9}, ensure_ascii=False)


@given(ENTRIES, st.integers(600, 1_500))
def test_every_exit_code_stays_and_every_stream_has_its_ends(entries: list[tuple[str, str, int]], limit: int) -> None:
    whole = result(entries)
    text, overflow = cap_output(whole, limit)
    assert isinstance(text, str)
    if overflow is None:
        assert text == whole
        return
    if not text.startswith('{"output":['):
        assert len(json.dumps({"output": [{}] * len(entries)})) < limit, "it is cut as any text"
        return
    assert len(text) <= limit
    cut: dict[str, Any] = json.loads(text)
    assert cut["max_output_length"] == 9
    assert [entry["outcome"]["exit_code"] for entry in cut["output"]] == [code for *_, code in entries]
    for entry, (out, err, _) in zip(cut["output"], entries, strict=True):
        for shown, stream in ((entry["stdout"], out), (entry["stderr"], err)):
            found = MARKER.search(shown)
            if found is None:
                assert shown == stream
                continue
            start, end, length, offset = map(int, found.groups())
            assert shown[: found.start()] == stream[:start] and shown[found.end() :] == stream[end:] and length == len(stream)
            assert whole[offset:].startswith(json.dumps(stream[start:], ensure_ascii=False)[1:-1])


def test_what_is_not_kept_cannot_be_read_on() -> None:
    _, overflow = cap_output(result([("x" * 5_000, "", 3)]), 600)
    assert overflow is not None
    cut = json.loads(cut_text(overflow, is_kept=False))["output"][0]
    assert "are left out ...]" in cut["stdout"] and cut["outcome"]["exit_code"] == 3


@pytest.mark.parametrize(
    "text",
    [
        '{"output": 3, "x": "%s"}',
        '{"output": [{"stdout": 3, "stderr": "%s"}]}',
        '{"output": ["%s"]}',
        '{"output": [], "x": "%s"}',
        '{"output": [{"stdout": "%s',
        '{"output": {"x": "%s"}}',
        '{"output"%s' + "[" * 100_000,
    ],
)
def test_another_text_is_cut_as_a_text(text: str) -> None:
    whole = text.replace("%s", "x" * 1_000)
    cut, overflow = cap_output(whole, 300)
    assert overflow is not None and isinstance(cut, str)
    assert cut.startswith(whole[:225] + "\n[... characters 225 to ") and cut.endswith(whole[-75:])


def test_more_commands_than_there_is_room_for_are_cut_as_a_text() -> None:
    whole = result([("out", "err", 0)] * 100)
    cut, _ = cap_output(whole, 300)
    assert str(cut).startswith(whole[:225])
