"""Specs: an agent's declaration as plain data. Names, schemas, effects; never callables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, TypeVar

from msgspec import Struct

from agentsdk.types.base import JsonObject
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.items import CallKind, FunctionCall

Effect = Literal["none", "idempotent", "once"]
"""What running a tool again would do: nothing new, nothing new under the same idempotency key, or a second effect."""

ToolUse = Literal["run_llm_again", "stop_on_first_tool", "stop_at_tools", "custom"]


class ToolSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool as the model sees it, and what the loop must know of it.

    `needs_approval` is None where a callable decides call by call. `polling`: it is there to be called again and again, so that
    calling it is no loop. `kind` is that of the calls it handles, `kind_settings` what the provider is told of it besides.
    `defer_loading`: the model is not told of it before it has found it by its provider's own search.
    """

    name: str
    description: str
    parameters: JsonObject
    strict: bool = True
    effect: Effect = "once"
    needs_approval: bool | None = False
    polling: bool = False
    kind: CallKind = "function"
    kind_settings: JsonObject = {}
    defer_loading: bool = False


class HandoffSpec(Struct, frozen=True):
    """A handoff as the model sees it (a tool), and the agent it leads to."""

    name: str
    description: str
    parameters: JsonObject
    agent: str
    strict: bool = True


OutputMode = Literal["native", "tool", "prompted", "json"]
"""How the model is brought to give an output of a type: the provider enforces its schema; the output is the arguments of a tool
that is there for it; the instructions ask for it; or they do, and the provider enforces that it is JSON.

With `"native"`, the default, the instructions ask for it where a provider has no such thing."""

OUTPUT_TOOL = "final_result"
"""The name of the tool whose arguments are the final output."""


class OutputSpec(Struct, frozen=True):
    """The JSON schema the final output must fit. `strict` asks the provider to enforce it."""

    name: str
    schema: JsonObject
    strict: bool = True
    mode: OutputMode = "native"

    @property
    def is_asked_for(self) -> bool:
        """Whether the instructions ask for it."""
        return self.mode in ("prompted", "json")

    @property
    def tool(self) -> ToolSpec:
        """The tool whose arguments are the output."""
        return ToolSpec(OUTPUT_TOOL, "Give the final answer, and end with it.", self.schema, self.strict, "none")


class AgentSpec(Struct, frozen=True):
    """An agent at one turn: only what is enabled then."""

    name: str
    tools: dict[str, ToolSpec] = {}
    handoffs: dict[str, HandoffSpec] = {}
    output: OutputSpec | None = None
    tool_use: ToolUse = "run_llm_again"
    stop_at: frozenset[str] = frozenset()
    output_guardrails: tuple[str, ...] = ()
    hosted: tuple[HostedTool, ...] = ()


class _Handler(Protocol):
    @property
    def kind(self) -> CallKind: ...


Handler = TypeVar("Handler", bound=_Handler)
Declared = TypeVar("Declared")


def handler_of(call: FunctionCall, tools: Mapping[str, Handler]) -> Handler | None:
    """Of an agent's tools, by name, the one that handles `call`; None where none does.

    A tool of another kind is also called as a function, by models that have no such kind.
    """
    kind = call.kind
    if kind == "mcp_approval":
        return tools.get(approval_name(call.namespace))
    tool = tools.get(call.name)
    if tool is None or (tool.kind != kind and (kind != "function" or tool.kind == "mcp_approval")):
        return None
    return tool if not call.namespace or _is_own(call) else None


def handoff_of(call: FunctionCall, handoffs: Mapping[str, Declared]) -> Declared | None:
    """Of an agent's handoffs, by name, the one that `call` asks for; None where none is."""
    return handoffs.get(call.name) if call.kind == "function" and _is_own(call) else None


def _is_own(call: FunctionCall) -> bool:
    """Whether the call's name is one of the agent's own, and not that of a tool in a set of the provider's.

    A tool that was found by the provider's search is in a namespace of its own name.
    """
    return call.kind in _WITHOUT_NAMES or call.namespace in ("", call.name)


_WITHOUT_NAMES = ("shell", "apply_patch", "computer", "text_editor", "memory")
"""Kinds of which an agent has one tool, named like them; their namespaces are the provider's own affair."""


def approval_name(server: str) -> str:
    """The name of the tool that handles the approvals of an MCP server that the provider calls: none that a model calls."""
    return f"mcp_approval:{server}"
