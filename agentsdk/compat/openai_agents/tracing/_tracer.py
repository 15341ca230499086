"""The spans of a run beneath, told to the program's processors."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from agentsdk.compat.openai_agents import exceptions
from agentsdk.compat.openai_agents._bridge.errors import their_error
from agentsdk.compat.openai_agents._bridge.scope import current
from agentsdk.compat.openai_agents._going import current_span, current_trace, trace_now
from agentsdk.compat.openai_agents.tracing.create import trace
from agentsdk.compat.openai_agents.tracing.provider import DefaultTraceProvider
from agentsdk.compat.openai_agents.tracing.setup import get_trace_provider
from agentsdk.compat.openai_agents.tracing.span_data import (
    AgentSpanData,
    FunctionSpanData,
    GenerationSpanData,
    SpanData,
    TaskSpanData,
    TurnSpanData,
)
from agentsdk.compat.openai_agents.tracing.spans import Span
from agentsdk.compat.openai_agents.tracing.traces import NoOpTrace, ResumedTrace, Trace
from agentsdk.ports.tracer import Span as OwnSpan
from agentsdk.ports.tracer import SpanAttributes, SpanKind
from agentsdk.types.errors import AgentsException as OwnError
from agentsdk.types.usage import Usage

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.run_config import RunConfig


def _is_told() -> bool:
    """Whether anybody is told of spans."""
    provider = get_trace_provider()
    if not isinstance(provider, DefaultTraceProvider):
        return True
    return bool(provider.processor.processors) and not provider.is_disabled


def tracer_for(config: RunConfig) -> BridgedTracer | None:
    """What the spans of a run go to; None where nobody is told of them."""
    if config.tracing_disabled or not _is_told():
        return None
    return BridgedTracer(config.trace_include_sensitive_data)


def begin_trace(config: RunConfig, before: Trace | None = None) -> Trace | None:
    """The trace of a run, which has begun; None where one goes on already, or where nobody is told of it.

    `before` is that of a run which is gone on with.
    """
    if current.get() is not None or current_trace.get() is not None:
        return None
    provider = get_trace_provider()
    if isinstance(provider, DefaultTraceProvider) and not (provider.processor.processors or config.tracing_disabled):
        return None  # whether tracing is disabled need not be asked
    if before is not None and not isinstance(before, NoOpTrace) and not config.tracing_disabled:
        made = _gone_on(config, before)
    else:
        made = trace(
            config.workflow_name,
            config.trace_id,
            config.group_id,
            config.trace_metadata,
            config.tracing,
            config.tracing_disabled,
        )
    made.start(mark_as_current=True)
    return made


def _gone_on(config: RunConfig, before: Any) -> Trace:
    """The trace of a run that goes on: the same, unless the run's settings say something else, or nobody was told of it."""
    was = (before.name, before.trace_id, before.group_id, before.metadata)
    is_named = config.workflow_name != type(config).workflow_name
    name = config.workflow_name if is_named else before.name
    metadata = before.metadata if config.trace_metadata is None else config.trace_metadata
    now = (name, config.trace_id or before.trace_id, config.group_id or before.group_id, metadata)
    if now == was and getattr(before, "is_told", True):
        return ResumedTrace(*was, is_told=True)
    return trace(*now, config.tracing)


class BridgedTracer:
    """Makes spans of the program's kinds."""

    def __init__(self, with_data: bool) -> None:
        self._with_data = with_data

    def start(
        self, kind: SpanKind, name: str, parent: OwnSpan | None = None, attributes: SpanAttributes | None = None
    ) -> BridgedSpan:
        """Begin a span. What the program begins is in that of the turn, the agent's turns or the run that goes on."""
        given: dict[str, Any] = dict(attributes or {})
        outer = parent if isinstance(parent, BridgedSpan) else _current.get()
        above: Any = parent.span if isinstance(parent, BridgedSpan) else current_span.get() or trace_now()
        is_told = not (kind == "chat" and _asks_own_model(given))  # such a model tells of itself, if it likes
        span = get_trace_provider().create_span(
            self._data(kind, name, given), parent=above, disabled=isinstance(above, NoOpTrace) or above is None or not is_told
        )
        span.start()
        return BridgedSpan(span, self._with_data, outer, goes_on=kind in ("run", "agent", "turn"))

    def _data(self, kind: SpanKind, name: str, given: dict[str, Any]) -> SpanData:
        match kind:
            case "agent":
                return _of_agent(name)
            case "turn":
                return TurnSpanData(int(given.get("turn", 0)), _named(str(given.get("agent", ""))))
            case "chat":
                return GenerationSpanData(model=str(given.get("model", name)))
            case "tool":
                return FunctionSpanData(name, str(given.get("arguments", "")) if self._with_data else None, None)
            case _:
                scope, metadata = current.get(), cast("dict[str, Any]", given.get("metadata") or {})
                if scope is not None and scope.begun is not None:
                    return TaskSpanData(scope.begun.name)
                return TaskSpanData(str(metadata.get("workflow_name", name)))


def _agent(name: str) -> Any:
    """The program's agent of this name, in the run that goes on."""
    scope = current.get()
    return None if scope is None else scope.translation.named_agent(name)


def _named(name: str) -> str:
    agent = _agent(name)
    return name if agent is None else agent.name


def _asks_own_model(given: dict[str, Any]) -> bool:
    """Whether the model of a request is a `Model` of the program's own."""
    from agentsdk.compat.openai_agents._bridge.model import find_model

    scope, agent = current.get(), _agent(str(given.get("agent", "")))
    try:
        return scope is not None and agent is not None and find_model(scope, agent).native is None
    except Exception:  # a provider of the program's own: what it raises is raised when the model is asked
        return False


def _of_agent(name: str) -> AgentSpanData:
    scope, agent = current.get(), _agent(name)
    if scope is None or agent is None:
        return AgentSpanData(name, [], [], "str")
    schema = scope.translation.output_schema(agent)
    handoffs = [one.agent_name for one in scope.translation.handoffs(agent)]
    return AgentSpanData(
        agent.name, handoffs, [tool.name for tool in scope.tools_of(agent)], "str" if schema is None else schema.name()
    )


class BridgedSpan:
    """A span of the program's, as the run beneath has it. `outer` is the one around it, for a nested run that of its call."""

    def __init__(self, span: Span[Any], with_data: bool, outer: BridgedSpan | None, *, goes_on: bool) -> None:
        self.span = span
        self._with_data = with_data
        self._outer = outer
        self._before: tuple[Any, Any] | None = None
        if goes_on:
            self._before = (current_span.get(), _current.get())
            current_span.set(span)
            _current.set(self)

    def set(self, attributes: SpanAttributes) -> None:
        """Add attributes."""
        data: Any = self.span.span_data
        given: dict[str, Any] = dict(attributes)
        if isinstance(data, FunctionSpanData) and self._with_data and "result" in given:
            data.output = given["result"]
        if isinstance(data, FunctionSpanData) and self._with_data and "arguments" in given:
            data.input = str(given["arguments"])
        usage = given.get("usage")
        if isinstance(data, GenerationSpanData) and usage is not None:
            data.usage = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
            above = self._outer
            while above is not None:
                above.spend(usage)
                above = above._outer

    def spend(self, usage: Usage) -> None:
        """Count what a request within has spent, where it is a turn or a run."""
        data: Any = self.span.span_data
        if isinstance(data, TurnSpanData | TaskSpanData):
            spent = {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cached_input_tokens": usage.cached_tokens,
                "cache_write_input_tokens": usage.cache_write_tokens,
            }
            if isinstance(data, TaskSpanData):
                spent |= {"requests": usage.requests, "total_tokens": usage.total_tokens}
            so_far = data.usage or {}
            data.usage = {name: so_far.get(name, 0) + number for name, number in spent.items()}

    def end(self, error: BaseException | None = None) -> None:
        """The work is over."""
        if error is not None and (told := _told(self.span.span_data, error)) is not None:
            self.span.set_error(cast(Any, told))
        self.span.finish()
        if self._before is not None:
            span, bridged = self._before
            current_span.set(span)
            _current.set(bridged)

    def activate(self) -> AbstractContextManager[None]:
        """The current span while a block runs."""
        return _activated(self)


_current: ContextVar[BridgedSpan | None] = ContextVar("current span of a run", default=None)


def _told(data: Any, error: BaseException) -> dict[str, Any] | None:
    """What a span says of the error that it ended with: each error is told by one, as openai-agents does."""
    scope = current.get()
    seen: Any = their_error(error, scope) if scope is not None and isinstance(error, OwnError) else error
    match data, seen:
        case (TurnSpanData(), exceptions.InputGuardrailTripwireTriggered()) | (
            AgentSpanData(),
            exceptions.OutputGuardrailTripwireTriggered(),
        ):
            return {
                "message": "Guardrail tripwire triggered",
                "data": {"guardrail": seen.guardrail_result.guardrail.get_name()},
            }
        case FunctionSpanData(), _:
            return {"message": "Error running tool", "data": {"tool_name": data.name, "error": str(seen.__cause__ or seen)}}
        case GenerationSpanData(), _:
            return {"message": "Error", "data": {"name": type(seen).__name__, "message": str(seen)}}
        case AgentSpanData(), exceptions.MaxTurnsExceeded() if scope is not None:
            return {"message": "Max turns exceeded", "data": {"max_turns": scope.max_turns}}
        case AgentSpanData(), exceptions.InputGuardrailTripwireTriggered():
            return None
        case AgentSpanData(), _:
            return {"message": "Error in agent run", "data": {"error": str(seen)}}
        case _:
            return None


@contextmanager
def _activated(bridged: BridgedSpan) -> Generator[None]:
    token, outer = current_span.set(bridged.span), _current.set(bridged)
    try:
        yield
    finally:
        current_span.reset(token)
        _current.reset(outer)
