"""`Agent`: what a user declares. One agent serves any number of runs at once: a run never changes it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, cast

from msgspec import Struct

from agentsdk.define.context import RunContextWrapper
from agentsdk.define.guardrail import (
    INPUT_GUARDRAILS,
    OUTPUT_GUARDRAILS,
    InputGuardrail,
    OutputGuardrail,
    ToolInputGuardrail,
    ToolOutputGuardrail,
)
from agentsdk.define.handoff import HandoffDeclaration, handoff
from agentsdk.define.hooks import AgentHooks
from agentsdk.define.output import AgentOutputSchema
from agentsdk.define.tool import (
    FailureErrorFunction,
    FunctionTool,
    IsEnabled,
    NeedsApproval,
    default_tool_error_function,
)
from agentsdk.ports.model import MODEL as A_MODEL
from agentsdk.ports.model import Model
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import (
    CALLABLE,
    FLAG,
    Expected,
    Fields,
    a,
    a_name,
    any_text,
    either,
    one_of,
    optional,
    sequence_of,
    whole,
)
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext, TOutput
from agentsdk.types.items import FunctionCallOutput
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import AgentSpec, HandoffSpec, ToolSpec, ToolUse
from agentsdk.types.text import require_text

Instructions = str | Callable[[RunContextWrapper[TContext], "Agent[TContext, Any]"], "str | Awaitable[str]"]


class StopAtTools(Struct, frozen=True):
    """`tool_use_behavior`: the result of any of these tools is the final output."""

    stop_at_tool_names: Sequence[str]

    def __post_init__(self) -> None:
        _STOP_AT.check(self)


_STOP_AT = Fields(
    "StopAtTools",
    stop_at_tool_names=sequence_of(a_name("the name of a tool"), "a list or tuple of tools' names; write ['save']"),
)


class ToolResult(Struct, frozen=True):
    """One finished call, as a `tool_use_behavior` callable sees it."""

    tool_name: str
    arguments: str
    output: FunctionCallOutput


class ToolsToFinalOutputResult(Struct, frozen=True):
    """The answer of a `tool_use_behavior` callable: whether `final_output`, JSON-like or of the output type, ends the run."""

    is_final_output: bool
    final_output: Any = None

    def __post_init__(self) -> None:
        _TO_FINAL_OUTPUT.check(self)


_TO_FINAL_OUTPUT = Fields("ToolsToFinalOutputResult", is_final_output=FLAG)


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

    `model` is a model, a name for the run's provider, or None for its default. Raises `UserError` for a field that is wrong,
    when the agent is made as when it is changed, and for parts that do not fit together when it is first run.
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
        check_agent_fields(self)
        require_text("an agent", self.name)
        self._declared: Declaration | None = None

    if not TYPE_CHECKING:  # to a type checker it would say that an agent takes any attribute

        def __setattr__(self, field: str, value: object) -> None:
            if "_declared" in self.__dict__ and field != "_declared":
                _FIELDS.check_one(field, value, f"agent {self.name!r}")
                object.__setattr__(self, "_declared", None)
            object.__setattr__(self, field, value)

    def clone(self, **changes: Any) -> Self:
        """A copy with some fields replaced; lists are shared unless replaced. Raises `UserError` for a field there is not."""
        if unknown := sorted(changes.keys() - self.__dataclass_fields__.keys()):
            raise UserError(f"agent {self.name!r} has no fields {unknown}, expected some of those that Agent takes")
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
        timeout: float | None = None,
        failure_error_function: FailureErrorFunction[TContext] | None = default_tool_error_function,
        tool_input_guardrails: Sequence[ToolInputGuardrail[TContext]] = (),
        tool_output_guardrails: Sequence[ToolOutputGuardrail[TContext]] = (),
    ) -> AgentTool[TContext]:
        """This agent as a tool of another one: it is given `input`, a text, and its final output is the call's result.

        Its run is part of the caller's: one log, one set of limits, and its approvals are the caller's interruptions.
        `max_turns` limits one call of it, `timeout` (seconds) each stretch of one that no person interrupts. Raises `UserError`
        for an argument that is wrong.
        """
        if tool_name is None:
            tool_name = re.sub(r"[^A-Za-z0-9_-]+", "_", self.name).strip("_")[:64] or "agent"
        if tool_description is None:
            tool_description = self.handoff_description or f"Ask the agent {self.name}."
        return AgentTool(
            self,
            tool_name,
            tool_description,
            custom_output_extractor,
            needs_approval=needs_approval,
            is_enabled=is_enabled,
            max_turns=max_turns,
            timeout=timeout,
            failure_error_function=failure_error_function,
            tool_input_guardrails=tool_input_guardrails,
            tool_output_guardrails=tool_output_guardrails,
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
        **options: Any,
    ) -> None:
        object.__setattr__(self, "agent", agent)
        object.__setattr__(self, "custom_output_extractor", custom_output_extractor)
        object.__setattr__(self, "max_turns", max_turns)
        super().__init__(name, description, _AGENT_INPUT, _no_body, True, is_enabled, needs_approval, effect="none", **options)

    def _set(self, **values: object) -> None:
        super()._set(**values)
        _AGENT_TOOL.check(self, f"tool {self.name!r}")


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
        "_handoffs",
        "_input_guardrails",
        "_name",
        "_output_guardrails",
        "_tools",
        "handoffs",
        "is_static",
        "may_be_guarded",
        "output",
        "polling",
        "request_tools",
        "spec",
        "tools",
    )

    def __init__(self, agent: Agent[Any, Any]) -> None:
        check_agent_fields(agent)  # the lists may have been changed in place
        self._name = agent.name
        self._tools = agent.tools[:]
        self._handoffs = agent.handoffs[:]
        self._input_guardrails = agent.input_guardrails[:]
        self._output_guardrails = agent.output_guardrails[:]
        self._behavior = agent.tool_use_behavior
        self.tools: dict[str, FunctionTool[Any]] = {}
        self.handoffs: dict[str, HandoffDeclaration[Any]] = {}
        for tool in self._tools:
            self._name_once(agent, tool.name)
            self.tools[tool.name] = tool
        for given in self._handoffs:
            declared = handoff(given) if isinstance(given, Agent) else given
            self._name_once(agent, declared.spec.name)
            self.handoffs[declared.spec.name] = declared
        self._extended: Declaration | None = None
        self.polling = frozenset([name for name, tool in self.tools.items() if tool.polling])
        self.output: AgentOutputSchema[Any] | None = _output_schema(agent)
        self.may_be_guarded = bool(self.handoffs)
        for tool in self._tools:
            if tool.tool_input_guardrails or tool.tool_output_guardrails or isinstance(tool, AgentTool):
                self.may_be_guarded = True
        self.is_static = all(tool.is_enabled is True for tool in self.tools.values()) and all(
            declared.is_enabled is True for declared in self.handoffs.values()
        )
        self.spec, self.request_tools = self.enabled(set(self.tools), set(self.handoffs))

    def is_stale(self, agent: Agent[Any, Any]) -> bool:
        """Whether a list of the agent was changed in place since. (A field that is set makes the agent declare itself anew.)"""
        try:
            return not (
                self._tools == agent.tools
                and self._handoffs == agent.handoffs
                and self._input_guardrails == agent.input_guardrails
                and self._output_guardrails == agent.output_guardrails
            )
        except Exception:  # of a comparison of something put into a list that does not belong there
            return True

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
        use, stop_at = _tool_use(self._behavior)
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


def _tool_use(behavior: object) -> tuple[ToolUse, frozenset[str]]:
    if isinstance(behavior, str):
        return ("run_llm_again" if behavior == "run_llm_again" else "stop_on_first_tool"), frozenset()
    if isinstance(behavior, StopAtTools):
        return "stop_at_tools", frozenset(behavior.stop_at_tool_names)
    return "custom", frozenset()


def _is_type(value: object) -> bool:
    """Whether it can stand as an `output_type`: a class, or a form of `typing`'s such as `list[int]` and `int | str`."""
    return isinstance(value, type | AgentOutputSchema) or type(value).__module__ in ("typing", "types", "typing_extensions")


MODEL = optional(either(a_name(""), A_MODEL, what="a model or the name of one; pass 'openai:NAME', say"))
SETTINGS = a(ModelSettings, "ModelSettings; pass ModelSettings(...)")
_NAME = a_name("a non-empty str; name the agent")
_FIELDS = Fields(
    "Agent",
    name=_NAME,
    instructions=optional(either(any_text(""), CALLABLE, what="a str or a callable that gives one; pass the text")),
    tools=sequence_of(
        a(FunctionTool, "a tool; decorate functions with @function_tool, and give agents as agent.as_tool()"),
        "a list or tuple of tools; pass [tool]",
    ),
    handoffs=sequence_of(
        a((Agent, HandoffDeclaration), "an Agent or handoff(agent)"), "a list or tuple of agents; pass [agent]"
    ),
    model=MODEL,
    model_settings=SETTINGS,
    output_type=optional(
        Expected("a type or an AgentOutputSchema; pass a pydantic model, a dataclass, list[int] and so on", _is_type)
    ),
    input_guardrails=INPUT_GUARDRAILS,
    output_guardrails=OUTPUT_GUARDRAILS,
    hooks=optional(a(AgentHooks, "AgentHooks; pass an object of a subclass, RunHooks go to the run")),
    tool_use_behavior=either(
        one_of("", ("run_llm_again", "stop_on_first_tool")),
        a(StopAtTools, ""),
        CALLABLE,
        what="'run_llm_again', 'stop_on_first_tool', StopAtTools([...]) or a callable",
    ),
    handoff_description=any_text("a str; it tells the model when to hand over to this agent"),
    reset_tool_choice=FLAG,
)
_AGENT_TOOL = Fields(
    "Agent.as_tool",
    agent=a(Agent, "an Agent"),
    custom_output_extractor=optional(CALLABLE),
    max_turns=optional(whole("a whole number above 0", 1)),
)


def check_agent_fields(agent: Agent[Any, Any]) -> None:
    """Raises `UserError` for a field of the agent that is wrong."""
    _FIELDS.check_one("name", agent.name)
    _FIELDS.check(agent, f"agent {agent.name!r}")
