"""`Agent`: what a user declares. One agent serves any number of runs at once: a run never changes it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Self, cast

from msgspec import Struct

from agentsdk.define.context import RunContextWrapper
from agentsdk.define.guardrail import InputGuardrail, OutputGuardrail
from agentsdk.define.handoff import HandoffDeclaration, handoff
from agentsdk.define.hooks import AgentHooks
from agentsdk.define.output import AgentOutputSchema
from agentsdk.define.tool import FunctionTool, IsEnabled, NeedsApproval
from agentsdk.ports.model import Model
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext, TOutput
from agentsdk.types.items import FunctionCallOutput
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import AgentSpec, HandoffSpec, ToolSpec, ToolUse

Instructions = str | Callable[[RunContextWrapper[TContext], "Agent[TContext, Any]"], "str | Awaitable[str]"]


class StopAtTools(Struct, frozen=True):
    """`tool_use_behavior`: the result of any of these tools is the final output."""

    stop_at_tool_names: Sequence[str]


class ToolResult(Struct, frozen=True):
    """One finished call, as a `tool_use_behavior` callable sees it."""

    tool_name: str
    arguments: str
    output: FunctionCallOutput


class ToolsToFinalOutputResult(Struct, frozen=True):
    """The answer of a `tool_use_behavior` callable: whether `final_output`, JSON-like or of the output type, ends the run."""

    is_final_output: bool
    final_output: Any = None


ToolUseBehavior = (
    Literal["run_llm_again", "stop_on_first_tool"]
    | StopAtTools
    | Callable[
        [RunContextWrapper[TContext], list[ToolResult]],
        "ToolsToFinalOutputResult | Awaitable[ToolsToFinalOutputResult]",
    ]
)


@dataclass(eq=False, repr=False)
class Agent(Generic[TContext, TOutput]):
    """A model with instructions, tools, handoffs, guardrails and an output type.

    `model` is a model, a name for the run's provider, or None for its default. Raises `UserError` for a wrong declaration when
    it is first run.
    """

    name: str
    instructions: Instructions[TContext] | None = None
    tools: Sequence[FunctionTool[TContext]] = field(default_factory=list[FunctionTool[TContext]])
    handoffs: Sequence[Agent[TContext, Any] | HandoffDeclaration[TContext]] = field(
        default_factory=list["Agent[TContext, Any] | HandoffDeclaration[TContext]"]
    )
    model: str | Model | None = None
    model_settings: ModelSettings = ModelSettings()
    output_type: type[TOutput] | AgentOutputSchema[TOutput] | None = None
    # cast: of a bare `()` pyright would infer an unknown context for the whole agent.
    input_guardrails: Sequence[InputGuardrail[TContext]] = cast("tuple[InputGuardrail[TContext], ...]", ())
    output_guardrails: Sequence[OutputGuardrail[TContext]] = cast("tuple[OutputGuardrail[TContext], ...]", ())
    hooks: AgentHooks[TContext] | None = None
    tool_use_behavior: ToolUseBehavior[TContext] = "run_llm_again"
    handoff_description: str = ""
    reset_tool_choice: bool = True

    def __repr__(self) -> str:
        return f"Agent(name={self.name!r})"

    def __post_init__(self) -> None:
        if not isinstance(cast(object, self.name), str) or not self.name:
            raise UserError(f"Agent(name={self.name!r}), expected a non-empty str; name the agent")
        self._declared: Declaration | None = None

    def clone(self, **changes: Any) -> Self:
        """A copy with some fields replaced; lists are shared unless replaced."""
        return replace(self, **changes)

    def as_tool(
        self,
        tool_name: str | None = None,
        tool_description: str | None = None,
        custom_output_extractor: Callable[[TOutput], object | Awaitable[object]] | None = None,
        *,
        needs_approval: bool | NeedsApproval[TContext] = False,
        is_enabled: bool | IsEnabled[TContext] = True,
        max_turns: int | None = None,
    ) -> AgentTool[TContext]:
        """This agent as a tool of another one: it is given `input`, a text, and its final output is the call's result.

        Its run is part of the caller's: one log, one set of limits, and its approvals are the caller's interruptions.
        `max_turns` limits one call of it.
        """
        return AgentTool(
            self,
            tool_name or re.sub(r"[^A-Za-z0-9_-]+", "_", self.name).strip("_") or "agent",
            tool_description or self.handoff_description or f"Ask the agent {self.name}.",
            custom_output_extractor,
            needs_approval=needs_approval,
            is_enabled=is_enabled,
            max_turns=max_turns,
        )

    def declaration(self) -> Declaration:
        """What the agent declares, as the engine reads it: built once, and again after a field has changed."""
        declared = self._declared
        if declared is None or declared.is_stale(self):
            self._declared = declared = Declaration(self)
        return declared


class AgentTool(FunctionTool[TContext]):
    """What `agent.as_tool()` returns. Running it again is harmless: what its nested run did is recorded step by step."""

    __slots__ = ("agent", "custom_output_extractor", "max_turns")
    agent: Agent[TContext, Any]
    custom_output_extractor: Callable[[Any], object] | None
    max_turns: int | None

    def __init__(
        self,
        agent: Agent[TContext, Any],
        name: str,
        description: str,
        custom_output_extractor: Callable[[Any], object] | None,
        *,
        needs_approval: bool | NeedsApproval[TContext],
        is_enabled: bool | IsEnabled[TContext],
        max_turns: int | None,
    ) -> None:
        super().__init__(
            name, description, _AGENT_INPUT, _no_body, True, is_enabled, needs_approval, effect="none"
        )
        object.__setattr__(self, "agent", agent)
        object.__setattr__(self, "custom_output_extractor", custom_output_extractor)
        object.__setattr__(self, "max_turns", max_turns)


_AGENT_INPUT: JsonObject = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


async def _no_body(context: object, arguments: str) -> object:
    raise UserError("an agent as tool runs only inside a run, expected Runner.run to call it; run its agent instead")


class Declaration:
    """An agent's declaration, checked and made plain.

    Raises `UserError` naming agent and field for a wrong one.
    """

    __slots__ = (
        "_behavior",
        "_extended",
        "_guardrails",
        "_handoffs",
        "_name",
        "_output_type",
        "_tools",
        "handoffs",
        "is_static",
        "output",
        "polling",
        "request_tools",
        "spec",
        "tools",
    )

    def __init__(self, agent: Agent[Any, Any]) -> None:
        self._name = agent.name
        self._tools = list(agent.tools)
        self._handoffs = list(agent.handoffs)
        self._output_type = agent.output_type
        self._behavior = agent.tool_use_behavior
        self._guardrails = agent.output_guardrails
        self.tools: dict[str, FunctionTool[Any]] = {}
        self.handoffs: dict[str, HandoffDeclaration[Any]] = {}
        for tool in self._tools:
            if not isinstance(cast(object, tool), FunctionTool):
                raise UserError(
                    f"agent {agent.name!r} has a {type(tool).__name__!r} among its tools, expected tools; "
                    "decorate functions with @function_tool"
                )
            self._name_once(agent, tool.name)
            self.tools[tool.name] = tool
        for given in self._handoffs:
            declared = handoff(given) if isinstance(given, Agent) else given
            if not isinstance(cast(object, declared), HandoffDeclaration):
                raise UserError(
                    f"agent {agent.name!r} has a {type(given).__name__!r} among its handoffs, expected agents or handoff(agent)"
                )
            self._name_once(agent, declared.spec.name)
            self.handoffs[declared.spec.name] = declared
        self._extended: Declaration | None = None
        self.polling = frozenset([name for name, tool in self.tools.items() if tool.polling])
        self.output: AgentOutputSchema[Any] | None = _output_schema(agent)
        self.is_static = all(tool.is_enabled is True for tool in self.tools.values()) and all(
            declared.is_enabled is True for declared in self.handoffs.values()
        )
        self.spec, self.request_tools = self.enabled(set(self.tools), set(self.handoffs))

    def is_stale(self, agent: Agent[Any, Any]) -> bool:
        """Whether a field of the agent changed since."""
        return not (
            self._tools == agent.tools
            and self._handoffs == agent.handoffs
            and self._output_type is agent.output_type
            and self._behavior is agent.tool_use_behavior
            and self._guardrails is agent.output_guardrails
            and self._name == agent.name
        )

    def with_tool(self, tool: FunctionTool[Any]) -> Declaration:
        """This declaration and a tool of the SDK's, the same object each time. What the agent itself names so stands."""
        if tool.name in self.tools or tool.name in self.handoffs:
            return self
        if self._extended is None:
            self._extended = more = copy(self)
            more.tools = {**self.tools, tool.name: tool}
            more.spec, more.request_tools = more.enabled(set(more.tools), set(more.handoffs))
        return self._extended

    def enabled(self, tools: set[str], handoffs: set[str]) -> tuple[AgentSpec, tuple[ToolSpec | HandoffSpec, ...]]:
        """The spec, and the model's tools, of an agent of which only these tools and handoffs are enabled."""
        tool_specs = {name: tool.spec for name, tool in self.tools.items() if name in tools}
        handoff_specs = {name: declared.spec for name, declared in self.handoffs.items() if name in handoffs}
        use, stop_at = _tool_use(self._behavior, self._name)
        spec = AgentSpec(
            self._name,
            tool_specs,
            handoff_specs,
            None if self.output is None else self.output.spec,
            use,
            stop_at,
        )
        return spec, (*tool_specs.values(), *handoff_specs.values())

    def _name_once(self, agent: Agent[Any, Any], name: str) -> None:
        if name in self.tools or name in self.handoffs:
            raise UserError(
                f"agent {agent.name!r} has two tools or handoffs named {name!r}, expected unique names; "
                "rename one with name_override or tool_name_override"
            )


def _output_schema(agent: Agent[Any, Any]) -> AgentOutputSchema[Any] | None:
    given = agent.output_type
    if given is None or given is str:
        return None
    return given if isinstance(given, AgentOutputSchema) else AgentOutputSchema(given)


def _tool_use(behavior: object, name: str) -> tuple[ToolUse, frozenset[str]]:
    if behavior == "run_llm_again":
        return "run_llm_again", frozenset()
    if behavior == "stop_on_first_tool":
        return "stop_on_first_tool", frozenset()
    if isinstance(behavior, StopAtTools):
        return "stop_at_tools", frozenset(behavior.stop_at_tool_names)
    if callable(behavior):
        return "custom", frozenset()
    raise UserError(
        f"agent {name!r} has tool_use_behavior={behavior!r}, expected 'run_llm_again', 'stop_on_first_tool', "
        "StopAtTools([...]) or a callable"
    )
