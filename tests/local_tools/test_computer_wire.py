"""Each provider's own computer call, over the wire: read, done on a screen, and sent back with its screenshot."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk import Agent, Runner, RunResult
from agentsdk.items import FunctionCall
from agentsdk.models.computer_actions import OWN_CALL
from agentsdk.tools import ComputerTool
from tests.local_tools.test_computer import CHECK, LOOK, Window
from tests.local_tools.test_wire import CLIENTS, PROTOCOLS, faults, pieces
from tests.models.anthropic.replies import reply
from tests.models.openai_responses.replies import body, said

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("streamed", [False, True])


async def conversation(
    protocol: str, asks: Any, *, streamed: bool = False, settings: dict[str, Any] | None = None
) -> tuple[Window, list[dict[str, Any]]]:
    """What was done on the screen, and the requests; safety checks are acknowledged by a person."""
    server_kind, model_kind = PROTOCOLS[protocol]
    window = Window()
    window.notes = ["A dialog was closed."]
    async with server_kind([asks, "Done."]) as server:
        model = model_kind("m", base_url=server.base_url, api_key="k")
        agent = Agent[Any, str](name="Clerk", model=model, tools=[ComputerTool(window, kind_settings=settings)])
        result = await _ran(agent, "Go.", streamed)
        if result.interruptions:
            assert window.done == []
            state = result.to_state()
            state.approve(state.interruptions[0])
            result = await _ran(agent, state, streamed)
        assert result.final_output == "Done."
        return window, [request.json for request in server.requests]


async def _ran(agent: Agent[Any, str], given: Any, streamed: bool) -> RunResult[str]:
    if not streamed:
        return await Runner.run(agent, given)
    running: Any = Runner.run_streamed(agent, given)
    async for _ in running.stream_events():
        pass
    return running  # type: ignore[no-any-return]


OLDER = "computer_20251124"
"""Anthropic's computer before the toolset."""

OPENAI: dict[str, Any] = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "c1",
    "status": "completed",
    "actions": [
        {"type": "click", "button": "left", "x": 10, "y": 20},
        {"type": "scroll", "x": 10, "y": 20, "scroll_x": 0, "scroll_y": 100},
        {"type": "keypress", "keys": ["CTRL", "A"]},
        {"type": "type", "text": "chairs"},
        {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]},
        {"type": "screenshot"},
    ],
    "pending_safety_checks": [CHECK],
}


@BOTH
async def test_openais_actions_are_done_and_its_checks_acknowledged(streamed: bool) -> None:
    window, (first, last) = await conversation("responses", said(body(OPENAI), streamed=streamed), streamed=streamed)
    assert first["tools"] == [{"type": "computer"}]
    pressed = [("key_down", "Control"), ("key_down", "a"), ("key_up", "a"), ("key_up", "Control")]
    dragged = [("move", 1, 2), ("mouse_down", "left"), ("move", 3, 4), ("mouse_up", "left")]
    done = [("click", 10, 20, "left", 1), ("scroll", 10, 20, 0, 100), *pressed, ("type", "chairs"), *dragged, LOOK]
    assert window.done == done
    _, called, answered, told = last["input"]
    assert called == OPENAI
    assert answered["type"] == "computer_call_output" and answered["acknowledged_safety_checks"] == [CHECK]
    assert answered["output"]["type"] == "computer_screenshot"
    assert answered["output"]["image_url"].startswith("data:image/png;base64,")
    assert told == {"role": "developer", "content": "The computer call c1 came to: A dialog was closed."}


ANTHROPIC: list[tuple[str, dict[str, Any], list[tuple[Any, ...]]]] = [
    ("left_click", {"coordinate": [10, 20]}, [("click", 10, 20, "left", 1), LOOK]),
    ("triple_click", {"coordinate": [10, 20]}, [("click", 10, 20, "left", 3), LOOK]),
    ("key", {"text": "ctrl+Page_Down"}, [("key_down", "Control"), ("key_down", "PageDown"), ("key_up", "PageDown"),
                                         ("key_up", "Control"), LOOK]),
    ("scroll", {"coordinate": [10, 20], "scroll_direction": "down", "scroll_amount": 2}, [("scroll", 10, 20, 0, 200), LOOK]),
    ("zoom", {"region": [0, 0, 100, 50]}, [("screenshot", (0, 0, 100, 50), (1000, 500))]),
    ("screenshot", {}, [LOOK]),
]  # fmt: skip


@BOTH
@pytest.mark.parametrize(("name", "given", "done"), ANTHROPIC, ids=lambda value: value if isinstance(value, str) else "")
async def test_anthropics_members_are_done_and_go_back(name: str, given: Any, done: Any, streamed: bool) -> None:
    block = {"type": "tool_use", "id": "c1", "name": name, "input": given, "toolset_name": "computer"}
    window, (first, last) = await conversation(
        "anthropic", reply(block, reason="tool_use", streamed=streamed), streamed=streamed
    )
    assert first["tools"] == [{"type": "computer_toolset_20260801"}] and window.done == done
    (called,), (answered,) = [message["content"] for message in last["messages"][1:]]
    assert called == block and (answered["tool_use_id"], answered["toolset_name"]) == ("c1", "computer")
    image, text = answered["content"]
    assert image["source"]["media_type"] == "image/png"
    assert json.loads(text["text"]) == {"url": "about:blank", "output": "A dialog was closed."}


@BOTH
@pytest.mark.parametrize(("name", "given", "done"), ANTHROPIC, ids=lambda value: value if isinstance(value, str) else "")
async def test_the_actions_of_anthropics_older_tool_are_done_and_go_back(
    name: str, given: Any, done: Any, streamed: bool
) -> None:
    block = {"type": "tool_use", "id": "c1", "name": "computer", "input": {"action": name, **given}}
    asks = reply(block, reason="tool_use", streamed=streamed)
    window, (first, last) = await conversation("anthropic", asks, streamed=streamed, settings={"type": OLDER})
    (tool,) = first["tools"]
    assert (tool["type"], tool["name"], tool["display_width_px"]) == (OLDER, "computer", 1000) and window.done == done
    (called,), (answered,) = [message["content"] for message in last["messages"][1:]]
    assert called == block and answered["tool_use_id"] == "c1" and "toolset_name" not in answered
    assert answered["content"][0]["source"]["media_type"] == "image/png"


def googles(name: str, **arguments: Any) -> FunctionCall:
    """A call of one of Google's functions, as its fake server says it."""
    return FunctionCall("c1", "computer", json.dumps({"call": {"name": name, "arguments": arguments}}), kind="computer")


@BOTH
@pytest.mark.parametrize(
    ("call", "done"),
    [
        (googles("click_at", x=500, y=999), [("click", 500, 499, "left", 1), LOOK]),
        (googles("navigate", url="https://example.com/"), [("navigate", "https://example.com/"), LOOK]),
        (googles("drag_and_drop", x=0, y=0, destination_x=100, destination_y=200),
         [("move", 0, 0), ("mouse_down", "left"), ("move", 100, 100), ("mouse_up", "left"), LOOK]),
        (googles("key_combination", keys="control+c"),
         [("key_down", "Control"), ("key_down", "c"), ("key_up", "c"), ("key_up", "Control"), LOOK]),
        (googles("click_at", x=1, y=2, safety_decision={"decision": "require_confirmation", "explanation": "Pay?"}),
         [("click", 1, 1, "left", 1), LOOK]),
    ],
)  # fmt: skip
async def test_googles_functions_are_done_in_pixels_and_go_back(call: FunctionCall, done: Any, streamed: bool) -> None:
    window, (first, last) = await conversation("google", call, streamed=streamed)
    own = json.loads(call.arguments)["call"]
    assert first["tools"] == [
        {"computerUse": {"environment": "ENVIRONMENT_BROWSER", "excludedPredefinedFunctions": ["search"]}}
    ]
    assert window.done == done
    (called,), (answered,) = [content["parts"] for content in last["contents"][1:]]
    assert (called["functionCall"]["name"], called["functionCall"]["args"]) == (own["name"], own["arguments"])
    response = answered["functionResponse"]
    assert response["response"]["url"] == window.url and response["response"]["output"] == "A dialog was closed."
    assert ("safety_acknowledgement" in response["response"]) == ("safety_decision" in own["arguments"])
    (image,) = response["parts"]
    assert image["inlineData"]["mimeType"] == "image/png"


async def gone_on_with(protocol: str, there: str, asks: Any) -> list[dict[str, Any]]:
    """The pieces of the request by which a model elsewhere, with the same tool, goes on with a conversation."""
    (server_kind, model_kind), (_, other_kind) = PROTOCOLS[protocol], PROTOCOLS[there]
    async with server_kind([asks, "Done."]) as server, PROTOCOLS[there][0](["Done."]) as other:
        model = model_kind("m", base_url=server.base_url, api_key="k")
        agent = Agent[Any, str](name="Clerk", model=model, tools=[ComputerTool(Window())])
        done = await Runner.run(agent, "Go.")
        model = other_kind("m", base_url=other.base_url, api_key="k")
        await Runner.run(agent.clone(model=model), [*done.to_input_list(), {"role": "user", "content": "Go on."}])
        (asked,) = other.requests
        _, _, *told = [piece for _, piece in pieces(there, asked.json)]  # after the tool and what the user asked
        return told


ELSEWHERE: list[tuple[str, Any, dict[str, Any]]] = [
    ("anthropic", ("left_click", {"coordinate": [10, 20]}), {"type": "click", "button": "left", "x": 10, "y": 20}),
    ("anthropic", ("triple_click", {"coordinate": [10, 20]}), {"type": "double_click", "x": 10, "y": 20, "keys": None}),
    ("anthropic", ("mouse_move", {"coordinate": [10, 20]}), {"type": "move", "x": 10, "y": 20}),
    ("anthropic", ("left_click", {}), {"type": "screenshot"}),
    ("anthropic", ("hold_key", {"text": "shift+a", "duration": 0}), {"type": "keypress", "keys": ["shift", "a"]}),
    ("anthropic", ("type", {"text": "chairs"}), {"type": "type", "text": "chairs"}),
    ("anthropic", ("wait", {"duration": 0}), {"type": "wait"}),
    ("anthropic", ("zoom", {"region": [0, 0, 100, 50]}), {"type": "screenshot"}),
    ("google", ("scroll_at", {"x": 500, "y": 500, "direction": "up", "magnitude": 100}),
     {"type": "scroll", "x": 500, "y": 250, "scroll_x": 0, "scroll_y": -50}),
    ("google", ("drag_and_drop", {"x": 0, "y": 0, "destination_x": 100, "destination_y": 200}),
     {"type": "drag", "path": [{"x": 0, "y": 0}, {"x": 100, "y": 100}]}),
    ("google", ("navigate", {"url": "https://example.com/"}), {"type": "screenshot"}),
]  # fmt: skip


def asking(protocol: str, name: str, given: dict[str, Any]) -> Any:
    if protocol == "google":
        return googles(name, **given)
    block = {"type": "tool_use", "id": "c1", "name": name, "input": given, "toolset_name": "computer"}
    return reply(block, reason="tool_use", streamed=False)


@pytest.mark.parametrize(("protocol", "asked", "told"), ELSEWHERE, ids=lambda value: value[0] if type(value) is tuple else "")
async def test_openais_models_are_told_of_another_providers_actions_in_their_own(protocol: str, asked: Any, told: Any) -> None:
    called, answered, *_ = await gone_on_with(protocol, "responses", asking(protocol, *asked))
    assert called["type"] == "computer_call" and called["actions"] == [told] and OWN_CALL not in called
    assert called["id"].startswith("cu_") and called["call_id"] == answered["call_id"]
    assert answered["type"] == "computer_call_output" and answered["output"]["image_url"].startswith("data:image/png")


async def test_anthropics_models_are_told_of_googles_actions_in_pixels() -> None:
    called, answered, *_ = await gone_on_with("google", "anthropic", googles("click_at", x=500, y=500))
    assert (called["type"], called["name"]) == ("tool_use", "computer") and answered["tool_use_id"] == called["id"]
    assert called["input"]["actions"] == [{"type": "click", "button": "left", "x": 500, "y": 250}]


async def test_elsewhere_it_is_a_function_and_the_screenshot_follows_its_result() -> None:
    call = FunctionCall("c1", "computer", json.dumps({"actions": [{"type": "click", "x": 1, "y": 2}]}))
    window, (first, last) = await conversation("chat", call)
    (tool,) = first["tools"]
    assert tool["function"]["name"] == "computer" and "pending_safety_checks" not in json.dumps(tool)
    assert window.done == [("click", 1, 2, "left", 1), LOOK]
    assert "A dialog was closed." in last["messages"][2]["content"]
    assert "data:image/png;base64," in json.dumps(last["messages"][3]["content"])


@pytest.mark.slow
@pytest.mark.skipif(
    not (CLIENTS / ".done").exists(),
    reason="the official client libraries are not there: python scripts/official_clients.py --install",
)
async def test_the_official_clients_know_all_that_crosses_the_wire() -> None:
    values: list[tuple[str, Any]] = [("openai.types.responses:ResponseOutputItem", OPENAI)]
    click = {"type": "tool_use", "id": "c1", "name": "left_click", "input": {"coordinate": [1, 2]}, "toolset_name": "computer"}
    asks = {
        "responses": said(body(OPENAI), streamed=False),
        "anthropic": reply(click, reason="tool_use", streamed=False),
        "google": googles("click_at", x=1, y=2),
    }
    for protocol, ask in asks.items():
        _, requests = await conversation(protocol, ask)
        values += [piece for request in requests for piece in pieces(protocol, request)]
    click = {"type": "tool_use", "id": "c1", "name": "computer", "input": {"action": "left_click", "coordinate": [1, 2]}}
    _, requests = await conversation("anthropic", reply(click, reason="tool_use", streamed=False), settings={"type": OLDER})
    for protocol, given, _ in ELSEWHERE:
        told = await gone_on_with(protocol, "responses", asking(protocol, *given))
        values += [("openai.types.responses:ResponseInputItemParam", piece) for piece in told]
    for kind, piece in [piece for request in requests for piece in pieces("anthropic", request)]:
        values.append(("anthropic.types.beta:BetaToolUnionParam" if kind.endswith("ToolUnionParam") else kind, piece))
    assert faults(values) == ""
