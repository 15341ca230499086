"""Calls of every kind: read from the API's items, run, and sent back with their results."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from agentsdk import Agent, Runner, RunState, function_tool
from agentsdk.models.openai_responses.encode import InputEncoder, encode_tools
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.tools import Grammar, custom_tool
from agentsdk.types.errors import UnsupportedCallError
from agentsdk.types.items import Caller, CallKind, FunctionCall, FunctionCallOutput, InputImage, InputText, Item, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import ToolSpec
from agentsdk.types.tape import Tape
from tests.models.openai_responses.replies import BOTH, TEXT, body, said
from tests.models.openai_responses.server import model_at
from tests.models.wire import ask, request

pytestmark = pytest.mark.anyio

PROGRAM = {"type": "program", "caller_id": "prog_1"}
SCREENSHOT = "data:image/png;base64,AAAA"
CUSTOM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "query", "input": 'SELECT "a"'}
SHELL = {"type": "shell_call", "id": "sh_1", "call_id": "c1", "status": "completed", "action": {"commands": ["ls", "pwd"]}}
LOCAL = {
    "type": "local_shell_call",
    "id": "lsh_1",
    "call_id": "c1",
    "status": "completed",
    "action": {"type": "exec", "command": ["echo", "a b"], "env": {"X": "1"}},
}
PATCH = {
    "type": "apply_patch_call",
    "id": "apc_1",
    "call_id": "c1",
    "status": "completed",
    "operation": {"type": "update_file", "path": "a.py", "diff": "-a\n+b"},
}
CHECK = {"id": "check_1", "code": "malicious_instructions", "message": "Look twice."}
COMPUTER = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "c1",
    "status": "completed",
    "pending_safety_checks": [CHECK],
    "actions": [{"type": "click", "button": "left", "x": 1, "y": 2}, {"type": "screenshot"}],
}
APPROVAL = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "server_label": "docs",
    "name": "search",
    "arguments": '{"q":"a"}',
}
FOUND = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "rate",
    "namespace": "rate",
    "arguments": "{}",
    "caller": PROGRAM,
}

CALLS: list[tuple[dict[str, Any], FunctionCall]] = [
    (CUSTOM, FunctionCall("c1", "query", '{"input": "SELECT \\"a\\""}', "ctc_1", "custom")),
    (SHELL, FunctionCall("c1", "shell", '{"commands": ["ls", "pwd"]}', "sh_1", "shell")),
    (
        LOCAL,
        FunctionCall("c1", "shell", '{"env": {"X": "1"}, "commands": ["echo \'a b\'"]}', "lsh_1", "shell", "local_shell"),
    ),
    (
        PATCH,
        FunctionCall("c1", "apply_patch", '{"type": "update_file", "path": "a.py", "diff": "-a\\n+b"}', "apc_1", "apply_patch"),
    ),
    (
        COMPUTER,
        FunctionCall(
            "c1",
            "computer",
            '{"actions": [{"type": "click", "button": "left", "x": 1, "y": 2}, {"type": "screenshot"}], '
            '"pending_safety_checks": [{"id": "check_1", "code": "malicious_instructions", "message": "Look twice."}]}',
            "cu_1",
            "computer",
        ),
    ),
    (APPROVAL, FunctionCall("mcpr_1", "search", '{"q":"a"}', "mcpr_1", "mcp_approval", "docs")),
    (FOUND, FunctionCall("c1", "rate", "{}", "fc_1", namespace="rate", caller=Caller("program", "prog_1"))),
]


def entries(*items: Item) -> list[dict[str, Any]]:
    parsed: list[dict[str, Any]] = json.loads(b"[%b]" % InputEncoder("here").encode(Tape(items)))
    return parsed


@BOTH
@pytest.mark.parametrize(("wire", "call"), CALLS, ids=[wire["type"] for wire, _ in CALLS])
async def test_a_call_is_read_and_goes_back_as_it_came(wire: dict[str, Any], call: FunctionCall, streamed: bool) -> None:
    async with FakeResponsesServer([said(body(wire), streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert response.output == (call,)
    assert response.finish == "tool_calls"
    (entry,) = entries(call)
    with_id = wire["type"] in ("local_shell_call", "computer_call", "mcp_approval_request")  # the API demands it of these
    assert entry == {name: value for name, value in wire.items() if name != "id" or with_id}


@BOTH
async def test_a_scripted_server_says_calls_of_every_kind(streamed: bool) -> None:
    kept = [call for _, call in CALLS if call.namespace != "local_shell"]
    async with FakeResponsesServer([[call] for call in kept]) as server:
        for call in kept:
            response = await ask(model_at(server), request(stream=streamed))
            assert response.output == (call,)


OUTPUTS: list[tuple[Any, FunctionCallOutput, list[dict[str, Any]]]] = [
    ("custom", FunctionCallOutput("c1", "3 rows"), [{"type": "custom_tool_call_output", "call_id": "c1", "output": "3 rows"}]),
    (
        "custom",
        FunctionCallOutput("c1", (InputImage(SCREENSHOT),)),
        [
            {
                "type": "custom_tool_call_output",
                "call_id": "c1",
                "output": [{"type": "input_image", "detail": "auto", "image_url": SCREENSHOT}],
            }
        ],
    ),
    (
        "shell",
        FunctionCallOutput("c1", "a.py"),
        [
            {
                "type": "shell_call_output",
                "call_id": "c1",
                "output": [{"stdout": "a.py", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
            }
        ],
    ),
    (
        "shell",
        FunctionCallOutput("c1", "{no JSON", True),
        [
            {
                "type": "shell_call_output",
                "call_id": "c1",
                "output": [{"stdout": "", "stderr": "{no JSON", "outcome": {"type": "exit", "exit_code": 1}}],
            }
        ],
    ),
    (
        "shell",
        FunctionCallOutput(
            "c1", '{"output":[{"stdout":"a","stderr":"","outcome":{"type":"timeout"}}],"max_output_length":9,"x":1}'
        ),
        [
            {
                "type": "shell_call_output",
                "call_id": "c1",
                "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "timeout"}}],
                "max_output_length": 9,
            }
        ],
    ),
    (
        "apply_patch",
        FunctionCallOutput("c1", "no such file", True),
        [{"type": "apply_patch_call_output", "call_id": "c1", "status": "failed", "output": "no such file"}],
    ),
    (
        "apply_patch",
        FunctionCallOutput("c1", (InputText("one"), InputImage(SCREENSHOT), InputText("two"))),
        [{"type": "apply_patch_call_output", "call_id": "c1", "status": "completed", "output": "one\ntwo"}],
    ),
    (
        "computer",
        FunctionCallOutput("c1", (InputText(json.dumps({"acknowledged_safety_checks": [CHECK]})), InputImage(SCREENSHOT))),
        [
            {
                "type": "computer_call_output",
                "call_id": "c1",
                "output": {"type": "computer_screenshot", "image_url": SCREENSHOT},
                "acknowledged_safety_checks": [CHECK],
            }
        ],
    ),
    (
        "computer",
        FunctionCallOutput("c1", (InputImage(file_id="file_1"),)),
        [
            {
                "type": "computer_call_output",
                "call_id": "c1",
                "output": {"type": "computer_screenshot", "file_id": "file_1"},
            }
        ],
    ),
    (
        "mcp_approval",
        FunctionCallOutput("c1", "approved"),
        [{"type": "mcp_approval_response", "approval_request_id": "c1", "approve": True}],
    ),
    (
        "mcp_approval",
        FunctionCallOutput("c1", "not today", True),
        [{"type": "mcp_approval_response", "approval_request_id": "c1", "approve": False, "reason": "not today"}],
    ),
]


@pytest.mark.parametrize(("kind", "output", "sent"), OUTPUTS)
def test_a_result_goes_back_as_its_kind_demands(kind: Any, output: FunctionCallOutput, sent: list[dict[str, Any]]) -> None:
    assert entries(structs.replace(output, kind=kind)) == sent


def test_a_computer_call_without_a_screenshot_is_answered_all_the_same() -> None:
    """The API takes nothing but a screenshot: what a refusal says follows in a message."""
    answer, told = entries(FunctionCallOutput("c1", "The call was not approved.", True, "computer"))
    assert answer["output"]["image_url"].startswith("data:image/png;base64,")
    assert told == {"role": "developer", "content": "The computer call c1 came to: The call was not approved."}


def test_the_result_of_the_older_shell_has_only_its_id() -> None:
    sent = entries(FunctionCallOutput("c1", "a", kind="shell", namespace="local_shell"))
    assert sent == [{"type": "local_shell_call_output", "id": "c1", "output": "a"}]


@pytest.mark.parametrize("kind", ["shell", "custom", "function", "apply_patch"])
def test_the_caller_goes_back_with_the_result(kind: Any) -> None:
    (sent,) = entries(FunctionCallOutput("c1", "a", kind=kind, caller=Caller("program", "prog_1")))
    assert sent["caller"] == PROGRAM
    (elsewhere,) = entries(FunctionCallOutput("c1", "a", kind=kind, caller=Caller("code_execution_20250825", "srv_1")))
    assert "caller" not in elsewhere


@given(st.text(), st.sampled_from(get_args(CallKind)))
def test_arguments_of_any_shape_can_be_sent_back(arguments: str, kind: Any) -> None:
    """What the run has refused stays in its history, and other providers' calls come along."""
    for namespace in ("", "local_shell"):
        assert len(entries(FunctionCall("c1", "shell", arguments, "", kind, namespace))) == 1


def test_a_command_whose_quote_does_not_end_stays_one_word() -> None:
    (sent,) = entries(FunctionCall("c1", "shell", '{"commands":["echo \'a"]}', "x", "shell", "local_shell"))
    assert sent["action"] == {"type": "exec", "command": ["echo 'a"], "env": {}}


def test_of_another_providers_shell_call_goes_back_what_the_api_knows() -> None:
    (sent,) = entries(FunctionCall("c1", "shell", '{"restart":true}', kind="shell"))
    assert sent == {"type": "shell_call", "call_id": "c1", "status": "completed", "action": {"commands": []}}


def test_tools_of_every_kind_are_declared() -> None:
    grammar = {"format": {"type": "grammar", "syntax": "regex", "definition": "[0-9]+"}}
    tools = [
        ToolSpec("query", "Ask.", {}, kind="custom", kind_settings=grammar),
        ToolSpec("shell", "", {}, kind="shell"),
        ToolSpec("apply_patch", "", {}, kind="apply_patch"),
        ToolSpec("computer", "", {}, kind="computer"),
        ToolSpec("memory", "Keep.", {}, kind="memory"),
    ]
    assert json.loads(encode_tools(tools)) == [
        {"type": "custom", "name": "query", "description": "Ask.", **grammar},
        {"type": "shell", "environment": {"type": "local"}},
        {"type": "apply_patch"},
        {"type": "computer"},
        {"type": "function", "name": "memory", "description": "Keep.", "parameters": {}, "strict": True},
    ]


async def test_what_the_provider_runs_in_its_container_is_its_own() -> None:
    contained = {**SHELL, "environment": {"type": "container_reference", "container_id": "cntr_1"}}
    answer = {"type": "shell_call_output", "id": "o", "call_id": "c1", "output": []}
    async with FakeResponsesServer([said(body(contained, answer, TEXT), streamed=False)]) as server:
        result = await Runner.run(Agent("a", model=model_at(server)), "x")
    assert result.final_output == "a"


async def test_a_program_waits_for_the_calls_that_it_makes() -> None:
    """The program is kept whole, its call runs, and what called it goes back with the result."""

    @function_tool
    def rate() -> str:
        return "0.9"

    program = {"type": "program", "id": "p_1", "call_id": "prog_1", "code": "await rate()", "fingerprint": "f"}
    call = {**FOUND, "namespace": None}
    async with FakeResponsesServer([said(body(program, call), streamed=False), "0.9"]) as server:
        result = await Runner.run(Agent("a", model=model_at(server), tools=[rate]), "x")
    assert result.final_output == "0.9"
    assert server.requests[1].json["input"][1:] == [
        program,
        {"type": "function_call", "call_id": "c1", "name": "rate", "arguments": "{}", "caller": PROGRAM},
        {"type": "function_call_output", "call_id": "c1", "caller": PROGRAM, "output": "0.9"},
    ]


@custom_tool(grammar=Grammar("lark", 'start: "SELECT"'))
def query(sql: str) -> str:
    """Run a query."""
    return f"ran {sql}"


@function_tool(kind="shell", needs_approval=True)
def shell(commands: list[str], timeout_ms: int | None = None, max_output_length: int | None = None) -> str:
    """Run commands."""
    return f"ran {commands}"


@BOTH
async def test_tools_handle_calls_of_their_kind(streamed: bool) -> None:
    """One path for all kinds: side by side, one waiting for a person, through a saved state."""
    custom, command = CALLS[0][1], FunctionCall("c2", "shell", '{"commands":["ls"]}', kind="shell")
    async with FakeResponsesServer([[custom, command], "done"]) as server:
        agent = Agent("a", model=model_at(server), tools=[query, shell])
        result = await (Runner.run_streamed(agent, "x") if streamed else Runner.run(agent, "x"))
        (item,) = result.interruptions
        assert (item.call.kind, item.tool_name, item.arguments) == ("shell", "shell", '{"commands": ["ls"]}')
        state = RunState.from_string(agent, result.to_state().to_string())
        state.approve(state.interruptions[0])
        result = await Runner.run(agent, state)
    assert result.final_output == "done"
    assert [entry["type"] for entry in server.requests[1].json["input"][1:]] == [
        "custom_tool_call",
        "shell_call",
        "custom_tool_call_output",
        "shell_call_output",
    ]
    kinds = [item.kind for item in result.to_state().value.transcript if isinstance(item, FunctionCall | FunctionCallOutput)]
    assert kinds == ["custom", "shell", "custom", "shell"]


async def test_a_call_without_its_tool_goes_on_once_the_tool_is_there() -> None:
    async with FakeResponsesServer([[CALLS[0][1]], "done"]) as server:
        model = model_at(server)
        with pytest.raises(UnsupportedCallError, match="kind 'custom' to 'query', and agent 'a' has no tool") as caught:
            await Runner.run(Agent("a", model=model), "x")
        assert len(server.requests) == 1
        result = await Runner.run(Agent("a", model=model, tools=[query]), caught.value.state)
    assert (result.final_output, len(server.requests)) == ("done", 2)


async def test_an_unanswered_call_of_a_history_is_answered_as_its_kind() -> None:
    async with FakeResponsesServer(["hello"]) as server:
        await Runner.run(Agent("a", model=model_at(server)), [CALLS[1][1], Message("user", "x")])
    assert [entry.get("type") for entry in server.requests[0].json["input"]] == ["shell_call", "shell_call_output", None]


def test_a_response_of_kinds_is_a_value() -> None:
    response = ModelResponse(tuple(call for _, call in CALLS))
    assert len({*response.output}) == len(CALLS)
