"""Taint, worked out from a log: what the model was shown first that is untrusted, and from when on."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentsdk.core.next_step import ToolApprovalItem, interruptions
from agentsdk.core.pairing import paired
from agentsdk.core.run_state import RunState
from agentsdk.core.state import State, apply, fold
from agentsdk.core.taint import Taint, as_untrusted, taint_of_items
from agentsdk.types.events import (
    ApprovalDecided,
    ApprovalJudged,
    GuardrailJudged,
    HandedOff,
    InputAdded,
    InputReplaced,
    ModelReplied,
    Nested,
    RunEvent,
    RunStarted,
    ToolFinished,
    TurnEnded,
    ViewReplaced,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, InputText, Item, Message, OutputText, ProviderItem
from agentsdk.types.response import ModelResponse, OutputItem

USER, MAIL = Message("user", "hi"), Message("user", "a mail", untrusted=True)
FETCH, SEND = FunctionCall("a", "fetch", "{}"), FunctionCall("b", "send", "{}")
PAGE = ToolFinished("a", "a page", untrusted=True)
BY_FETCH = Taint("fetch", "a")
SEARCHED = ProviderItem("openai", {"type": "web_search_call", "id": "ws"})
STARTED = RunStarted("run-1", "clerk", (USER,), 0, 1.0)


def replied(*output: OutputItem) -> ModelReplied:
    return ModelReplied(ModelResponse(output), 2.0)


def after(*events: RunEvent) -> State:
    return fold([STARTED, *events])


def test_results_taint_when_their_turn_ends_by_the_first_in_the_order_of_the_calls() -> None:
    peek = FunctionCall("c", "peek", "{}")
    state = after(replied(Message("assistant", "let me see"), peek, FETCH), PAGE)
    assert state.taint is None
    peeked = ToolFinished("c", "a page", untrusted=True)
    assert apply(apply(state, peeked), TurnEnded()).taint == Taint("peek", "c")
    assert apply(apply(state, ToolFinished("c", "a page")), TurnEnded()).taint == BY_FETCH
    assert after(replied(FETCH, SEND), ToolFinished("b", "sent"), TurnEnded()).taint is None


def test_a_result_that_its_guardrails_withhold_or_replace_taints_nothing() -> None:
    withheld = ToolFinished("a", "a page", is_withheld=True, untrusted=True)
    assert after(replied(FETCH), withheld, TurnEnded()).taint is None
    replaced = GuardrailJudged("g", "tool_output", "reject_content", "null", "a", "a page of text", releases=True)
    assert after(replied(FETCH), withheld, replaced, TurnEnded()).taint is None
    allowed = GuardrailJudged("g", "tool_output", "allow", "null", "a", releases=True)
    assert after(replied(FETCH), withheld, allowed, TurnEnded()).taint == BY_FETCH


def test_what_a_hosted_tool_found_taints_at_once() -> None:
    assert after(replied(SEARCHED, SEND)).taint == Taint("web_search", "ws")
    assert after(replied(ProviderItem("openai", {"type": "mcp_list_tools", "tools": [{"name": "x"}]}), SEND)).taint is None
    assert after(replied(ProviderItem("openai", {"type": "code_interpreter_call", "id": "ci"}), SEND)).taint is None


def test_a_message_taints_once_the_model_is_shown_it() -> None:
    assert fold([RunStarted("run-1", "clerk", (USER, MAIL), 0, 1.0)]).taint == Taint()
    assert after(InputAdded((MAIL,))).taint == Taint()
    waiting = after(replied(FETCH), InputAdded((MAIL,)))
    assert waiting.taint is None
    assert apply(apply(waiting, ToolFinished("a", "x")), TurnEnded()).taint == Taint()
    assert after(replied(Message("assistant", "x")), TurnEnded((MAIL,))).taint == Taint()


def test_it_stays_until_the_input_is_replaced() -> None:
    tainted = after(replied(FETCH), PAGE, TurnEnded())
    later: list[RunEvent] = [
        ViewReplaced((USER,), "DropOldest"),
        replied(SEARCHED, SEND),
        HandedOff("second"),
        InputAdded((MAIL,)),
    ]
    state = tainted
    for event in later:
        state = apply(state, event)
        assert state.taint == BY_FETCH
    assert apply(state, InputReplaced((USER,))).taint is None
    assert apply(state, InputReplaced((MAIL,))).taint == Taint()
    assert apply(fold([RunStarted("r", "clerk", (MAIL, USER), 1, 1.0)]), InputReplaced((USER,))).taint == Taint()


def test_a_nested_run_has_its_own_until_its_result_says_so() -> None:
    inner: list[RunEvent] = [RunStarted("", "inner", (USER,), 0, 1.0), replied(FETCH), PAGE, TurnEnded()]
    state = after(replied(FunctionCall("n", "ask", "{}")), *[Nested("n", event) for event in inner])
    assert state.taint is None
    assert state.turn is not None
    assert state.turn.children["n"].taint == BY_FETCH
    assert apply(apply(state, ToolFinished("n", "read", untrusted=True)), TurnEnded()).taint == Taint("ask", "n")


def test_a_nested_run_that_no_call_asked_for_taints_at_once() -> None:
    inner: list[RunEvent] = [RunStarted("", "critic", (USER,), 0, 1.0), replied(FETCH), PAGE]
    state = after(replied(Message("assistant", "a draft")), *[Nested("n", event) for event in inner])
    assert state.taint is None
    state = apply(state, Nested("n", TurnEnded()))
    assert state.taint == BY_FETCH
    later = [Nested("n", replied(SEARCHED)), Nested("m", RunStarted("", "critic", (MAIL,), 0, 1.0))]
    assert apply(apply(state, later[0]), later[1]).taint == BY_FETCH


def noted(**note: object) -> Message:
    return Message("assistant", (InputText("see"), OutputText("a"), OutputText("b", (note,))))


def test_items_are_marked_where_they_can_be() -> None:
    marked = as_untrusted([USER, FETCH, FunctionCallOutput("a", "x")])
    assert marked == (replace(USER, untrusted=True), FETCH, FunctionCallOutput("a", "x", untrusted=True))


@pytest.mark.parametrize(
    ("items", "taint", "reason"),
    [
        ([FETCH, FunctionCallOutput("a", "x", untrusted=True), MAIL], BY_FETCH, "the result of 'fetch' (call 'a')"),
        ([FunctionCallOutput("a", "x", untrusted=True)], Taint("a tool", "a"), "the result of 'a tool' (call 'a')"),
        ([MAIL, SEARCHED], Taint(), "a message that the model has read"),
        ([USER, FETCH, FunctionCallOutput("a", "x")], None, ""),
        ([noted(type="groundingMetadata"), MAIL], Taint("web_search"), "the result of 'web_search', which"),
        ([noted(type="file_citation"), Message("user", (InputText("x"),))], None, ""),
    ],
)
def test_a_history_taints_by_its_first_untrusted_item_and_says_so_in_words(
    items: list[Item], taint: Taint | None, reason: str
) -> None:
    assert taint_of_items(items) == taint
    assert taint is None or reason in taint.reason


def test_a_history_that_is_put_right_keeps_its_marks() -> None:
    special = FunctionCall("a", "search", "{}", kind="mcp_approval", namespace="docs")
    page = FunctionCallOutput("a", "x", untrusted=True)
    for call, result in [(FETCH, page), (special, page), (FETCH, replace(page, kind="custom"))]:
        [_, given] = paired([call, result])
        assert isinstance(given, FunctionCallOutput) and given.untrusted


def test_results_are_marked_in_the_history() -> None:
    state = after(replied(FETCH, SEND), PAGE, ToolFinished("b", "sent"), TurnEnded())
    assert [item.untrusted for item in state.transcript if isinstance(item, FunctionCallOutput)] == [True, False]


def test_an_item_that_waits_says_why_and_its_decision_that_it_was_said() -> None:
    state = after(replied(SEND, FETCH), ApprovalJudged("b", True, "f", False, "it has read a page"), ApprovalJudged("a", True))
    reasons = [item.reason for item in interruptions(state) if isinstance(item, ToolApprovalItem)]
    assert reasons == ["it has read a page", ""]
    run = RunState(state)
    assert (run.taint, after(InputAdded((MAIL,))).taint) == (None, Taint())
    for item in run.interruptions:
        run.approve(item)
    decided = [event for event in run.pieces()[1] if isinstance(event, ApprovalDecided)]
    assert [event.after_untrusted for event in decided] == [True, False]
