from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.models.loose import is_object
from agentsdk.models.openai_chat.encode import MessageEncoder, encode_output, encode_tools
from agentsdk.models.prefix import to_json
from agentsdk.types.errors import UserError
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    Item,
    Message,
    OutputText,
    Part,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec
from agentsdk.types.tape import Tape
from tests.models.growth import Turns, check_encoded_once, check_growth, turns_of

IMAGE = InputImage("data:image/png;base64,AAAA")
USER = Message("user", "hi")


def messages(*items: Item, tail: tuple[Item, ...] = (), provider: str = "here") -> list[dict[str, Any]]:
    encoded = MessageEncoder(provider).encode(Tape(items), tail)
    parsed: list[dict[str, Any]] = json.loads(b"[" + encoded + b"]")
    return parsed


def tool_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_roles_and_text() -> None:
    assert messages(Message("system", "s"), Message("developer", "d"), USER, Message("assistant", "a")) == [
        {"role": "system", "content": "s"},
        {"role": "developer", "content": "d"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "a"},
    ]


def test_parts() -> None:
    parts: tuple[Part, ...] = (
        InputText("look"),
        InputImage("https://x/y.png", detail="low"),
        InputAudio("AAAA", "wav"),
        InputFile(file_data="data:application/pdf;base64,AA", filename="a.pdf"),
        InputFile(file_id="file-1"),
    )
    assert messages(Message("user", parts))[0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}},
        {"type": "file", "file": {"file_id": "file-1"}},
    ]
    assert messages(Message("user", (InputText("only"),))) == [{"role": "user", "content": "only"}]


@pytest.mark.parametrize("part", [InputImage(file_id="file-1"), InputFile(file_url="https://x/a.pdf")])
def test_what_chat_cannot_carry_is_the_callers_error_and_spoils_nothing(part: Part) -> None:
    encoder, tape = MessageEncoder("here"), Tape([USER, Message("user", (part,))])
    for _ in range(2):
        with pytest.raises(UserError, match="chat completions"):
            encoder.encode(tape)
    assert encoder.encode(tape.__class__([USER])) == MessageEncoder("here").encode(Tape([USER]))


def test_one_reply_is_one_message() -> None:
    reply: tuple[Item, ...] = (
        Reasoning("hm"),
        Message("assistant", "I look."),
        FunctionCall("1", "f", "{}"),
        FunctionCall("2", "g", '{"a":1}'),
    )
    results = (FunctionCallOutput("1", "one"), FunctionCallOutput("2", "two"))
    assert messages(USER, *reply, *results, Message("assistant", "done")) == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "I look.", "tool_calls": [tool_call("1", "f", "{}"), tool_call("2", "g", '{"a":1}')]},
        {"role": "tool", "tool_call_id": "1", "content": "one"},
        {"role": "tool", "tool_call_id": "2", "content": "two"},
        {"role": "assistant", "content": "done"},
    ]


def test_calls_without_text_have_null_content() -> None:
    assert messages(FunctionCall("1", "f", "{}"))[0]["content"] is None


def test_texts_stay_apart_unless_calls_hold_them_together() -> None:
    a, b = Message("assistant", "a"), Message("assistant", "b")
    call = FunctionCall("1", "f", "{}")
    assert [message["content"] for message in messages(a, b)] == ["a", "b"]
    assert messages(a, call, b) == [{"role": "assistant", "content": "a\n\nb", "tool_calls": [tool_call("1", "f", "{}")]}]
    assert [message.get("content") for message in messages(a, b, call)] == ["a", "b"]


@pytest.mark.parametrize("bad", ["", "[1]", '"x"', "{", '{"a":', "null", "{} {}", "[" * 100_000])
def test_arguments_that_are_no_object_go_back_as_an_empty_one(bad: str) -> None:
    assert not is_object(bad)
    assert messages(FunctionCall("1", "f", bad))[0]["tool_calls"] == [tool_call("1", "f", "{}")]


@pytest.mark.parametrize(
    ("name", "sent"),
    [("get_a", "get_a"), ("get-a", "get-a"), ("get a!", "get_a_"), ("", "unknown"), ("é", "_"), ("x" * 99, "x" * 64)],
)
def test_garbled_names_go_back_as_names(name: str, sent: str) -> None:
    assert messages(FunctionCall("1", name, "{}"))[0]["tool_calls"][0]["function"]["name"] == sent


def test_refusals() -> None:
    assert messages(Message("assistant", (Refusal("no"),))) == [{"role": "assistant", "content": None, "refusal": "no"}]
    assert messages(Message("assistant", (OutputText("t"), Refusal("no")))) == [
        {"role": "assistant", "content": "t", "refusal": "no"}
    ]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_goes_back_only_where_it_came_from(field: str) -> None:
    reply = (Reasoning("hm", id=field, provider="here"), FunctionCall("1", "f", "{}"))
    assert messages(*reply)[0][field] == "hm"
    assert field not in messages(*reply, provider="elsewhere")[0]
    assert messages(reply[0], provider="elsewhere") == []


def test_reasoning_details_go_back_untouched() -> None:
    details = [{"type": "reasoning.text", "text": "hm", "signature": "s"}]
    item = Reasoning("hm", id="reasoning", encrypted=json.dumps(details), provider="here")
    message = messages(item, Message("assistant", "a"))[0]
    assert (message["reasoning"], message["reasoning_details"]) == ("hm", details)


def test_thinking_parts_go_back_as_parts() -> None:
    item = Reasoning("hm", id="content", provider="here")
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assert messages(item, Message("assistant", "a"))[0]["content"] == [thinking, {"type": "text", "text": "a"}]
    assert messages(item, FunctionCall("1", "f", "{}"))[0]["content"] == [thinking]


def test_images_of_results_follow_all_results() -> None:
    results = (
        FunctionCallOutput("1", (InputText("seen"), IMAGE)),
        FunctionCallOutput("2", "plain"),
        FunctionCallOutput("3", (IMAGE,)),
    )
    sent = messages(*results, USER)
    assert [message["role"] for message in sent] == ["tool", "tool", "tool", "user", "user"]
    assert sent[0]["content"] == "seen"
    assert sent[2]["content"] == "(attached in the next message)"
    assert [part["type"] for part in sent[3]["content"]] == ["text", "image_url", "text", "image_url"]
    assert "tool call 3" in sent[3]["content"][2]["text"]


def test_items_of_other_providers_are_left_out() -> None:
    assert messages(ProviderItem("elsewhere", {"x": 1}), USER) == [{"role": "user", "content": "hi"}]


def test_lone_surrogates_are_replaced() -> None:
    assert messages(Message("user", "a\ud83db"))[0]["content"] == "a\ufffdb"
    assert to_json({"\udc00": ["\ud83d"]}) == '{"\ufffd":["\ufffd"]}'.encode()


def test_a_final_item_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    check_encoded_once(MessageEncoder("here"), monkeypatch)


def test_a_tail_joins_the_last_message_of_an_older_tape() -> None:
    """The newer tape ended that message, in the encoded form that both share."""
    encoder, call = MessageEncoder("here"), FunctionCall("1", "f", "{}")
    older = Tape[Item]([Message("assistant", "a")])
    encoder.encode(older.extended([Message("assistant", "b")]))
    assert encoder.encode(older, [call]) == MessageEncoder("here").encode(Tape(older), [call])


def test_equal_encoders_share_and_others_do_not() -> None:
    tape = Tape[Item]([USER])
    MessageEncoder("a").encode(tape)
    MessageEncoder("a").encode(tape)
    MessageEncoder("b").encode(tape)
    assert len(tape.derived) == 2


TEXTS = st.sampled_from(["", "a", "é😀"])
PARTS = st.lists(st.sampled_from([InputText("t"), IMAGE]), max_size=2).map(tuple)
ITEMS = st.one_of(
    st.builds(Message, st.sampled_from(["user", "system", "assistant", "assistant"]), TEXTS),
    st.builds(FunctionCall, st.sampled_from(["1", "2"]), st.just("f"), st.sampled_from(["{}", "bad"])),
    st.builds(FunctionCallOutput, st.sampled_from(["1", "2"]), st.one_of(TEXTS, PARTS)),
    st.builds(Reasoning, TEXTS, id=st.just("reasoning"), provider=st.sampled_from(["here", "elsewhere"])),
    st.just(ProviderItem("elsewhere", {})),
)


@given(turns_of(ITEMS))
def test_what_grew_equals_what_is_encoded_anew(turns: Turns) -> None:
    check_growth(lambda: MessageEncoder("here"), turns)


def test_tools_and_output() -> None:
    schema: dict[str, object] = {"type": "object", "properties": {}}
    tools = (ToolSpec("f", "does f", schema), HandoffSpec("to_b", "hands over", schema, "b", strict=False))
    assert json.loads(encode_tools(tools)) == [
        {"type": "function", "function": {"name": "f", "description": "does f", "parameters": schema, "strict": True}},
        {"type": "function", "function": {"name": "to_b", "description": "hands over", "parameters": schema}},
    ]
    assert json.loads(encode_output(OutputSpec("answer", schema, strict=False))) == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": False},
    }
