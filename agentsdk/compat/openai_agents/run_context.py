"""`RunContextWrapper`: what callbacks are given of a run. One object for the whole run: `context` is the program's own."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from agentsdk.compat.openai_agents.usage import Spending, Usage
from agentsdk.types.usage import Usage as SpentUsage

if sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    from typing_extensions import TypeVar

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.items import ToolApprovalItem

TContext = TypeVar("TContext", default=Any)


@dataclass
class Decision:
    """What was decided on calls of a tool: of one call, or (`call_id` is None) of all."""

    tool_name: str
    call_id: str | None
    approved: bool
    message: str | None = None


class _OfRun:
    """What a context that a run has made has beside its fields."""

    _spending: Spending


@dataclass(eq=False)
class RunContextWrapper(_OfRun, Generic[TContext]):
    """The run as callbacks see it. `usage` counts up to now; `turn_input` is what the turn's model was sent.

    `tool_input` is the structured input of an agent that runs as a tool.
    """

    context: TContext
    usage: Usage = field(default_factory=Usage)
    turn_input: list[Any] = field(default_factory=list[Any])
    tool_input: Any | None = None
    decisions: list[Decision] = field(default_factory=list[Decision], repr=False)

    @classmethod
    def of_run(cls, context: TContext) -> RunContextWrapper[TContext]:
        """That of a run which begins: its usage is made when it is first looked at."""
        made = object.__new__(cls)
        made.context = context
        made.turn_input = []
        made.decisions = []
        made._spending = Spending()
        return made

    def spend(self, spent: SpentUsage) -> None:
        """Count what a reply of agentsdk's models has spent."""
        self._spending.add(spent)

    def share_usage(self, other: RunContextWrapper[Any]) -> None:
        """Have `other`, which is of the same run, show the same usage."""
        other._spending = self._spending

    def approve_tool(self, approval_item: ToolApprovalItem, always_approve: bool = False) -> None:
        """Let a call run; with `always_approve` also every later call of its tool."""
        self._decide(approval_item, True, always_approve, None)

    def reject_tool(
        self, approval_item: ToolApprovalItem, always_reject: bool = False, rejection_message: str | None = None
    ) -> None:
        """Keep a call from running; the model is told `rejection_message`."""
        self._decide(approval_item, False, always_reject, rejection_message)

    def is_tool_approved(self, tool_name: str, call_id: str) -> bool | None:
        """Whether a call was approved; None where nobody has decided."""
        decision = self.decision_on(tool_name, call_id)
        return None if decision is None else decision.approved

    def get_approval_status(
        self, tool_name: str, call_id: str, *, existing_pending: ToolApprovalItem | None = None, **_: Any
    ) -> bool | None:
        """The same."""
        status = self.is_tool_approved(tool_name, call_id)
        if status is None and existing_pending is not None and existing_pending.tool_name:
            return self.is_tool_approved(existing_pending.tool_name, call_id)
        return status

    def get_rejection_message(self, tool_name: str, call_id: str, **_: Any) -> str | None:
        """What the model is told of a rejected call, where the program gave a text."""
        decision = self.decision_on(tool_name, call_id)
        return None if decision is None or decision.approved else decision.message

    def decision_on(self, tool_name: str, call_id: str | None) -> Decision | None:
        """What was decided last on a call, of itself or of all; without its id, on all calls of the tool."""
        fitting = [one for one in self.decisions if one.tool_name == tool_name]
        exact = [one for one in fitting if one.call_id == call_id]
        found = exact or [one for one in fitting if one.call_id is None]
        return found[-1] if found else None

    def _decide(self, item: ToolApprovalItem, approved: bool, always: bool, message: str | None) -> None:
        name, call_id = item.tool_name or item.name or "", item.call_id
        self.decisions.append(Decision(name, call_id, approved, message))
        if always:
            self.decisions.append(Decision(name, None, approved, message))


class _UsageOfRun:
    """The usage of a context: that of what has been spent, until the program sets another."""

    def __get__(self, instance: RunContextWrapper[Any] | None, owner: type | None = None) -> Usage:
        if instance is None:
            raise AttributeError("usage")
        return instance.__dict__["_spending"].usage()

    def __set__(self, instance: RunContextWrapper[Any], value: Usage) -> None:
        instance.__dict__["_spending"] = Spending(value)


RunContextWrapper.usage = _UsageOfRun()  # type: ignore[assignment]


class AgentHookContext(RunContextWrapper[TContext]):
    """What the hooks of an agent's start and end are given."""
