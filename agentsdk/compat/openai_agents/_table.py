"""What becomes of each name of openai-agents: it is the same here, mapped onto something of agentsdk's, or absent."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agentsdk.compat.openai_agents._absent import why_absent
from agentsdk.compat.openai_agents._names import NAMES

Kind = Literal["same", "mapped", "absent"]
_OURS = __name__.rpartition(".")[0]
_ADAPTER = "asked by agentsdk's adapter, with the key and address of the client that is given"
_NOTHING = "changes nothing: agents are registered nowhere"
_HTTP = "over HTTP: agentsdk has no websocket transport"
_STATE = "in agentsdk's format, which openai-agents cannot read, nor the other way round"
_RETRY = "agentsdk decides what may be sent again; delays and numbers of tries are taken over"
_VENDOR = "asked by agentsdk's adapter of that vendor, without the library"
_PROVIDER_RUN = "only a model of the program's own is told of it: agentsdk's adapters have nothing for it"
_PROCESSORS = "goes to the processors that were added; none is set by itself, so nothing is sent to OpenAI"
_MCP = "connected by agentsdk's MCP client"
_TEXT = "says the same in other words"

MAPPED: dict[str, str] = {
    "HostedMCPTool": "agentsdk's tool of that kind",
    "CodeInterpreterTool": "agentsdk's tool of that kind",
    "FileSearchTool": "agentsdk's tool of that kind",
    "ImageGenerationTool": "agentsdk's tool of that kind",
    "WebSearchTool": "agentsdk's tool of that kind",
    "ToolSearchTool": "agentsdk's tool of that kind",
    "ShellTool": "run by its executor here; in a hosted container by the Responses API",
    "ProgrammaticToolCallingTool": _PROVIDER_RUN,
    "tool_namespace": "the namespace is kept on the tools; agentsdk's adapters send their plain names",
    "MCPServerSse": "refused with an error that says why: the protocol has given up that transport",
    "MCPServerStdio": _MCP,
    "MCPServerStreamableHttp": _MCP,
    "ModelRetrySettings": _RETRY,
    "ModelRetryBackoffSettings": _RETRY,
    "retry_policies": _RETRY,
    "OpenAIAgentRegistrationConfig": _NOTHING,
    "set_default_openai_agent_registration": _NOTHING,
    "set_default_openai_harness": _NOTHING,
    "OpenAIChatCompletionsModel": _ADAPTER,
    "OpenAIResponsesModel": _ADAPTER,
    "OpenAIProvider": _ADAPTER,
    "OpenAIResponsesWSModel": _HTTP,
    "OpenAIResponsesWebSocketOptions": _HTTP,
    "ResponsesWebSocketSession": _HTTP,
    "responses_websocket_session": _HTTP,
    "set_default_openai_responses_transport": _HTTP,
    "MultiProvider": "names of other vendors are asked by agentsdk's adapters",
    "AnyLLMModel": _VENDOR,
    "AnyLLMProvider": _VENDOR,
    "LitellmModel": _VENDOR,
    "LitellmProvider": _VENDOR,
    "RunState": _STATE,
    "BackendSpanExporter": _PROCESSORS,
    "BatchTraceProcessor": _PROCESSORS,
    "add_trace_processor": _PROCESSORS,
    "default_exporter": _PROCESSORS,
    "default_processor": _PROCESSORS,
    "set_tracing_export_api_key": _PROCESSORS,
    "default_tool_error_function": _TEXT,
    "RunConfig": "its fields are the run's; sandbox is refused with an error that says why",
    "SQLAlchemySession": "over the library sqlalchemy, in tables of the same names",
    "RedisSession": "over the library redis, under keys of the same names",
    "draw_graph": "drawn by the library graphviz, as there",
}
"""Of the names that are here, those behind which something else stands, and what."""

PACKAGES = frozenset(
    (
        *("", "extensions", "extensions.handoff_filters", "extensions.handoff_prompt", "extensions.memory"),
        *("extensions.tool_output_trimmer", "extensions.visualization", "extensions.experimental"),
        *("extensions.experimental.codex", "extensions.experimental.hosted_multi_agent"),
        *("handoffs", "mcp", "memory", "models", "testing", "tracing"),
        *(
            "decorators",
            "exceptions",
            "function_schema",
            "items",
            "result",
            "run_error_handlers",
            "stream_events",
            "strict_schema",
        ),
    )
)
"""The root and the packages that programs import from."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What becomes of a name: `how` it is mapped, or why it is absent and what there is `instead`."""

    module: str
    name: str
    kind: Kind
    how: str = ""
    instead: str = ""

    def __str__(self) -> str:
        full = f"{self.module}.{self.name}".strip(".")
        return (
            f"{self.kind:6} {full}" + (f": {self.how}" if self.how else "") + (f"; use {self.instead}" if self.instead else "")
        )


def entry_of(module: str, name: str) -> Entry | None:
    """What becomes of a name of a module of `agents` (`""`: the root); None where that is not known."""
    try:
        getattr(importlib.import_module(f"{_OURS}.{module}".rstrip(".")), name)
    except (ImportError, AttributeError):
        known = why_absent(f"{module}.{name}".strip("."))
        return None if known is None else Entry(module, name, "absent", *known)
    how = MAPPED.get(name, "")
    return Entry(module, name, "mapped" if how else "same", how)


def entries() -> Iterator[tuple[str, str, Entry | None]]:
    """Every public name of openai-agents 0.24, with what becomes of it."""
    for module, names in NAMES.items():
        for name in names:
            yield module, name, entry_of(module, name)


def is_apart(module: str) -> bool:
    """Whether a module is of what is absent as a whole by its nature: sandboxes and speech."""
    return any(part in ("sandbox", "realtime", "voice") for part in module.split("."))


def counted(of: list[Entry]) -> str:
    """How many of these names are of which kind."""
    kinds = Counter(entry.kind for entry in of)
    here = kinds["same"] + kinds["mapped"]
    return (
        f"{kinds['same']} same, {kinds['mapped']} mapped, {kinds['absent']} absent: {here / len(of):.1%} of {len(of)} are here"
    )
