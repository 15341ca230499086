"""The provider of the process."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.tracing.provider import DefaultTraceProvider, TraceProvider

_provider: TraceProvider | None = None


def set_trace_provider(provider: TraceProvider) -> None:
    """Have this one make the traces."""
    global _provider
    _provider = provider


def get_trace_provider() -> TraceProvider:
    """The one that makes the traces."""
    global _provider
    if _provider is None:
        _provider = DefaultTraceProvider()
        atexit.register(_provider.shutdown)
    return _provider


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
