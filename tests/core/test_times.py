"""Times of events: what a saved run, and an event of a store, says of when things happened."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from agentsdk.core.codec import decode, decode_events, encode, encode_event
from agentsdk.types.events import (
    ModelReplied,
    Nested,
    NotGranted,
    RunEvent,
    ToolFinished,
    ToolsIntended,
    TurnEnded,
    milliseconds,
    unnested,
)
from agentsdk.types.items import Message
from agentsdk.types.response import ModelResponse
from tests.core.released import FIXTURES, KEY

stamps = st.integers(1, 4_000_000_000_000).map(lambda milliseconds: milliseconds / 1000)
"""Times to the millisecond, up to the year 2096."""

RESULT, REPLY, TURN = ToolFinished("c", "one"), ModelReplied(ModelResponse(()), 1.0), TurnEnded()


def written_and_read(*events: RunEvent) -> tuple[RunEvent, ...]:
    """The events as a saved run has them, which are those of a store."""
    saved = decode(encode(events, (), None), None).log
    assert decode_events([encode_event(event) for event in events]) == saved
    return saved


@given(stamps, stamps)
def test_when_something_began_is_told_to_the_millisecond(start: float, end: float) -> None:
    took = milliseconds(start, end)
    result, reply = structs.replace(RESULT, took_ms=took, at=end), structs.replace(REPLY, at=end, took_ms=took)
    for event in written_and_read(result, reply, ToolsIntended(("c",), end), Nested("c", result)):
        inner = event.event if isinstance(event, Nested) else event
        assert isinstance(inner, ToolFinished | ModelReplied | ToolsIntended) and inner.at == end
        if isinstance(inner, ToolFinished):
            assert inner.started_at == start
        elif isinstance(inner, ModelReplied):
            assert inner.asked_at == start


@given(stamps, st.floats(0, 10_000))
def test_nothing_began_before_a_clock_said_so(end: float, seconds: float) -> None:
    start = end - seconds
    if start > 0:
        began = structs.replace(RESULT, took_ms=milliseconds(start, end), at=end).started_at
        assert -0.00002 <= began - start < 0.00102


@pytest.mark.parametrize(("start", "end"), [(0.0, 5.0), (5.0, 1e300), (-1e308, 1e308), (5.0, float("inf"))])
def test_where_no_times_are_known_nothing_took_any(start: float, end: float) -> None:
    assert milliseconds(start, end) is None
    assert (RESULT.started_at, RESULT.at, REPLY.asked_at) == (0.0, 0.0, 0.0)


OTHER_VALUES: dict[str, Any] = {
    "call_id": "d",
    "output": "two",
    "is_error": True,
    "whole": "1",
    "is_withheld": True,
    "took_ms": 3,
    "at": 4.0,
    "failure": "transient",
    "not_granted": NotGranted("t", "admin", (), "a", ()),
    "untrusted": True,
    "response": ModelResponse((Message("assistant", "two"),)),
    "disabled": ("t",),
    "counted": 5,
    "asked": "m",
    "is_last": True,
    "snapshot": "s",
    "added": (Message("user", "more"),),
}


@pytest.mark.parametrize(
    ("event", "field"), [(event, field) for event in (RESULT, REPLY, TURN) for field in event.__struct_fields__], ids=str
)
def test_no_field_is_lost_where_the_others_have_their_defaults(event: RunEvent, field: str) -> None:
    other = structs.replace(event, **{field: OTHER_VALUES[field]})
    assert written_and_read(event, other, Nested("c", other)) == (event, other, Nested("c", other))


def test_what_comes_in_every_turn_is_written_without_its_end() -> None:
    assert encode_event(Nested("c", TURN)) == b'[3,["nested","c",["turn"]]]'
    assert encode_event(RESULT) == b'[3,["result","c","one",false,"",false,null,0.0]]'
    assert encode_event(REPLY) == b'[3,["reply",{"output":[]},1.0,[],0,"",false,null]]'


def inmost(event: list[Any]) -> list[Any]:
    return inmost(event[2]) if event[0] == "nested" else event


@pytest.mark.parametrize("name", ["approval", "nested"])
def test_times_that_an_earlier_build_wrote_are_read_as_they_were(name: str) -> None:
    """It wrote both times of a reply, and of a result, in full, and all fields."""
    text = (FIXTURES / "v3-earlier" / f"{name}.json").read_text(encoding="utf-8")
    log, stored = decode(text, KEY).log, json.loads(text)["log"]
    assert decode_events([json.dumps([3, event]).encode() for event in stored]) == log
    assert written_and_read(*log) == log
    replies, results = 0, 0
    for event, was in zip(log, map(inmost, stored), strict=True):
        inner = unnested(event)[1]
        if isinstance(inner, ModelReplied):
            replies += 1
            assert inner.at > inner.asked_at > 1e9
            assert (inner.at, inner.asked_at) == (was[2], was[7])
        elif isinstance(inner, ToolFinished):
            results += 1
            assert inner.at > inner.started_at > 1e9
            assert (inner.started_at, inner.at) == (was[6], was[7])
    assert replies > 1 and results > 0
