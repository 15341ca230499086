"""`Translation`: the agents of a program, and all that hangs on them, as agents of agentsdk."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from typing import Any, cast

from agentsdk.compat.openai_agents import tool as theirs
from agentsdk.compat.openai_agents._bridge.errors import unwrapped_user_error
from agentsdk.compat.openai_agents._bridge.handoffs import own_handoff
from agentsdk.compat.openai_agents._bridge.hooks import BridgedAgentHooks
from agentsdk.compat.openai_agents._bridge.model import AgentModel
from agentsdk.compat.openai_agents._bridge.output import BridgedOutput
from agentsdk.compat.openai_agents._bridge.scope import RunScope, scope_of
from agentsdk.compat.openai_agents._bridge.settings import own_settings
from agentsdk.compat.openai_agents._bridge.tools import Body, own_tool
from agentsdk.compat.openai_agents._changes import Noticed, last_change
from agentsdk.compat.openai_agents.agent import Agent, ToolsToFinalOutputResult
from agentsdk.compat.openai_agents.agent_output import AgentOutputSchema, AgentOutputSchemaBase
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.guardrail import InputGuardrail, OutputGuardrail
from agentsdk.compat.openai_agents.handoffs import Handoff, handoff
from agentsdk.compat.openai_agents.items import ToolCallOutputItem
from agentsdk.compat.openai_agents.logger import logger
from agentsdk.compat.openai_agents.tracing.create import guardrail_span
from agentsdk.define.agent import Agent as OwnAgent
from agentsdk.define.agent import InputGuardrail as OwnInputGuardrail
from agentsdk.define.agent import OutputGuardrail as OwnOutputGuardrail
from agentsdk.define.context import RunContextWrapper as OwnContext
from agentsdk.define.guardrail_output import GuardrailFunctionOutput as OwnVerdict
from agentsdk.define.tool import FunctionTool as OwnTool
from agentsdk.define.tool_use import ToolResult
from agentsdk.define.tool_use import ToolsToFinalOutputResult as OwnFinalOutput
from agentsdk.define.toolset import Toolset, ToolsetContext
from agentsdk.types.hosted import Prompt as OwnPrompt
from agentsdk.types.items import Item


class Translation:
    """The agents that can be reached from one, as agents of agentsdk. Made once, until one of their fields changes."""

    def __init__(self, agent: Agent[Any]) -> None:
        self._own: dict[int, OwnAgent[Any, Any]] = {}
        self._given: dict[int, Agent[Any]] = {}
        self._handoffs: dict[int, list[Handoff[Any, Any]]] = {}
        self._schemas: dict[int, AgentOutputSchemaBase | None] = {}
        self._tools: dict[int, list[theirs.Tool]] = {}
        self._at_provider: dict[int, list[theirs.Tool]] = {}
        self._names: dict[str, Agent[Any]] = {}
        self.has_hooks = False
        self.first = self.own(agent)

    def own(self, agent: Agent[Any]) -> OwnAgent[Any, Any]:
        """The agent of agentsdk that stands for `agent`."""
        known = self._own.get(id(agent))
        if known is not None:
            return known
        name, number = agent.name, 1
        while name in self._names:  # agentsdk tells the agents of a run by their names, openai-agents by themselves
            number += 1
            name = f"{agent.name} ({number})"
        made: OwnAgent[Any, Any] = OwnAgent(name=name)
        self._names[name] = agent
        self._own[id(agent)] = made
        self._given[id(made)] = agent
        self._fill(made, agent)
        return made

    def adopt(self, made: OwnAgent[Any, Any], agent: Agent[Any]) -> None:
        """Have `made`, whose place was kept for it, stand for `agent`."""
        self._own.setdefault(id(agent), made)
        self._names.setdefault(made.name, agent)
        self._given[id(made)] = agent
        self._fill(made, agent)

    def refresh(self, agent: Agent[Any]) -> None:
        """See tools that were added to an agent, or taken from it, since the run began: they count from its next turn on."""
        known = self._tools.get(id(agent))
        if known is not None and known != agent.tools:
            self._translate_tools(self._own[id(agent)], agent)

    def given(self, own: Any) -> Agent[Any]:
        """The program's agent that one of agentsdk stands for."""
        return self._given[id(own)]

    def named_agent(self, name: str) -> Agent[Any] | None:
        """The program's agent of that name."""
        return self._names.get(name)

    def handoffs(self, agent: Agent[Any]) -> list[Handoff[Any, Any]]:
        """Its handoffs, those to plain agents declared."""
        return self._handoffs.get(id(agent), [])

    def output_schema(self, agent: Agent[Any]) -> AgentOutputSchemaBase | None:
        """The schema of its output; None for plain text."""
        if id(agent) not in self._schemas:
            kind: Any = agent.output_type
            schema = None
            if isinstance(kind, AgentOutputSchemaBase):
                schema = kind
            elif kind is not None and kind is not str:
                schema = AgentOutputSchema(kind)
            self._schemas[id(agent)] = schema
        return self._schemas[id(agent)]

    def tool(self, own: OwnTool[Any]) -> theirs.Tool:
        """The program's tool that one of agentsdk stands for."""
        body = own._body  # pyright: ignore[reportPrivateUsage]
        return cast("theirs.Tool", body.tool if isinstance(body, Body) else own)

    def is_offered(self, tool: theirs.Tool, names: set[str]) -> bool:
        """Whether a tool is among those that the model is told of this turn."""
        match tool:
            case theirs.FunctionTool() | theirs.CustomTool():
                return tool.name in names
            case _:
                return True

    def at_provider(self, agent: Agent[Any]) -> list[theirs.Tool]:
        """The tools of an agent that the provider runs and agentsdk has no declaration of."""
        return self._at_provider.get(id(agent), [])

    def _translate_tools(self, made: OwnAgent[Any, Any], agent: Agent[Any]) -> None:
        self._tools[id(agent)] = list(agent.tools)
        handed = {one.tool_name for one in self._handoffs.get(id(agent), ())}
        given = [(tool, own_tool(tool, agent)) for tool in _told_apart(agent, handed)]
        made.tools = [own for _, own in given if own is not None]
        self._at_provider[id(agent)] = [tool for tool, own in given if own is None]

    def _fill(self, made: OwnAgent[Any, Any], agent: Agent[Any]) -> None:
        self.has_hooks = self.has_hooks or agent.hooks is not None
        declared = [_declared(one, agent) for one in agent.handoffs]
        self._handoffs[id(agent)] = declared
        self._translate_tools(made, agent)
        schema = self.output_schema(agent)
        fields = OwnAgent(
            name=agent.name,
            instructions=_instructions(agent),
            tools=made.tools,
            handoffs=cast("list[Any]", [own_handoff(self, one, agent) for one in declared]),
            model=cast(Any, AgentModel(agent)),
            model_settings=own_settings(agent.model_settings),
            output_type=None if schema is None or schema.is_plain_text() else BridgedOutput(schema),
            input_guardrails=[own_input_guardrail(one, agent) for one in agent.input_guardrails],
            output_guardrails=[own_output_guardrail(one, agent) for one in agent.output_guardrails],
            hooks=None if agent.hooks is None else BridgedAgentHooks(agent.hooks),
            tool_use_behavior=_tool_use(agent),
            handoff_description=agent.handoff_description or "",
            reset_tool_choice=agent.reset_tool_choice,
            toolsets=[_ServerTools(agent)] if agent.mcp_servers else [],
            prompt=_prompt(agent),
        )
        for field in dataclasses.fields(fields):
            if field.name != "name":
                setattr(made, field.name, getattr(fields, field.name))


class _ServerTools(Toolset[Any]):
    """The tools of an agent's MCP servers, listed each turn."""

    name = "compat"

    def __init__(self, agent: Agent[Any]) -> None:
        self._agent = agent

    async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[OwnTool[Any]]:
        agent, scope = self._agent, scope_of(context)
        found = await agent.get_mcp_tools(scope.wrapper)
        scope.turn_tools[id(agent)] = found
        made: list[Any] = [own_tool(tool, agent) for tool in found]
        return [cast("OwnTool[Any]", one) for one in made if isinstance(one, OwnTool)]


def _told_apart(agent: Agent[Any], handoffs: set[str]) -> list[theirs.Tool]:
    """The agent's tools, of one name the last; a handoff's name is the handoff's."""
    last = {tool.name: tool for tool in agent.tools if isinstance(tool, theirs.FunctionTool)}
    kept = [tool for tool in agent.tools if tool.name not in handoffs and last.get(tool.name, tool) is tool]
    if len(kept) < len(agent.tools):
        logger.warning("agent %r has tools and handoffs of one name, of which the model is told one; rename them", agent.name)
    return kept


def raise_for_collisions(agent: Agent[Any]) -> None:
    """Raises `UserError` for an agent, or one that it leads to, with function tools or handoffs of one name."""
    waiting, seen = [agent], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        declared = [_declared(given, one) for given in one.handoffs]
        names = [tool.name for tool in one.tools if isinstance(tool, theirs.FunctionTool) and not tool.namespace]
        names += [given.tool_name for given in declared]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UserError(
                f"agent {one.name!r} has several tools or handoffs named {', '.join(map(repr, twice))}, expected unique names "
                "under tool_name_collision_policy='error'; rename them"
            )
        waiting += [given.agent for given in declared if cast("Agent[Any] | None", given.agent) is not None]


def _declared(given: Any, agent: Agent[Any]) -> Handoff[Any, Any]:
    if isinstance(given, Handoff):
        return cast("Handoff[Any, Any]", given)
    if isinstance(given, Agent):
        return handoff(cast("Agent[Any]", given))
    raise UserError(
        f"agent {agent.name!r} has a {type(given).__name__} among its handoffs, expected an Agent or what handoff() returns; "
        f"import both from {__name__.partition('._bridge')[0]}"
    )


def _instructions(agent: Agent[Any]) -> Any:
    given = agent.instructions
    if given is None or isinstance(given, str):
        return given

    async def instructions(ctx: OwnContext[Any], own: OwnAgent[Any, Any]) -> str:
        return await agent.get_system_prompt(scope_of(ctx).wrapper) or ""

    return instructions


def _prompt(agent: Agent[Any]) -> Any:
    if agent.prompt is None:
        return None

    async def prompt(ctx: OwnContext[Any], own: OwnAgent[Any, Any]) -> OwnPrompt:
        given = await agent.get_prompt(scope_of(ctx).wrapper)
        assert given is not None
        return OwnPrompt(given["id"], given.get("version"), given.get("variables"))

    return prompt


def own_input_guardrail(guardrail: InputGuardrail[Any], agent: Agent[Any] | None) -> OwnInputGuardrail[Any]:
    """An input guardrail of the program for the run beneath."""
    _require(guardrail, InputGuardrail)

    async def ask(ctx: OwnContext[Any], own: OwnAgent[Any, Any], items: tuple[Item, ...]) -> OwnVerdict:
        scope = scope_of(ctx)
        asked = guardrail.run(agent or scope.translation.given(own), scope.original_input, scope.wrapper)
        result = await (_in_span(guardrail.get_name(), asked) if scope.is_traced else asked)
        scope.input_results.append(result)
        if result.output.tripwire_triggered:
            scope.tripped = result
            if scope.session is not None:
                await scope.session.keep_input()
        return OwnVerdict(None, bool(result.output.tripwire_triggered))

    return OwnInputGuardrail(ask, guardrail.get_name(), guardrail.run_in_parallel)


def own_output_guardrail(guardrail: OutputGuardrail[Any], agent: Agent[Any] | None) -> OwnOutputGuardrail[Any]:
    """An output guardrail of the program for the run beneath."""
    _require(guardrail, OutputGuardrail)

    async def ask(ctx: OwnContext[Any], own: OwnAgent[Any, Any], output: Any) -> OwnVerdict:
        from agentsdk.compat.openai_agents._bridge.hooks import scope_output

        scope = scope_of(ctx)
        given = scope_output(scope, output)
        asked = guardrail.run(scope.wrapper, agent or scope.translation.given(own), given)
        result = await (_in_span(guardrail.get_name(), asked) if scope.is_traced else asked)
        scope.output_results.append(result)
        if result.output.tripwire_triggered:
            scope.tripped = result
        return OwnVerdict(None, bool(result.output.tripwire_triggered))

    return OwnOutputGuardrail(ask, guardrail.get_name())


async def _in_span(name: str, asked: Awaitable[Any]) -> Any:
    """What a guardrail says, in a span of its own."""
    with guardrail_span(name) as span:
        result = await asked
        span.span_data.triggered = bool(result.output.tripwire_triggered)
        return result


def _require(guardrail: object, kind: type) -> None:
    if not isinstance(guardrail, kind):
        raise UserError(
            f"a guardrail is a {type(guardrail).__name__} of {type(guardrail).__module__!r}, expected an {kind.__name__} of "
            f"{kind.__module__!r}; import its decorator from there"
        )


def _tool_use(agent: Agent[Any]) -> Any:
    given: Any = agent.tool_use_behavior
    if given == "run_llm_again":
        return given
    names: Iterable[str] | None = agent.__dict__["tool_use_behavior"]["stop_at_tool_names"] if _is_dict(given) else None

    async def decide(ctx: OwnContext[Any], results: list[ToolResult]) -> OwnFinalOutput:
        scope = scope_of(ctx)
        outputs: list[Any] = [scope.outputs.get(result.output.call_id, result.output.output) for result in results]
        if not callable(given):
            for place, result in enumerate(results):
                if names is None or result.tool_name in names:
                    return _final(scope, agent, outputs[place])
            return OwnFinalOutput(False)
        told = [
            theirs.FunctionToolResult(
                scope.tool_named(agent, result.tool_name),
                output,
                ToolCallOutputItem(agent, scope.originals.entry(result.output), output),
            )
            for result, output in zip(results, outputs, strict=True)
        ]
        decided = given(scope.wrapper, told)
        answer = await decided if inspect.isawaitable(decided) else decided
        if not isinstance(answer, ToolsToFinalOutputResult):
            raise UserError(
                f"tool_use_behavior of agent {agent.name!r} returned {type(answer).__name__!r}, expected a "
                "ToolsToFinalOutputResult"
            )
        return _final(scope, agent, answer.final_output) if answer.is_final_output else OwnFinalOutput(False)

    return decide


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


def _final(scope: RunScope, agent: Agent[Any], output: Any) -> OwnFinalOutput:
    """The run ends with `output`: as text where the agent's output is text, else as it is. The run beneath keeps text."""
    text = output if isinstance(output, str) else str(output)
    scope.final_output = text if agent.output_type in (None, str) else output
    return OwnFinalOutput(True, text)


def translation_of(agent: Agent[Any]) -> Translation:
    """The translation of an agent: the last one, unless it or one that it leads to has changed since."""
    kept: _Kept | None = getattr(agent, "translated", None)
    if kept is not None and kept.agent is agent and kept.holds():
        return kept.translation
    try:
        made = Translation(agent)
    except Exception as error:
        raise unwrapped_user_error(error) from error
    agent.translated = _Kept(agent, made)
    return made


class _Kept:
    """A translation, and what it was made of: the fields of agents, settings, tools and handoffs, as they are and as they were.

    Where none was set since, it is enough to look at what may be changed in place.
    """

    __slots__ = ("_change", "_fields", "_fields_then", "_in_place", "_in_place_then", "agent", "translation")

    def __init__(self, agent: Agent[Any], translation: Translation) -> None:
        self.agent = agent  # a copied agent brings along what was kept of the one that it was copied from
        self.translation = translation
        self._change = last_change()
        self._fields: list[dict[str, Any]] = []
        self._fields_then: list[dict[str, Any]] = []
        self._in_place: list[Any] = []
        self._in_place_then: list[Any] = []
        for part in _parts(agent):
            now: dict[str, Any] = part.__dict__
            then = _copied(now)
            self._fields.append(now)
            self._fields_then.append(then)
            if isinstance(part, Noticed):
                lists = [name for name, one in now.items() if isinstance(one, list)]
                self._in_place += [now[name] for name in lists]
                self._in_place_then += [then[name] for name in lists]
            else:
                self._in_place.append(now)
                self._in_place_then.append(then)

    def holds(self) -> bool:
        """Whether nothing has changed since."""
        change = last_change()
        if change is self._change:
            return self._in_place == self._in_place_then
        if self._fields != self._fields_then:
            return False
        self._change = change
        return True


def _copied(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields as they are now: the lists among them may be changed in place."""
    return {name: cast("list[Any]", value).copy() if isinstance(value, list) else value for name, value in fields.items()}


def _parts(agent: Agent[Any]) -> Iterator[Any]:
    """What a translation of `agent` is made of."""
    known, waiting = set[int](), [agent]
    while waiting:
        one = waiting.pop()
        if id(one) in known:
            continue
        known.add(id(one))
        yield one
        yield one.model_settings
        yield from one.tools
        for target in one.handoffs:
            given: Any = target
            if isinstance(given, Handoff):
                yield given
                given = cast("Any", given).agent
            if isinstance(given, Agent):
                waiting.append(cast("Agent[Any]", given))
