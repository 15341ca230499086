"""Google's computer use: its own functions, whose coordinates are thousandths of the screen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.models.google.encode import ContentEncoder
from agentsdk.testing.google_dialect import FakeGoogleServer
from agentsdk.types.deltas import FunctionCallArgumentsDelta
from agentsdk.types.errors import UserError
from agentsdk.types.items import FunctionCall, FunctionCallOutput, InputImage, InputText, Item, Message
from agentsdk.types.spec import ToolSpec
from agentsdk.types.tape import Tape
from tests.models.google.test_model import BOTH, body_of, model_at
from tests.models.wire import ask, events_of, request

pytestmark = pytest.mark.anyio

SCREEN = {"display_width": 2000, "display_height": 500}
COMPUTER = ToolSpec("computer", "", {}, kind="computer", kind_settings=SCREEN)
ADD = ToolSpec("add", "", {})
IMAGE = InputImage("data:image/png;base64,AAAA")
ENTER = {"type": "keypress", "keys": ["Enter"]}
CLEAR = [{"type": "keypress", "keys": ["ctrl", "a"]}, {"type": "keypress", "keys": ["Backspace"]}]
CLICK = {"type": "click", "button": "left", "x": 1000, "y": 100}


def contents(*items: Item) -> list[dict[str, Any]]:
    parsed: list[dict[str, Any]] = json.loads(b"[%b]" % ContentEncoder("google", signs=False).encode(Tape(items)))
    return parsed


ACTIONS: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
    ("open_web_browser", {}, [{"type": "open_browser"}]),
    ("click_at", {"x": 500, "y": 200}, [CLICK]),
    ("hover_at", {"x": 999, "y": 0}, [{"type": "move", "x": 1998, "y": 0}]),
    (
        "type_text_at",
        {"x": 500, "y": 200, "text": "hi"},
        [CLICK, *CLEAR, {"type": "type", "text": "hi"}, ENTER],
    ),
    (
        "type_text_at",
        {"x": 500, "y": 200, "text": "hi", "press_enter": False, "clear_before_typing": False},
        [CLICK, {"type": "type", "text": "hi"}],
    ),
    ("scroll_document", {"direction": "down"}, [{"type": "scroll", "scroll_x": 0, "scroll_y": 400}]),
    (
        "scroll_at",
        {"x": 500, "y": 200, "direction": "left", "magnitude": 100},
        [{"type": "scroll", "x": 1000, "y": 100, "scroll_x": -200, "scroll_y": 0}],
    ),
    ("wait_5_seconds", {}, [{"type": "wait", "duration": 5}]),
    ("wait", {"seconds": 2}, [{"type": "wait", "duration": 2}]),
    ("go_back", {}, [{"type": "go_back"}]),
    ("go_forward", {}, [{"type": "go_forward"}]),
    ("search", {}, [{"type": "search"}]),
    ("navigate", {"url": "https://x"}, [{"type": "navigate", "url": "https://x"}]),
    ("key_combination", {"keys": "ctrl+c"}, [{"type": "keypress", "keys": ["ctrl", "c"]}]),
    (
        "drag_and_drop",
        {"x": 500, "y": 200, "destination_x": 0, "destination_y": 0},
        [{"type": "drag", "path": [{"x": 1000, "y": 100}, {"x": 0, "y": 0}]}],
    ),
    ("click_at", {"x": "left", "y": [1]}, [{"type": "click", "button": "left", "x": 0, "y": 0}]),
    ("click_at", {}, [{"type": "click", "button": "left"}]),
]


@BOTH
@pytest.mark.parametrize(("name", "given", "actions"), ACTIONS)
async def test_one_of_its_functions_is_actions_in_pixels(name: str, given: Any, actions: Any, streamed: bool) -> None:
    async with FakeGoogleServer([FunctionCall("c1", name, json.dumps(given))]) as server:
        events = await events_of(model_at(server), request(stream=streamed, tools=(COMPUTER, ADD)))
    call = events[-1].response.output[0]  # type: ignore[union-attr]
    assert isinstance(call, FunctionCall)
    assert (call.kind, call.name, json.loads(call.arguments)["actions"]) == ("computer", "computer", actions)
    assert not [event for event in events if isinstance(event, FunctionCallArgumentsDelta)]
    back = contents(Message("user", "hi"), call)[1]["parts"][0]["functionCall"]
    assert back == {"id": "c1", "name": name, "args": given}


async def test_other_functions_and_agents_without_a_computer_are_as_ever() -> None:
    async with FakeGoogleServer([[FunctionCall("c1", "add", "{}")], [FunctionCall("c1", "click_at", "{}")]]) as server:
        one = await ask(model_at(server), request(tools=(COMPUTER, ADD)))
        other = await ask(model_at(server), request(tools=(ToolSpec("click_at", "", {}),)))
    assert one.output == (FunctionCall("c1", "add", "{}"),)
    assert other.output == (FunctionCall("c1", "click_at", "{}"),)


async def test_what_is_to_be_confirmed_is_a_pending_safety_check() -> None:
    decision = {"decision": "require_confirmation", "explanation": "A cookie banner."}
    said = FunctionCall("c1", "click_at", json.dumps({"x": 0, "y": 0, "safety_decision": decision}))
    async with FakeGoogleServer([said]) as server:
        response = await ask(model_at(server), request(tools=(COMPUTER,)))
    (call,) = response.output
    assert isinstance(call, FunctionCall)
    (check,) = json.loads(call.arguments)["pending_safety_checks"]
    assert check == {"id": "safety_decision", "message": "A cookie banner."}
    text = InputText(json.dumps({"url": "https://x", "acknowledged_safety_checks": [check]}))
    result = FunctionCallOutput("c1", (text, IMAGE), kind="computer")
    answer = contents(Message("user", "hi"), call, result)[2]["parts"]
    assert answer == [
        {
            "functionResponse": {
                "id": "c1",
                "name": "click_at",
                "response": {"url": "https://x", "safety_acknowledgement": "true"},
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
            }
        }
    ]


@pytest.mark.parametrize(
    ("output", "response"),
    [
        ((IMAGE,), {"url": ""}),
        ("The call was not approved.", {"url": "", "output": "The call was not approved."}),
        ("{no JSON", {"url": "", "output": "{no JSON"}),
    ],
)
async def test_a_result_of_another_shape_goes_back_all_the_same(output: Any, response: dict[str, Any]) -> None:
    own = '{"actions": [], "call": {"name": "click_at", "arguments": {}}}'
    call = FunctionCall("c1", "computer", own, kind="computer")
    answer = contents(Message("user", "hi"), call, FunctionCallOutput("c1", output, kind="computer"))[2]["parts"][0]
    assert answer["functionResponse"]["response"] == response


@pytest.mark.parametrize("arguments", ['{"actions": []}', "no JSON", '{"call": {"name": "left_click", "arguments": {}}}'])
def test_a_call_of_another_providers_computer_is_a_function(arguments: str) -> None:
    call = FunctionCall("c1", "computer", arguments, kind="computer")
    sent = contents(Message("user", "hi"), call, FunctionCallOutput("c1", "ok", kind="computer"))
    assert sent[1]["parts"][0]["functionCall"]["name"] == "computer"
    assert sent[2]["parts"][0]["functionResponse"]["response"] == {"output": "ok"}


def test_what_google_is_told_of_a_computer() -> None:
    assert body_of(tools=(COMPUTER,))["tools"] == [{"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}]
    settings = {**SCREEN, "environment": "ENVIRONMENT_MOBILE", "excluded_functions": ["search"]}
    both = body_of(tools=(ToolSpec("computer", "", {}, kind="computer", kind_settings=settings), ADD))["tools"]
    assert [one["name"] for one in both[0]["functionDeclarations"]] == ["add"]
    assert both[1] == {"computerUse": {"environment": "ENVIRONMENT_MOBILE", "excludedPredefinedFunctions": ["search"]}}


@pytest.mark.parametrize(
    "settings", [{}, {"display_width": 100}, {"display_width": 0, "display_height": 1}, {"display_width": "1"}]
)
def test_a_screen_without_a_size_is_refused(settings: dict[str, object]) -> None:
    with pytest.raises(UserError, match="does not say how large its screen is"):
        body_of(tools=(ToolSpec("computer", "", {}, kind="computer", kind_settings=settings),))
