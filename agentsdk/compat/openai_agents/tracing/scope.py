"""The trace and the span that go on."""

from __future__ import annotations

from contextvars import Token
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents._going import current_span as current_span
from agentsdk.compat.openai_agents._going import current_trace as current_trace
from agentsdk.compat.openai_agents._going import trace_now as trace_now

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.tracing.spans import Span
    from agentsdk.compat.openai_agents.tracing.traces import Trace


class Scope:
    """The two together."""

    @classmethod
    def get_current_span(cls) -> Span[Any] | None:
        """The span that goes on."""
        return current_span.get()

    @classmethod
    def get_current_trace(cls) -> Trace | None:
        """The trace that goes on."""
        return trace_now()

    @classmethod
    def set_current_span(cls, span: Span[Any] | None) -> Token[Span[Any] | None]:
        """Have this span go on."""
        return current_span.set(span)

    @classmethod
    def reset_current_span(cls, token: Token[Span[Any] | None]) -> None:
        """Have the one before go on again."""
        current_span.reset(token)

    @classmethod
    def set_current_trace(cls, trace: Trace | None) -> Token[Trace | None]:
        """Have this trace go on."""
        return current_trace.set(trace)

    @classmethod
    def reset_current_trace(cls, token: Token[Trace | None]) -> None:
        """Have the one before go on again."""
        current_trace.reset(token)
