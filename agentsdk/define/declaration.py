"""`Declaration`: what an agent declares, checked, as plain data: what the engine reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, cast

from agentsdk.core.call_order import find_cycle
from agentsdk.core.output_prompt import prompt_for
from agentsdk.define.agent import Agent, AgentTool, HandoffDeclaration, check_agent_fields
from agentsdk.define.handoff import handoff
from agentsdk.define.output import AgentOutputSchema, media_kinds, one_type
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_use import StopAtTools
from agentsdk.types.errors import UserError
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.spec import AgentSpec, HandoffSpec, ToolSpec, ToolUse

if TYPE_CHECKING:
    from agentsdk.define.output_validator import OutputValidator


Enabled = tuple[AgentSpec, tuple[ToolSpec | HandoffSpec, ...]]
"""The spec of an agent, and its model's tools."""


class Declaration:
    """An agent's declaration, checked, as plain data.

    How the model is brought to its `output`: by a tool that is offered (`output_tool`), by words that follow the instructions
    (`output_prompt`), or by its adapter (`request_output`).

    `nested_agents` may have runs nested in its own: those that are its tools, and those that its output validators ask.

    Raises `UserError` naming agent and field for a wrong one.
    """

    __slots__ = (
        "_behavior",
        "_extended",
        "_lists",
        "_name",
        "_without",
        "handoffs",
        "hosted",
        "is_ordered",
        "is_static",
        "may_be_guarded",
        "nested_agents",
        "output",
        "output_prompt",
        "output_tool",
        "polling",
        "reaches_agents",
        "request_output",
        "request_tools",
        "spec",
        "tools",
        "validators",
    )

    def __init__(self, agent: Agent[Any, Any]) -> None:
        check_agent_fields(agent)  # the lists may have been changed in place
        self._name = agent.name
        self._behavior = agent.tool_use_behavior
        self._lists = tuple([given[:] for given in _lists_of(agent)])
        self.tools: dict[str, FunctionTool[Any]] = {}
        self.handoffs: dict[str, HandoffDeclaration[Any]] = {}
        self.hosted: tuple[HostedTool, ...] = ()
        self._read_tools(agent)
        for given in agent.handoffs:
            declared = handoff(given) if isinstance(given, Agent) else given
            self._name_once(agent, declared.spec.name)
            self.handoffs[declared.spec.name] = declared
        self.validators: tuple[OutputValidator[Any, Any], ...] = ()
        if agent.output_validators:
            from agentsdk.define.output_validator import validators_of  # most agents have none

            self.validators = validators_of(agent.output_validators)
        self._extended: Declaration | None = None
        self.polling = frozenset([name for name, tool in self.tools.items() if tool.polling])
        self.output: AgentOutputSchema[Any] | None = _output_schema(agent)
        output = None if self.output is None else self.output.spec
        self.output_tool: ToolSpec | None = output.tool if output is not None and output.mode == "tool" else None
        self.output_prompt = prompt_for(output) if output is not None and output.mode == "prompted" else ""
        self.request_output = None if self.output_tool is not None or self.output_prompt else output
        self._free_of_output_tool(self.tools | self.handoffs)
        self.nested_agents: list[Agent[Any, Any]] = [tool.agent for tool in self.tools.values() if isinstance(tool, AgentTool)]
        if self.validators:
            asked = [one for validator in self.validators for one in validator.agents]
            self.nested_agents += cast("list[Agent[Any, Any]]", asked)
        self.reaches_agents = bool(self.handoffs or self.nested_agents)
        is_guarded = any(tool.tool_input_guardrails or tool.tool_output_guardrails for tool in self.tools.values())
        self.may_be_guarded = (
            self.reaches_agents or is_guarded or bool(agent.input_guardrails or agent.output_guardrails or self.validators)
        )
        self.is_static = all(tool.is_enabled is True for tool in self.tools.values()) and all(
            declared.is_enabled is True for declared in self.handoffs.values()
        )
        self.is_ordered = self._check_order(knows_all=not agent.toolsets)
        self._without: tuple[tuple[str, ...], Enabled] | None = None
        self.spec, self.request_tools = self._enabled()

    def _read_tools(self, agent: Agent[Any, Any]) -> None:
        hosted: list[HostedTool] = []
        for tool in agent.tools:
            if isinstance(tool, HostedTool):
                hosted.append(tool)
                continue
            self._name_once(agent, tool.name)
            self.tools[tool.name] = tool
        if hosted:
            from agentsdk.define.hosted import read_hosted  # most agents have none

            self.hosted, approvals = read_hosted(self._name, hosted)
            for approval in approvals:
                self.tools.setdefault(approval.name, approval)  # a copy of the agent may have its own

    @classmethod
    def of(cls, agent: Agent[Any, Any]) -> Declaration:
        """The agent's declaration, kept with it: made anew after a field has changed, or one of its lists."""
        kept: Declaration | None = agent._declared  # pyright: ignore[reportPrivateUsage]
        if kept is None or kept.is_stale(agent):
            agent._declared = kept = Declaration(agent)  # pyright: ignore[reportPrivateUsage]
        return kept

    def is_stale(self, agent: Agent[Any, Any]) -> bool:
        """Whether a list of the agent was changed in place since. (A field that is set makes the agent declare itself anew.)"""
        try:
            return self._lists != _lists_of(agent)
        except Exception:  # of a comparison of something put into a list that does not belong there
            return True

    def with_tool(self, tool: FunctionTool[Any]) -> Declaration:
        """This declaration with a tool of the SDK added, cached. A tool or handoff of the agent with the same name is kept."""
        if tool.name in self.tools or tool.name in self.handoffs:
            return self
        if self._extended is None:
            self._extended = more = copy(self)
            more.tools = {**self.tools, tool.name: tool}
            more._without = None
            more.spec, more.request_tools = more._enabled()
        return self._extended

    def with_tools(self, tools: Sequence[FunctionTool[Any]]) -> Declaration:
        """This declaration with more tools, whose names it does not have yet."""
        if not tools:
            return self
        self._free_of_output_tool([tool.name for tool in tools])
        more = copy(self)
        more._extended = None
        more.tools = {**self.tools, **{tool.name: tool for tool in tools}}
        more.is_ordered = more._check_order(knows_all=False)
        more.polling = self.polling | {tool.name for tool in tools if tool.polling}
        more.is_static = self.is_static and all(tool.is_enabled is True for tool in tools)
        more._without = None
        more.spec, more.request_tools = more._enabled()
        return more

    def without(self, disabled: tuple[str, ...]) -> Enabled:
        """The spec, and the model's tools, of the agent with all but these tools and handoffs, hosted ones by `hosted_name`.

        What was made last is kept: most turns leave out what the one before them did.
        """
        known = self._without
        if known is None or known[0] != disabled:
            self._without = known = (disabled, self._enabled(disabled))
        return known[1]

    def _enabled(self, disabled: tuple[str, ...] = ()) -> Enabled:
        tool_specs = {name: tool.spec for name, tool in self.tools.items() if name not in disabled}
        handoff_specs = {name: declared.spec for name, declared in self.handoffs.items() if name not in disabled}
        hosted = self.hosted
        if hosted and disabled:
            hosted = tuple([tool for tool in hosted if hosted_name(tool) not in disabled])
        use, stop_at = _tool_use(self._behavior)
        spec = AgentSpec(
            self._name,
            tool_specs,
            handoff_specs,
            None if self.output is None else self.output.spec,
            use,
            stop_at,
            hosted=self._with_search(hosted, tool_specs),
        )
        told = list(tool_specs.values())
        if self.hosted:  # of an MCP server the provider is told by its own declaration
            told = [tool for tool in told if tool.kind != "mcp_approval"]
        offered: tuple[ToolSpec | HandoffSpec, ...] = (*told, *handoff_specs.values())
        return spec, offered if self.output_tool is None else (*offered, self.output_tool)

    def _with_search(self, hosted: tuple[HostedTool, ...], tools: Mapping[str, ToolSpec]) -> tuple[HostedTool, ...]:
        """The hosted tools of a request with these tools: with the provider's search where some are there to be found by it."""
        told = [name for name, tool in tools.items() if not tool.defer_loading]
        if len(told) == len(tools) and not hosted:
            return hosted
        from agentsdk.types.hosted_tools import ToolSearchTool  # most agents have no such tools

        answer = () if self.output_tool is None else (self.output_tool.name,)
        searches = [tool for tool in hosted if isinstance(tool, ToolSearchTool)]
        if searches:
            if not answer:
                return hosted
            others = [tool for tool in hosted if not isinstance(tool, ToolSearchTool)]
            return (*others, ToolSearchTool(pinned=(*searches[0].pinned, *answer)))
        return hosted if len(told) == len(tools) else (*hosted, ToolSearchTool(pinned=(*told, *answer)))

    def _free_of_output_tool(self, names: Collection[str]) -> None:
        if self.output_tool is not None and self.output_tool.name in names:
            raise UserError(
                f"agent {self._name!r} has a tool or handoff named {self.output_tool.name!r}, expected another name: the model "
                "gives its final output by a call of that name; rename it, or give the output_type another mode"
            )

    def _check_order(self, *, knows_all: bool) -> bool:
        """Whether any tool says something of the order of calls. Raises `UserError` where they would wait for each other for
        ever, and, if no other tools will come, where one waits for calls of a tool there is not."""
        tools = self.tools.values()
        if not any(tool.sequential or tool.after or tool.resource is not None for tool in tools):
            return False
        for tool in tools if knows_all else ():
            if unknown := [name for name in tool.after if name not in self.tools]:
                raise UserError(
                    f"tool {tool.name!r} of agent {self._name!r} comes after {unknown[0]!r}, expected tools of the same agent; "
                    "give the agent that tool, or take the name out of after=..."
                )
        if cycle := find_cycle({tool.name: tool.after for tool in tools}):
            raise UserError(
                f"tools of agent {self._name!r} wait for each other, each comes after the next: "
                f"{' -> '.join(map(repr, cycle))}; expected an end; take one out of after=..., or share a resource=..."
            )
        return True

    def _name_once(self, agent: Agent[Any, Any], name: str) -> None:
        if name in self.tools or name in self.handoffs:
            raise UserError(
                f"agent {agent.name!r} has two tools or handoffs named {name!r}, expected unique names; "
                "rename one with name_override or tool_name_override"
            )


def hosted_name(tool: HostedTool) -> str:
    """What a hosted tool is called among tools that are not offered: no tool of an agent's own has such a name."""
    return f"hosted:{tool.name}"


def _lists_of(agent: Agent[Any, Any]) -> tuple[Sequence[object], ...]:
    """The agent's fields that may be changed in place."""
    return (
        agent.tools,
        agent.handoffs,
        agent.input_guardrails,
        agent.output_guardrails,
        agent.output_validators,
        agent.toolsets,
    )


def _output_schema(agent: Agent[Any, Any]) -> AgentOutputSchema[Any] | None:
    given = agent.output_type
    if given is None or given is str:
        return None
    if isinstance(given, AgentOutputSchema):
        return given
    kind = one_type(given)
    if media_kinds(kind):
        from agentsdk.define.media_output import MediaOutput  # most agents answer in text

        return MediaOutput(kind)
    return AgentOutputSchema(given)


def _tool_use(behavior: object) -> tuple[ToolUse, frozenset[str]]:
    if isinstance(behavior, str):
        return ("run_llm_again" if behavior == "run_llm_again" else "stop_on_first_tool"), frozenset()
    if isinstance(behavior, StopAtTools):
        return "stop_at_tools", frozenset(behavior.stop_at_tool_names)
    return "custom", frozenset()
