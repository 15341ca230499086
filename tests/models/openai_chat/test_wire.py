"""The short way of a chunk that brings only text: it is taken for no other chunk, and gives what the long way gives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.models.openai_chat.reply import ReplyAssembler
from agentsdk.models.openai_chat.wire import Chunk, parse_chunk
from agentsdk.models.sse import ServerSentEvent
from agentsdk.types.deltas import ModelStreamEvent
from agentsdk.types.response import ModelResponse

NOTE = {"type": "url_citation", "url_citation": {"url": "https://a"}}
BESIDE: list[dict[str, Any]] = [
    {"refusal": "no"},
    {"reasoning_content": "hm"},
    {"reasoning": "hm"},
    {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
    {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f", "arguments": "{}"}}]},
    {"function_call": {"name": "f", "arguments": "{}"}},
    {"annotations": [NOTE]},
    {"extra_content": {"google": 1}},
]


def chunk(delta: dict[str, Any] | None, *, choices: int = 1, usage: object = None, **choice: Any) -> str:
    every = [{"index": 0, "delta": delta, **choice} for _ in range(choices)]
    return json.dumps({"id": "c", "model": "m", "choices": every, **({} if usage is None else {"usage": usage})})


@pytest.mark.parametrize("text", ["a", " ", "é", "\ud83d"])
def test_text_alone_is_plain(text: str) -> None:
    empty = dict.fromkeys((name for beside in BESIDE for name in beside), None)
    assert parse_chunk(chunk({"content": text})).plain_text() == text
    assert parse_chunk(chunk({"role": "assistant", "content": text, **empty}, logprobs=None)).plain_text() == text


@pytest.mark.parametrize(
    "data",
    [
        '{"choices": []}',
        '{"choices": null}',
        chunk(None),
        chunk({"content": None}),
        chunk({"content": [{"type": "text", "text": "a"}]}),
        chunk({"content": "a"}, choices=2),
        chunk({"content": "a"}, usage={}),
        chunk({"content": "a"}, finish_reason="stop"),
        chunk({"content": "a"}, logprobs={"content": [{"token": "a"}]}),
        chunk({"content": "a"}, index=1),
        *(chunk({"content": "a", **beside}) for beside in BESIDE),
    ],
)
def test_whatever_else_there_is_goes_the_long_way(data: str) -> None:
    assert parse_chunk(data).plain_text() is None


def taken(chunks: list[str]) -> tuple[list[ModelStreamEvent], ModelResponse]:
    assembler = ReplyAssembler("host")
    events = [event for data in chunks for event in assembler.add_event(ServerSentEvent(data)) or ()]
    return events, assembler.response()


@pytest.mark.parametrize("beside", [{}, *BESIDE], ids=lambda beside: "".join(beside) or "text")
def test_both_ways_give_the_same(beside: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [chunk({"content": "a"}), chunk({"content": "é\ud83d"}), chunk({"content": "\ude00", **beside})]
    chunks += [chunk({"content": "b"}), chunk({}, finish_reason="stop")]
    short = taken(chunks)
    monkeypatch.setattr(Chunk, "plain_text", lambda self: None)
    assert taken(chunks) == short
