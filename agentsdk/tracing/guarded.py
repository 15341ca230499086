"""A tracer of the user's, kept from harming a run: whatever it raises or returns, the run continues as without it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Generator
from typing import Any
from weakref import WeakSet

from agentsdk.ports.tracer import ProgressSpan, Settling, Span, SpanAttributes, SpanKind, Tracer
from agentsdk.types.declared import having

logger = logging.getLogger("agentsdk.tracing")

SETTLE_SECONDS = 1.0
"""How long a run waits for a tracer to settle."""

_SPAN = having(("set", "end", "activate"), "a Span: an object with the methods set, end and activate")
_warned: WeakSet[type] = WeakSet()


class GuardedTracer(Tracer):
    """`tracer`, which may do wrong: the first trouble of its class is logged, and none reaches a run."""

    __slots__ = ("_tracer",)

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def start(self, kind: SpanKind, name: str, parent: Span | None = None, attributes: SpanAttributes | None = None) -> Span:
        """Begin a span under `parent`, or under the nearest span around it that could begin."""
        outer = parent.inner if isinstance(parent, GuardedSpan) else parent
        span: Span | None = self.tried("start", self._tracer, kind, name, outer, attributes)
        if span is not None and not _fits(span):
            self._warn(f"start gave a {type(span).__name__!r}, expected {_SPAN.text}")
            span = None
        return GuardedSpan(self, span, outer)

    async def settle(self) -> None:
        """Wait until what has ended can be read, if the tracer can say so, for 1 s at most."""
        try:
            if isinstance(self._tracer, Settling):
                async with asyncio.timeout(SETTLE_SECONDS):
                    await self._tracer.settle()
        except Exception as error:
            self._warn(f"settle raised {type(error).__name__}", error)

    def tried(self, method: str, target: object, *args: object) -> Any:
        """What a method of the tracer, or of a span of its, gives; None where it raises."""
        try:
            result: object = getattr(target, method)(*args)
        except Exception as error:
            self._warn(f"{method} raised {type(error).__name__}", error)
            return None
        if result is None and method in ("start", "activate"):
            self._warn(f"{method} gave None")
        return result

    def _warn(self, trouble: str, error: Exception | None = None) -> None:
        kind = type(self._tracer)
        if kind not in _warned:
            _warned.add(kind)
            logger.warning(
                "tracer %s: %s. Runs are not affected; further trouble of such tracers is not logged.",
                kind.__qualname__,
                trouble,
                exc_info=error,
            )


class GuardedSpan(Span):
    """A span of such a tracer; without one, of a span that could not begin, it does nothing."""

    __slots__ = ("_span", "_tracer", "inner")

    def __init__(self, tracer: GuardedTracer, span: Span | None, outer: Span | None) -> None:
        self._tracer = tracer
        self._span = span
        self.inner = outer if span is None else span
        """The tracer's own span, which spans inside this one begin under."""

    def set(self, attributes: SpanAttributes) -> None:
        """Add attributes."""
        if self._span is not None:
            self._tracer.tried("set", self._span, attributes)

    def progress(self, data: object) -> None:
        """What a tool sends, if the span records that."""
        if isinstance(self._span, ProgressSpan):
            self._tracer.tried("progress", self._span, data)

    def end(self, error: BaseException | None = None) -> None:
        """The work is over, or failed with `error`."""
        if self._span is not None:
            self._tracer.tried("end", self._span, error)

    @contextlib.contextmanager
    def activate(self) -> Generator[None]:
        """The current span of this task while the block runs. What the block raises passes, whatever the span says."""
        active: object = None if self._span is None else self._tracer.tried("activate", self._span)
        if active is None:
            yield
            return
        self._tracer.tried("__enter__", active)
        failure: BaseException | None = None
        try:
            yield
        except BaseException as error:
            failure = error
            raise
        finally:
            traceback = None if failure is None else failure.__traceback__
            self._tracer.tried("__exit__", active, None if failure is None else type(failure), failure, traceback)


def _fits(span: object) -> bool:
    try:
        return _SPAN.fits(span)
    except Exception:  # of a property of the span's own
        return False
