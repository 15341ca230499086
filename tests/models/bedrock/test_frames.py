"""Frames, however the bytes are divided, as botocore's own buffer reads them."""

from __future__ import annotations

import json
import struct
from typing import Any
from uuid import UUID
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk.models.bedrock.frames import FrameDecoder
from agentsdk.models.sse import ServerSentEvent
from agentsdk.testing.bedrock_dialect import BedrockDialect, frame
from agentsdk.types.errors import MalformedResponseError, ModelConnectionError, ModelError
from agentsdk.types.items import Message, Reasoning
from agentsdk.types.response import ModelResponse
from tests.models.fault_matrix import WITH_CALL

SAID = ModelResponse((Reasoning("hm hm"), *WITH_CALL, Message("assistant", "é😀")), finish="tool_calls")
EVENTS: list[Any] = BedrockDialect().events(SAID, {})
RAW = b"".join(map(BedrockDialect().frame, EVENTS))

NAMES = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1)


def theirs(raw: bytes) -> list[tuple[str, str]]:
    """What botocore reads: the type and the payload of each event."""
    buffer = EventStreamBuffer()
    buffer.add_data(raw)
    return [(message.headers[":event-type"], message.payload.decode()) for message in buffer]


def ours(raw: bytes, *cuts: int) -> list[tuple[str, str]]:
    decoder, edges = FrameDecoder(), [0, *sorted(cuts), len(raw)]
    events = [event for start, end in zip(edges, edges[1:], strict=False) for event in decoder.feed(raw[start:end])]
    return [(event.event, event.data) for event in [*events, *decoder.close()]]


def test_it_reads_what_botocore_reads() -> None:
    assert ours(RAW) == theirs(RAW) == [(kind, json.dumps(told, ensure_ascii=False, separators=(",", ":")))
                                         for event in EVENTS for kind, told in event.items()]  # fmt: skip


def test_a_split_at_every_byte_makes_no_difference() -> None:
    whole = ours(RAW)
    for at in range(len(RAW) + 1):
        assert ours(RAW, at) == whole
    assert ours(RAW, *range(len(RAW))) == whole


@settings(max_examples=200, deadline=None)
@given(
    events=st.lists(
        st.tuples(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1), st.text()), max_size=5
    ),
    data=st.data(),
)
def test_any_events_divided_anywhere_are_read_as_botocore_reads_them(
    events: list[tuple[str, str]], data: st.DataObject
) -> None:
    raw = b"".join(frame(text.encode("utf-8", "replace"), event_type=kind) for kind, text in events)
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=6))
    assert ours(raw, *cuts) == theirs(raw)


@settings(max_examples=300, deadline=None)
@given(at=st.integers(0, len(RAW) - 1), bit=st.integers(0, 7))
def test_one_wrong_bit_is_never_read(at: int, bit: int) -> None:
    """What came before it is, and it alone is the end: an error, or a frame that never becomes whole."""
    broken = bytearray(RAW)
    broken[at] ^= 1 << bit
    decoder, events = FrameDecoder(), list[ServerSentEvent]()
    try:
        for start in range(0, len(RAW), 16):
            events += decoder.feed(bytes(broken[start : start + 16]))
    except ModelError as error:
        assert isinstance(error, ModelConnectionError if events else ModelConnectionError | MalformedResponseError)
    else:
        pytest.fail("the damage was not seen")
    assert [(event.event, event.data) for event in events] == ours(RAW)[: len(events)]


@pytest.mark.parametrize("cut", range(1, 24))
def test_what_is_cut_says_nothing(cut: int) -> None:
    assert ours(RAW[:-cut]) == ours(RAW)[:-1]


def test_headers_of_every_type_are_passed_over() -> None:
    values = [
        (0, b""),
        (1, b""),
        (2, b"\x01"),
        (3, b"\0\1"),
        (4, b"\0\0\0\1"),
        (5, b"\0" * 8),
        (6, b"\0\x02ab"),
        (8, b"\0" * 8),
        (9, UUID(int=1).bytes),
    ]
    named = b"".join(struct.pack(">B", 2) + b"h%d" % kind + struct.pack(">B", kind) + value for kind, value in values)
    named += b"\x0b:event-type" + struct.pack(">BH", 7, 4) + b"ping"
    prelude = struct.pack(">II", 16 + len(named) + 2, len(named))
    checked = prelude + struct.pack(">I", crc32(prelude)) + named + b"{}"
    raw = checked + struct.pack(">I", crc32(checked))
    assert ours(raw) == theirs(raw) == [("ping", "{}")]


@pytest.mark.parametrize("header", [b"\x05ab", b"\x01a\x0a", b"\x01a\x07\xff\xff", b"\x01a\x07", b"\x01\xff\x00", b"\x01a"])
def test_headers_that_cannot_be_read_are_typed(header: bytes) -> None:
    prelude = struct.pack(">II", 16 + len(header), len(header))
    checked = prelude + struct.pack(">I", crc32(prelude)) + header
    with pytest.raises(MalformedResponseError):
        FrameDecoder().feed(checked + struct.pack(">I", crc32(checked)))


def test_exceptions_and_errors_are_told() -> None:
    thrown = frame(b'{"message":"slow down"}', message_type="exception", exception_type="throttlingException")
    failed = frame(b"", message_type="error", error_code="InternalError", error_message="no")
    told = [json.loads(data) for kind, data in ours(thrown + failed) if kind == "error"]
    assert told == [
        {"exception": "throttlingException", "message": '{"message":"slow down"}'},
        {"exception": "InternalError", "message": "no"},
    ]


def test_the_work_grows_with_the_bytes_and_no_faster() -> None:
    """A large frame that comes in many pieces is joined once."""
    large = frame(b"x" * 4_000_000, event_type="metadata")
    decoder = FrameDecoder()
    pieces = [large[at : at + 100] for at in range(0, len(large), 100)]
    assert [len(event.data) for piece in pieces for event in decoder.feed(piece)] == [4_000_000]
