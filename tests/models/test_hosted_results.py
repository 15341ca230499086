"""What hosted tools did: items of every provider read as one type, kept as they came, and sent back equal."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk import Agent, Runner
from agentsdk.hosted_tools import HostedToolUse, Source
from agentsdk.items import HostedToolItem, MessageOutputItem
from agentsdk.models import AnthropicModel, GoogleModel, OpenAIResponsesModel
from agentsdk.testing import ServerReply
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.testing.google_dialect import FakeGoogleServer
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.types.hosted_results import files_of, hosted_tools_of, sources_of
from agentsdk.types.items import InputFile, InputImage, Message, OutputText, ProviderItem
from tests.core.histories import json_objects

pytestmark = pytest.mark.anyio

OPENAI: list[tuple[dict[str, Any], HostedToolUse]] = [
    (
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "x", "sources": [{"type": "url", "url": "https://a.org"}]},
        },
        HostedToolUse("web_search", "search", "ws_1", "completed", "", {"query": "x"}, "", (Source("https://a.org"),)),
    ),
    (
        {"type": "web_search_call", "id": "ws_2", "status": "completed", "action": {"type": "open_page", "url": "https://a"}},
        HostedToolUse("web_search", "open_page", "ws_2", "completed", "", {"url": "https://a"}),
    ),
    (
        {
            "type": "file_search_call",
            "id": "fs_1",
            "status": "completed",
            "queries": ["x"],
            "results": [{"file_id": "file_1", "filename": "a.pdf", "score": 0.5, "text": "x is 1", "attributes": {}}],
        },
        HostedToolUse(
            "file_search",
            call_id="fs_1",
            status="completed",
            arguments={"queries": ["x"]},
            sources=(Source(file_id="file_1", filename="a.pdf", text="x is 1", score=0.5),),
        ),
    ),
    (
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "container_id": "cntr_1",
            "code": "print(1)",
            "outputs": [{"type": "logs", "logs": "1\n"}, {"type": "image", "url": "data:image/png;base64,AA=="}],
        },
        HostedToolUse(
            "code_interpreter",
            call_id="ci_1",
            status="completed",
            arguments={"code": "print(1)"},
            output="1\n",
            images=(InputImage("data:image/png;base64,AA=="),),
        ),
    ),
    (
        {
            "type": "image_generation_call",
            "id": "ig_1",
            "status": "completed",
            "result": "AA==",
            "output_format": "webp",
            "revised_prompt": "a cat",
        },
        HostedToolUse(
            "image_generation",
            call_id="ig_1",
            status="completed",
            arguments={"prompt": "a cat"},
            images=(InputImage("data:image/webp;base64,AA=="),),
        ),
    ),
    (
        {
            "type": "image_generation_call",
            "id": "ig_2",
            "status": "failed",
            "result": None,
            "error": {"code": "moderation_blocked", "message": "blocked"},
        },
        HostedToolUse("image_generation", "", "ig_2", "failed", arguments={"prompt": ""}, error="blocked"),
    ),
    (
        {"type": "mcp_list_tools", "id": "l_1", "server_label": "docs", "tools": [{"name": "search", "input_schema": {}}]},
        HostedToolUse("mcp", call_id="l_1", server="docs", tools=("search",)),
    ),
    (
        {
            "type": "mcp_call",
            "id": "m_1",
            "server_label": "docs",
            "name": "search",
            "arguments": '{"q":"x"}',
            "output": "found",
            "error": None,
            "status": "completed",
        },
        HostedToolUse("mcp", "search", "m_1", "completed", "docs", {"q": "x"}, "found"),
    ),
    (
        {
            "type": "tool_search_call",
            "id": "t_1",
            "execution": "server",
            "arguments": {"queries": ["x"]},
            "status": "completed",
        },
        HostedToolUse("tool_search", call_id="t_1", status="completed", arguments={"queries": ["x"]}),
    ),
    (
        {
            "type": "tool_search_output",
            "id": "t_2",
            "execution": "server",
            "tools": [{"type": "namespace", "name": "crm", "tools": [{"name": "find"}]}, {"type": "function", "name": "add"}],
        },
        HostedToolUse("tool_search", call_id="t_2", tools=("find", "add")),
    ),
    ({"type": "new_call", "id": "n_1"}, HostedToolUse("other")),
]
ANTHROPIC: list[tuple[dict[str, Any], HostedToolUse]] = [
    (
        {"type": "server_tool_use", "id": "s_1", "name": "web_search", "input": {"query": "x"}},
        HostedToolUse("web_search", "web_search", "s_1", arguments={"query": "x"}),
    ),
    (
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s_1",
            "content": [{"type": "web_search_result", "url": "https://a", "title": "A", "encrypted_content": "e"}],
        },
        HostedToolUse("web_search", "web_search", "s_1", sources=(Source("https://a", "A"),)),
    ),
    (
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s_2",
            "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
        },
        HostedToolUse("web_search", "web_search", "s_2", error="max_uses_exceeded"),
    ),
    (
        {
            "type": "web_fetch_tool_result",
            "tool_use_id": "s_3",
            "content": {
                "type": "web_fetch_result",
                "url": "https://a",
                "content": {
                    "type": "document",
                    "title": "A",
                    "source": {"type": "text", "media_type": "text/plain", "data": "page"},
                },
            },
        },
        HostedToolUse("web_fetch", "web_fetch", "s_3", output="page", sources=(Source("https://a", "A"),)),
    ),
    (
        {"type": "server_tool_use", "id": "s_4", "name": "bash_code_execution", "input": {"command": "ls"}},
        HostedToolUse("code_interpreter", "bash_code_execution", "s_4", arguments={"command": "ls"}),
    ),
    (
        {
            "type": "bash_code_execution_tool_result",
            "tool_use_id": "s_4",
            "content": {
                "type": "bash_code_execution_result",
                "stdout": "a.csv\n",
                "stderr": "warned",
                "return_code": 0,
                "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}],
            },
        },
        HostedToolUse(
            "code_interpreter",
            "bash_code_execution",
            "s_4",
            output="a.csv\nwarned",
            files=(InputFile(file_id="file_1"),),
        ),
    ),
    (
        {
            "type": "text_editor_code_execution_tool_result",
            "tool_use_id": "s_5",
            "content": {"type": "text_editor_code_execution_view_result", "file_type": "text", "content": "line"},
        },
        HostedToolUse("code_interpreter", "text_editor_code_execution", "s_5", output="line"),
    ),
    (
        {"type": "mcp_tool_use", "id": "m_1", "name": "search", "server_name": "docs", "input": {"q": "x"}},
        HostedToolUse("mcp", "search", "m_1", server="docs", arguments={"q": "x"}),
    ),
    (
        {"type": "mcp_tool_result", "tool_use_id": "m_1", "is_error": False, "content": [{"type": "text", "text": "found"}]},
        HostedToolUse("mcp", call_id="m_1", output="found"),
    ),
    (
        {"type": "mcp_tool_result", "tool_use_id": "m_2", "is_error": True, "content": "no"},
        HostedToolUse("mcp", call_id="m_2", error="no"),
    ),
    (
        {
            "type": "tool_search_tool_result",
            "tool_use_id": "s_6",
            "content": {
                "type": "tool_search_tool_search_result",
                "tool_references": [{"type": "tool_reference", "tool_name": "add"}],
            },
        },
        HostedToolUse("tool_search", call_id="s_6", tools=("add",)),
    ),
    (
        {"type": "server_tool_use", "id": "s_7", "name": "new_tool", "input": {}},
        HostedToolUse("other", "new_tool", "s_7"),
    ),
    (
        {"type": "code_execution_tool_result", "tool_use_id": "s_7", "content": {"return_code": 0}},
        HostedToolUse("code_interpreter", "code_execution", "s_7"),
    ),
]
GOOGLE: list[tuple[dict[str, Any], HostedToolUse]] = [
    (
        {"executableCode": {"id": "e_1", "language": "PYTHON", "code": "print(1)"}},
        HostedToolUse("code_interpreter", call_id="e_1", arguments={"code": "print(1)"}),
    ),
    (
        {"codeExecutionResult": {"id": "e_1", "outcome": "OUTCOME_OK", "output": "1\n"}},
        HostedToolUse("code_interpreter", "", "e_1", "OUTCOME_OK", output="1\n"),
    ),
    (
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}},
        HostedToolUse("code_interpreter", status="OUTCOME_FAILED", output="no", error="OUTCOME_FAILED"),
    ),
    (
        {"toolCall": {"id": "t_1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}}, "thoughtSignature": "s"},
        HostedToolUse("web_search", "GOOGLE_SEARCH_WEB", "t_1", arguments={"queries": ["x"]}),
    ),
    (
        {"toolResponse": {"id": "t_1", "toolType": "URL_CONTEXT", "response": {}}},
        HostedToolUse("web_fetch", "URL_CONTEXT", "t_1"),
    ),
    ({"toolCall": {"id": "t_2", "toolType": "GOOGLE_MAPS"}}, HostedToolUse("other", "GOOGLE_MAPS", "t_2")),
]
ALL = [*OPENAI, *ANTHROPIC, *GOOGLE]


@pytest.mark.parametrize(("data", "use"), ALL)
def test_an_item_is_read(data: dict[str, Any], use: HostedToolUse) -> None:
    assert HostedToolUse.of(ProviderItem("p", data)) == use


@pytest.mark.parametrize("stream", [False, True])
async def test_openais_items_are_kept_and_go_back_as_they_came(stream: bool) -> None:
    items = [data for data, _ in OPENAI]
    text = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
    body = {"id": "r", "object": "response", "status": "completed", "model": "m", "output": [*items, text]}
    whole = ServerReply(events=[{"type": "response.completed", "response": body}]) if stream else ServerReply(body=body)
    async with FakeResponsesServer([whole, "b"]) as server:
        agent = Agent("a", model=OpenAIResponsesModel("gpt-test", base_url=server.base_url))
        result = await (Runner.run_streamed(agent, "x") if stream else Runner.run(agent, "x"))
        await Runner.run(agent, [*result.to_input_list(), {"role": "user", "content": "and?"}])
    assert uses_of(result) == [use for _, use in OPENAI]
    assert server.requests[1].json["input"][1 : 1 + len(items)] == items


@pytest.mark.parametrize("stream", [False, True])
async def test_anthropics_blocks_are_kept_and_go_back_as_they_came(stream: bool) -> None:
    blocks = [data for data, _ in ANTHROPIC]
    said: list[Any] = [ProviderItem("", data) for data in blocks]
    async with FakeAnthropicServer([[*said, Message("assistant", "a")], "b"]) as server:
        agent = Agent("a", model=AnthropicModel("claude-test", base_url=server.url))
        result = await (Runner.run_streamed(agent, "x") if stream else Runner.run(agent, "x"))
        await Runner.run(agent, [*result.to_input_list(), {"role": "user", "content": "and?"}])
    assert uses_of(result) == [use for _, use in ANTHROPIC]
    assert server.requests[1].json["messages"][1]["content"] == [*blocks, {"type": "text", "text": "a"}]


@pytest.mark.parametrize("stream", [False, True])
async def test_googles_parts_are_kept_and_go_back_as_they_came(stream: bool) -> None:
    parts = [data for data, _ in GOOGLE]
    said: list[Any] = [ProviderItem("", data) for data in parts]
    async with FakeGoogleServer([[*said, Message("assistant", "a")], "b"]) as server:
        agent = Agent("a", model=GoogleModel("gemini-3-test", base_url=server.base_url))
        result = await (Runner.run_streamed(agent, "x") if stream else Runner.run(agent, "x"))
        await Runner.run(agent, [*result.to_input_list(), {"role": "user", "content": "and?"}])
    assert uses_of(result) == [use for _, use in GOOGLE]
    assert server.requests[1].json["contents"][1]["parts"] == [*parts, {"text": "a"}]


def uses_of(result: Any) -> list[HostedToolUse]:
    return [item.use for item in result.new_items if isinstance(item, HostedToolItem)]


NOTES: list[tuple[dict[str, Any], list[Source]]] = [
    ({"type": "url_citation", "url": "https://a", "title": "A", "start_index": 0}, [Source("https://a", "A")]),
    ({"type": "url_citation", "url_citation": {"url": "https://a", "title": "A"}}, [Source("https://a", "A")]),
    ({"type": "file_citation", "file_id": "f", "filename": "a.pdf", "index": 1}, [Source(file_id="f", filename="a.pdf")]),
    ({"type": "container_file_citation", "file_id": "f", "filename": "a.csv", "container_id": "c"}, []),
    (
        {"type": "web_search_result_location", "url": "https://a", "title": "A", "cited_text": "x", "encrypted_index": "e"},
        [Source("https://a", "A", text="x")],
    ),
    ({"type": "search_result_location", "source": "kb/1", "title": None, "cited_text": "x"}, [Source("kb/1", text="x")]),
    (
        {"type": "char_location", "document_title": "A", "file_id": "f", "cited_text": "x"},
        [Source(title="A", file_id="f", text="x")],
    ),
    (
        {
            "type": "groundingMetadata",
            "groundingChunks": [
                {"web": {"uri": "https://a", "title": "A"}},
                {"retrievedContext": {"uri": "f", "title": "a.pdf", "text": "x"}},
            ],
            "groundingSupports": [],
        },
        [Source("https://a", "A"), Source("f", "a.pdf", text="x")],
    ),
    ({"type": "citationMetadata", "citationSources": [{"uri": "https://a", "startIndex": 0}]}, [Source("https://a")]),
    ({"type": "urlContextMetadata", "urlMetadata": [{"retrievedUrl": "https://a"}]}, [Source("https://a")]),
    ({"type": "new_note"}, []),
]


@pytest.mark.parametrize(("note", "sources"), NOTES)
def test_what_a_text_cites(note: dict[str, Any], sources: list[Source]) -> None:
    message = Message("assistant", (OutputText("a", (note, note)), OutputText("b", (note,))))
    assert list(sources_of(message)) == sources, "each once"
    made = [InputFile(file_id="f", filename="a.csv")] if note["type"] == "container_file_citation" else []
    assert list(files_of(message)) == made
    item = MessageOutputItem(Agent("a"), message)
    assert (item.sources, item.files) == (tuple(sources), tuple(made))


OWN = {"retrievedContext": {"uri": "f"}}


@pytest.mark.parametrize(
    ("notes", "tools"),
    [
        ([{"type": "url_citation"}, {"type": "urlContextMetadata"}, {"type": "url_citation"}], ["web_search", "web_fetch"]),
        ([{"type": "web_search_result_location"}], ["web_search"]),
        ([{"type": "file_citation"}, {"type": "container_file_citation"}], ["file_search", "code_interpreter"]),
        ([{"type": "groundingMetadata", "groundingChunks": [OWN, OWN]}], ["file_search"]),
        ([{"type": "groundingMetadata", "groundingChunks": [OWN, {"maps": {}}]}], ["web_search"]),
        ([{"type": "groundingMetadata", "groundingChunks": [OWN], "webSearchQueries": ["q"]}], ["web_search"]),
        ([{"type": "groundingMetadata", "groundingChunks": 5}], ["web_search"]),
        ([{"type": "citationMetadata"}, {"type": "char_location"}, {"type": "new"}, {}], []),
    ],
)
def test_which_hosted_tools_a_text_tells_of(notes: list[dict[str, Any]], tools: list[str]) -> None:
    assert list(hosted_tools_of(Message("assistant", (OutputText("a", tuple(notes)),)))) == tools
    assert MessageOutputItem(Agent("a"), Message("assistant", "a")).sources == ()


KINDS = sorted({str(data["type"]) for data, _ in ALL if "type" in data})


@given(st.sampled_from([*KINDS, "", "unknown"]), json_objects)
def test_an_item_of_any_shape_is_read_without_a_word(kind: str, fields: dict[str, object]) -> None:
    named = dict(zip(("content", "action", "results", "outputs"), fields.values(), strict=False))
    for data in ({"type": kind, **fields}, {"type": kind, **named}, fields):
        HostedToolUse.of(ProviderItem("p", data))
        sources_of(Message("assistant", (OutputText("a", (data,)),)))


FOLDER = os.environ.get("AGENTSDK_RECORDINGS", "")
OWN = {"message", "reasoning", "function_call", "text", "thinking", "tool_use"}


def recorded() -> list[dict[str, Any]]:
    """Every item of a hosted tool in the recordings."""
    found: list[dict[str, Any]] = []
    for path in sorted(Path(FOLDER).glob("*.json")) if FOLDER else []:
        for interaction in json.loads(path.read_text(encoding="utf-8"))["interactions"]:
            answer = interaction["response"]
            lines = [line[6:] for line in answer.get("text", "").splitlines() if line.startswith("data: {")]
            events = [json.loads(line) for line in lines]
            bodies = [answer["json"]] if "json" in answer else [event.get("response") or {} for event in events[-1:]]
            blocks = [event["content_block"] for event in events if "content_block" in event]
            for body in bodies:
                blocks += [one for name in ("output", "content") for one in body.get(name) or () if isinstance(one, dict)]
            found += [block for block in blocks if block.get("type") not in OWN | {None}]
    return found


@pytest.mark.skipif(not FOLDER, reason="AGENTSDK_RECORDINGS is not set")
def test_every_recorded_item_is_of_a_tool_that_is_known() -> None:
    """That they go back as they came is tested with each adapter's recordings."""
    uses = [HostedToolUse.of(ProviderItem("p", data)) for data in recorded()]
    assert {use.tool for use in uses} == {"web_search", "code_interpreter", "tool_search"}
    assert any(use.sources or use.tools for use in uses)
    assert any(use.output for use in uses)
    assert all(use.call_id for use in uses)
