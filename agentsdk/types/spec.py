"""Specs: an agent's declaration as plain data. Names, schemas, effects; never callables."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from agentsdk.types.base import JsonObject

Effect = Literal["none", "idempotent", "once"]
"""What running a tool again would do: nothing new, nothing new under the same idempotency key, or a second effect."""

ToolUse = Literal["run_llm_again", "stop_on_first_tool", "stop_at_tools", "custom"]


class ToolSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool as the model sees it, and what the loop must know of it.

    `needs_approval` is None where a callable decides call by call. `polling`: it is there to be called again and again, so that
    calling it is no loop.
    """

    name: str
    description: str
    parameters: JsonObject
    strict: bool = True
    effect: Effect = "once"
    needs_approval: bool | None = False
    polling: bool = False


class HandoffSpec(Struct, frozen=True):
    """A handoff as the model sees it (a tool), and the agent it leads to."""

    name: str
    description: str
    parameters: JsonObject
    agent: str
    strict: bool = True


class OutputSpec(Struct, frozen=True):
    """The JSON schema the final output must fit. `strict` asks the provider to enforce it."""

    name: str
    schema: JsonObject
    strict: bool = True


class AgentSpec(Struct, frozen=True):
    """An agent at one turn: only what is enabled then."""

    name: str
    tools: dict[str, ToolSpec] = {}
    handoffs: dict[str, HandoffSpec] = {}
    output: OutputSpec | None = None
    tool_use: ToolUse = "run_llm_again"
    stop_at: frozenset[str] = frozenset()
    output_guardrails: tuple[str, ...] = ()
