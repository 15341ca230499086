from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.models.sse import ServerSentEvent, SSEDecoder
from agentsdk.types.errors import MalformedResponseError


def decode(*chunks: bytes, close: bool = True) -> list[ServerSentEvent]:
    decoder = SSEDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.close() if close else events


def data(*chunks: bytes, close: bool = True) -> list[str]:
    return [event.data for event in decode(*chunks, close=close)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_line_ends(end: bytes) -> None:
    assert data(b"data: a", end, end, b"data: b", end, end, close=False) == ["a", "b"]


def test_an_event_ended_by_cr_is_there_at_once() -> None:
    decoder = SSEDecoder()
    assert [event.data for event in decoder.feed(b"data: a\r\r")] == ["a"]
    assert decoder.feed(b"\n") == []
    assert decoder.close() == []


def test_mixed_line_ends() -> None:
    assert data(b"data: a\r\n\ndata: b\r\rdata: c\n\r\n", close=False) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data:a\n\n", ["a"]),
        (b"data:  a\n\n", [" a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data\n\n", [""]),
        (b"data:\ndata:\n\n", ["\n"]),
        (b"\n\n\n", []),
        (b": comment\n\n", []),
        (b": comment\ndata: a\n: more\n\n", ["a"]),
        (b"id: 1\nretry: 5\nunknown: x\ndata: a\n\n", ["a"]),
        (b"event: only\n\n", []),
        (b'data: {"a": 1}\n\ndata: [DONE]\n\n', ['{"a": 1}', "[DONE]"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"data: \xef\xbb\xbf\n\n", ["\ufeff"]),
        (b"", []),
    ],
)
def test_fields(stream: bytes, expected: list[str]) -> None:
    assert data(stream, close=False) == expected
    assert data(*[stream[i : i + 1] for i in range(len(stream))], close=False) == expected


def test_a_bom_cut_in_two() -> None:
    assert data(b"\xef", b"\xbb", b"\xbfdata: a\n\n") == ["a"]


def test_event_types_are_kept_and_forgotten() -> None:
    assert decode(b"event: error\ndata: a\n\ndata: b\n\nevent: x\n\ndata: c\n\n") == [
        ServerSentEvent("a", "error"),
        ServerSentEvent("b"),
        ServerSentEvent("c"),
    ]


@pytest.mark.parametrize("stream", [b"data: a", b"data: a\n", b"data: a\r", b"data: a\r\n"])
def test_the_end_of_the_stream_completes_an_event(stream: bytes) -> None:
    assert data(stream, close=False) == []
    assert data(stream) == ["a"]


def test_only_cr_and_lf_end_a_line() -> None:
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"
    assert data(f"data: {text}\n\n".encode()) == [text]


def test_a_character_cut_anywhere() -> None:
    stream = "data: aé€😀\n\n".encode()
    for cut in range(len(stream) + 1):
        assert data(stream[:cut], stream[cut:]) == ["aé€😀"]


@pytest.mark.parametrize("bad", [b"data: \xff\n\n", b"data: \xe2\x82\n\n", b"data: \xed\xa0\xbd\n\n", b"event: \xff\n\n"])
def test_bad_utf8_is_typed_and_tells_no_data(bad: bytes) -> None:
    with pytest.raises(MalformedResponseError, match="not UTF-8") as caught:
        decode(bad)
    assert caught.value.__cause__ is None


def test_an_endless_event_is_refused() -> None:
    decoder = SSEDecoder(max_event_bytes=1000)
    with pytest.raises(MalformedResponseError, match="1000 bytes"):
        for _ in range(100):
            decoder.feed(b"data: " + b"x" * 100)
    many = SSEDecoder(max_event_bytes=1000)
    with pytest.raises(MalformedResponseError, match="1000 bytes"):
        for _ in range(100):
            many.feed(b"data: " + b"x" * 100 + b"\n")


def test_many_events_are_not_an_endless_one() -> None:
    decoder = SSEDecoder(max_event_bytes=1000)
    assert sum(len(decoder.feed(b"data: " + b"x" * 100 + b"\n\n")) for _ in range(1000)) == 1000


def _corpus() -> bytes:
    """4 KB of all that is awkward: line ends of all kinds, comments, several data lines, every width of character."""
    chance = random.Random(5)
    ends = ["\n", "\r", "\r\n"]
    parts = ["\ufeff"]
    while len("".join(parts).encode()) < 4000:
        end = chance.choice(ends)
        text = "".join(chance.choice('ab é\u2028\u0085€😀{}:"\\') for _ in range(chance.randint(0, 40)))
        match chance.randint(0, 5):
            case 0:
                parts.append(f": ping{end}{end}")
            case 1:
                parts.append(f"event: x{end}data:{text}{end}data: {text}{end}{end}")
            case 2:
                parts.append(f"data: {json.dumps(text)}{end}id: 5{end}{end}")
            case _:
                parts.append(f"data: {text}{end}{end}")
    return "".join(parts).encode() + b"data: no final newline"


CORPUS = _corpus()


def test_every_split_in_two_gives_the_same_events() -> None:
    whole = decode(CORPUS)
    assert len(whole) > 60
    for cut in range(len(CORPUS) + 1):
        assert decode(CORPUS[:cut], CORPUS[cut:]) == whole, cut


def test_random_splits_give_the_same_events() -> None:
    """At 100,000 places in all."""
    whole = decode(CORPUS)
    chance = random.Random(11)
    splits = 0
    while splits < 100_000:
        cuts = sorted(chance.randrange(len(CORPUS)) for _ in range(chance.randint(1, 60)))
        splits += len(cuts)
        edges = [0, *cuts, len(CORPUS)]
        assert decode(*[CORPUS[a:b] for a, b in zip(edges, edges[1:], strict=False)]) == whole, cuts


def test_byte_by_byte() -> None:
    assert decode(*[CORPUS[i : i + 1] for i in range(len(CORPUS))]) == decode(CORPUS)


@given(
    st.lists(st.sampled_from([b"data", b": ", b":", b" ", b"\n", b"\r", b"x", b"\xc3\xa9", b"event", b"\xef\xbb\xbf"])),
    st.data(),
)
def test_any_stream_is_the_same_however_it_is_cut(pieces: list[bytes], drawn: st.DataObject) -> None:
    stream = b"".join(pieces)
    cut = drawn.draw(st.integers(0, len(stream)))
    second = drawn.draw(st.integers(cut, len(stream)))
    assert decode(stream[:cut], stream[cut:second], stream[second:]) == decode(stream)
