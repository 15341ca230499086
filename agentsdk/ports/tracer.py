"""The port to a tracer, which receives a run's spans.

A run without a tracer pays for none of this. Attributes are plain names and the run's own values: the tracer translates and
encodes them, so that a value nobody records costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypedDict, runtime_checkable

from agentsdk.types.declared import having
from agentsdk.types.items import Item, Part
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.summary import RunStatus
from agentsdk.types.usage import Usage

SpanKind = Literal["workflow", "run", "agent", "turn", "chat", "tool"]
"""What a span covers: several runs, one run, one agent's part of it, a turn, a model call, a tool call.

Its name is the workflow's, the agent's (run and agent), the turn's number, the model's, the tool's.
"""

CallOutcome = Literal["finished", "failed", "timed_out", "refused", "in_doubt", "cancelled"]
"""What became of a call of a tool. `failed`: it told the model of an error, or ended the run with one. `refused`: it was
answered with an error and never ran. `in_doubt`: it began in another process, and nobody knows what came of it. `cancelled`:
it was cut, with its run or its process. A call that waits for an answer has none yet."""

OTHER_TOOL = "_OTHER"
"""Stands for the name of a tool that there is not: a model may make up any."""


class SpanAttributes(TypedDict, total=False):
    """What a span may carry. From `instructions` on it is content: recorded only on request."""

    agent: str
    agent_description: str
    conversation_id: str
    run_id: str
    turn: int
    provider: str
    model: str
    settings: ModelSettings
    stream: bool
    output_type: Literal["text", "json"]
    response_id: str
    response_model: str
    finish: str
    time_to_first_chunk: float
    """Seconds from the request to the first delta."""
    usage: Usage
    tool: str
    tool_description: str
    call_id: str
    outcome: CallOutcome
    status: RunStatus
    """What can be done with the run as it was left."""
    next_step: Literal["final_output", "run_again", "interruption", "handoff"]
    """What a turn resolved to; left out where it was cut."""
    metadata: dict[str, str]
    instructions: str
    input: Sequence[Item]
    output: Sequence[Item]
    tools: Sequence[ToolSpec | HandoffSpec]
    arguments: str
    result: str | Sequence[Part]


class Span(Protocol):
    """A span that has begun. No method should raise."""

    def set(self, attributes: SpanAttributes) -> None:
        """Add attributes."""
        ...

    def end(self, error: BaseException | None = None) -> None:
        """The work is over, or failed with `error`. Called once; never waits for an exporter."""
        ...

    def activate(self) -> AbstractContextManager[None]:
        """The current span of this task while the block runs, so that spans a tool makes itself nest in it."""
        ...


@runtime_checkable
class ProgressSpan(Protocol):
    """A span of a tool's call that also records what the tool sends while it runs."""

    def progress(self, data: object) -> None:
        """The tool has sent `data`, from whatever thread. No method should raise."""
        ...


@runtime_checkable
class Settling(Protocol):
    """A tracer that a run waits for before it returns, so that what it did can be read then."""

    async def settle(self) -> None:
        """Wait, for a moment at most, until what has ended can be read. A run waits for 1 s."""
        ...


class Tracer(Protocol):
    """Begins spans. One that is `Settling` too is waited for at the end of a run.

    Nothing that a tracer or its spans do wrong affects a run: what they raise is logged, once, and what they return is checked.
    """

    def start(self, kind: SpanKind, name: str, parent: Span | None = None, attributes: SpanAttributes | None = None) -> Span:
        """Begin a span under `parent`; without one, under whatever is current in the calling task."""
        ...


TRACER = having(("start",), "a Tracer; pass OpenTelemetryTracer(), say")
