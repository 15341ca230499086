"""One body behind every provider's form: commands, patches, edits and notes, asked for and answered over each protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, Runner
from agentsdk.items import FunctionCall
from agentsdk.models import AnthropicModel, GoogleModel, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agentsdk.sandboxes import LocalSandbox
from agentsdk.testing import FakeAnthropicServer, FakeGoogleServer, FakeOpenAIServer, FakeResponsesServer
from agentsdk.tools import ApplyPatchTool, MemoryTool, ShellTool, TextEditorTool

pytestmark = pytest.mark.anyio
COMMAND = {"commands": ["cat hello.txt"]}
PATCH = {"type": "create_file", "path": "hello.txt", "diff": "+hello"}
AS_FUNCTION = {
    "shell": {"timeout_ms": None, "max_output_length": None, "restart": False, "working_directory": None, "env": None},
    "apply_patch": {"move_to": None},
}


async def conversation(server_kind: Any, model_kind: Any, native: frozenset[str]) -> tuple[dict[str, Any], list[Any]]:
    """What the provider is told of the tools, and the last request after a patch and a command."""

    def asked(call_id: str, kind: Any, arguments: dict[str, Any]) -> FunctionCall:
        if kind in native:
            return FunctionCall(call_id, kind, json.dumps(arguments), kind=kind)
        return FunctionCall(call_id, kind, json.dumps(arguments | AS_FUNCTION[kind]))

    replies = [asked("call_1", "apply_patch", PATCH), asked("call_2", "shell", COMMAND), "Done."]
    async with LocalSandbox(unsafe=True) as sandbox, server_kind(replies) as server:
        model = model_kind("m", base_url=server.base_url, api_key="k")
        agent = Agent[Any, str](name="Coder", model=model, tools=[ShellTool(sandbox), ApplyPatchTool(sandbox)])
        result = await Runner.run(agent, "Say hello.")
        assert result.final_output == "Done." and await sandbox.files.read("hello.txt") == b"hello"
    return server.requests[0].json, server.requests[-1].json


RAN = {"stdout": "hello", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}


async def test_openai_responses_has_both() -> None:
    first, last = await conversation(FakeResponsesServer, OpenAIResponsesModel, frozenset(["shell", "apply_patch"]))
    assert first["tools"] == [{"type": "shell", "environment": {"type": "local"}}, {"type": "apply_patch"}]
    assert last["input"][1:] == [
        {"type": "apply_patch_call", "call_id": "call_1", "status": "completed", "operation": PATCH},
        {"type": "apply_patch_call_output", "call_id": "call_1", "status": "completed", "output": "Created hello.txt"},
        {"type": "shell_call", "call_id": "call_2", "status": "completed", "action": COMMAND},
        {"type": "shell_call_output", "call_id": "call_2", "output": [RAN]},
    ]


async def test_anthropic_has_a_bash_and_calls_the_patch_as_a_function() -> None:
    first, last = await conversation(FakeAnthropicServer, AnthropicModel, frozenset(["shell"]))
    bash, patch = first["tools"]
    assert bash == {"type": "bash_20250124", "name": "bash"} and patch["name"] == "apply_patch" and "type" not in patch
    (called,), (answered,) = [message["content"] for message in last["messages"][3:5]]
    assert called == {"type": "tool_use", "id": "call_2", "name": "bash", "input": {"command": "cat hello.txt"}}
    assert answered["tool_use_id"] == "call_2" and json.loads(answered["content"]) == {"output": [RAN]}


@pytest.mark.parametrize(
    ("server", "model"),
    [(FakeGoogleServer, GoogleModel), (FakeOpenAIServer, OpenAIChatCompletionsModel)],
    ids=["google", "chat"],
)
async def test_elsewhere_both_are_functions(server: Any, model: Any) -> None:
    first, last = await conversation(server, model, frozenset())
    told = json.dumps(first["tools"])
    assert '"name": "shell"' in told and '"name": "apply_patch"' in told and '"type": "shell"' not in told
    assert "Created hello.txt" in json.dumps(last) and '\\"stdout\\": \\"hello\\"' in json.dumps(last).replace("\\\\\\", "\\")


CREATE = {"command": "create", "path": "hello.txt", "file_text": "hello"}


@pytest.mark.parametrize(
    ("server", "model", "name", "kind"),
    [
        (FakeAnthropicServer, AnthropicModel, "str_replace_based_edit_tool", "text_editor"),
        (FakeResponsesServer, OpenAIResponsesModel, "text_editor", "function"),
        (FakeGoogleServer, GoogleModel, "text_editor", "function"),
        (FakeOpenAIServer, OpenAIChatCompletionsModel, "text_editor", "function"),
    ],
    ids=["anthropic", "responses", "google", "chat"],
)
async def test_files_are_edited_and_notes_kept_everywhere(
    server: Any, model: Any, name: str, kind: Any, tmp_path: Path
) -> None:
    replies = [
        FunctionCall("call_1", "text_editor", json.dumps(CREATE), kind=kind),
        FunctionCall("call_2", "memory", json.dumps(CREATE), kind="memory" if kind == "text_editor" else kind),
        "Done.",
    ]
    async with LocalSandbox(unsafe=True) as sandbox, server(replies) as fake:
        tools = [TextEditorTool(sandbox), MemoryTool(tmp_path)]
        agent = Agent[Any, str](name="Coder", model=model("m", base_url=fake.base_url, api_key="k"), tools=tools)
        assert (await Runner.run(agent, "Say hello.")).final_output == "Done."
        assert await sandbox.files.read("hello.txt") == (tmp_path / "hello.txt").read_bytes() == b"hello"
    told, last = json.dumps(fake.requests[0].json["tools"]), json.dumps(fake.requests[-1].json)
    assert f'"name": "{name}"' in told and f'"name": "{name}"' in last and last.count("Created hello.txt") == 2
    assert ("text_editor_20250728" in told) == ("memory_20250818" in told) == (kind == "text_editor")
    assert ("insert_line" in told) == (kind == "function")
