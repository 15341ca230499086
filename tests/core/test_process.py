"""Sorting a reply, what counts as empty, and call ids made unique in a run."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from agentsdk.core.process import ProcessedResponse, cleaned, is_empty, process_model_response, with_unique_calls
from agentsdk.types.errors import ModelBehaviorError
from agentsdk.types.items import FunctionCall, InputImage, Message, OutputText, ProviderItem, Reasoning, Refusal
from agentsdk.types.response import ModelResponse, OutputItem
from agentsdk.types.spec import OUTPUT_TOOL, AgentSpec, HandoffSpec, OutputSpec, ToolSpec
from agentsdk.types.usage import Usage
from tests.core.histories import calls, messages, provider_items, reasonings

PAY = ToolSpec("pay", "", {})
ASK = HandoffSpec("ask", "", {}, "second")
SPEC = AgentSpec("first", {"pay": PAY}, {"ask": ASK})

output_items: st.SearchStrategy[OutputItem] = (
    messages | reasonings | provider_items | calls(st.sampled_from(["", "a", "a-2", "a-3", "b", "call-2"]))
)
replies = st.builds(
    ModelResponse, st.lists(output_items, max_size=6).map(tuple), st.just(Usage(1, 2, 3)), st.just("tool_calls")
)
used_ids = st.frozensets(st.sampled_from(["a", "a-2", "b", "call", "call-2", "z"]))


@given(replies)
def test_every_item_is_sorted_once_and_keeps_its_order(reply: ModelResponse) -> None:
    processed = process_model_response(SPEC, reply)
    called = [item for item in reply.output if isinstance(item, FunctionCall)]
    assert list(processed.messages) == [item for item in reply.output if isinstance(item, Message)]
    assert list(processed.reasoning) == [item for item in reply.output if isinstance(item, Reasoning)]
    assert list(processed.provider_items) == [item for item in reply.output if isinstance(item, ProviderItem)]
    own = [call for call in called if call.kind == "function" and not call.namespace]
    assert list(processed.functions) == [(call, PAY) for call in own if call.name == "pay"]
    assert list(processed.handoffs) == [(call, ASK) for call in own if call.name == "ask"]
    rest = [call for call in called if call not in own or call.name == "read"]
    assert list(processed.unknown) == [call for call in rest if call.kind == "function"]
    assert list(processed.unhandled) == [call for call in rest if call.kind != "function"]
    assert processed.has_calls == bool(called)


def test_the_calls_that_give_the_output_are_told_from_others() -> None:
    given, pay, shell = (
        FunctionCall("a", OUTPUT_TOOL, "{}"),
        FunctionCall("b", "pay", "{}"),
        FunctionCall("c", OUTPUT_TOOL, "", kind="shell"),
    )
    reply = ModelResponse((Message("assistant", "here"), given, pay, shell))
    by_call = structs.replace(SPEC, output=OutputSpec("n", {}, mode="tool"))
    sorted_out = process_model_response(by_call, reply)
    assert (sorted_out.outputs, sorted_out.functions, sorted_out.unhandled) == ((given,), ((pay, PAY),), (shell,))
    assert (sorted_out.has_calls, sorted_out.answer) == (True, "{}")
    alone = process_model_response(by_call, ModelResponse((Message("assistant", "here"), given)))
    assert not alone.has_calls
    native = process_model_response(structs.replace(SPEC, output=OutputSpec("n", {})), reply)
    assert (native.outputs, native.unknown, native.answer) == ((), (given,), "here")


SHELL = ToolSpec("shell", "", {}, kind="shell")
QUERY = ToolSpec("query", "", {}, kind="custom")
DOCS = ToolSpec("mcp_approval:docs", "", {}, kind="mcp_approval")
KINDS = AgentSpec("first", {"pay": PAY, "shell": SHELL, "query": QUERY, "mcp_approval:docs": DOCS}, {"ask": ASK})


@pytest.mark.parametrize(
    ("call", "tool"),
    [
        (FunctionCall("a", "shell", "", kind="shell"), SHELL),
        (FunctionCall("a", "shell", "", kind="shell", namespace="local_shell"), SHELL),
        (FunctionCall("a", "shell", ""), SHELL),
        (FunctionCall("a", "query", "", kind="custom"), QUERY),
        (FunctionCall("a", "query", ""), QUERY),
        (FunctionCall("a", "query", "", kind="custom", namespace="query"), QUERY),
        (FunctionCall("a", "pay", "", namespace="pay"), PAY),
        (FunctionCall("a", "search", "", kind="mcp_approval", namespace="docs"), DOCS),
        (FunctionCall("a", "pay", "", kind="custom"), None),
        (FunctionCall("a", "query", "", kind="custom", namespace="crm"), None),
        (FunctionCall("a", "pay", "", namespace="computer"), None),
        (FunctionCall("a", "ask", "", namespace="computer"), None),
        (FunctionCall("a", "ask", "", kind="custom"), None),
        (FunctionCall("a", "computer", "", kind="computer"), None),
        (FunctionCall("a", "docs", "", kind="mcp_approval", namespace="pay"), None),
        (FunctionCall("a", "mcp_approval:docs", ""), None),
    ],
)
def test_a_call_goes_to_the_tool_of_its_kind_and_namespace(call: FunctionCall, tool: ToolSpec | None) -> None:
    processed = process_model_response(KINDS, ModelResponse((call, Message("assistant", "a"))))
    assert list(processed.functions) == ([] if tool is None else [(call, tool)])
    assert processed.handoffs == ()
    assert (processed.unknown, processed.unhandled) == (
        () if tool is not None or call.kind != "function" else (call,),
        () if tool is not None or call.kind == "function" else (call,),
    )


def test_of_two_messages_the_last_is_the_answer() -> None:
    two = (Message("assistant", "first"), Message("assistant", (OutputText("se"), OutputText("cond"), Refusal("no"))))
    processed = process_model_response(SPEC, ModelResponse(two))
    assert (processed.text, processed.refusal) == ("second", "no")
    assert (ProcessedResponse().text, ProcessedResponse().refusal) == ("", "")


@pytest.mark.parametrize(
    ("output", "empty"),
    [
        ((), True),
        ((Message("assistant", " \n"),), True),
        ((Message("assistant", ()),), True),
        ((Reasoning("thinking"), ProviderItem("p", {})), True),
        ((ProviderItem("p", {"type": "image_generation_call"}), ProviderItem("p", {"type": "code_interpreter_call"})), True),
        ((ProviderItem("p", {"type": "image_generation_call", "result": "aGk="}),), False),
        ((ProviderItem("p", {"type": "code_interpreter_call", "outputs": [{"type": "image"}]}),), False),
        ((Message("assistant", (InputImage("data:image/png;base64,aGk="),)),), False),
        ((Message("assistant", "."),), False),
        ((Message("assistant", (Refusal("no"),)),), False),
        ((Reasoning("thinking"), FunctionCall("a", "nowhere", "")), False),
    ],
)
def test_empty_is_neither_text_nor_media_nor_refusal_nor_call(output: tuple[OutputItem, ...], empty: bool) -> None:
    assert is_empty(ModelResponse(output)) == empty


@given(replies, used_ids)
def test_call_ids_become_unique_and_nothing_else_changes(reply: ModelResponse, used: frozenset[str]) -> None:
    given_calls = [item for item in reply.output if isinstance(item, FunctionCall)]
    meant = {}
    ambiguous = False
    for call in given_calls:
        if call.call_id:
            said = (call.name, call.arguments, call.kind, call.namespace, call.caller)
            ambiguous |= meant.setdefault(call.call_id, said) != said
    if ambiguous:
        with pytest.raises(ModelBehaviorError, match="two different calls"):
            with_unique_calls(reply, set(used))
        return
    known = set(used)
    result = with_unique_calls(reply, known)
    assert known == used, "the set belongs to the caller"
    expected, seen = [], set()
    for item in reply.output:
        if isinstance(item, FunctionCall) and item.call_id:
            if item.call_id in seen:
                continue
            seen.add(item.call_id)
        expected.append(item)
    assert len(result.output) == len(expected), "only the repeated call is left out"
    ids = [item.call_id for item in result.output if isinstance(item, FunctionCall)]
    assert len(set(ids)) == len(ids)
    assert "" not in ids
    assert not used.intersection(ids)
    for before, after in zip(expected, result.output, strict=True):
        if isinstance(before, FunctionCall):
            assert isinstance(after, FunctionCall)
            assert structs.replace(after, call_id=before.call_id) == before
            if before.call_id and before.call_id not in used:
                assert after == before, "an id that is free is kept: it is the provider's own"
        else:
            assert after is before
    assert (result.usage, result.finish) == (reply.usage, reply.finish)
    if ids == [call.call_id for call in given_calls]:
        assert result is reply


def test_an_id_of_an_earlier_turn_makes_way_for_every_id_of_the_reply() -> None:
    reply = ModelResponse((FunctionCall("a", "pay", "{}"), FunctionCall("a-2", "pay", "{}"), FunctionCall("", "pay", "{}")))
    result = with_unique_calls(reply, {"a"})
    assert [item.call_id for item in result.output if isinstance(item, FunctionCall)] == ["a-3", "a-2", "call-2"]


def test_two_different_calls_of_one_id_are_an_error_that_shows_no_arguments() -> None:
    reply = ModelResponse((FunctionCall("a", "pay", '{"to": "secret"}'), FunctionCall("a", "pay", '{"to": "secret2"}')))
    with pytest.raises(ModelBehaviorError, match="'a'") as caught:
        with_unique_calls(reply, set())
    assert "secret" not in str(caught.value)


def test_of_one_call_given_twice_one_counts() -> None:
    call = FunctionCall("a", "pay", "{}")
    text = Message("assistant", "paying")
    result = with_unique_calls(ModelResponse((call, text, call, call)), set())
    assert result.output == (call, text)
    assert with_unique_calls(ModelResponse((call, call)), {"a"}).output == (FunctionCall("a-2", "pay", "{}"),)


def test_a_reply_without_a_clash_is_returned_as_it_is() -> None:
    for output in ((), (Message("assistant", "x"),), (FunctionCall("a", "pay", "{}"), FunctionCall("b", "pay", "{}"))):
        reply = ModelResponse(output)
        assert with_unique_calls(reply, {"c"}) is reply


@given(st.text(alphabet=st.characters()), st.text(alphabet=st.characters()))
def test_a_cleaned_reply_can_be_saved_and_a_clean_one_is_itself(text: str, arguments: str) -> None:
    reply = ModelResponse((Message("assistant", text), FunctionCall("a", "pay", arguments), Reasoning(text)))
    clean = cleaned(reply)
    assert msgspec.json.decode(msgspec.json.encode(clean), type=ModelResponse) == clean
    if not any("\ud800" <= letter <= "\udfff" for letter in text + arguments):
        assert clean is reply


def test_lone_surrogates_of_a_reply_become_replacement_characters() -> None:
    reply = ModelResponse((Message("assistant", "a\ud800"), FunctionCall("c\udfff", "pay", '{"b":"\ud800"}')))
    assert cleaned(reply).output == (Message("assistant", "a\ufffd"), FunctionCall("c\ufffd", "pay", '{"b":"\ufffd"}'))


def test_an_ascii_reply_is_clean_as_it_stands() -> None:
    reply = ModelResponse((Message("assistant", "plain"), FunctionCall("a", "pay", "{}")))
    assert cleaned(reply) is reply


@pytest.mark.parametrize("call_id", ["", "a"])
def test_the_work_of_making_ids_unique_grows_with_the_reply_and_no_faster(call_id: str) -> None:
    """Counted in the questions whether an id is taken."""

    class Taken(set[str]):
        asked = 0

        def __contains__(self, key: object) -> bool:
            self.asked += 1
            return super().__contains__(key)

    work: list[int] = []
    for count in (300, 600):
        used = Taken({"a", *(f"a-{n}" for n in range(count)), *(f"call-{n}" for n in range(count))})
        ids = [call_id] if call_id else [""] * count
        with_unique_calls(ModelResponse(tuple(FunctionCall(one, "pay", "{}") for one in ids)), used)
        work.append(used.asked)
    assert work[1] < 2.3 * work[0]
