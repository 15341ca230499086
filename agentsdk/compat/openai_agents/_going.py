"""What goes on here: the run of this package, the trace and the span."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.tracing.spans import Span
    from agentsdk.compat.openai_agents.tracing.traces import Trace


class Traced(Protocol):
    """A run, whose trace is made when it is looked at: where nobody is told of it, few runs need one."""

    @property
    def trace(self) -> Trace:
        """The trace that it is of."""
        ...


current_run: ContextVar[Traced | None] = ContextVar("compat run", default=None)
current_trace: ContextVar[Trace | None] = ContextVar("current trace", default=None)
current_span: ContextVar[Span[Any] | None] = ContextVar("current span", default=None)


def trace_now() -> Trace | None:
    """The trace that goes on: the one that was begun last, else that of the run that goes on."""
    begun = current_trace.get()
    if begun is None and (run := current_run.get()) is not None:
        return run.trace
    return begun
