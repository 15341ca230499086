"""Traces: what one workflow did, from end to end."""

from __future__ import annotations

import abc
from contextvars import Token
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.tracing import util
from agentsdk.compat.openai_agents.tracing.processor_interface import TracingProcessor
from agentsdk.compat.openai_agents.tracing.scope import current_trace

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.run_config import RunConfig


class Trace(abc.ABC):
    """A workflow: a context manager, or started and finished by hand."""

    @property
    @abc.abstractmethod
    def trace_id(self) -> str:
        """Its id."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the workflow."""

    @abc.abstractmethod
    def start(self, mark_as_current: bool = False) -> None:
        """Begin."""

    @abc.abstractmethod
    def finish(self, reset_current: bool = False) -> None:
        """End."""

    @abc.abstractmethod
    def export(self) -> dict[str, Any] | None:
        """The trace as a dict."""

    @property
    def tracing_api_key(self) -> str | None:
        """The key that it is exported with."""
        return None

    def to_json(self, *, include_tracing_api_key: bool = False) -> dict[str, Any] | None:
        """The trace as a dict, with its key where that is wanted."""
        exported = self.export()
        if exported is not None and include_tracing_api_key and self.tracing_api_key:
            exported["tracing_api_key"] = self.tracing_api_key
        return exported

    def __enter__(self) -> Trace:
        self.start(mark_as_current=True)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.finish(reset_current=kind is not GeneratorExit)


class _Marked(Trace):
    """A trace that can be the current one, and has an id once somebody asks for it."""

    _trace_id: str | None
    _token: Token[Trace | None] | None = None

    @property
    def trace_id(self) -> str:
        """Its id."""
        if not self._trace_id:
            self._trace_id = util.gen_trace_id()
        return self._trace_id

    def start(self, mark_as_current: bool = False) -> None:
        """Begin."""
        if mark_as_current:
            self._token = current_trace.set(self)

    def finish(self, reset_current: bool = False) -> None:
        """End."""
        if reset_current and self._token is not None:
            try:
                current_trace.reset(self._token)
            except ValueError:  # of another context
                current_trace.set(None)
            self._token = None


class _Described(_Marked):
    """A trace that has what is said of it in fields."""

    def __init__(self, name: str, trace_id: str | None, group_id: str | None, metadata: dict[str, Any] | None) -> None:
        self._name = name
        self._trace_id = trace_id
        self.group_id = group_id
        self.metadata = metadata

    @property
    def name(self) -> str:
        """The name of the workflow."""
        return self._name

    def export(self) -> dict[str, Any] | None:
        """The trace as a dict."""
        return _exported(self.trace_id, self._name, self.group_id, self.metadata)


class TraceImpl(_Described):
    """A trace that is told of."""

    def __init__(
        self,
        name: str,
        trace_id: str | None,
        group_id: str | None,
        metadata: dict[str, Any] | None,
        processor: TracingProcessor,
        tracing_api_key: str | None = None,
    ) -> None:
        super().__init__(name, trace_id, group_id, metadata)
        self._processor = processor
        self._key = tracing_api_key
        self._started = False
        self._ended = False

    @property
    def tracing_api_key(self) -> str | None:
        """The key that it is exported with."""
        return self._key

    def start(self, mark_as_current: bool = False) -> None:
        """Begin."""
        if self._started:
            return
        self._started = True
        self._processor.on_trace_start(self)
        super().start(mark_as_current)

    def finish(self, reset_current: bool = False) -> None:
        """End."""
        if not self._started:
            return
        if not self._ended:
            self._ended = True
            self._processor.on_trace_end(self)
        super().finish(reset_current)


def _exported(trace_id: str, name: str, group_id: str | None, metadata: dict[str, Any] | None) -> dict[str, Any]:
    return {"object": "trace", "id": trace_id, "workflow_name": name, "group_id": group_id, "metadata": metadata}


class UntoldTrace(_Marked):
    """The trace of a run of which no processor is told. What it is called is read of the run's settings when somebody asks."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._trace_id = config.trace_id

    @property
    def name(self) -> str:
        """The name of the workflow."""
        return self._config.workflow_name

    @property
    def group_id(self) -> str | None:
        """The id of the group of traces that it is of."""
        return self._config.group_id

    @property
    def metadata(self) -> dict[str, Any] | None:
        """What the run's settings say of it."""
        return self._config.trace_metadata

    def export(self) -> dict[str, Any] | None:
        """The trace as a dict."""
        return _exported(self.trace_id, self.name, self.group_id, self.metadata)


class ResumedTrace(_Described):
    """A trace that goes on, as a run does. Its processors know of it, where `is_told`, and are not told again."""

    def __init__(
        self, name: str, trace_id: str, group_id: str | None, metadata: dict[str, Any] | None, *, is_told: bool
    ) -> None:
        super().__init__(name, trace_id, group_id, metadata)
        self.is_told = is_told

    @classmethod
    def loaded(cls, data: dict[str, Any]) -> ResumedTrace:
        """That of a saved state. Processors of another process than the one that has saved it do not know of it."""
        return cls(data["workflow_name"], data["id"], data["group_id"], data["metadata"], is_told=data["id"] in _saved)


_MOST = 4096
_saved: dict[str, None] = {}  # ids of traces that states were saved with in this process


def saved_trace(trace: Trace) -> dict[str, Any] | None:
    """A trace as a state keeps it."""
    if not isinstance(trace, ResumedTrace) or trace.is_told:
        _saved[trace.trace_id] = None
        if len(_saved) > _MOST:
            del _saved[next(iter(_saved))]
    return trace.export()


class NoOpTrace(Trace):
    """A trace that nobody is told of."""

    def __init__(self) -> None:
        self._token: Token[Trace | None] | None = None

    @property
    def trace_id(self) -> str:
        """No id."""
        return "no-op"

    @property
    def name(self) -> str:
        """No name."""
        return "no-op"

    def start(self, mark_as_current: bool = False) -> None:
        """Begin."""
        if mark_as_current:
            self._token = current_trace.set(self)

    def finish(self, reset_current: bool = False) -> None:
        """End."""
        if reset_current and self._token is not None:
            current_trace.reset(self._token)
            self._token = None

    def export(self) -> dict[str, Any] | None:
        """None."""
        return None


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
