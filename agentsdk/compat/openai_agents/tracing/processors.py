"""Processors: one that exports in batches, and an exporter that prints."""

from __future__ import annotations

import queue
import threading
from typing import Any

from agentsdk.compat.openai_agents.tracing.processor_interface import TracingExporter, TracingProcessor
from agentsdk.compat.openai_agents.tracing.spans import Span
from agentsdk.compat.openai_agents.tracing.traces import Trace


class ConsoleSpanExporter(TracingExporter):
    """Prints what it is given."""

    def export(self, items: list[Trace | Span[Any]]) -> None:
        """Print these."""
        for item in items:
            print(f"[Exporter] {item.export()}")


class BackendSpanExporter(TracingExporter):
    """Sends to OpenAI's tracing backend, with a key of its own. Nothing uses it unless the program does."""

    def __init__(self, api_key: str | None = None, endpoint: str = "https://api.openai.com/v1/traces/ingest", **_: Any) -> None:
        self._api_key = api_key
        self.endpoint = endpoint

    def set_api_key(self, api_key: str) -> None:
        """Send with this key."""
        self._api_key = api_key

    @property
    def api_key(self) -> str | None:
        """The key."""
        return self._api_key

    def export(self, items: list[Trace | Span[Any]]) -> None:
        """Send these."""
        if not items or not self._api_key:
            return
        import httpx

        data = [exported for item in items if (exported := item.export())]
        headers = {"Authorization": f"Bearer {self._api_key}", "OpenAI-Beta": "traces=v1"}
        httpx.post(self.endpoint, headers=headers, json={"data": data}, timeout=60)

    def close(self) -> None:
        """Nothing is open."""


class BatchTraceProcessor(TracingProcessor):
    """Exports on a thread, some at once."""

    def __init__(
        self,
        exporter: TracingExporter,
        max_queue_size: int = 8192,
        max_batch_size: int = 128,
        schedule_delay: float = 5.0,
        export_trigger_ratio: float = 0.7,
    ) -> None:
        self._exporter = exporter
        self._queue: queue.Queue[Trace | Span[Any]] = queue.Queue(max_queue_size)
        self._most = max_batch_size
        self._delay = schedule_delay
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def _put(self, item: Trace | Span[Any]) -> None:
        try:
            self._queue.put_nowait(item)
        except queue.Full:
            return
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(target=self._run, name="compat traces", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._delay):
            self.force_flush()

    def on_trace_start(self, trace: Trace) -> None:
        """A trace begins."""
        self._put(trace)

    def on_trace_end(self, trace: Trace) -> None:
        """A trace is over."""

    def on_span_start(self, span: Span[Any]) -> None:
        """A span begins."""

    def on_span_end(self, span: Span[Any]) -> None:
        """A span is over."""
        self._put(span)

    def shutdown(self, timeout: float | None = None) -> None:
        """The process ends."""
        self._stop.set()
        self.force_flush()

    def force_flush(self) -> None:
        """Export whatever waits."""
        with self._lock:
            while True:
                batch: list[Trace | Span[Any]] = []
                while len(batch) < self._most:
                    try:
                        batch.append(self._queue.get_nowait())
                    except queue.Empty:
                        break
                if not batch:
                    return
                self._exporter.export(batch)


_exporter = BackendSpanExporter()


def default_exporter() -> BackendSpanExporter:
    """The exporter to OpenAI."""
    return _exporter


def default_processor() -> BatchTraceProcessor:
    """A processor that sends to OpenAI, for a program to add."""
    return BatchTraceProcessor(_exporter)
