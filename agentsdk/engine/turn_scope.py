"""The scope of a turn: its span, and its stream, held back until output guardrails have passed it."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from types import TracebackType

from agentsdk.engine.output_buffer import output_buffer
from agentsdk.engine.run import Run
from agentsdk.engine.spans import turn_spans

_NOTHING: AbstractContextManager[object] = nullcontext()


def turn_scope(run: Run) -> AbstractContextManager[object]:
    """A block to be entered anew for each turn; one that does nothing where nobody traces and nothing is held back."""
    if run.deps.tracer is None and not run.deps.config.buffer_output:
        return _NOTHING
    return _TurnScope(run)


class _TurnScope(AbstractContextManager[None]):
    def __init__(self, run: Run) -> None:
        self._spans = turn_spans(run)
        self._buffer = output_buffer(run)
        self._entered = ExitStack()

    def __enter__(self) -> None:
        self._entered.enter_context(self._spans)
        self._entered.enter_context(self._buffer)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._entered.__exit__(kind, error, traceback)
