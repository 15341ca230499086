"""Handoffs of the program, as those of agentsdk."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any, cast

from agentsdk.compat.openai_agents._answers import is_yes
from agentsdk.compat.openai_agents._bridge.handed import Filtered
from agentsdk.compat.openai_agents._bridge.output import AsItIs
from agentsdk.compat.openai_agents._bridge.replies import raw_of
from agentsdk.compat.openai_agents._bridge.scope import RunScope, current_scope, scope_of
from agentsdk.compat.openai_agents.agent import Agent
from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError, UserError
from agentsdk.compat.openai_agents.handoffs import Handoff, HandoffInputData
from agentsdk.compat.openai_agents.handoffs.history import nest_handoff_history
from agentsdk.compat.openai_agents.items import (
    HandoffCallItem,
    HandoffOutputItem,
    ItemHelpers,
    MessageOutputItem,
    ReasoningItem,
    RunItem,
    ToolCallItem,
    ToolCallOutputItem,
)
from agentsdk.compat.openai_agents.tracing.create import handoff_span
from agentsdk.define.agent import Agent as OwnAgent
from agentsdk.define.agent import HandoffDeclaration
from agentsdk.define.context import RunContextWrapper as OwnContext
from agentsdk.define.handoff_filter import HandoffInputData as OwnInputData
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, Reasoning
from agentsdk.types.spec import HandoffSpec

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents._bridge.agents import Translation


def own_handoff(translation: Translation, given: Handoff[Any, Any], agent: Agent[Any]) -> HandoffDeclaration[Any]:
    """A handoff for the run beneath. The agent of one made by hand is known when it is handed over to."""
    known = cast("Agent[Any] | None", given.agent)
    target = translation.own(known) if known is not None else OwnAgent(name=given.agent_name)
    result = json.dumps({"assistant": given.agent_name}) if known is None else given.get_transfer_message(known)
    spec = HandoffSpec(given.tool_name, given.tool_description, given.input_json_schema, target.name, given.strict_json_schema)

    async def take(scope: RunScope, arguments: str) -> None:
        if scope.is_traced:
            with handoff_span(agent.name) as span:
                reached: Any = await given.on_invoke_handoff(scope.wrapper, arguments)
                span.span_data.to_agent = getattr(reached, "name", None)
        else:
            reached = await given.on_invoke_handoff(scope.wrapper, arguments)
        if not isinstance(reached, Agent):
            raise UserError(
                f"the handoff {given.tool_name!r} gave {type(reached).__name__!r}, expected an Agent; return the one that "
                "takes over"
            )
        if known is None or reached is not known:
            if reached.name != given.agent_name:
                raise ModelBehaviorError(
                    f"the handoff {given.tool_name!r} gave agent {reached.name!r}, expected the one that it names, "
                    f"{given.agent_name!r}"
                )
            translation.adopt(target, cast("Agent[Any]", reached))

    async def on_handoff(ctx: OwnContext[Any], arguments: str) -> None:
        scope = scope_of(ctx)
        if scope.invoked is not given:
            await take(scope, arguments)
        scope.invoked = None

    async def input_filter(data: OwnInputData) -> OwnInputData:
        scope = current_scope()
        if not _is_filtered(given, scope):
            return data
        call = next(one for one in data.new_items if isinstance(one, FunctionCall) and one.name == given.tool_name)
        await take(scope, call.arguments)  # a filter may lean on what the handoff's callback does
        scope.invoked = given
        if scope.hooks is not None:
            await scope.hooks.handed_over(scope, translation.own(agent), target)
            scope.is_handoff_told = True
        return await _filtered(given, agent, scope, data, call.call_id)

    enabled: Any = given.is_enabled
    if callable(enabled):
        rule = enabled

        async def asked(ctx: OwnContext[Any], own: OwnAgent[Any, Any]) -> bool:
            return await is_yes(rule(scope_of(ctx).wrapper, agent))

        enabled = asked
    return HandoffDeclaration(target, spec, on_handoff, cast(Any, AsItIs()), input_filter, enabled, result)


def _is_filtered(given: Handoff[Any, Any], scope: RunScope) -> bool:
    config, nested = scope.config, given.nest_handoff_history
    is_nested = config.nest_handoff_history if nested is None else nested
    return bool(given.input_filter or config.handoff_input_filter or is_nested)


async def _filtered(
    given: Handoff[Any, Any], agent: Agent[Any], scope: RunScope, data: OwnInputData, call_id: str
) -> OwnInputData:
    """What the next agent sees, and the run has as its input and its items from now on."""
    history, before = _split(scope, data)
    sorted_ = _Sorted(scope, agent, given)
    turn = [sorted_.run_item(item) for item in data.new_items]
    turn.sort(key=lambda item: isinstance(item, HandoffOutputItem))  # the results of tools come first
    told = HandoffInputData(history, tuple([sorted_.run_item(item) for item in before]), tuple(turn), scope.wrapper)
    chosen = given.input_filter or scope.config.handoff_input_filter
    if chosen is not None:
        answer = chosen(told)
        told = await answer if inspect.isawaitable(answer) else answer
        if not isinstance(cast(object, told), HandoffInputData):
            raise UserError(
                f"the input_filter of handoff {given.tool_name!r} returned {type(told).__name__!r}, expected a HandoffInputData"
            )
    else:
        told = nest_handoff_history(told, history_mapper=scope.config.handoff_history_mapper)
    left = told.input_history
    scope.original_input = left if isinstance(left, str) else list(left)
    scope.is_nested = chosen is None
    scope.handed[call_id] = Filtered.of(turn, told.new_items)
    new = told.new_items if told.input_items is None else told.input_items
    return OwnInputData(
        tuple([scope.originals.item(entry) for entry in ItemHelpers.input_to_new_input_list(scope.original_input)]),
        tuple([sorted_.item(item) for item in told.pre_handoff_items]),
        tuple([sorted_.item(item) for item in new]),
    )


def _split(scope: RunScope, data: OwnInputData) -> tuple[str | tuple[Any, ...], tuple[Item, ...]]:
    """The run's input, and what followed it before this turn. Once a filter was asked, the run beneath has both as one."""
    given, items = scope.original_input, (*data.input_history, *data.pre_handoff_items)
    if isinstance(given, str):
        return given, items[1:]
    return tuple(given), items[len(given) :]


class _Sorted:
    """Items as run items, and back."""

    def __init__(self, scope: RunScope, agent: Agent[Any], given: Handoff[Any, Any]) -> None:
        self._scope = scope
        self._agent = agent
        self._names = {one.tool_name: one for one in scope.translation.handoffs(agent)} | {given.tool_name: given}
        self._handed: set[str] = set()
        self._items: dict[int, tuple[RunItem, Item]] = {}

    def run_item(self, item: Item) -> RunItem:
        """A run item for it, of the agent that hands over."""
        made = self._made(item)
        self._items[id(made)] = (made, item)
        return made

    def item(self, item: RunItem) -> Item:
        """The item of a run item: the same, unless a filter has made a new one."""
        known = self._items.get(id(item))
        return known[1] if known is not None else self._scope.originals.item(item.to_input_item())

    def _made(self, item: Item) -> RunItem:
        scope, agent = self._scope, self._agent
        match item:
            case FunctionCall(name=name) if name in self._names:
                self._handed.add(item.call_id)
                return HandoffCallItem(agent, raw_of(scope, item))
            case FunctionCall():
                return ToolCallItem(agent, raw_of(scope, item))
            case FunctionCallOutput(call_id=call_id) if call_id in self._handed:
                return HandoffOutputItem(agent, scope.originals.entry(item), agent, agent)
            case FunctionCallOutput():
                shown = scope.outputs.get(item.call_id, item.output)
                return ToolCallOutputItem(agent, scope.originals.entry(item), shown)
            case Message():
                return MessageOutputItem(agent, raw_of(scope, item))
            case Reasoning():
                return ReasoningItem(agent, raw_of(scope, item))
            case _:
                return ToolCallItem(agent, raw_of(scope, item))
