"""What clients send and get, as data: the bodies of requests and answers, which the OpenAPI description is made from too."""

from __future__ import annotations

from typing import Literal

import msgspec

from agentsdk.core.next_step import PendingCall, PendingTimer, ToolAnswerItem, ToolApprovalItem, ToolInDoubtItem, pending_calls
from agentsdk.core.run_state import RunState
from agentsdk.types.base import JsonObject
from agentsdk.types.signals import CancelMode, DecisionAction
from agentsdk.types.summary import RunStatus, RunSummary


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """What a request carries."""


class StartBody(Body):
    """A run to begin. `agent` may be left out where there is only one. `input` is a text or a list of user's messages for an
    agent, and JSON for a workflow. `at` is a Unix timestamp before which the run is not begun."""

    input: object
    agent: str | None = None
    at: float | None = None


class DecisionBody(Body):
    """What a person says of a call that waits; `call_id` and `path` are those of the call. See docs/signals.md."""

    call_id: str
    action: DecisionAction
    path: tuple[str, ...] = ()
    result: str = ""
    reason: str = ""
    always: bool = False
    expires_at: float | None = None
    answer: object = None
    arguments: JsonObject | None = None


class AnswerBody(Body):
    """The answer to a call that waits for one."""

    call_id: str
    answer: object
    path: tuple[str, ...] = ()


class MessageBody(Body):
    """A user's message for the run: a text."""

    message: str


class SignalBody(Body):
    """Data for the program of a workflow that waits, or will wait, for a signal of this name."""

    name: str
    data: object = None


class ReasonBody(Body):
    """Why."""

    reason: str = ""


class EmptyBody(Body):
    """Nothing: `{}`."""


class CancelBody(Body):
    """When the run is to stop, and why."""

    mode: CancelMode = "now"
    reason: str = ""


class ForkBody(Body):
    """The revision to fork the run at, the latest if it is left out."""

    at: int | None = None


class Started(msgspec.Struct, frozen=True):
    """The run that was begun."""

    run_id: str


class Posted(msgspec.Struct, frozen=True):
    """The number of what was posted in the run's mailbox: it has been taken when `taken` of the run has come to that."""

    signal: int


class Health(msgspec.Struct, frozen=True):
    """That it is well."""

    status: Literal["ok"] = "ok"


class Run(msgspec.Struct, frozen=True):
    """How a run stands. Times are Unix timestamps, `ended_at` 0 where it goes on. `reason` is what stopped it."""

    run_id: str
    status: RunStatus
    agent: str
    revision: int
    started_at: float
    updated_at: float
    ended_at: float
    turns: int
    waiting: int
    reason: str
    forked_from: str
    signals: int
    taken: int

    @staticmethod
    def of(summary: RunSummary) -> Run:
        """A run by its summary."""
        fields = {name: getattr(summary, "rev" if name == "revision" else name) for name in Run.__struct_fields__}
        return Run(**fields)


class RunPage(msgspec.Struct, frozen=True):
    """Some runs, the latest first. `after` asks for those that follow; null where these were the last."""

    runs: list[Run]
    after: str | None


class Call(msgspec.Struct, frozen=True):
    """A call that waits, for what `waits_for` says: an approval, an answer, a word on what became of it, or a time.

    `refused` says why what was decided before did not count. A call that waits for an answer may have a `question`, `choices`,
    the JSON `schema` of the answer, and a `deadline`, a Unix timestamp. One that waits for a time goes on at its `deadline`:
    nobody decides on it.
    """

    call_id: str
    path: tuple[str, ...]
    agent: str
    tool: str
    arguments: str
    waits_for: Literal["approval", "answer", "outcome", "time"]
    reason: str = ""
    refused: str = ""
    question: str = ""
    choices: tuple[str, ...] = ()
    schema: JsonObject | None = None
    deadline: float | None = None

    @classmethod
    def of(cls, item: PendingCall) -> Call:
        """A call by the item that says that it waits."""
        call = cls(item.call_id, item.path, item.agent, item.tool_name, item.arguments, "outcome", refused=item.refused)
        if isinstance(item, ToolApprovalItem):
            return msgspec.structs.replace(call, waits_for="approval", reason=item.reason)
        if isinstance(item, ToolAnswerItem):
            return msgspec.structs.replace(
                call,
                waits_for="answer",
                question=item.question,
                choices=item.choices,
                schema=item.answer_schema,
                deadline=item.deadline,
            )
        if isinstance(item, PendingTimer):
            return msgspec.structs.replace(call, waits_for="time", deadline=item.deadline)
        assert isinstance(item, ToolInDoubtItem)
        return call


class RunDetail(Run, frozen=True):
    """How a run stands, the calls that wait, and its output: text, or what JSON the agent's output type is."""

    calls: list[Call]
    output: object

    @classmethod
    def looked_at(cls, summary: RunSummary, state: RunState) -> RunDetail:
        """A run by its summary and its state."""
        ended = state.value.ended
        output: object = None
        if ended is not None:
            output = msgspec.json.decode(ended.output) if ended.is_json else ended.output
        fields = msgspec.structs.asdict(Run.of(summary))
        waiting = () if summary.is_over else pending_calls(state.value)
        return cls(**fields, calls=[Call.of(item) for item in waiting], output=output)
