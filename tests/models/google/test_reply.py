from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.models.errors import ErrorInReply
from agentsdk.models.google.encode import ContentEncoder
from agentsdk.models.google.reply import ReplyAssembler
from agentsdk.models.sse import ServerSentEvent
from agentsdk.types.deltas import Delta, OutputItemAdded, OutputItemDone
from agentsdk.types.errors import (
    AgentsException,
    ContentFilterError,
    IncompleteResponseError,
    MalformedResponseError,
)
from agentsdk.types.items import (
    FunctionCall,
    InputAudio,
    InputFile,
    InputImage,
    Message,
    OutputText,
    ProviderItem,
    Reasoning,
)
from agentsdk.types.response import ModelResponse
from agentsdk.types.tape import Tape

BOTH = pytest.mark.parametrize("streamed", [False, True])
Part = dict[str, Any]
CALL: Part = {"functionCall": {"name": "f", "args": {"x": 1}}}


def chunk(parts: list[Any], finish: str | None = None, **rest: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}
    return {
        "candidates": [candidate],
        "responseId": "r1",
        "modelVersion": "m1",
        "usageMetadata": {"promptTokenCount": 1},
        **rest,
    }


def signed(signature: str, number: str) -> Reasoning:
    return Reasoning(id=number, signature=signature, provider="here")


def read(*bodies: Any, streamed: bool = True) -> tuple[ModelResponse, list[Delta]]:
    """The response to chunks, and all events; not streamed, the parts of all chunks come in one body."""
    assembler = ReplyAssembler("here", fallback_id="q")
    events: list[Delta] = []
    if streamed:
        for body in bodies:
            deltas = assembler.add_event(ServerSentEvent(body if isinstance(body, str) else json.dumps(body)))
            assert deltas is not None
            events.extend(deltas)
    else:
        parts = [part for body in bodies for part in body["candidates"][0]["content"]["parts"]]
        whole = {**bodies[-1], "candidates": [{**bodies[-1]["candidates"][0], "content": {"parts": parts}}]}
        assembler.add_whole(json.dumps(whole).encode())
    response = assembler.response()
    events.extend(assembler.done_events(response))
    return response, events


def output(*parts: Part, streamed: bool = True, finish: str = "STOP") -> tuple[Any, ...]:
    """What comes of the parts, each in a chunk of its own; checked to go back as they came, and to be announced."""
    response, events = read(*[chunk([part]) for part in parts], chunk([], finish), streamed=streamed)
    done = [(event.output_index, event.item) for event in events if isinstance(event, OutputItemDone)]
    assert [item for _, item in done] == list(response.output)
    if streamed:
        added = {event.output_index: type(event.item) for event in events if isinstance(event, OutputItemAdded)}
        assert added == {index: type(item) for index, item in done}
    return response.output


def test_text_and_what_goes_with_it() -> None:
    response, _ = read(chunk([{"text": "Hel"}]), chunk([{"text": "lo"}], "STOP"))
    assert response.output == (Message("assistant", "Hello"),)
    assert (response.finish, response.response_id, response.model) == ("stop", "r1", "m1")
    assert (response.usage.input_tokens, response.usage.known) == (1, True)


@BOTH
def test_thoughts(streamed: bool) -> None:
    thoughts = ({"text": "Hm ", "thought": True}, {"text": "so", "thought": True, "thoughtSignature": "s"})
    items = output(*thoughts, {"text": "next", "thought": True}, {"text": "a"}, streamed=streamed)
    assert items == (
        Reasoning("Hm so", signature="s", provider="here"),
        Reasoning("next", provider="here"),
        Message("assistant", "a"),
    )


@BOTH
def test_calls_keep_their_ids_and_arguments_as_they_came(streamed: bool) -> None:
    own = {"functionCall": {"id": "own", "name": "g"}}
    items = output(CALL, own, {"functionCall": {"name": "h", "args": None}}, streamed=streamed)
    assert [(item.call_id, item.name, json.loads(item.arguments)) for item in items] == [
        ("call_r1_0", "f", {"x": 1}),
        ("own", "g", {}),
        ("call_r1_2", "h", {}),
    ]


def test_duplicate_keys_are_still_there_to_be_refused() -> None:
    text = '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1,"a":2}}}]},"finishReason":"STOP"}]}'
    response, _ = read(text)
    assert response.output == (FunctionCall("call_q_0", "f", '{"a":1,"a":2}'),)
    assert response.usage.known is False


SIGNED: list[tuple[list[Part], tuple[Any, ...]]] = [
    (
        [{**CALL, "thoughtSignature": "s"}, CALL, {"text": ""}],
        (signed("s", "call"), FunctionCall("call_r1_0", "f", '{"x": 1}'), FunctionCall("call_r1_1", "f", '{"x": 1}')),
    ),
    ([{"text": "a", "thoughtSignature": "s"}], (Message("assistant", "a"), signed("s", "part:0"))),
    ([{"text": "a"}, {"text": "", "thoughtSignature": "s"}], (Message("assistant", "a"), signed("s", "part:1"))),
    (
        [{"text": "a"}, {"text": "b", "thoughtSignature": "s"}, {"text": "c"}],
        (Message("assistant", (OutputText("a"), OutputText("b"), OutputText("c"))), signed("s", "part:1")),
    ),
    (
        [{"text": "a"}, {"text": "", "thoughtSignature": "s"}, {"text": "", "thoughtSignature": "t"}],
        (Message("assistant", "a"), signed("s", "part:1"), signed("t", "part:2")),
    ),
    (
        [{"text": "a"}, {"text": "", "thoughtSignature": "s"}, {"text": "b"}],
        (Message("assistant", (OutputText("a"), OutputText(""), OutputText("b"))), signed("s", "part:1")),
    ),
    (
        [CALL, {"text": "", "thoughtSignature": "s"}],
        (FunctionCall("call_r1_0", "f", '{"x": 1}'), signed("s", "part:0")),
    ),
    (
        [{"inlineData": {"mimeType": "image/png", "data": "AA"}, "thoughtSignature": "s"}, {"text": "a"}],
        (
            Message("assistant", (InputImage("data:image/png;base64,AA"), OutputText("a"))),
            signed("s", "part:0"),
        ),
    ),
    (
        [{"executableCode": {"code": "1"}, "thoughtSignature": "s"}, {"text": "a"}],
        (ProviderItem("here", {"executableCode": {"code": "1"}, "thoughtSignature": "s"}), Message("assistant", "a")),
    ),
]


@BOTH
@pytest.mark.parametrize(("parts", "items"), SIGNED, ids=[f"case-{number}" for number in range(len(SIGNED))])
def test_signatures_come_and_go_with_their_part(parts: list[Part], items: tuple[Any, ...], streamed: bool) -> None:
    assert output(*parts, streamed=streamed) == items
    sent = json.loads(b"[" + ContentEncoder("here", signs=False).encode(Tape(items)) + b"]")[0]["parts"]
    back = [{key: value for key, value in part.items() if key != "functionCall"} for part in sent]
    came = [{key: value for key, value in part.items() if key != "functionCall"} for part in parts]
    assert back == [part for part in came if part != {"text": ""}]


@BOTH
def test_media(streamed: bool) -> None:
    kinds = ["image/png", "audio/wav", "application/pdf"]
    items = output(*({"inlineData": {"mimeType": kind, "data": "AA"}} for kind in kinds), {"text": "a"}, streamed=streamed)
    assert items[0].content == (
        InputImage("data:image/png;base64,AA"),
        InputAudio("AA", "wav"),
        InputFile(file_data="data:application/pdf;base64,AA"),
        OutputText("a"),
    )


@BOTH
def test_parts_of_googles_own_tools_and_unknown_ones_are_kept(streamed: bool) -> None:
    parts: list[Part] = [
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"inlineData": {"mimeType": "image/png", "data": "AA"}, "thought": True},
        {"somethingNew": {"x": [1]}},
    ]
    items = output({"text": "a"}, *parts, {}, {"thought": True}, {"text": "b"}, streamed=streamed)
    kept = [ProviderItem("here", part) for part in parts]
    assert items == (Message("assistant", "a"), *kept, Message("assistant", "b"))


@BOTH
def test_citations_and_grounding_go_with_the_last_text(streamed: bool) -> None:
    first, last = chunk([{"text": "a"}]), chunk([{"text": "b"}], "STOP")
    last["candidates"][0] |= {"citationMetadata": {"citationSources": [1]}, "groundingMetadata": {"webSearchQueries": ["q"]}}
    again = chunk([], "STOP")
    again["candidates"][0] |= {"groundingMetadata": {"webSearchQueries": ["q"]}}
    response, _ = read(first, last, *([again] if streamed else []), streamed=streamed)
    notes: tuple[Any, ...] = (
        {"type": "citationMetadata", "citationSources": [1]},
        {"type": "groundingMetadata", "webSearchQueries": ["q"]},
    )
    assert response.output == (Message("assistant", (OutputText("ab", notes),)),)


@BOTH
def test_grounding_of_a_reply_that_only_calls_is_kept_as_well(streamed: bool) -> None:
    body = chunk([CALL], "STOP")
    body["candidates"][0] |= {"groundingMetadata": {"webSearchQueries": ["q"]}}
    response, events = read(body, streamed=streamed)
    call, message = response.output
    assert message == Message("assistant", (OutputText("", ({"type": "groundingMetadata", "webSearchQueries": ["q"]},)),))
    assert [event.output_index for event in events if isinstance(event, OutputItemDone)] == [0, 1]
    [sent] = json.loads(b"[" + ContentEncoder("here", signs=False).encode(Tape(response.output)) + b"]")[:1]
    assert sent == {"role": "model", "parts": [{"functionCall": {"id": call.call_id, **CALL["functionCall"]}}]}


def test_only_the_first_of_several_candidates_is_read() -> None:
    body = chunk([{"text": "yes"}], "STOP")
    body["candidates"].append({"content": {"parts": [{"text": "no"}]}, "finishReason": "SAFETY", "index": 1})
    assert read(body)[0].text == "yes"


@pytest.mark.parametrize("text", ['"a\\ud83db"', '"a\\ud83d\\u0062"'])
def test_lone_surrogates_are_replaced(text: str) -> None:
    body = '{"candidates":[{"content":{"parts":[{"text":%s}]},"finishReason":"STOP"}],"modelVersion":"\\udc00"}' % text  # noqa: UP031
    assert read(body)[0].text == "a\ufffdb"


# Complete, or an error


FINISHES: list[tuple[str | None, type[AgentsException]]] = [
    (None, IncompleteResponseError),
    *[
        (reason, ContentFilterError)
        for reason in (
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "IMAGE_SAFETY",
            "MODEL_ARMOR",
        )
    ],
    *[
        (reason, IncompleteResponseError)
        for reason in (
            "MALFORMED_FUNCTION_CALL",
            "UNEXPECTED_TOOL_CALL",
            "TOO_MANY_TOOL_CALLS",
            "MALFORMED_RESPONSE",
            "CONTINUATION",
        )
    ],
]


@BOTH
@pytest.mark.parametrize(("finish", "error"), FINISHES)
@pytest.mark.parametrize("parts", [[{"text": "half"}], [{"text": "half"}, CALL], []], ids=["text", "call", "empty"])
def test_finish_reasons_that_are_errors(
    finish: str | None, error: type[AgentsException], parts: list[Part], streamed: bool
) -> None:
    with pytest.raises(error, match=finish or "without a finish reason") as caught:
        read(chunk(parts), chunk([], finish), streamed=streamed)
    if isinstance(caught.value, IncompleteResponseError):
        assert caught.value.partial == ("half" if parts else "")


@BOTH
@pytest.mark.parametrize("finish", ["OTHER", "FINISH_REASON_UNSPECIFIED", "NEW"])
def test_an_unknown_finish_reason_proves_nothing(finish: str, streamed: bool) -> None:
    for part in ({"text": "a"}, CALL):
        with pytest.raises(IncompleteResponseError, match=finish):
            read(chunk([part], finish), streamed=streamed)


@BOTH
def test_the_token_limit(streamed: bool) -> None:
    assert read(chunk([{"text": "half"}], "MAX_TOKENS"), streamed=streamed)[0].finish == "length"
    parts: list[list[Part]] = [[{"text": "a"}, CALL], [], [{"text": "hm", "thought": True}]]
    for said in parts:
        with pytest.raises(IncompleteResponseError, match="max_tokens"):
            read(chunk(said, "MAX_TOKENS"), streamed=streamed)


def test_a_blocked_prompt() -> None:
    body = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}}
    with pytest.raises(ContentFilterError, match="PROHIBITED_CONTENT"):
        read(body)


def test_the_reason_of_a_blocked_prompt_stands_on_one_line() -> None:
    with pytest.raises(ContentFilterError) as caught:
        read({"promptFeedback": {"blockReason": "SAFETY\nINFO admin \x1b[2J\u202e"}})
    assert str(caught.value).isprintable()


def test_only_the_end_of_the_stream_is_its_end() -> None:
    usage = {"usageMetadata": {"promptTokenCount": 1}}
    stop = {"candidates": [{"finishReason": "STOP"}]}
    for bodies, states in (
        ([usage, stop, usage], [False, True, True]),
        ([{**stop, **usage}], [True]),
        ([{"promptFeedback": {"blockReason": "SAFETY"}, **usage}], [True]),
    ):
        assembler = ReplyAssembler("here")
        for body, finished in zip(bodies, states, strict=True):
            assembler.add_event(ServerSentEvent(json.dumps(body)))
            assert (assembler.finished, assembler.complete) == (finished, False)


def test_what_follows_a_finish_reason_is_read() -> None:
    """Some servers tell one with every chunk."""
    assembler = ReplyAssembler("here")
    for number, part in enumerate(({"text": "one "}, CALL)):
        body = {**chunk([part], "STOP"), "usageMetadata": {"promptTokenCount": number}}
        assembler.add_event(ServerSentEvent(json.dumps(body)))
    response = assembler.response()
    assert (response.text, response.finish, response.usage.input_tokens) == ("one ", "tool_calls", 1)


@pytest.mark.parametrize(("last", "tokens"), [({"promptTokenCount": 9}, 9), (None, 1), (5, 0), ({"x": "\ud83d"}, 0)])
def test_the_last_usage_counts(last: Any, tokens: int) -> None:
    """Each chunk brings one, which is a sum so far."""
    usage = read(chunk([{"text": "a"}]), chunk([], "STOP", usageMetadata=last))[0].usage
    assert (usage.requests, usage.input_tokens, usage.known) == (1, tokens, bool(tokens))


def test_no_part_at_all_is_an_empty_reply() -> None:
    assert read({"candidates": [{"content": {}, "finishReason": "STOP"}]})[0].output == ()
    assert read({"candidates": [{"finishReason": "STOP"}]})[0].output == ()


MALFORMED: list[Any] = [
    {},
    {"candidates": []},
    {"candidates": None},
    {"candidates": 5},
    chunk([5], "STOP"),
    chunk([{"text": 5}], "STOP"),
    chunk([{"functionCall": {"name": "f", "args": {}, "willContinue": True}}], "STOP"),
    chunk([{"functionCall": {"name": "f", "partialArgs": []}}], "STOP"),
    "[]",
    "{",
    "nonsense",
    '{"candidates":[{"content":{"parts":[{"text":"\\x"}]}}]}',
    "[" * 100_000,
]


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: str(body)[:50])
def test_malformed(body: Any) -> None:
    with pytest.raises(MalformedResponseError):
        read(body)


def test_bytes_that_are_not_utf_8() -> None:
    for body in (b'{"candidates":[{"content":{"parts":[{"text":"\xff"}]},"finishReason":"STOP"}]}', b"\xff"):
        with pytest.raises(MalformedResponseError, match="UTF-8"):
            ReplyAssembler("here").add_whole(body)


def test_errors_inside_a_reply() -> None:
    assembler = ReplyAssembler("here")
    with pytest.raises(ErrorInReply) as caught:
        assembler.add_event(ServerSentEvent('{"error":{"code":503,"status":"UNAVAILABLE"}}'))
    assert caught.value.data == {"code": 503, "status": "UNAVAILABLE"}
    with pytest.raises(ErrorInReply):
        assembler.add_event(ServerSentEvent("gone", event="error"))
