"""One body behind every provider's form: commands, patches, edits and notes, asked for and answered over each protocol.

What crosses the wire is shown to the types of the providers' own client libraries, where these are installed.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk import Agent, Runner
from agentsdk.errors import SandboxUnavailableError
from agentsdk.items import CallKind, FunctionCall, FunctionCallOutput, Message, ToolCallItem
from agentsdk.models import AnthropicModel, GoogleModel, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agentsdk.models.anthropic import calls as anthropic_calls
from agentsdk.models.openai_responses import calls as responses_calls
from agentsdk.sandboxes import LocalSandbox, Sandbox, best_sandbox
from agentsdk.testing import FakeAnthropicServer, FakeGoogleServer, FakeOpenAIServer, FakeResponsesServer
from agentsdk.tools import ApplyPatchTool, FunctionTool, MemoryTool, ShellTool, TextEditorTool
from tests.local_tools.wire_forms import FORMS, Form
from tests.models.anthropic.replies import reply
from tests.models.openai_responses.replies import body, said
from tests.models.wire import request

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / ".venv-clients"
PROTOCOLS: dict[str, tuple[Any, Any]] = {
    "responses": (FakeResponsesServer, OpenAIResponsesModel),
    "anthropic": (FakeAnthropicServer, AnthropicModel),
    "google": (FakeGoogleServer, GoogleModel),
    "chat": (FakeOpenAIServer, OpenAIChatCompletionsModel),
}
OTHERS = [
    (protocol, form)
    for form in FORMS
    for protocol in PROTOCOLS
    if protocol not in {other.protocol for other in FORMS if other.tool == form.tool}
]


class Conversation:
    """A form's call, made over `protocol`: what was asked for first and last, the call as it was read, and the files."""

    def __init__(self, form: Form, protocol: str, streamed: bool = False) -> None:
        self.form, self.protocol, self.streamed = form, protocol, streamed
        self.first: dict[str, Any] = {}
        self.last: dict[str, Any] = {}
        self.call = FunctionCall("", "", "")
        self.files: dict[str, str] = {}

    @property
    def said(self) -> Any:
        """What the server says: the form's own call, or a function's."""
        if self.protocol != self.form.protocol:
            return FunctionCall("c1", self.form.tool, json.dumps(self.form.arguments))
        called = self.form.called
        if self.protocol == "responses":
            return said(body(called), streamed=self.streamed)
        return reply(called, reason="tool_use", streamed=self.streamed)

    async def hold(self, made: Sandbox | None = None) -> None:
        server_kind, model_kind = PROTOCOLS[self.protocol]
        async with made or LocalSandbox(unsafe=True) as sandbox, server_kind([self.said, "Done."]) as server:
            await sandbox.files.write("hello.txt", b"hello\n")
            tools: dict[str, FunctionTool[Any]] = {
                "shell": ShellTool(sandbox),
                "apply_patch": ApplyPatchTool(sandbox),
                "text_editor": TextEditorTool(sandbox),
                "memory": MemoryTool(sandbox.workdir),
            }
            model = model_kind("m", base_url=server.base_url, api_key="k")
            agent = Agent[Any, str](name="Coder", model=model, tools=[tools[self.form.tool]])
            if self.streamed:
                result: Any = Runner.run_streamed(agent, "Go.")
                async for _ in result.stream_events():
                    pass
            else:
                result = await Runner.run(agent, "Go.")
            assert result.final_output == "Done."
            (self.call,) = [item.raw_item for item in result.new_items if isinstance(item, ToolCallItem)]
            self.first, self.last = (request.json for request in server.requests)
            for entry in await sandbox.files.list():
                self.files[entry.path] = (await sandbox.files.read(entry.path)).decode()


async def walled() -> Sandbox | None:
    """A sandbox with walls; None where none can be had, as the wire is the same without."""
    try:
        return await best_sandbox()
    except SandboxUnavailableError:
        return None


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_providers_own_call_is_run_and_goes_back_as_it_came(form: Form, streamed: bool) -> None:
    conversation = Conversation(form, form.protocol, streamed)
    await conversation.hold(await walled())
    assert conversation.first["tools"] == [form.declared]
    assert (conversation.call.kind, json.loads(conversation.call.arguments)) == (form.tool, form.arguments)
    if form.protocol == "responses":
        _, called, result = conversation.last["input"]
    else:
        _, asked, answered = conversation.last["messages"]
        (called,), (result,) = asked["content"], answered["content"]
    assert called == {name: value for name, value in form.called.items() if name in called} and "type" in called
    assert form.called.keys() - called.keys() <= {"id", "environment"}, "which are the provider's"
    assert result == form.result
    assert conversation.files == form.holds


@pytest.mark.parametrize(("protocol", "form"), OTHERS, ids=str)
async def test_elsewhere_it_is_a_function_with_the_same_body(protocol: str, form: Form) -> None:
    conversation = Conversation(form, protocol)
    await conversation.hold()
    assert conversation.call.kind == "function" and f'"name": "{form.tool}"' in json.dumps(conversation.first["tools"])
    assert conversation.files == form.holds


TYPES = {
    "responses": ("openai.types.responses:ToolParam", "openai.types.responses:ResponseInputItemParam"),
    "anthropic": ("anthropic.types:ToolUnionParam", "anthropic.types:ContentBlockParam"),
    "chat": ("openai.types.chat:ChatCompletionToolUnionParam", "openai.types.chat:ChatCompletionMessageParam"),
    "google": ("google.genai.types:Tool", "google.genai.types:Content"),
}
"""What the providers' clients call the type of a tool, and of a piece of a conversation."""


def pieces(protocol: str, asked: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a request holds, each piece with its type."""
    tool_type, item_type = TYPES[protocol]
    yield from ((tool_type, tool) for tool in asked.get("tools", ()))
    items = asked.get("input") or asked.get("messages") or asked["contents"]
    if protocol == "anthropic":
        items = [block for message in items for block in message["content"]]
    yield from ((item_type, item) for item in items)


def own_pieces(form: Form) -> Iterator[tuple[str, Any]]:
    """The provider's own call."""
    yield (
        {"responses": "openai.types.responses:ResponseOutputItem", "anthropic": "anthropic.types:ContentBlock"}[form.protocol],
        form.called,
    )
    if form.tool == "memory":
        yield "anthropic.types.beta:BetaMemoryTool20250818Command", form.called["input"]


def told_later(form: Form, protocol: str) -> dict[str, Any]:
    """The request by which a model of `protocol` is told of a call that another provider's model made."""
    kind: Any = form.tool
    call = FunctionCall("c1", form.tool, json.dumps(form.arguments), kind=kind)
    model = PROTOCOLS[protocol][1]("m", base_url="http://127.0.0.1:9", api_key="k")
    items = [Message("user", "Go."), call, FunctionCallOutput("c1", "Done.", kind=kind)]
    asked: dict[str, Any] = json.loads(model.body(request(items=items)))
    return asked


def faults(values: list[tuple[str, Any]]) -> str:
    """What the clients' types have against the values."""
    lines = "\n".join(map(json.dumps, values))
    script = [str(CLIENTS / "bin" / "python"), str(ROOT / "scripts" / "official_types.py")]
    done = subprocess.run(script, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(
    not (CLIENTS / ".done").exists(),
    reason="the official client libraries are not there: python scripts/official_clients.py --install",
)
async def test_the_official_clients_know_all_that_crosses_the_wire() -> None:
    values: list[tuple[str, Any]] = []
    for protocol, form in [(form.protocol, form) for form in FORMS] + OTHERS:
        conversation = Conversation(form, protocol)
        await conversation.hold()
        values += [*pieces(protocol, conversation.first), *pieces(protocol, conversation.last)]
    for form in FORMS:
        values += own_pieces(form)
        values += [piece for protocol in PROTOCOLS for piece in pieces(protocol, told_later(form, protocol))]
    assert len(values) > 4 * len(FORMS)
    shell = FORMS[0]
    wrong = [
        ("openai.types.responses:ToolParam", {"type": "shell", "environment": {"type": "moon"}}),
        ("openai.types.responses:ResponseInputItemParam", {**shell.result, "extra": 1}),
        ("openai.types.responses:ResponseOutputItem", {**shell.called, "action": {**shell.called["action"], "extra": 1}}),
        ("anthropic.types:ToolUnionParam", {"type": "bash_20250124", "name": "shell"}),
        ("google.genai.types:Tool", {"shell": {}}),
    ]
    told = faults([*values, *wrong])
    refused = [line for line in told.splitlines() if line.startswith(tuple(name for name, _ in values))]
    assert refused == [f"{name} {json.dumps(value)}" for name, value in wrong], told


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
ACTIONS = st.fixed_dictionaries(
    {"commands": st.lists(WORDS, min_size=1, max_size=3)},
    optional={"timeout_ms": st.integers(1, 10**6), "max_output_length": st.integers(0, 10**6)},
)
LOCAL_ACTIONS = st.fixed_dictionaries(
    {
        "type": st.just("exec"),
        "command": st.lists(WORDS, min_size=1, max_size=4),
        "env": st.dictionaries(WORDS, WORDS, max_size=2),
    },
    optional={"timeout_ms": st.integers(1, 10**6), "user": WORDS, "working_directory": WORDS},
)
OPERATIONS = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["create_file", "update_file"]), "path": WORDS, "diff": WORDS}),
    st.fixed_dictionaries({"type": st.just("delete_file"), "path": WORDS}),
)
OPENAI_CALLS = st.one_of(
    ACTIONS.map(lambda action: {"type": "shell_call", "action": action}),
    LOCAL_ACTIONS.map(lambda action: {"type": "local_shell_call", "id": "x", "action": action}),
    OPERATIONS.map(lambda operation: {"type": "apply_patch_call", "operation": operation}),
)


@given(OPENAI_CALLS)
def test_any_call_of_openais_goes_back_as_it_came(called: dict[str, Any]) -> None:
    item = {**called, "call_id": "c1", "status": "completed"}
    kind = responses_calls.kind_of(item)
    assert kind is not None
    call = responses_calls.read_call(kind, item, "", begun_only=False)
    assert responses_calls.call_entry(call, item.get("id", "")) == item


INPUTS = st.one_of(
    st.fixed_dictionaries({"command": WORDS}).map(lambda given: ("bash", given)),
    st.just(("bash", {"restart": True})),
    st.tuples(
        st.sampled_from(["str_replace_based_edit_tool", "memory"]),
        st.dictionaries(WORDS, st.one_of(WORDS, st.integers(-9, 9), st.lists(st.integers(-9, 9), max_size=2)), max_size=4),
    ),
)
KINDS: dict[str, CallKind] = {"bash": "shell", "str_replace_based_edit_tool": "text_editor", "memory": "memory"}


@given(INPUTS)
def test_any_call_of_anthropics_goes_back_as_it_came(called: tuple[str, dict[str, Any]]) -> None:
    name, given_input = called
    block = {"type": "tool_use", "id": "c1", "name": name, "input": given_input}
    call = anthropic_calls.read_call(block, "c1", json.dumps(given_input), KINDS)
    assert call.kind == KINDS[name]
    sent = json.loads(json.dumps(anthropic_calls.call_block(call, "c1"), default=lambda raw: json.loads(bytes(raw))))
    assert sent == block
