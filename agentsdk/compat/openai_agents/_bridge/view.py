"""`View`: what a run, or its state, holds, as the program sees it. Both results, states and errors ask it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agentsdk.compat.openai_agents._bridge.openai_types import built_item
from agentsdk.compat.openai_agents._bridge.raw import NO_ID, built_of
from agentsdk.compat.openai_agents._bridge.replies import item_of, response_of
from agentsdk.compat.openai_agents._bridge.scope import NOTHING, RunScope
from agentsdk.compat.openai_agents.agent import Agent
from agentsdk.compat.openai_agents.exceptions import RunErrorDetails
from agentsdk.compat.openai_agents.items import (
    InputItem,
    ItemHelpers,
    MessageOutputItem,
    ModelResponse,
    RunItem,
    ToolApprovalItem,
    ToolCallOutputItem,
    field_of,
)
from agentsdk.core.next_step import PendingCall, ToolAnswerItem, interruptions
from agentsdk.core.run_state import RunState as OwnState
from agentsdk.core.state import State
from agentsdk.define.agent import Agent as OwnAgent
from agentsdk.define.stream_events import RunItemStreamEvent
from agentsdk.engine.items import ItemWalk
from agentsdk.types.errors import StateMismatchError
from agentsdk.types.events import ApprovalDecided, ApprovalJudged, HandedOff, InputAdded, InputReplaced, ModelReplied
from agentsdk.types.items import FunctionCall, Item


class _Names(Mapping[str, OwnAgent[Any, Any]]):
    """The agents of a translation by name."""

    def __init__(self, scope: RunScope) -> None:
        self._scope = scope

    def __getitem__(self, name: str) -> OwnAgent[Any, Any]:
        agent = self._scope.translation.named_agent(name)
        if agent is None:
            raise StateMismatchError(
                f"the run is at agent {name!r}, expected one that its first agent leads to; give it that handoff"
            )
        return self._scope.translation.own(agent)

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


class View:
    """A state as the program sees it."""

    def __init__(self, scope: RunScope, state: State) -> None:
        self.scope = scope
        self.state = state
        self._items: tuple[int, list[RunItem]] = (-1, [])

    @property
    def new_items(self) -> list[RunItem]:
        """What the run added."""
        if self._items[0] != len(self.state.log):
            found = self._walked()
            if self.scope.handled is not None and self.state.ended is not None:
                found.append(_handled(*self.scope.handled))
            self._items = (len(self.state.log), found)
        return self._items[1]

    def _walked(self) -> list[RunItem]:
        names = _Names(self.scope)
        walk = ItemWalk(names, names[self.state.first_agent])
        found: list[RunItem] = []
        waits: set[str] = set()
        added: list[Item] = []  # enters behind the turn that is open
        calls: dict[str, FunctionCall] = {}  # of the turn
        turn = begun = 0
        for event in self.state.log:
            match event:
                case InputReplaced():
                    found.clear()
                    turn = begun = 0
                case InputAdded(items=items):
                    added += items
                case ModelReplied():
                    _in_order(found, begun, calls)
                    found += [
                        InputItem(self.scope.translation.given(walk.agent), self.scope.originals.entry(item)) for item in added
                    ]
                    added.clear()
                    turn = begun = len(found)
                    calls = {item.call_id: item for item in event.response.output if isinstance(item, FunctionCall)}
                case ApprovalDecided():
                    _in_order(found, begun, calls)
                    begun = len(found)
                case ApprovalJudged(call_id=call_id, needed=True) if call_id not in waits and call_id in calls:
                    waits.add(call_id)
                    found.append(self._approval(PendingCall(calls[call_id], walk.agent.name)))
                case _:
                    pass
            found += [item_of(self.scope, shown.item) for shown in walk.feed(event) if isinstance(shown, RunItemStreamEvent)]
            if isinstance(event, HandedOff) and (filtered := self.scope.handed.get(_call_id(found[-1]))) is not None:
                _in_order(found, begun, calls)
                found[turn:] = filtered.items(found[turn:])
        _in_order(found, begun, calls)
        return found

    @property
    def raw_responses(self) -> list[ModelResponse]:
        """The model's replies."""
        return [response_of(self.scope, event.response) for event in self.state.log if isinstance(event, ModelReplied)]

    @property
    def last_agent(self) -> Agent[Any]:
        """The agent whose turn was the last."""
        return self.scope.translation.given(_Names(self.scope)[self.state.agent])

    def final_output(self, beneath: Any) -> Any:
        """The final output; `beneath` is that of the run beneath."""
        return beneath if self.scope.final_output is NOTHING else self.scope.final_output

    def interruptions(self) -> list[ToolApprovalItem]:
        """The calls that wait for a person, those of nested runs too."""
        found: list[ToolApprovalItem] = []
        for call in interruptions(self.state):
            if isinstance(call, ToolAnswerItem):
                nested = self.scope.nested.get(call.call_id)
                if nested is not None:
                    found += nested.get_interruptions()
            else:
                found.append(self._approval(call))
        return found

    def _approval(self, call: PendingCall) -> ToolApprovalItem:
        scope = self.scope
        raw = scope.originals.raw(call.call)
        if raw is None:
            raw = built_of(call.call)
            scope.originals.keep(call.call, raw)
        agent = scope.translation.named_agent(call.agent)
        tool = scope.tool_named(agent, call.tool_name) if agent is not None else None
        name = call.tool_name
        is_deferred = getattr(tool, "defer_loading", False) and not getattr(tool, "namespace", None)
        key = ("deferred_top_level", name) if is_deferred else None
        origin = getattr(tool, "origin", None)
        return ToolApprovalItem(cast("Agent[Any]", agent), raw, name, tool_origin=origin, tool_lookup_key=key)

    def to_input_list(self, *, is_normalized: bool = False) -> list[Any]:
        """The input and what the run added, as dicts. Normalized, without what a handoff's filter kept from the model."""
        if is_normalized and self.scope.handed:
            entries, made = list[Any](), [self.scope.originals.entry(item) for item in self.state.view]
        else:
            entries = ItemHelpers.input_to_new_input_list(self.scope.original_input)
            made = [item.to_input_item() for item in self.new_items if item.type != "tool_approval_item"]
        if self.scope.is_nested:
            made = [entry for entry in made if entry.get("type") != "message" or entry not in entries]
        if self.scope.config.reasoning_item_id_policy == "omit":
            for item in made:
                if item.get("type") == "reasoning":
                    item.pop("id", None)
        return [*entries, *made]

    def details(self) -> RunErrorDetails:
        """How far the run has come."""
        scope = self.scope
        return RunErrorDetails(
            scope.original_input,
            self.new_items,
            self.raw_responses,
            self.last_agent,
            scope.wrapper,
            scope.input_results,
            scope.output_results,
            scope.tool_input_results,
            scope.tool_output_results,
        )


def _call_id(item: RunItem) -> str:
    return str(field_of(item.raw_item, "call_id"))


def _in_order(found: list[RunItem], begun: int, calls: Mapping[str, FunctionCall]) -> None:
    """Have the results since `begun`, which came as their tools ended, and what waits, in the order of their calls."""
    places = [at for at in range(begun, len(found)) if isinstance(found[at], ToolCallOutputItem | ToolApprovalItem)]
    if len(places) > 1:
        order = {call_id: place for place, call_id in enumerate(calls)}
        results = [found[at] for at in places]
        results.sort(key=lambda item: order.get(_call_id(item), -1))
        for at, result in zip(places, results, strict=True):
            found[at] = result


def _handled(agent: Agent[Any], text: str) -> RunItem:
    """The message that an error handler's output is."""
    part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message: dict[str, Any] = {
        "id": NO_ID,
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    return MessageOutputItem(agent, built_item(message))


def details_of(scope: RunScope, state: OwnState | None) -> RunErrorDetails | None:
    """How far a run had come when it raised; None where none had begun."""
    if state is None or not isinstance(cast(object, state), OwnState) or not state.value.log:
        return None
    return View(scope, state.value).details()
