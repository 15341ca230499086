from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.models.google.encode import UNSIGNED, ContentEncoder, encode_tools
from agentsdk.types.errors import UserError
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    Item,
    Message,
    OutputText,
    Part,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.tape import Tape
from tests.models.growth import Turns, check_encoded_once, check_growth, turns_of

IMAGE = InputImage("data:image/png;base64,AAAA")
INLINE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
USER = Message("user", "hi")
SAID = {"role": "user", "parts": [{"text": "hi"}]}


def contents(*items: Item, signs: bool = False, provider: str = "here") -> list[dict[str, Any]]:
    parsed: list[dict[str, Any]] = json.loads(b"[" + ContentEncoder(provider, signs).encode(Tape(items)) + b"]")
    return parsed


def parts(*items: Item, **options: Any) -> list[dict[str, Any]]:
    """The parts of the only content."""
    (content,) = contents(*items, **options)
    found: list[dict[str, Any]] = content["parts"]
    return found


def call(call_id: str, name: str = "f", **args: Any) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": name, "args": args}}


def result(call_id: str, text: str, key: str = "output", name: str = "f") -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": name, "response": {key: text}}}


def test_roles() -> None:
    """There are two, so system and developer messages inside the history are the user's."""
    assert contents(Message("system", "s"), Message("developer", "d"), USER, Message("assistant", "a"), USER) == [
        {"role": "user", "parts": [{"text": "s"}]},
        {"role": "user", "parts": [{"text": "d"}]},
        SAID,
        {"role": "model", "parts": [{"text": "a"}]},
        SAID,
    ]


MEDIA: list[tuple[Part, dict[str, Any]]] = [
    (InputText("look"), {"text": "look"}),
    (OutputText("said"), {"text": "said"}),
    (Refusal("no"), {"text": "no"}),
    (IMAGE, INLINE),
    (InputImage("https://x/y.png?z"), {"fileData": {"fileUri": "https://x/y.png?z", "mimeType": "image/png"}}),
    (InputImage("gs://b/y"), {"fileData": {"fileUri": "gs://b/y"}}),
    (InputVideo("data:video/webm;base64,AAAA"), {"inlineData": {"mimeType": "video/webm", "data": "AAAA"}}),
    (
        InputVideo("https://www.youtube.com/watch?v=9hE5-98ZeCg"),
        {"fileData": {"fileUri": "https://www.youtube.com/watch?v=9hE5-98ZeCg"}},
    ),
    (InputVideo("https://example.com/a.mp4"), {"fileData": {"fileUri": "https://example.com/a.mp4", "mimeType": "video/mp4"}}),
    (InputAudio("AAAA", "wav"), {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}),
    (
        InputFile(file_data="data:application/pdf;base64,AA", filename="a.pdf"),
        {"inlineData": {"mimeType": "application/pdf", "data": "AA"}},
    ),
    (InputFile(file_data="AA", filename="a.pdf"), {"inlineData": {"mimeType": "application/pdf", "data": "AA"}}),
    (
        InputFile(file_url="https://x/y", filename="a.pdf"),
        {"fileData": {"fileUri": "https://x/y", "mimeType": "application/pdf"}},
    ),
    (
        InputFile(file_id="files/abc"),
        {"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc"}},
    ),
]


@pytest.mark.parametrize(("part", "sent"), MEDIA, ids=lambda value: type(value).__name__)
def test_parts(part: Part, sent: dict[str, Any]) -> None:
    assert parts(Message("user", (part,))) == [sent]


@pytest.mark.parametrize(
    "part", [InputImage(), InputFile(filename="a"), InputImage("data:image/png,AAAA"), InputImage("data:x")]
)
def test_what_cannot_be_sent_is_the_callers_error_and_spoils_nothing(part: Part) -> None:
    encoder, tape = ContentEncoder("here"), Tape[Item]([USER, Message("user", (part,))])
    for _ in range(2):
        with pytest.raises(UserError, match="image or file"):
            encoder.encode(tape)
    assert encoder.encode(Tape[Item]([USER])) == ContentEncoder("here").encode(Tape[Item]([USER]))


def test_a_message_without_parts_has_one() -> None:
    assert parts(Message("user", ())) == parts(Message("user", "")) == [{"text": ""}]


def test_one_turn_is_one_content_and_its_results_another() -> None:
    reply = (Message("assistant", "I look."), FunctionCall("1", "f", '{"a": 1}'), FunctionCall("2", "g", "{}"))
    results = (FunctionCallOutput("2", "two"), FunctionCallOutput("1", "no", is_error=True))
    assert contents(USER, *reply, *results, Message("assistant", "done")) == [
        SAID,
        {"role": "model", "parts": [{"text": "I look."}, call("1", a=1), call("2", "g")]},
        {"role": "user", "parts": [result("2", "two", name="g"), result("1", "no", "error")]},
        {"role": "model", "parts": [{"text": "done"}]},
    ]


def test_media_of_results_follow_all_results() -> None:
    sent = contents(
        FunctionCall("1", "f", "{}"),
        FunctionCall("2", "f", "{}"),
        FunctionCallOutput("1", (InputText("seen"), IMAGE)),
        FunctionCallOutput("2", (IMAGE,)),
    )[1]["parts"]
    assert sent == [
        result("1", "seen"),
        result("2", "(attached)"),
        {"text": "From the result of tool call 1:"},
        INLINE,
        {"text": "From the result of tool call 2:"},
        INLINE,
    ]


def test_every_call_has_its_result_and_no_result_lacks_its_call() -> None:
    """The API refuses a history where the numbers differ."""
    sent = contents(FunctionCall("1", "f", "{}"), FunctionCall("2", "f", "{}"), FunctionCallOutput("1", "one"), USER)
    assert sent[1]["parts"] == [result("1", "one"), result("2", "interrupted, outcome unknown", "error")]
    told = [{"role": "user", "parts": [{"text": "The result of tool call 9: x"}]}]
    assert contents(FunctionCallOutput("9", "x")) == told
    assert contents(FunctionCall("1", "f", "{}"), FunctionCallOutput("1", "one"), FunctionCallOutput("9", "x"))[2:] == told


@pytest.mark.parametrize("bad", ["", "[1]", "{", "null", "{} {}", "[" * 100_000])
def test_arguments_that_are_no_object_go_back_as_an_empty_one(bad: str) -> None:
    assert contents(FunctionCall("1", "f", bad))[0]["parts"] == [call("1")]


def test_garbled_names_go_back_as_names() -> None:
    sent = contents(FunctionCall("1", "get a!", "{}"), FunctionCallOutput("1", "x"))
    assert sent[0]["parts"][0]["functionCall"]["name"] == sent[1]["parts"][0]["functionResponse"]["name"] == "get_a_"


# Signatures


def test_signatures_go_back_on_the_part_they_came_with() -> None:
    turn = (
        Reasoning("hm", signature="s0", provider="here"),
        Message("assistant", (OutputText("a"), OutputText("b"))),
        Reasoning(id="part:1", signature="s1", provider="here"),
        Reasoning(id="part:2", signature="s2", provider="here"),
        Reasoning(id="call", signature="s3", provider="here"),
        FunctionCall("1", "f", "{}"),
        FunctionCall("2", "f", "{}"),
        Reasoning(id="part:0", signature="s4", provider="here"),
    )
    expected = [
        {"text": "hm", "thought": True, "thoughtSignature": "s0"},
        {"text": "a"},
        {"text": "b", "thoughtSignature": "s1"},
        {"text": "", "thoughtSignature": "s2"},
        {**call("1"), "thoughtSignature": "s3"},
        call("2"),
        {"text": "", "thoughtSignature": "s4"},
    ]
    assert contents(*turn, signs=True)[0]["parts"] == expected


def test_reasoning_goes_back_only_where_it_came_from() -> None:
    turn = (Reasoning("hm", signature="s", provider="here"), Message("assistant", "a"), ProviderItem("here", {"x": 1}))
    assert parts(*turn) == [{"text": "hm", "thought": True, "thoughtSignature": "s"}, {"text": "a"}, {"x": 1}]
    assert parts(*turn, provider="elsewhere") == [{"text": "a"}]
    assert contents(turn[0], provider="elsewhere") == []


def test_the_first_call_of_a_turn_that_nobody_signed_says_so() -> None:
    calls = (FunctionCall("1", "f", "{}"), FunctionCall("2", "f", "{}"))
    foreign = Reasoning(id="call", signature="s", provider="elsewhere")
    assert contents(foreign, *calls, signs=True)[0]["parts"] == [{**call("1"), "thoughtSignature": UNSIGNED}, call("2")]
    assert contents(foreign, *calls)[0]["parts"] == [call("1"), call("2")]


def test_parts_of_googles_own_tools_are_not_touched() -> None:
    item = ProviderItem("here", {"executableCode": {"code": "1"}})
    sent = parts(Message("assistant", "a"), item, Reasoning(id="part:0", signature="s", provider="here"))
    assert sent == [{"text": "a"}, {"executableCode": {"code": "1"}}, {"text": "", "thoughtSignature": "s"}]
    assert item.data == {"executableCode": {"code": "1"}}
    odd = ProviderItem("here", {"functionCall": {"name": "own"}})
    assert parts(odd, signs=True) == [{"functionCall": {"name": "own"}, "thoughtSignature": UNSIGNED}]
    assert odd.data == {"functionCall": {"name": "own"}}


# Growing


def test_lone_surrogates_are_replaced() -> None:
    assert parts(Message("user", "a\ud83db")) == [{"text": "a\ufffdb"}]


def test_a_final_item_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    check_encoded_once(ContentEncoder("here"), monkeypatch)


def test_each_request_begins_with_the_one_before() -> None:
    encoder, tape, before = ContentEncoder("here"), Tape[Item]([USER]), b""
    for turn in range(5):
        reply: list[Item] = [Message("assistant", "a"), FunctionCall(str(turn), "f", "{}"), FunctionCallOutput(str(turn), "x")]
        tape = tape.extended([*reply, USER] if turn % 2 else reply)
        now = encoder.encode(tape)
        assert now.startswith(before)
        before = now


TEXTS = st.sampled_from(["", "a", "é😀"])
PARTS = st.lists(st.sampled_from([InputText("t"), IMAGE]), max_size=2).map(tuple)
ITEMS = st.one_of(
    st.builds(Message, st.sampled_from(["user", "system", "assistant", "assistant"]), st.one_of(TEXTS, PARTS)),
    st.builds(FunctionCall, st.sampled_from(["1", "2"]), st.just("f"), st.sampled_from(["{}", "bad"])),
    st.builds(FunctionCallOutput, st.sampled_from(["1", "2"]), st.one_of(TEXTS, PARTS), st.booleans()),
    st.builds(
        Reasoning,
        TEXTS,
        id=st.sampled_from(["", "call", "part:0", "part:2", "rs_1"]),
        signature=st.sampled_from(["", "s"]),
        provider=st.sampled_from(["here", "elsewhere"]),
    ),
    st.builds(ProviderItem, st.sampled_from(["here", "elsewhere"]), st.just({"x": {}})),
)


@given(turns_of(ITEMS))
def test_what_grew_equals_what_is_encoded_anew(turns: Turns) -> None:
    check_growth(lambda: ContentEncoder("here"), turns)


@given(st.lists(ITEMS, max_size=12))
def test_any_history_is_one_that_the_api_takes(items: list[Item]) -> None:
    """Parts in every content; right behind the calls as many results, of the same ids; none elsewhere."""
    sent = contents(*items, signs=True)
    for before, content in zip([None, *sent], [*sent, None], strict=True):
        calls = [part["functionCall"]["id"] for part in (before or {"parts": []})["parts"] if "functionCall" in part]
        results = [part["functionResponse"]["id"] for part in (content or {"parts": []})["parts"] if "functionResponse" in part]
        assert sorted(calls) == sorted(results)
        assert content is None or content["parts"]


def test_tools() -> None:
    schema: dict[str, object] = {"type": "object", "properties": {"x": {"const": 1}}}
    tools = (ToolSpec("f", "does f", schema), HandoffSpec("to_b", "hands over", {"type": "object"}, "b", strict=False))
    assert json.loads(encode_tools(tools)) == [
        {
            "name": "f",
            "description": "does f",
            "parametersJsonSchema": {"type": "object", "properties": {"x": {"enum": [1]}}},
        },
        {"name": "to_b", "description": "hands over", "parametersJsonSchema": {"type": "object"}},
    ]
