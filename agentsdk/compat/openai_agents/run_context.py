"""`RunContextWrapper`: what callbacks are given of a run. One object for the whole run: `context` is the program's own."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from agentsdk.compat.openai_agents.usage import Usage

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


@dataclass(eq=False)
class RunContextWrapper(Generic[TContext]):
    """The run as callbacks see it. `usage` counts up to now; `turn_input` is what the turn's model was sent.

    `tool_input` is the structured input of an agent that runs as a tool.
    """

    context: TContext
    usage: Usage = field(default_factory=Usage)
    turn_input: list[Any] = field(default_factory=list[Any])
    tool_input: Any | None = None
    decisions: list[Decision] = field(default_factory=list[Decision], repr=False)

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
        decision = self._decision(tool_name, call_id)
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
        decision = self._decision(tool_name, call_id)
        return None if decision is None or decision.approved else decision.message

    def _decision(self, tool_name: str, call_id: str) -> Decision | None:
        fitting = [one for one in self.decisions if one.tool_name == tool_name]
        exact = [one for one in fitting if one.call_id == call_id]
        found = exact or [one for one in fitting if one.call_id is None]
        return found[-1] if found else None

    def _decide(self, item: ToolApprovalItem, approved: bool, always: bool, message: str | None) -> None:
        name, call_id = item.tool_name or item.name or "", item.call_id
        self.decisions.append(Decision(name, call_id, approved, message))
        if always:
            self.decisions.append(Decision(name, None, approved, message))


class AgentHookContext(RunContextWrapper[TContext]):
    """What the hooks of an agent's start and end are given."""
