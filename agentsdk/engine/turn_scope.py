"""The scope of a turn: its span, its line in the log, and its stream, held back until output guardrails have passed it."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from types import TracebackType

from agentsdk.engine.output_buffer import output_buffer
from agentsdk.engine.run import Run
from agentsdk.engine.spans import turn_spans
from agentsdk.engine.turn_log import TurnLog, logs_turns
from agentsdk.ports.current_run import RUN_ID, readers

_NOTHING: AbstractContextManager[object] = nullcontext()


def turn_scope(run: Run) -> AbstractContextManager[object]:
    """A block to be entered anew for each turn; one that does nothing where nobody looks and nothing is held back."""
    if run.deps.tracer is None and not run.deps.config.buffer_output and not readers and not logs_turns():
        return _NOTHING
    return _TurnScope(run)


class _TurnScope(AbstractContextManager[None]):
    def __init__(self, run: Run) -> None:
        self._run = run
        self._parts = [turn_spans(run), output_buffer(run)]
        if logs_turns():
            self._parts.insert(0, TurnLog(run))
        self._entered = ExitStack()
        self._around = ""

    def __enter__(self) -> None:
        self._around = RUN_ID.get()
        RUN_ID.set("/".join((self._run.root_id, *self._run.path)))
        for part in self._parts:
            self._entered.enter_context(part)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            self._entered.__exit__(kind, error, traceback)
        finally:
            RUN_ID.set(self._around)
