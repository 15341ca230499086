"""`trace`: several runs under one span."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType

from agentsdk.ports.tracer import Span, SpanAttributes, Tracer
from agentsdk.tracing.find import find_tracer


class trace:  # noqa: N801 - used like a function: `with trace("name"):`
    """A block whose runs belong to one workflow: `with` or `async with`, once per object.

    `group_id` names what the workflow belongs to, a chat for example. `tracer` is by default the one that runs find themselves;
    where nobody listens the block costs nothing.
    """

    def __init__(
        self,
        workflow_name: str,
        *,
        group_id: str = "",
        metadata: Mapping[str, str] | None = None,
        tracer: Tracer | None = None,
        disabled: bool = False,
    ) -> None:
        self._name = workflow_name
        self._attributes: SpanAttributes = {"conversation_id": group_id, "metadata": dict(metadata or {})}
        self._tracer = tracer
        self._disabled = disabled
        self._span: Span | None = None
        self._active: AbstractContextManager[None] | None = None

    def __enter__(self) -> trace:
        tracer = None if self._disabled else self._tracer or find_tracer()
        if tracer is not None:
            self._span = tracer.start("workflow", self._name, None, self._attributes)
            self._active = self._span.activate()
            self._active.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._active is not None and self._span is not None:
            self._active.__exit__(kind, error, traceback)
            self._span.end(error)

    async def __aenter__(self) -> trace:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)
