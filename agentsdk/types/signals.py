"""Signals: what others say to a run by its id. They wait in its mailbox, beside the log, until its owner takes them.

Plain data. A new kind of signal is a class of its own in `Signal`; the schema is versioned together with the events'.
"""

from __future__ import annotations

from typing import Literal

from agentsdk.types.base import JsonObject, Value
from agentsdk.types.items import Message

CancelMode = Literal["now", "after_turn"]
"""When a cancelled run stops: at once, whatever it is at, or when the turn that is going has ended."""

DecisionAction = Literal["approve", "reject", "answer", "provide_result", "retry", "mark_failed"]
"""What a person says of a call that waits, as the methods of `RunState` have it: `approve` or `reject` where it needs approval;
`answer`, or `mark_failed`, where it waits for an answer from outside; where it is in doubt `provide_result` says what it
returned, `retry` runs it again, `mark_failed` says that it failed."""


class MessageSignal(Value, tag="messages"):
    """Messages for the run. Of those taken together, those of the highest `priority` enter first. `by` says who sent them."""

    items: tuple[Message, ...]
    priority: int = 0
    by: str = ""


class PauseSignal(Value, tag="pause"):
    """The run is to go no further than its turn, until somebody lets it."""

    by: str = ""
    reason: str = ""


class UnpauseSignal(Value, tag="unpause"):
    """A paused run may go on."""

    by: str = ""


class CancelSignal(Value, tag="cancel"):
    """The run is to stop, for good."""

    mode: CancelMode = "now"
    by: str = ""
    reason: str = ""


class DataSignal(Value, tag="data"):
    """Data, whatever has a JSON form, for the workflow that the run is of, or one nested in it: it waits for the `name`."""

    name: str
    data: object = None
    by: str = ""


class Decision(Value, tag="decision"):
    """What a person says of the call `call_id` that waits; `path` names the calls (agents as tools) that lead to it.

    `result` is what the call returned, with `"provide_result"`. `answer`, whatever has a JSON form, is its result, with
    `"answer"`. With `arguments` an approved call runs with these in place of the model's. `reason` is told to the model where
    the call is rejected or has failed. `always`: it covers every later call of the tool too. `by` says who decided. An approved
    call that has not begun at `expires_at` (a Unix timestamp in seconds) waits again.
    """

    call_id: str
    action: DecisionAction
    path: tuple[str, ...] = ()
    result: str = ""
    reason: str = ""
    always: bool = False
    by: str = ""
    expires_at: float | None = None
    answer: object = None
    arguments: JsonObject | None = None


Signal = MessageSignal | PauseSignal | UnpauseSignal | CancelSignal | Decision | DataSignal
"""What a run's mailbox holds."""
