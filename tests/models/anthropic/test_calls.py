"""Anthropic's calls of its own client tools: `bash`, the toolsets, and what a program in its container calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk import Agent, Runner, function_tool
from agentsdk.models.anthropic.encode import encode_tools
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.types.deltas import FunctionCallArgumentsDelta
from agentsdk.types.errors import UnsupportedCallError, UserError
from agentsdk.types.items import Caller, FunctionCall, FunctionCallOutput, InputImage, InputText, Message
from agentsdk.types.spec import ToolSpec
from tests.models.anthropic.replies import BOTH, OFFLINE, body_of, reply
from tests.models.anthropic.server import model_at
from tests.models.wire import ask, events_of, request

pytestmark = pytest.mark.anyio

SHELL = ToolSpec("shell", "", {}, kind="shell")
EDITOR = ToolSpec("text_editor", "", {}, kind="text_editor", kind_settings={"max_characters": 9})
MEMORY = ToolSpec("memory", "", {}, kind="memory")
COMPUTER = ToolSpec("computer", "", {}, kind="computer")
_OLDER = {"type": "computer_20251124", "display_width": 640, "display_height": 400}
OLDER_COMPUTER = ToolSpec("computer", "", {}, kind="computer", kind_settings=_OLDER)
IMAGE = InputImage("data:image/png;base64,AAAA")


def tool_use(name: str, given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "c1", "name": name, "input": given, **more}


async def read(block: dict[str, Any], streamed: bool, *tools: ToolSpec) -> FunctionCall:
    async with FakeAnthropicServer([reply(block, reason="tool_use", streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed, tools=tools))
    (call,) = response.output
    assert isinstance(call, FunctionCall)
    return call


def sent(*items: Any) -> list[dict[str, Any]]:
    from agentsdk.models.anthropic import AnthropicModel

    model = AnthropicModel("claude-test", base_url=OFFLINE)
    messages = body_of(model, items=[Message("user", "hi"), *items])["messages"]
    return [block for message in messages[1:] for block in message["content"]]


@BOTH
@pytest.mark.parametrize(
    ("given", "arguments"),
    [({"command": "ls -l"}, {"commands": ["ls -l"]}), ({"restart": True}, {"restart": True}), ({}, {})],
)
async def test_bash_is_the_agents_shell(given: Any, arguments: Any, streamed: bool) -> None:
    call = await read(tool_use("bash", given), streamed, SHELL)
    assert (call.kind, call.name, json.loads(call.arguments)) == ("shell", "shell", arguments)
    assert sent(call)[0]["name"] == "bash"
    assert sent(call)[0]["input"] == (given or {"command": ""})
    plain = await read(tool_use("bash", given), streamed)
    assert (plain.kind, plain.name) == ("function", "bash"), "an agent without a shell may have a function of that name"


def test_commands_of_another_providers_model_are_one() -> None:
    call = FunctionCall("c1", "shell", '{"commands":["a","b"]}', kind="shell")
    assert sent(call)[0]["input"] == {"command": "a\nb"}


@BOTH
@pytest.mark.parametrize(
    ("tool", "name"), [(EDITOR, "str_replace_based_edit_tool"), (MEMORY, "memory")], ids=["text_editor", "memory"]
)
async def test_an_editors_commands_come_as_they_are(tool: ToolSpec, name: str, streamed: bool) -> None:
    given = {"command": "view", "path": "/memories", "view_range": [1, -1]}
    call = await read(tool_use(name, given), streamed, tool)
    assert (call.kind, call.name, json.loads(call.arguments)) == (tool.kind, tool.name, given)
    (back,) = sent(call)[:1]
    assert (back["name"], back["input"]) == (name, given)
    plain = await read(tool_use(name, given), streamed, SHELL)
    assert (plain.kind, plain.name) == ("function", name), "an agent without such a tool may have a function of that name"
    other = await read(tool_use(name, given, toolset_name="browser"), streamed, tool)
    assert (other.kind, other.namespace) == ("function", "browser"), "a member of a toolset that has its name"


async def test_an_editors_arguments_are_shown_as_they_come() -> None:
    given = {"command": "create", "path": "a", "file_text": "a long text"}
    call = FunctionCall("c1", "text_editor", json.dumps(given), kind="text_editor")
    async with FakeAnthropicServer([call]) as server:
        events = await events_of(model_at(server), request(stream=True, tools=(EDITOR,)))
    deltas = [event.delta for event in events if isinstance(event, FunctionCallArgumentsDelta)]
    assert json.loads("".join(deltas)) == given


@pytest.mark.parametrize(
    ("chosen", "name"),
    [("shell", "bash"), ("text_editor", "str_replace_based_edit_tool"), ("memory", "memory"), ("other", "other")],
)
def test_a_tool_of_its_own_is_chosen_by_its_own_name(chosen: str, name: str) -> None:
    from agentsdk import ModelSettings
    from agentsdk.models.anthropic import AnthropicModel

    model = AnthropicModel("claude-test", base_url=OFFLINE)
    body = body_of(model, tools=(SHELL, EDITOR, MEMORY, ToolSpec("other", "", {})), settings=ModelSettings(tool_choice=chosen))
    assert body["tool_choice"] == {"type": "tool", "name": name}


ACTIONS: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
    ("left_click", {"coordinate": [1, 2]}, [{"type": "click", "button": "left", "x": 1, "y": 2}]),
    ("right_click", {}, [{"type": "click", "button": "right"}]),
    ("middle_click", {"text": "ctrl+shift"}, [{"type": "click", "button": "wheel", "keys": ["ctrl", "shift"]}]),
    ("double_click", {"coordinate": [1, 2]}, [{"type": "double_click", "x": 1, "y": 2}]),
    ("triple_click", {"coordinate": [1, 2]}, [{"type": "triple_click", "x": 1, "y": 2}]),
    ("mouse_move", {"coordinate": [1, 2]}, [{"type": "move", "x": 1, "y": 2}]),
    ("left_mouse_down", {}, [{"type": "mouse_down", "button": "left"}]),
    ("left_mouse_up", {}, [{"type": "mouse_up", "button": "left"}]),
    (
        "left_click_drag",
        {"start_coordinate": [1, 2], "coordinate": [3, 4]},
        [{"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}],
    ),
    ("key", {"text": "ctrl+s", "repeat": 2}, [{"type": "keypress", "keys": ["ctrl", "s"]}] * 2),
    ("key", {"text": "+"}, [{"type": "keypress", "keys": ["+"]}]),
    ("hold_key", {"text": "shift", "duration": 2}, [{"type": "hold_key", "keys": ["shift"], "duration": 2}]),
    ("type", {"text": "hello"}, [{"type": "type", "text": "hello"}]),
    (
        "scroll",
        {"coordinate": [1, 2], "scroll_direction": "down", "scroll_amount": 3},
        [{"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 300}],
    ),
    ("wait", {"duration": 2}, [{"type": "wait", "duration": 2}]),
    ("screenshot", {}, [{"type": "screenshot"}]),
    ("cursor_position", {}, [{"type": "cursor_position"}]),
    ("zoom", {"region": [0, 0, 9, 9]}, [{"type": "zoom", "region": [0, 0, 9, 9]}]),
]


@BOTH
@pytest.mark.parametrize(("name", "given", "actions"), ACTIONS)
async def test_a_member_of_the_computer_toolset_is_actions(name: str, given: Any, actions: Any, streamed: bool) -> None:
    block = tool_use(name, given, toolset_name="computer")
    call = await read(block, streamed, COMPUTER)
    assert (call.kind, call.name, call.namespace) == ("computer", "computer", "computer")
    assert json.loads(call.arguments)["actions"] == actions
    result = FunctionCallOutput("c1", (InputText("{}"), IMAGE), kind="computer", namespace="computer")
    back, answer = sent(call, result)
    assert back == block
    assert answer["toolset_name"] == "computer"
    assert [part["type"] for part in answer["content"]] == ["text", "image"]


@BOTH
@pytest.mark.parametrize(("name", "given", "actions"), ACTIONS)
async def test_the_older_computer_tool_has_the_action_in_its_input(name: str, given: Any, actions: Any, streamed: bool) -> None:
    block = tool_use("computer", {"action": name, **given})
    call = await read(block, streamed, OLDER_COMPUTER)
    assert (call.kind, call.name, call.namespace) == ("computer", "computer", "")
    assert json.loads(call.arguments)["actions"] == actions
    back, answer = sent(call, FunctionCallOutput("c1", (IMAGE,), kind="computer"))
    assert back == block
    assert answer == {"type": "tool_result", "tool_use_id": "c1", "content": answer["content"]}
    assert [part["type"] for part in answer["content"]] == ["image"]


@pytest.mark.parametrize("tool", [COMPUTER, OLDER_COMPUTER], ids=["toolset", "tool"])
async def test_a_computer_of_the_users_is_another_one(tool: ToolSpec) -> None:
    call = await read(tool_use("computer", {"action": "type"}), False, ToolSpec("other", "", {}))
    assert call.kind == "function"
    async with FakeAnthropicServer(["done"]) as server:
        await ask(model_at(server), request(tools=(tool,)))
    asked = server.requests[0]
    assert asked.headers.get("anthropic-beta") == (None if tool is COMPUTER else "computer-use-2025-11-24")


@pytest.mark.parametrize("settings", [{"type": "computer_1"}, {"type": 3}, {"type": "computer_20251124"}])
def test_a_computer_that_the_api_does_not_have_is_said(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"^tool 'computer' has kind_settings of no computer .*; leave 'type' out"):
        encode_tools([ToolSpec("computer", "", {}, kind="computer", kind_settings=settings)], strict=False)


@BOTH
async def test_the_input_of_an_own_tool_is_not_shown_as_arguments(streamed: bool) -> None:
    """They are not the call's: those are made of it once it is whole."""
    block = tool_use("type", {"text": "hello"}, toolset_name="computer")
    async with FakeAnthropicServer([reply(block, reason="tool_use", streamed=streamed)]) as server:
        events = await events_of(model_at(server), request(stream=streamed, tools=(COMPUTER,)))
    assert not [event for event in events if isinstance(event, FunctionCallArgumentsDelta)]


@BOTH
@pytest.mark.parametrize("toolset", ["browser", "computer"])
async def test_a_name_in_a_toolset_is_not_the_users_tool(toolset: str, streamed: bool) -> None:
    """`type` is a member of the toolset; the user's own tool of that name is another."""

    @function_tool(name_override="type")
    def own(text: str) -> str:
        raise AssertionError("not called")

    block = tool_use("type", {"text": "hello"}, toolset_name=toolset)
    replies: list[Any] = [reply(block, reason="tool_use", streamed=streamed), "done"]
    async with FakeAnthropicServer(replies) as server:
        agent = Agent("a", model=model_at(server), tools=[own])
        if toolset == "computer":
            with pytest.raises(UnsupportedCallError, match="kind 'computer'"):
                await (Runner.run_streamed(agent, "x") if streamed else Runner.run(agent, "x"))
            return
        await (Runner.run_streamed(agent, "x") if streamed else Runner.run(agent, "x"))
    back, answer = [message["content"][0] for message in server.requests[1].json["messages"][1:]]
    assert back == block
    assert (answer["is_error"], answer["toolset_name"]) == (True, "browser")
    assert "no tool named 'browser.type'" in answer["content"]


@BOTH
async def test_what_a_program_calls_goes_back_as_its_call(streamed: bool) -> None:
    caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    block = tool_use("add", {"a": 1}, caller=caller)
    call = await read(block, streamed)
    assert call.caller == Caller("code_execution_20250825", "srvtoolu_1")
    assert sent(call)[0] == block
    assert "caller" not in sent(FunctionCall("c1", "add", "{}", caller=Caller("program", "p")))[0]


def test_tools_of_every_kind_are_declared() -> None:
    grammar = {"format": {"type": "grammar", "syntax": "regex", "definition": "[0-9]+"}}
    configs = {"zoom": {"enabled": False}}
    tools = [
        SHELL,
        EDITOR,
        MEMORY,
        COMPUTER,
        ToolSpec("computer", "", {}, kind="computer", kind_settings={"configs": configs, "display_width": 1}),
        OLDER_COMPUTER,
        ToolSpec("apply_patch", "Patch.", {"type": "object"}, kind="apply_patch"),
        ToolSpec("query", "Ask.", {"type": "object"}, kind="custom", kind_settings=grammar),
    ]
    assert json.loads(encode_tools(tools, strict=False)) == [
        {"type": "bash_20250124", "name": "bash"},
        {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": 9},
        {"type": "memory_20250818", "name": "memory"},
        {"type": "computer_toolset_20260801"},
        {"type": "computer_toolset_20260801", "configs": configs},
        {
            "type": "computer_20251124",
            "name": "computer",
            "display_width_px": 640,
            "display_height_px": 400,
            "enable_zoom": True,
        },
        {"name": "apply_patch", "description": "Patch.", "input_schema": {"type": "object"}},
        {
            "name": "query",
            "description": "Ask.\n\nThe input must fit this regex grammar:\n[0-9]+",
            "input_schema": {"type": "object"},
        },
    ]


@BOTH
async def test_a_scripted_server_says_calls_of_its_kinds(streamed: bool) -> None:
    shell = FunctionCall("c1", "shell", '{"commands": ["ls"]}', kind="shell", caller=Caller("code_execution_20260120", "s"))
    own = '{"actions": [{"type": "type", "text": "a"}], "call": {"name": "type", "arguments": {"text": "a"}}}'
    screen = FunctionCall("c1", "computer", own, kind="computer", namespace="computer")
    async with FakeAnthropicServer([[shell], [screen]]) as server:
        for call in (shell, screen):
            response = await ask(model_at(server), request(stream=streamed, tools=(SHELL, COMPUTER)))
            assert response.output == (call,)
