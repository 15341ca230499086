"""Logging: the tree of loggers `agentsdk`, quiet unless it is asked for; and the ids of runs and spans on any log record."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from typing import TextIO

from agentsdk.ports.current_run import RUN_ID, readers

VARIABLE = "AGENTSDK_LOG"

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def set_up_logging() -> None:
    """Keep the loggers quiet where nobody has set logging up, or show them on stderr, as `AGENTSDK_LOG` says."""
    logger = logging.getLogger("agentsdk")
    logger.addHandler(logging.NullHandler())
    given = os.environ.get(VARIABLE, "")
    if not given:
        return
    level = _LEVELS.get(given.lower())
    if level is None:
        warnings.warn(
            f"{VARIABLE} is {given[:50]!r}, expected {', '.join(_LEVELS)}; nothing is shown", RuntimeWarning, stacklevel=2
        )
        return
    handler = _Stderr()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level)


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to stderr, unless the program has handlers of its own: they get the records, too."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        if not logging.getLogger().handlers:
            super().emit(record)


class RunLogFilter(logging.Filter):
    """Adds `run_id`, `trace_id` and `span_id` to every record that passes a handler: `handler.addFilter(RunLogFilter())`.

    Each is a text, `""` where there is none. The run is that of the task which logs; the span is OpenTelemetry's current one.
    """

    def __init__(self) -> None:
        super().__init__()
        readers.add(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the ids. No record is held back."""
        record.run_id = RUN_ID.get()
        record.trace_id = record.span_id = ""
        trace = sys.modules.get("opentelemetry.trace")
        if trace is not None:
            span = trace.get_current_span().get_span_context()
            if span.is_valid:
                record.trace_id, record.span_id = trace.format_trace_id(span.trace_id), trace.format_span_id(span.span_id)
        return True
