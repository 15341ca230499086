"""What a front end is told of a run, before a protocol gives it a form.

Every text, reasoning, call, step and nested run that has begun also ends, and what is of it comes between; one `Outcome` is
last. `path` are the calls that lead to the nested run it is of. Ids are unique in a thread.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from agentsdk.core.next_step import PendingCall
from agentsdk.types.items import Part

Kind = Literal["text", "reasoning"]


class WritingBegan(Struct, frozen=True):
    """The model begins to write: an answer's text, or its reasoning."""

    id: str
    kind: Kind
    path: tuple[str, ...] = ()


class WritingGrew(Struct, frozen=True):
    """More of it."""

    id: str
    kind: Kind
    text: str
    path: tuple[str, ...] = ()


class WritingEnded(Struct, frozen=True):
    """It is whole."""

    id: str
    kind: Kind
    path: tuple[str, ...] = ()


class CallBegan(Struct, frozen=True):
    """The model begins a call; `id` is the call's public one."""

    id: str
    tool: str
    path: tuple[str, ...] = ()


class CallGrew(Struct, frozen=True):
    """More of its arguments, JSON text."""

    id: str
    text: str
    path: tuple[str, ...] = ()


class CallEnded(Struct, frozen=True):
    """All of a call. Without `arguments` it is none: its reply is void."""

    id: str
    tool: str
    arguments: str | None
    path: tuple[str, ...] = ()


class CallFinished(Struct, frozen=True):
    """The result of a call. `is_denied`: a person did not let it run."""

    id: str
    output: str | tuple[Part, ...]
    is_error: bool = False
    is_denied: bool = False
    path: tuple[str, ...] = ()


class Progressed(Struct, frozen=True):
    """What a tool sent while it runs, JSON."""

    id: str
    tool: str
    data: object
    path: tuple[str, ...] = ()


class Voided(Struct, frozen=True):
    """Of what was told, this does not count: the model was asked again, or what came was not all. `ids` have ended."""

    ids: tuple[str, ...]


class StepBegan(Struct, frozen=True):
    """A turn of the agent."""

    agent: str


class StepEnded(Struct, frozen=True):
    """It is over, or rests."""

    agent: str


class SubagentBegan(Struct, frozen=True):
    """A nested run begins, or goes on. `id` stands for its path, `parent` for the one around it, `call_id` made it."""

    id: str
    parent: str
    agent: str
    call_id: str


class SubagentEnded(Struct, frozen=True):
    """It has ended, or (`rests`) waits with the run around it."""

    id: str
    rests: bool = False


class ContextTold(Struct, frozen=True):
    """The run's context, as its codec wrote it."""

    text: str


class Finished(Struct, frozen=True):
    """The run's output: text, or JSON text."""

    output: str
    is_json: bool


class Waits(Struct, frozen=True):
    """The run rests until these are decided."""

    pending: tuple[PendingCall, ...]


class Failed(Struct, frozen=True):
    """The run has failed, or cannot be followed. `code` names an error's class, `message` is for a person."""

    code: str
    message: str


class Cancelled(Struct, frozen=True):
    """Somebody stopped the run."""


Outcome = Finished | Waits | Failed | Cancelled

Told = (
    WritingBegan
    | WritingGrew
    | WritingEnded
    | CallBegan
    | CallGrew
    | CallEnded
    | CallFinished
    | Progressed
    | Voided
    | StepBegan
    | StepEnded
    | SubagentBegan
    | SubagentEnded
    | ContextTold
    | Outcome
)


def public_id(path: tuple[str, ...], call_id: str) -> str:
    """How front ends know a call: one of a nested run by the calls that lead there too."""
    return "/".join((*path, call_id))


def message_id(path: tuple[str, ...], position: int, number: int) -> str:
    """How front ends know the item of a reply with this `number`, whose first one stands at `position` of the transcript."""
    return public_id(path, f"m-{position}-{number}" if number else f"m-{position}")
