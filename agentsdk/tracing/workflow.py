"""`trace`: several runs under one span."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType

from agentsdk.ports.tracer import TRACER, Settling, Span, SpanAttributes, Tracer
from agentsdk.tracing.find import find_tracer
from agentsdk.tracing.guarded import GuardedTracer
from agentsdk.types.declared import FLAG, Fields, a_name, any_text, mapping_of, optional

_FIELDS = Fields(
    "trace",
    workflow_name=a_name("the workflow's name; write trace('Import')"),
    group_id=any_text("a str; it names the chat, say"),
    metadata=optional(mapping_of(any_text(""), "a dict of texts")),
    tracer=optional(TRACER),
    disabled=FLAG,
)


class trace:  # noqa: N801 - used like a function: `with trace("name"):`
    """A block whose runs belong to one workflow: `with` or `async with`, once per object.

    `group_id` names what the workflow belongs to, a chat for example. `tracer` is by default the one that runs find themselves;
    where nobody listens the block costs nothing. Raises `UserError` for an argument that is wrong.
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
        _FIELDS.check_given(workflow_name=workflow_name, group_id=group_id, metadata=metadata, tracer=tracer, disabled=disabled)
        self._name = workflow_name
        self._attributes: SpanAttributes = {"conversation_id": group_id, "metadata": dict(metadata or {})}
        self._tracer = tracer
        self._disabled = disabled
        self._span: Span | None = None
        self._used: Tracer | None = None
        self._active: AbstractContextManager[None] | None = None

    def __enter__(self) -> trace:
        tracer = None if self._disabled else find_tracer() if self._tracer is None else GuardedTracer(self._tracer)
        if tracer is not None:
            self._used = tracer
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
        if isinstance(self._used, Settling):
            await self._used.settle()
