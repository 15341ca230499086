from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.models.openai_responses.encode import InputEncoder, encode_tools, output_format
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
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec
from agentsdk.types.tape import Tape
from tests.models.growth import Turns, check_growth, turns_of

IMAGE = InputImage("data:image/png;base64,AAAA")
USER = Message("user", "hi")
SEALED = Reasoning("a\n\nb", ("a", "b"), "rs_1", encrypted="gAAA", provider="here")
SEALED_ENTRY = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
    "encrypted_content": "gAAA",
}
SEARCH: dict[str, object] = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "sources": []},
}


def entries(*items: Item, stored: bool = False) -> list[dict[str, Any]]:
    parsed: list[dict[str, Any]] = json.loads(b"[%b]" % InputEncoder("here", stored).encode(Tape(items)))
    return parsed


def answer(text: str, item_id: str, **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "id": item_id, "status": "completed", "content": [part], **more}


def test_a_plain_conversation() -> None:
    assert entries(
        Message("system", "s"),
        USER,
        Message("assistant", "a", "msg_1"),
        FunctionCall("c1", "f", '{"x":1}', "fc_1"),
        FunctionCallOutput("c1", "r", is_error=True),
    ) == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "a"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"x":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "r"},
    ]


def test_images_and_files_of_users_and_tools() -> None:
    parts = (
        InputText("look"),
        IMAGE,
        InputImage(file_id="file-1", detail="high"),
        InputFile("data:application/pdf;base64,AA==", filename="a.pdf"),
        InputFile(file_url="https://x/a.pdf"),
        InputFile(file_id="file-2"),
    )
    wanted = [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "detail": "auto", "image_url": IMAGE.image_url},
        {"type": "input_image", "detail": "high", "file_id": "file-1"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"},
        {"type": "input_file", "file_url": "https://x/a.pdf"},
        {"type": "input_file", "file_id": "file-2"},
    ]
    assert entries(Message("user", parts))[0]["content"] == wanted
    assert entries(FunctionCallOutput("c", parts))[0]["output"] == wanted


@pytest.mark.parametrize(
    ("item", "remedy"),
    [(Message("user", (InputAudio("AA", "wav"),)), "OpenAIChat"), (Message("assistant", (IMAGE,)), "give text")],
)
def test_what_the_api_cannot_carry(item: Item, remedy: str) -> None:
    with pytest.raises(UserError, match=remedy):
        entries(item)


def test_reasoning_goes_back_with_the_ids_of_what_it_led_to() -> None:
    reply = (SEALED, Message("assistant", "I look.", "msg_1"), FunctionCall("c1", "f", "{}", "fc_1"))
    assert entries(USER, *reply, FunctionCallOutput("c1", "r"))[1:] == [
        SEALED_ENTRY,
        answer("I look.", "msg_1"),
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "id": "fc_1"},
        {"type": "function_call_output", "call_id": "c1", "output": "r"},
    ]


@pytest.mark.parametrize(
    "rest",
    [
        (Message("assistant", "The meaning of life is 42"),),
        (FunctionCall("c1", "f", "{}"),),
        (ProviderItem("elsewhere", {}),),
        (),
        (USER,),
        (Reasoning("x", id="rs_2", encrypted="g", provider="elsewhere"), Message("assistant", "a", "msg_1")),
    ],
    ids=["rewritten message", "rewritten call", "foreign item", "nothing", "user", "foreign reasoning"],
)
def test_reasoning_without_what_it_led_to_stays_behind(rest: tuple[Item, ...]) -> None:
    said = json.dumps(entries(USER, SEALED, *rest, USER))
    assert "reasoning" not in said
    assert "msg_1" not in said


def test_ids_never_go_back_without_their_reasoning() -> None:
    unsealed = Reasoning("a", ("a",), "rs_1", provider="here")
    foreign = Reasoning("a", (), "", "signature", provider="elsewhere")
    for reasoning in (unsealed, foreign):
        said = entries(USER, reasoning, Message("assistant", "a", "msg_1"), FunctionCall("c", "f", "{}", "fc_1"))
        assert said[1:] == [
            {"role": "assistant", "content": "a"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        ]
    stored = entries(unsealed, Message("assistant", "a", "msg_1"), stored=True)
    assert [entry["id"] for entry in stored] == ["rs_1", "msg_1"]


def test_items_of_the_providers_own_go_back_with_their_reasoning_or_without_an_id() -> None:
    unsealed = Reasoning("a", ("a",), "rs_1", provider="here")
    squeezed = {"type": "compaction", "id": "cmp_1", "encrypted_content": "g"}
    own, text = (ProviderItem("here", SEARCH), ProviderItem("here", squeezed)), Message("assistant", "a", "msg_1")
    for items in ((unsealed, *own, text), (SEALED, Message("assistant", "rewritten"), unsealed, *own, text)):
        assert entries(USER, *items)[-2:] == [
            {"type": "compaction", "encrypted_content": "g"},
            {"role": "assistant", "content": "a"},
        ]
        assert "ws_1" not in json.dumps(entries(USER, *items))
    foreign = Reasoning("a", (), "", "signature", provider="elsewhere")
    assert entries(USER, foreign, *own)[1:] == entries(USER, *own)[1:] == [SEARCH, squeezed]


def test_reasoning_that_is_not_sealed_goes_back_as_text() -> None:
    """What servers with open models send."""
    said = entries(Reasoning("I think", id="r1", provider="here"), FunctionCall("c", "f", "{}", "x1"))
    content = [{"type": "reasoning_text", "text": "I think"}]
    assert said[0] == {"type": "reasoning", "id": "r1", "summary": [], "content": content}


def test_items_of_the_providers_own_tools_go_back_untouched() -> None:
    said = entries(USER, SEALED, ProviderItem("here", SEARCH), SEALED, Message("assistant", "a", "msg_1"), USER)
    assert said[1:5] == [SEALED_ENTRY, SEARCH, SEALED_ENTRY, answer("a", "msg_1")]
    assert entries(ProviderItem("elsewhere", SEARCH), USER) == [{"role": "user", "content": "hi"}]


def test_refusals_and_citations() -> None:
    cited: dict[str, object] = {"type": "url_citation", "url": "https://x"}
    parts = (OutputText("see", (cited, {"type": "char_location"})), Refusal("no"))
    content = [{"type": "output_text", "text": "see", "annotations": [cited]}, {"type": "refusal", "refusal": "no"}]
    assert entries(Message("assistant", parts)) == [{"type": "message", "role": "assistant", "content": content}]


def test_what_another_model_garbled_is_made_acceptable() -> None:
    long = "toolu_" + "x" * 99
    call, result = entries(FunctionCall(long, "wéird name", "not json"), FunctionCallOutput(long, "r"))
    assert (call["name"], call["arguments"]) == ("w_ird_name", "{}")
    assert call["call_id"] == result["call_id"]
    assert len(call["call_id"]) <= 64


def test_the_phase_of_a_message_goes_back() -> None:
    said = Message("assistant", "I look.", "msg_1", "commentary")
    assert entries(said)[0]["phase"] == "commentary"
    assert entries(SEALED, said)[1] == answer("I look.", "msg_1", phase="commentary")


def test_lone_surrogates_are_replaced() -> None:
    assert entries(Message("user", "a\ud83db"))[0]["content"] == "a\ufffdb"


TEXTS = st.sampled_from(["", "a", "é😀"])
IDS = st.sampled_from(["", "x_1"])
ITEMS = st.one_of(
    st.builds(Message, st.sampled_from(["user", "assistant", "assistant"]), TEXTS, IDS),
    st.builds(FunctionCall, st.sampled_from(["1", "2"]), st.just("f"), st.sampled_from(["{}", "bad"]), IDS),
    st.builds(FunctionCallOutput, st.sampled_from(["1", "2"]), TEXTS),
    st.builds(Reasoning, TEXTS, id=IDS, encrypted=st.sampled_from(["", "g"]), provider=st.sampled_from(["here", "elsewhere"])),
    st.builds(ProviderItem, st.sampled_from(["here", "elsewhere"]), st.just(SEARCH)),
)


@given(turns_of(ITEMS))
def test_what_grew_equals_what_is_encoded_anew(turns: Turns) -> None:
    check_growth(lambda: InputEncoder("here"), turns)


@given(st.lists(ITEMS, max_size=12))
def test_every_reasoning_is_followed_by_what_it_led_to(items: list[Item]) -> None:
    said = entries(*items)
    for position, entry in enumerate(said):
        if entry.get("type") == "reasoning":
            assert "id" in said[position + 1]


def test_each_request_extends_the_one_before() -> None:
    encoder, tape, before = InputEncoder("here"), Tape[Item]([USER]), b""
    for turn in range(5):
        encoded = encoder.encode(tape)
        assert encoded.startswith(before)
        before = encoded
        call = FunctionCall(f"c{turn}", "f", "{}", f"fc_{turn}")
        tape = tape.extended([SEALED, call, FunctionCallOutput(f"c{turn}", "r")])


def test_tools_and_output() -> None:
    schema: dict[str, object] = {"type": "object", "properties": {}}
    tools = (ToolSpec("f", "does f", schema), HandoffSpec("to_b", "hands over", schema, "b", strict=False))
    assert json.loads(encode_tools(tools)) == [
        {"type": "function", "name": "f", "description": "does f", "parameters": schema, "strict": True},
        {"type": "function", "name": "to_b", "description": "hands over", "parameters": schema, "strict": False},
    ]
    assert output_format(OutputSpec("answer", schema)) == {
        "type": "json_schema",
        "name": "answer",
        "schema": schema,
        "strict": True,
    }
