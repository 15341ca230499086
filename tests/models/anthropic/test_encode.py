from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.models.anthropic.encode import MessageEncoder, encode_tools
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
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.tape import Tape
from tests.models.growth import Turns, check_growth, turns_of

IMAGE = InputImage("data:image/png;base64,AAAA")
IMAGE_BLOCK = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
USER = Message("user", "hi")
CONTINUED = {"role": "user", "content": [{"type": "text", "text": "(continued)"}]}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def tool_use(call_id: str, name: str = "f", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any, **rest: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **rest}


def messages(*items: Item, tail: tuple[Item, ...] = (), provider: str = "here") -> list[dict[str, Any]]:
    encoded = MessageEncoder(provider).encode(Tape(items), tail)
    parsed: list[dict[str, Any]] = json.loads(b"[" + encoded + b"]")
    return parsed


def test_messages_of_one_side_are_one_message() -> None:
    a, b = Message("assistant", "a"), Message("assistant", "b")
    assert messages(USER, USER, a, b, USER) == [user(text("hi"), text("hi")), assistant(text("a"), text("b")), user(text("hi"))]


def test_one_reply_and_its_results() -> None:
    reply: tuple[Item, ...] = (
        Reasoning("hm", signature="sig", provider="here"),
        Reasoning(encrypted="xyz", provider="here"),
        Message("assistant", "I look."),
        FunctionCall("1", "f", "{}"),
        FunctionCall("2", "g", '{"a": 1}'),
    )
    answers = (FunctionCallOutput("2", "two"), FunctionCallOutput("1", "no", is_error=True), USER)
    assert messages(USER, *reply, *answers) == [
        user(text("hi")),
        assistant(
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "redacted_thinking", "data": "xyz"},
            text("I look."),
            tool_use("1"),
            tool_use("2", "g", a=1),
        ),
        user(result("2", "two"), result("1", "no", is_error=True), text("hi")),
    ]


def test_results_come_first_in_their_message() -> None:
    assert messages(USER, FunctionCall("1", "f", "{}"), USER, FunctionCallOutput("1", "x"))[2] == user(
        result("1", "x"), text("hi")
    )


def test_a_call_without_its_result_gets_one_and_a_late_result_is_told() -> None:
    call, late = FunctionCall("1", "f", "{}"), FunctionCallOutput("1", (InputText("x"), IMAGE))
    told = [text("Result of tool call 1:"), text("x"), IMAGE_BLOCK]
    assert messages(USER, call, USER, Message("assistant", "a"), late) == [
        user(text("hi")),
        assistant(tool_use("1")),
        user(result("1", "(no result yet)"), text("hi")),
        assistant(text("a")),
        user(*told),
    ]
    assert messages(USER, call)[2:] == [user(result("1", "(no result yet)"))]
    assert messages(USER, call, late, late)[2] == user(result("1", [text("x"), IMAGE_BLOCK]), *told)


def test_a_history_begins_with_the_user() -> None:
    assert messages(Message("assistant", "a")) == [CONTINUED, assistant(text("a"))]
    assert messages() == [CONTINUED]
    assert messages(Message("system", "s")) == [CONTINUED]


def test_blank_text_is_not_sent() -> None:
    assert messages(USER, Message("assistant", " \n"), FunctionCall("1", "f", "{}"))[1] == assistant(tool_use("1"))
    assert messages(Message("user", "")) == [user(text("(empty)"))]
    assert messages(USER, Message("assistant", ""), USER) == [user(text("hi")), user(text("hi"))]


def test_system_messages_lead_or_are_marked() -> None:
    items = (ProviderItem("elsewhere", {}), Message("system", "s"), Message("developer", "d"), USER, Message("system", "now"))
    assert MessageEncoder("here").system(items) == ["s", "d"]
    assert messages(*items) == [user(text("hi"), text("<system>\nnow\n</system>"))]
    reply: tuple[Item, ...] = (Message("assistant", "a"), Message("system", "s"))
    assert MessageEncoder("here").system(reply) == []
    assert messages(*reply) == [CONTINUED, assistant(text("a")), user(text("<system>\ns\n</system>"))]


def test_parts() -> None:
    parts: tuple[Part, ...] = (
        InputText("look"),
        InputImage("https://x/y.png"),
        InputImage(file_id="file-1"),
        IMAGE,
        InputFile(file_data="data:application/pdf;base64,AA", filename="a.pdf"),
        InputFile(file_data="data:text/csv;base64,YSxi"),
        InputFile(file_data="data:text/plain,a%20b"),
        InputFile(file_data="data:image/png;base64,AAAA"),
        InputFile(file_id="file-1"),
        InputFile(file_url="https://x/a.pdf"),
    )
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "AA"}
    assert messages(Message("user", parts))[0]["content"] == [
        text("look"),
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file-1"}},
        IMAGE_BLOCK,
        {"type": "document", "source": pdf, "title": "a.pdf"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a b"}},
        IMAGE_BLOCK,
        {"type": "document", "source": {"type": "file", "file_id": "file-1"}},
        {"type": "document", "source": {"type": "url", "url": "https://x/a.pdf"}},
    ]


@pytest.mark.parametrize(
    "part",
    [
        InputAudio("AAAA", "wav"),
        InputImage("C:/x.png"),
        InputFile(file_data="data:application/zip;base64,AA", filename="a.zip"),
        InputFile(file_data="data:text/plain;base64,/w==", filename="a.txt"),
        InputFile(),
    ],
)
def test_what_the_api_cannot_carry_is_the_callers_error_and_spoils_nothing(part: Part) -> None:
    encoder, tape = MessageEncoder("here"), Tape[Item]([USER, Message("assistant", "a"), Message("user", (part,))])
    for _ in range(2):
        with pytest.raises(UserError):
            encoder.encode(tape)
    assert encoder.encode(Tape(tape[:2])) == MessageEncoder("here").encode(Tape(tape[:2]))


def test_reasoning_and_provider_items_go_back_only_where_they_came_from() -> None:
    block: dict[str, object] = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    items = (USER, Reasoning("hm", signature="s", provider="here"), ProviderItem("here", block), Message("assistant", "a"))
    assert messages(*items)[1]["content"][1] == block
    assert messages(*items, provider="elsewhere") == [user(text("hi")), assistant(text("a"))]


def test_what_a_call_held_besides_goes_back_with_it() -> None:
    caller = {"type": "code_execution_20260120", "tool_id": "s"}
    kept = ProviderItem("here", {"type": "tool_use", "caller": caller})
    calls = (FunctionCall("1", "f", "{}"), FunctionCall("2", "f", "{}"))
    blocks = messages(USER, kept, *calls)[1]["content"]
    assert blocks == [{**tool_use("1"), "caller": caller}, tool_use("2")]


def test_citations_go_back_if_they_are_of_this_api() -> None:
    own: dict[str, object] = {"type": "web_search_result_location", "url": "https://x", "encrypted_index": "e"}
    other: dict[str, object] = {"type": "url_citation", "url": "https://x"}
    parts = (OutputText("a", (own, other)), OutputText("b", (other,)), Refusal("no"), InputText("t"), IMAGE)
    assert messages(USER, Message("assistant", parts))[1] == assistant(
        {**text("a"), "citations": [own]}, text("b"), text("no"), text("t"), text("(an attachment)")
    )


@pytest.mark.parametrize("bad", ["", "[1]", "{", "null", "{} {}"])
def test_arguments_that_are_no_object_go_back_as_an_empty_one(bad: str) -> None:
    assert messages(USER, FunctionCall("1", "a b", bad))[1] == assistant(tool_use("1", "a_b"))


def test_arguments_go_back_as_the_model_wrote_them() -> None:
    encoded = MessageEncoder("here").encode(Tape([FunctionCall("1", "f", '{ "b":1.0,\n"a" :2}')]))
    assert b'"input":{ "b":1.0,\n"a" :2}' in encoded


@pytest.mark.parametrize(("call_id", "sent"), [("a-B_1", "a-B_1"), ("a.b", "a_2e_b"), ("", "call")])
def test_ids_are_ones_the_api_takes(call_id: str, sent: str) -> None:
    sent_messages = messages(USER, FunctionCall(call_id, "f", "{}"), FunctionCallOutput(call_id, "x"))
    assert sent_messages[1:] == [assistant(tool_use(sent)), user(result(sent, "x"))]


def test_a_final_item_is_not_looked_at_again() -> None:
    """Only the newest exchange is, which something could still join."""
    encoder, tape = MessageEncoder("here"), Tape[Item]([USER])
    seen: list[int] = []
    grouped = encoder._exchange

    class Counting(MessageEncoder, frozen=True):
        def _exchange(self, items: Any, start: int) -> Any:
            group = grouped(items, start)
            seen.append(group[0] - start)
            return group

    counting = Counting("here")
    for turn in range(50):
        tape = tape.extended([FunctionCall(str(turn), "f", "{}"), FunctionCallOutput(str(turn), "x")])
        assert counting.encode(tape) == encoder.encode(tape)
    assert sum(seen) <= 3 * len(tape)


def test_each_request_begins_with_the_one_before() -> None:
    encoder, tape = MessageEncoder("here"), Tape[Item]([USER])
    sent = encoder.encode(tape)
    for turn in range(20):
        tape = tape.extended([FunctionCall(str(turn), "f", "{}"), FunctionCallOutput(str(turn), "x")])
        grown = encoder.encode(tape)
        assert grown.startswith(sent)
        sent = grown


TEXTS = st.sampled_from(["", "a", "é😀"])
PARTS = st.lists(st.sampled_from([InputText("t"), IMAGE]), max_size=2).map(tuple)
ITEMS = st.one_of(
    st.builds(Message, st.sampled_from(["user", "system", "assistant", "assistant"]), TEXTS),
    st.builds(FunctionCall, st.sampled_from(["1", "2"]), st.just("f"), st.sampled_from(["{}", "bad"])),
    st.builds(FunctionCallOutput, st.sampled_from(["1", "2"]), st.one_of(TEXTS, PARTS)),
    st.builds(Reasoning, TEXTS, signature=st.just("s"), provider=st.sampled_from(["here", "elsewhere"])),
    st.sampled_from([ProviderItem("elsewhere", {}), ProviderItem("here", {"type": "server_tool_use"})]),
)


@given(turns_of(ITEMS))
def test_what_grew_equals_what_is_encoded_anew(turns: Turns) -> None:
    check_growth(lambda: MessageEncoder("here"), turns)


@given(st.lists(ITEMS, max_size=10))
def test_every_history_is_one_the_api_takes(items: list[Item]) -> None:
    """It begins with the user; the results of a message's calls open the next, one each, and no result stands elsewhere."""
    sent = messages(*items)
    assert sent[0]["role"] == "user"
    open_calls: list[str] = []
    for message in sent:
        assert message["content"]
        kinds = [block["type"] for block in message["content"]]
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        if message["role"] == "user":
            assert kinds[: len(results)] == ["tool_result"] * len(results)
            assert sorted(results) == sorted(set(open_calls))
            open_calls = []
        else:
            assert not open_calls
            open_calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    assert not open_calls


def test_tools() -> None:
    schema: dict[str, object] = {"type": "object", "properties": {}}
    tools = (ToolSpec("f", "does f", schema), HandoffSpec("to_b", "hands over", schema, "b", strict=False))
    f = {"name": "f", "description": "does f", "input_schema": schema}
    b = {"name": "to_b", "description": "hands over", "input_schema": schema}
    assert json.loads(encode_tools(tools, strict=False)) == [f, b]
    assert json.loads(encode_tools(tools, strict=True)) == [{**f, "strict": True}, b]
