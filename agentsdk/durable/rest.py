"""`Rest`: how a drive has left a run, as plain data for the record of an engine; and errors as data, and back."""

from __future__ import annotations

from decimal import Decimal

import msgspec
from msgspec import Struct

from agentsdk.core.next_step import PendingCall, ToolAnswerItem, ToolApprovalItem
from agentsdk.types import errors
from agentsdk.types.errors import AgentsException
from agentsdk.types.summary import RunStatus


class WaitingCall(Struct, frozen=True):
    """A call that waits, `waits_for` an `"approval"`, an `"answer"`, or, where it is in doubt, word of its `"outcome"`.

    `path` names the calls (agents as tools) that lead to it. `arguments` are JSON text. `deadline`: until when it waits for an
    answer, a Unix timestamp in seconds, None for no end.
    """

    call_id: str
    tool: str
    agent: str
    waits_for: str
    path: tuple[str, ...] = ()
    arguments: str = ""
    question: str = ""
    choices: tuple[str, ...] = ()
    deadline: float | None = None

    @staticmethod
    def of(item: PendingCall) -> WaitingCall:
        """A call by the item of a run's interruptions."""
        waits_for = "approval" if isinstance(item, ToolApprovalItem) else "outcome"
        call = WaitingCall(item.call_id, item.tool_name, item.agent, waits_for, item.path, item.arguments)
        if isinstance(item, ToolAnswerItem):
            return msgspec.structs.replace(
                call, waits_for="answer", question=item.question, choices=item.choices, deadline=item.deadline
            )
        return call

    def without_content(self) -> WaitingCall:
        """The same without what the model wrote, and what a person is asked."""
        return msgspec.structs.replace(self, arguments="", question="", choices=())


class Failure(Struct, frozen=True):
    """An error as data. `type` is the name of its class, `fields` are those of its attributes that are plain values."""

    type: str
    message: str
    fields: dict[str, str | int | float | bool | None] = {}

    @staticmethod
    def of(error: BaseException) -> Failure:
        """An error, without the state it carries and without what it was raised from."""
        given = {name: float(value) if isinstance(value, Decimal) else value for name, value in vars(error).items()}
        fields = {name: value for name, value in given.items() if type(value) in _PLAIN and not name.startswith("_")}
        return Failure(_known(error), str(error), fields)

    def error(self) -> AgentsException:
        """The error again, of its class if that is one of ours. It has no `state`: that is in the store."""
        kind = getattr(errors, self.type, AgentsException)
        if not (isinstance(kind, type) and issubclass(kind, AgentsException)):
            kind = AgentsException
        error = kind.__new__(kind)
        error.args = (self.message,)
        vars(error).update(self.fields)
        return error


class Rest(Struct, frozen=True):
    """How a run stands where it goes no further by itself.

    `revision` and `taken` are how many events its log has and how many signals it took, `due_at` when it goes on by itself, a
    Unix timestamp in seconds, 0 for never. `output` is text, or what JSON the agent's output type is.
    """

    status: RunStatus
    revision: int = 0
    taken: int = 0
    due_at: float = 0.0
    turns: int = 0
    tokens: int = 0
    calls: tuple[WaitingCall, ...] = ()
    output: object = None
    failure: Failure | None = None

    def value(self) -> object:
        """The output of a run that has finished. Raises the error of one that has failed or was cancelled."""
        if self.failure is not None:
            raise self.failure.error()
        return self.output


_PLAIN = (str, int, float, bool, type(None))


def _known(error: BaseException) -> str:
    """The name of an error's class; for a class of a program's own that of ours that it is derived from."""
    kinds = type(error).__mro__
    return next((kind.__name__ for kind in kinds if getattr(errors, kind.__name__, None) is kind), kinds[0].__name__)
