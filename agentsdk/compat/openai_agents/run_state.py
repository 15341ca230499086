"""`RunState`: a snapshot of a run. A person decides on it, and `Runner.run` goes on with it."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, cast

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents._bridge.agents import translation_of
from agentsdk.compat.openai_agents._bridge.handed import Filtered
from agentsdk.compat.openai_agents._bridge.scope import RunScope
from agentsdk.compat.openai_agents._bridge.tools import rejection_text
from agentsdk.compat.openai_agents._bridge.view import View
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.items import ItemHelpers, ToolApprovalItem, plain
from agentsdk.compat.openai_agents.run_config import DEFAULT_MAX_TURNS, RunConfig
from agentsdk.compat.openai_agents.run_context import Decision, RunContextWrapper, TContext
from agentsdk.compat.openai_agents.tracing.traces import ResumedTrace, saved_trace
from agentsdk.compat.openai_agents.usage import deserialize_usage, serialize_usage, usage_of
from agentsdk.core.next_step import PendingCall, ToolAnswerItem
from agentsdk.core.next_step import ToolApprovalItem as OwnApproval
from agentsdk.core.run_state import RunState as OwnState
from agentsdk.types.errors import AgentsException as OwnError
from agentsdk.types.events import ModelReplied

if sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    from typing_extensions import TypeVar

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent

TAgent = TypeVar("TAgent", default=Any)
CURRENT_SCHEMA_VERSION = "agentsdk.1"
_FORMAT = "agentsdk_compat"


class RunState(Generic[TContext, TAgent]):
    """A snapshot of a run. Its text is in agentsdk's own format, which openai-agents cannot read, nor the other way round."""

    def __init__(
        self,
        context: RunContextWrapper[TContext],
        original_input: str | list[Any],
        starting_agent: TAgent,
        max_turns: int | None = DEFAULT_MAX_TURNS,
        *,
        conversation_id: str | None = None,
        previous_response_id: str | None = None,
        auto_previous_response_id: bool = False,
    ) -> None:
        scope = RunScope(context, RunConfig(), translation_of(cast(Any, starting_agent)), original_input)
        scope.conversation_id, scope.previous_response_id = conversation_id, previous_response_id
        scope.auto_previous_response_id = auto_previous_response_id
        self._scope = scope
        self._own: OwnState | None = None
        self._max_turns = max_turns
        self._pending: list[Any] = []

    @classmethod
    def of(cls, scope: RunScope, own: OwnState, max_turns: int | None) -> RunState[Any, Any]:
        """The state of a run."""
        made: RunState[Any, Any] = object.__new__(cls)
        made._scope, made._own, made._max_turns, made._pending = scope, own, max_turns, []
        return made

    @property
    def scope(self) -> RunScope:
        """What the run has of the program."""
        return self._scope

    @property
    def max_turns(self) -> int | None:
        """The most turns that it may take."""
        return self._max_turns

    @property
    def pending_input(self) -> list[Any]:
        """What was added to the input and has not entered yet."""
        return list(self._pending)

    @property
    def starting_agent(self) -> Any:
        """The agent that the run began with."""
        return self._scope.translation.given(self._scope.translation.first)

    @property
    def is_begun(self) -> bool:
        """Whether the run has begun."""
        return self._own is not None

    @property
    def agent_at_work(self) -> Any:
        """The agent that the run goes on with; None before the run."""
        return None if self._own is None else View(self._scope, self._own.value).last_agent

    def add_input(self, input: str | list[Any]) -> None:
        """Give the run more input, which enters when it goes on."""
        self._pending += ItemHelpers.input_to_new_input_list(input)

    def clear_pending_input(self) -> None:
        """Take back what was added."""
        self._pending.clear()

    def get_interruptions(self) -> list[ToolApprovalItem]:
        """The calls that wait for a person, those of nested runs too."""
        return [] if self._own is None else View(self._scope, self._own.value).interruptions()

    def approve(self, approval_item: ToolApprovalItem, always_approve: bool = False) -> None:
        """Let a call run; with `always_approve` also every later call of its tool. Raises `UserError` if it does not wait."""
        self._scope.wrapper.approve_tool(approval_item, always_approve)
        self._decide(approval_item, lambda own, call: own.approve(call, always_approve))

    def reject(
        self, approval_item: ToolApprovalItem, always_reject: bool = False, *, rejection_message: str | None = None
    ) -> None:
        """Keep a call from running; the model is told `rejection_message`. Raises `UserError` if it does not wait."""
        self._scope.wrapper.reject_tool(approval_item, always_reject, rejection_message)
        reason = rejection_message or rejection_text(self._scope, approval_item.name or "", approval_item.call_id or "")
        if not isinstance(reason, str):
            self._decide(approval_item, lambda own, call: None)
            self._scope.late_rejections.append((approval_item.call_id, always_reject, reason))
            return
        self._decide(approval_item, lambda own, call: own.reject(call, always_reject, message=reason))

    def _decide(self, item: ToolApprovalItem, decide: Callable[[OwnState, PendingCall], None]) -> None:
        if not isinstance(cast(object, item), ToolApprovalItem):
            raise UserError(f"a decision is on a {type(item).__name__!r}, expected an item of state.get_interruptions()")
        if self._own is None or not self._settle(item.call_id, decide):
            raise UserError(f"call {item.call_id!r} does not wait in this state, expected an item of state.get_interruptions()")

    async def settle_late(self) -> None:
        """Reject the calls for which the text is still to be awaited."""
        while self._scope.late_rejections:
            call_id, always, awaited = self._scope.late_rejections.pop(0)
            given: Any = await awaited
            reason = given if isinstance(given, str) else ""
            self._settle(call_id, partial(_reject, always=always, message=reason))

    def _settle(self, call_id: str | None, decide: Callable[[OwnState, PendingCall], None]) -> bool:
        assert self._own is not None
        for call in self._own.interruptions:
            if isinstance(call, OwnApproval) and call.call_id == call_id:
                decide(self._own, call)
                return True
            if isinstance(call, ToolAnswerItem):
                nested = self._scope.nested.get(call.call_id)
                if nested is not None and nested._settle(call_id, decide):
                    return True
        return False

    def ready(self) -> OwnState | None:
        """The state beneath, with what was decided through the context and in nested runs; None before the run."""
        own = self._own
        if own is None:
            return None
        if self._scope.wrapper.decisions:
            self._apply_decisions(own)
        for call in own.interruptions:
            if isinstance(call, ToolAnswerItem) and (nested := self._scope.nested.get(call.call_id)) is not None:
                nested.ready()
                if not nested.get_interruptions():
                    own.answer(call, nested.to_string(context_serializer=lambda _: {}))
        if self._pending:
            own.add_input([self._scope.originals.item(entry) for entry in self._pending])
            self._pending.clear()
        return own

    def _apply_decisions(self, own: OwnState) -> None:
        """Decide on the calls that wait as the context says."""
        wrapper = self._scope.wrapper
        for call in own.interruptions:
            if not isinstance(call, OwnApproval) or (decision := wrapper.decision_on(call.tool_name, call.call_id)) is None:
                continue
            of_all = wrapper.decision_on(call.tool_name, None)
            always = of_all is not None and of_all.approved == decision.approved
            if decision.approved:
                own.approve(call, always)
            else:
                own.reject(call, always, message=decision.message or "")

    def to_json(
        self,
        *,
        context_serializer: Callable[[Any], Mapping[str, Any]] | None = None,
        strict_context: bool = False,
        include_tracing_api_key: bool = False,
    ) -> dict[str, Any]:
        """The state as a plain dict. The context is kept where it is a dict, a dataclass or a model, or is given as one."""
        scope = self._scope
        context, kind = _context(scope.wrapper.context, context_serializer, strict_context)
        nested = {call_id: state.to_json(context_serializer=lambda _: {}) for call_id, state in scope.nested.items()}
        return {
            "$schemaVersion": CURRENT_SCHEMA_VERSION,
            _FORMAT: 1,
            "state": None if self._own is None else self._own.to_json(),
            "agent": self.starting_agent.name,
            "original_input": plain(scope.original_input),
            "max_turns": self._max_turns,
            "context": context,
            "context_type": kind,
            "decisions": [dataclasses.asdict(one) for one in scope.wrapper.decisions],
            "pending_input": plain(self._pending),
            "usage": serialize_usage(scope.wrapper.usage),
            "handed": {call_id: filtered.to_json() for call_id, filtered in scope.handed.items()},
            "is_nested": scope.is_nested,
            "trace": None if scope.begun is None else saved_trace(scope.begun),
            "conversation_id": scope.conversation_id,
            "previous_response_id": scope.previous_response_id,
            "auto_previous_response_id": scope.auto_previous_response_id,
            "nested": nested,
            "nested_agents": {call_id: state.starting_agent.name for call_id, state in scope.nested.items()},
        }

    def to_string(
        self,
        *,
        context_serializer: Callable[[Any], Mapping[str, Any]] | None = None,
        strict_context: bool = False,
        include_tracing_api_key: bool = False,
    ) -> str:
        """The state as JSON text."""
        return json.dumps(self.to_json(context_serializer=context_serializer, strict_context=strict_context))

    @staticmethod
    async def from_string(
        initial_agent: Agent[Any],
        state_string: str,
        *,
        context_override: Any = None,
        context_deserializer: Callable[[Mapping[str, Any]], Any] | None = None,
        strict_context: bool = False,
    ) -> RunState[Any, Agent[Any]]:
        """Load a state of a run that `initial_agent` began. Raises `UserError` for what is none."""
        try:
            data = json.loads(state_string)
        except (TypeError, ValueError) as error:
            raise UserError(f"Failed to parse run state JSON: {error}; pass what state.to_string() gave") from error
        return await RunState.from_json(
            initial_agent,
            data,
            context_override=context_override,
            context_deserializer=context_deserializer,
            strict_context=strict_context,
        )

    @staticmethod
    async def from_json(
        initial_agent: Agent[Any],
        state_json: dict[str, Any],
        *,
        context_override: Any = None,
        context_deserializer: Callable[[Mapping[str, Any]], Any] | None = None,
        strict_context: bool = False,
    ) -> RunState[Any, Agent[Any]]:
        """Load a state from the dict that `to_json` gave. Raises `UserError` for what is none, or is openai-agents' own."""
        if not isinstance(cast(object, state_json), Mapping) or _FORMAT not in state_json:
            version = state_json.get("$schemaVersion") if isinstance(cast(object, state_json), Mapping) else None
            raise UserError(
                f"this is no run state of this package (version {version!r}), expected what state.to_json() gave; a run that "
                "openai-agents has saved is to be finished there"
            )
        wrapper = context_override
        if not isinstance(wrapper, RunContextWrapper):
            kept: Any = state_json["context"]
            if context_override is None and context_deserializer is not None and kept is not None:
                kept = context_deserializer(kept)
            wrapper = RunContextWrapper(kept if context_override is None else context_override)
            wrapper.decisions = [Decision(**one) for one in state_json.get("decisions", [])]
        given = state_json["original_input"]
        scope = RunScope(cast("RunContextWrapper[Any]", wrapper), RunConfig(), translation_of(initial_agent), given)
        handed: dict[str, Any] = state_json.get("handed") or {}
        scope.handed.update({call_id: Filtered.from_json(one) for call_id, one in handed.items()})
        scope.is_nested = bool(state_json.get("is_nested"))
        if (begun := state_json.get("trace")) is not None:
            scope.begun = ResumedTrace.loaded(begun)
        scope.conversation_id = state_json.get("conversation_id")
        scope.previous_response_id = state_json.get("previous_response_id")
        scope.auto_previous_response_id = bool(state_json.get("auto_previous_response_id"))
        if isinstance(scope.original_input, list):
            for entry in scope.original_input:
                scope.originals.item(entry)
        own: OwnState | None = None
        if state_json["state"] is not None:
            try:
                own = OwnState.from_json(initial_agent, state_json["state"])
            except OwnError as error:
                raise UserError(str(error)) from error
        made = RunState.of(scope, cast(Any, own), state_json.get("max_turns"))
        made._pending = list(state_json.get("pending_input") or [])
        if own is not None:
            replies = (event.response for event in reversed(own.value.log) if isinstance(event, ModelReplied))
            scope.loaded_reply = next(replies, None)
            if scope.wrapper.usage.requests == 0:
                kept_usage = state_json.get("usage")
                scope.wrapper.usage.add(usage_of(own.usage) if kept_usage is None else deserialize_usage(kept_usage))
            await _load_nested(made, state_json)
        return cast(Any, made)


def _reject(own: OwnState, call: PendingCall, *, always: bool, message: str) -> None:
    own.reject(call, always, message=message)


async def _load_nested(state: RunState[Any, Any], data: Mapping[str, Any]) -> None:
    """Load the nested runs that wait for a person."""
    names: dict[str, str] = data.get("nested_agents") or {}
    nested: dict[str, Any] = data.get("nested") or {}
    for call_id, saved in nested.items():
        agent = _agent_tool(state, names.get(call_id, ""))
        if agent is not None:
            state.scope.nested[call_id] = await RunState.from_json(agent, saved, context_override=state.scope.wrapper)


def _agent_tool(state: RunState[Any, Any], name: str) -> Any:
    """The agent of that name that is a tool of one that the run can come to."""
    waiting, seen = [state.starting_agent], set[int]()
    while waiting:
        agent = waiting.pop()
        if id(agent) in seen:
            continue
        seen.add(id(agent))
        for tool in agent.tools:
            nested = getattr(tool, "agent_tool", None)
            if nested is not None:
                if nested.name == name:
                    return nested
                waiting.append(nested)
        for target in agent.handoffs:
            reached = getattr(target, "agent", None) if hasattr(target, "tool_name") else target
            if reached is not None:
                waiting.append(reached)
    return None


def _context(context: Any, serializer: Any, strict: bool) -> tuple[Any, str]:
    """The context as a dict, and what it was."""
    if context is None:
        return None, "none"
    if serializer is not None:
        return dict(serializer(context)), "serialized"
    if isinstance(context, Mapping):
        return dict(cast("Mapping[str, Any]", context)), "mapping"
    if strict:
        raise UserError(
            f"the context is a {type(context).__name__}, expected a mapping; give a context_serializer, or leave "
            "strict_context out"
        )
    dump = getattr(context, "model_dump", None)
    if dump is not None:
        return dump(mode="json"), "pydantic"
    if dataclasses.is_dataclass(context) and not isinstance(context, type):
        return dataclasses.asdict(context), "dataclass"
    return {}, "omitted"


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
