"""What a run measures: each model call, each tool call, what it asks its store, and the run.

A run that nobody measures asks once for each.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from agentsdk.core.process import ProcessedResponse
from agentsdk.core.state import OpenTurn
from agentsdk.engine.job import Job
from agentsdk.engine.run import Run
from agentsdk.engine.spans import show_unrun, status_of_left
from agentsdk.engine.timed_model import TimedModel
from agentsdk.ports.meter import AttemptCost, Measurement, Meter, ModelCall, RunLeft, StoreCall, ToolCall
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.ports.tracer import OTHER_TOOL, CallOutcome
from agentsdk.types.events import ToolFinished
from agentsdk.types.items import FunctionCall
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import SpentAttempt

logger = logging.getLogger("agentsdk.metrics")

Ask = Callable[[Run, Model, ModelRequest], Awaitable[ModelResponse]]
Call = Callable[[Run, Job], Awaitable[ToolFinished | None]]

_NOTHING: AbstractContextManager[object] = nullcontext()
_warned: set[type] = set()


def keep(meter: Meter, measured: Measurement) -> None:
    """Give the meter a measurement. What it raises is logged, once for its class."""
    try:
        meter.keep(measured)
    except Exception as error:
        if type(meter) not in _warned:
            _warned.add(type(meter))
            logger.warning("meter %s: keep raised %s. Runs are not affected.", type(meter).__qualname__, type(error).__name__)


def measured_run(run: Run) -> AbstractContextManager[object]:
    """A block in which a run goes on."""
    meter = run.deps.meter
    return _NOTHING if meter is None else _MeasuredRun(run, meter)


class _MeasuredRun(AbstractContextManager[None]):
    def __init__(self, run: Run, meter: Meter) -> None:
        self._run = run
        self._meter = meter
        self._agent = run.agent.name
        self._began = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        seconds, status = time.perf_counter() - self._began, status_of_left(self._run, error)
        keep(self._meter, RunLeft(seconds, _name(error), self._agent, status))


def measured_chat(ask: Ask) -> Ask:
    """Has requests to a model measured."""

    async def measured(run: Run, model: Model, request: ModelRequest, meter: Meter) -> ModelResponse:
        timed = TimedModel(model) if request.stream else None
        began = time.perf_counter()
        try:
            response = await ask(run, timed or model, request)
        except BaseException as error:
            seconds, name = time.perf_counter() - began, type(error).__name__
            keep(meter, _model_call(run, model, seconds, timed, error=name))
            raise
        keep(meter, _model_call(run, model, time.perf_counter() - began, timed, response))
        return response

    @functools.wraps(ask)
    def asked(run: Run, model: Model, request: ModelRequest) -> Awaitable[ModelResponse]:
        meter = run.deps.meter
        return ask(run, model, request) if meter is None else measured(run, model, request, meter)

    return asked


def _model_call(
    run: Run, model: Model, seconds: float, timed: TimedModel | None, response: ModelResponse | None = None, error: str = ""
) -> ModelCall:
    first = None if timed is None else timed.first
    provider: str = getattr(model, "provider", "")
    name, usage = ("", None) if response is None else (response.model, response.usage)
    return ModelCall(seconds, error, run.agent.name, model.name, provider, name, first, usage, run.deps.price)


def measure_attempts(run: Run, model: Model, attempts: Sequence[SpentAttempt]) -> None:
    """The requests that came to nothing and were paid for."""
    meter = run.deps.meter
    if meter is not None:
        provider: str = getattr(model, "provider", "")
        for one in attempts:
            keep(meter, AttemptCost(run.agent.name, model.name, provider, one.model, one.usage, run.deps.price))


def measured_tool(call: Call) -> Call:
    """Has calls of tools measured that are run. One that waits for an answer has come to nothing yet."""

    async def measured(run: Run, job: Job, meter: Meter) -> ToolFinished | None:
        began = time.perf_counter()

        def took(outcome: CallOutcome, error: BaseException | None) -> None:
            seconds = time.perf_counter() - began
            keep(meter, ToolCall(seconds, _name(error), run.agent.name, job.tool.name, outcome))

        try:
            result = await call(run, job)
        except BaseException as error:
            if not job.is_waiting:  # else it is made again where the run goes on
                took(job.failure if isinstance(error, Exception) else "cancelled", error)
            raise
        if result is not None:
            took(job.failure if result.is_error else "finished", job.error)
        return result

    @functools.wraps(call)
    def called(run: Run, job: Job) -> Awaitable[ToolFinished | None]:
        meter = run.deps.meter
        return call(run, job) if meter is None else measured(run, job, meter)

    return called


def measured_store(run: Run) -> Callable[[str, float, str], None] | None:
    """Takes what the run asked its store; None where nobody measures."""
    meter = run.deps.meter
    return None if meter is None else lambda method, seconds, error: keep(meter, StoreCall(seconds, error, method))


def note_unrun(run: Run, processed: ProcessedResponse, before: OpenTurn, after: OpenTurn) -> None:
    """The calls of a reply that have come to something without being run, between two states of the turn."""
    if run.deps.meter is None and run.deps.tracer is None:
        return
    for call, tool, outcome in _unrun(processed, before, after):
        show_unrun(run, call, tool, outcome)
        if run.deps.meter is not None:
            keep(run.deps.meter, ToolCall(None, "", run.agent.name, tool, outcome))


def _unrun(processed: ProcessedResponse, before: OpenTurn, after: OpenTurn) -> Iterable[tuple[FunctionCall, str, CallOutcome]]:
    named = [(call, spec.name) for call, spec in processed.functions]
    for call, tool in [*named, *[(call, OTHER_TOOL) for call in processed.unknown]]:
        call_id = call.call_id
        if call_id in after.in_doubt and call_id not in before.in_doubt:
            yield call, tool, "in_doubt"
            continue
        result = None if call_id in before.results or call_id in after.intended else after.results.get(call_id)
        if result is not None and result.is_error:
            yield call, tool, "refused"


def _name(error: BaseException | None) -> str:
    return "" if error is None else type(error).__name__
