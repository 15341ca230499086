"""Metrics of runs through OpenTelemetry. Imported only where somebody reads them: see `agentsdk.tracing.find`.

The SDK takes 5 to 10 microseconds to record one value, and a model call has five. So what a run has measured is kept until a
reader collects, and recorded then, on the reader's thread. Prices are worked out there too.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import assert_never
from weakref import WeakKeyDictionary

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
from opentelemetry.util.types import AttributeValue

from agentsdk.ports.meter import AttemptCost, Measurement, Meter, ModelCall, RunLeft, StoreCall, ToolCall
from agentsdk.tracing import names
from agentsdk.tracing.worker_gauges import WorkerGauges
from agentsdk.types.declared import Fields, having, optional

logger = logging.getLogger("agentsdk.metrics")

MAX_KEPT = 2_000
"""How many measurements wait for a reader. With more, a thread records them."""

MAX_SERIES = 2_000
"""How many combinations of attributes a total is kept for; what comes after is counted without them."""

SECONDS = [0.01 * 2**power for power in range(14)]
"""The boundaries of buckets that the conventions ask for, of model and tool calls."""

STORE_SECONDS = [0.0001 * 2**power for power in range(16)]
RUN_SECONDS = [0.1 * 2**power for power in range(13)]
TOKENS = [4**power for power in range(14)]

_OVERFLOW = frozenset({("otel.metric.overflow", True)})

_FIELDS = Fields("OpenTelemetryMeter", meter_provider=optional(having(("get_meter",), "a MeterProvider; pass one")))

Attributes = dict[str, AttributeValue]


class OpenTelemetryMeter(Meter):
    """Measures runs with instruments of `meter_provider`, by default the process's own. docs/metrics.md lists them.

    Runs find the process's own provider by themselves: `RunConfig(meter=OpenTelemetryMeter(provider))` measures with another.
    Raises `UserError` for what is no provider.
    """

    def __init__(self, meter_provider: MeterProvider | None = None) -> None:
        _FIELDS.check_given(meter_provider=meter_provider)
        self._instruments = _instruments_of(meter_provider or metrics.get_meter_provider())

    def keep(self, measured: Measurement) -> None:
        """Have it recorded when a reader collects."""
        self._instruments.keep(measured)

    def watch(self, worker: WorkerGauges) -> None:
        """Have a worker observed when a reader collects, until `unwatch`."""
        self._instruments.watch(worker)

    def unwatch(self, worker: WorkerGauges) -> None:
        """Observe it no more."""
        self._instruments.workers.discard(worker)


def _due(worker: WorkerGauges) -> float | None:
    return None if (queue := worker.queue()) is None else queue.due


def _oldest_due(worker: WorkerGauges) -> float | None:
    return None if (queue := worker.queue()) is None else queue.oldest_seconds


_WORKER_FIGURES: tuple[tuple[str, str, str, Callable[[WorkerGauges], float | None]], ...] = (
    (names.WORKER_SLOTS, "{run}", "Runs that a worker drives at most.", lambda worker: worker.slots),
    (names.WORKER_RUNS, "{run}", "Runs that a worker drives.", lambda worker: len(worker.in_work())),
    (names.WORKER_OLDEST, "s", "For how long the one in work longest is.", lambda worker: max(worker.in_work(), default=0.0)),
    (names.WORKER_LEASE, "s", "How long the lease that passes first lasts.", lambda worker: min(worker.leases(), default=None)),
    (names.QUEUE_DUE, "{run}", "Runs that wait for a worker.", _due),
    (names.QUEUE_OLDEST, "s", "For how long the one that is due longest has waited.", _oldest_due),
)


class _Total:
    """A sum for each combination of attributes, for the reader to observe: an SDK's counter would add slower."""

    def __init__(self) -> None:
        self._sums: dict[frozenset[tuple[str, AttributeValue]], float] = {}

    def add(self, amount: float, attributes: Attributes) -> None:
        """Add `amount` for these attributes."""
        key = frozenset(attributes.items())
        if key not in self._sums and len(self._sums) >= MAX_SERIES:
            key = _OVERFLOW
        self._sums[key] = self._sums.get(key, 0) + amount

    def observed(self) -> list[Observation]:
        """The sums."""
        return [Observation(amount, dict(key)) for key, amount in self._sums.items()]


class _Instruments:
    """The instruments of one provider, and what was measured and is not recorded yet."""

    def __init__(self, provider: MeterProvider) -> None:
        self._meter = meter = provider.get_meter("agentsdk")
        self.workers: set[WorkerGauges] = set()
        self._watches = False

        def histogram(name: str, unit: str, description: str, boundaries: list[float]) -> metrics.Histogram:
            return meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=boundaries)

        self._chat_seconds = histogram(names.CHAT_SECONDS, "s", "Time of a model call.", SECONDS)
        self._first_chunk = histogram(names.FIRST_CHUNK, "s", "Time until a streamed reply begins.", SECONDS)
        self._tokens = histogram(names.TOKEN_USAGE, "{token}", "Tokens of a model call.", [*map(float, TOKENS)])
        self._tool_seconds = histogram(names.TOOL_SECONDS, "s", "Time of a tool call.", SECONDS)
        self._store_seconds = histogram(names.STORE_SECONDS, "s", "Time of what a run asks its store.", STORE_SECONDS)
        self._run_seconds = histogram(names.RUN_SECONDS, "s", "Time of a run in this process.", RUN_SECONDS)
        self._calls, self._cost = _Total(), _Total()
        self._kept: deque[Measurement] = deque()
        self._recording = threading.Lock()
        # The SDK asks observers before it adds up what was recorded, so what is recorded here is in the same collection.
        meter.create_observable_counter(names.TOOL_CALLS, [self._observer(self._calls)], "{call}", "Calls of tools.")
        meter.create_observable_counter(names.COST, [self._observer(self._cost)], "{USD}", "Cost of model calls.")
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def keep(self, measured: Measurement) -> None:
        """Have it recorded when a reader collects, or once too much waits for that."""
        self._kept.append(measured)
        if len(self._kept) % MAX_KEPT == 0:
            with contextlib.suppress(RuntimeError):  # the process is ending, and begins no more threads
                threading.Thread(target=self.record, name="agentsdk metrics", daemon=True).start()

    def watch(self, worker: WorkerGauges) -> None:
        """Have a worker observed. The instruments are made for the first: a process without one shows none of them."""
        self.workers.add(worker)
        with self._recording:
            made, self._watches = self._watches, True
        if made:
            return
        for name, unit, description, figure in _WORKER_FIGURES:
            self._meter.create_observable_gauge(name, [partial(self._observed, figure)], unit, description)

    def _observed(self, figure: Callable[[WorkerGauges], float | None], _: CallbackOptions) -> list[Observation]:
        """The figure of the workers; of those that have the same agents the sum."""
        sums: dict[str, float] = {}
        for worker in list(self.workers):
            if (value := figure(worker)) is not None:
                sums[worker.agents] = sums.get(worker.agents, 0) + value
        return [Observation(value, {names.WORKER_AGENTS: agents}) for agents, value in sums.items()]

    def record(self) -> None:
        """Record what was measured. Trouble in a provider is logged."""
        with self._recording:
            for _ in range(len(self._kept)):
                try:
                    self._record(self._kept.popleft())
                except Exception as error:
                    logger.warning("a measurement could not be recorded", exc_info=error)

    def _record(self, measured: Measurement) -> None:
        match measured:
            case ModelCall():
                self._record_chat(measured)
            case AttemptCost():
                self._record_usage(measured, _model_attributes(measured))
            case ToolCall():
                self._record_tool(measured)
            case StoreCall():
                asked: Attributes = {names.STORE_OPERATION: measured.operation}
                self._store_seconds.record(measured.seconds, _with_error(asked, measured.error))
            case RunLeft():
                run: Attributes = {names.OPERATION: "invoke_agent", names.AGENT: measured.agent, names.STATUS: measured.status}
                self._run_seconds.record(measured.seconds, _with_error(run, measured.error))
            case _:
                assert_never(measured)

    def _record_chat(self, measured: ModelCall) -> None:
        attributes = _model_attributes(measured)
        self._chat_seconds.record(measured.seconds, _with_error(attributes, measured.error))
        if measured.first_chunk is not None:
            self._first_chunk.record(measured.first_chunk, attributes)
        self._record_usage(measured, attributes)

    def _record_usage(self, measured: ModelCall | AttemptCost, attributes: Attributes) -> None:
        usage = measured.usage
        if usage is None:
            return
        self._tokens.record(usage.input_tokens, {**attributes, names.TOKEN_TYPE: "input"})
        self._tokens.record(usage.output_tokens, {**attributes, names.TOKEN_TYPE: "output"})
        cost = measured.price(usage, measured.response_model, measured.model)
        if cost:
            self._cost.add(float(cost), attributes)

    def _record_tool(self, measured: ToolCall) -> None:
        attributes: Attributes = {
            names.AGENT: measured.agent,
            names.TOOL: measured.tool,
            names.OUTCOME: measured.outcome,
        }
        self._calls.add(1, attributes)
        if measured.seconds is not None:
            attributes.update({names.OPERATION: "execute_tool", names.TOOL_TYPE: "function"})
            self._tool_seconds.record(measured.seconds, _with_error(attributes, measured.error))

    def _observer(self, total: _Total) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_: CallbackOptions) -> list[Observation]:
            self.record()
            with self._recording:
                return total.observed()

        return observe

    def _forget(self) -> None:
        """A fork leaves what its parent has measured to the parent."""
        self._kept.clear()
        self._recording = threading.Lock()


def _model_attributes(measured: ModelCall | AttemptCost) -> Attributes:
    """Who was asked, and by which agent."""
    attributes: Attributes = {names.OPERATION: "chat", names.MODEL: measured.model, names.AGENT: measured.agent}
    if measured.provider:
        attributes[names.PROVIDER] = measured.provider
    if measured.response_model:
        attributes[names.RESPONSE_MODEL] = measured.response_model
    return attributes


def _with_error(attributes: Attributes, error: str) -> Attributes:
    return {**attributes, names.ERROR_TYPE: error} if error else attributes


_known: WeakKeyDictionary[MeterProvider, _Instruments] = WeakKeyDictionary()
_making = threading.Lock()


def _instruments_of(provider: MeterProvider) -> _Instruments:
    with _making:  # a second instrument of the same name would be refused
        instruments = _known.get(provider)
        if instruments is None:
            instruments = _known[provider] = _Instruments(provider)
        return instruments
