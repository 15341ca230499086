"""`Job`: a call that may run."""

from __future__ import annotations

from typing import Any

from agentsdk.define.context import ToolContext
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_body import BoundArguments
from agentsdk.engine.run import Run, StreamChannel
from agentsdk.ports.tracer import CallOutcome, Span
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import ToolTimeoutError
from agentsdk.types.items import FunctionCall

_UNBOUND: BoundArguments = ((), {})


class Job:
    """A call that may run: its tool, its arguments as parsed and as `bound` for the body, the context that the body gets, when
    that has begun, its span, and where the stream events of a nested run go, None where nobody reads them.

    Of its attempts: `started_at` is when the last one began, `began` when the first one in this process did, `is_waiting`
    whether it waits for the next one, and `failed` whether the last one has failed with what may pass. `error` is what the call
    came to in place of a value.
    """

    __slots__ = (
        "arguments",
        "began",
        "bound",
        "call",
        "channel",
        "context",
        "error",
        "failed",
        "is_waiting",
        "span",
        "started_at",
        "tool",
    )

    def __init__(
        self, run: Run, call: FunctionCall, tool: FunctionTool[Any], arguments: JsonObject, *, is_edited: bool = False
    ) -> None:
        self.call = call
        self.tool = tool
        self.arguments = arguments
        self.started_at: float | None = None
        self.channel: StreamChannel | None = run.channel
        self.span: Span | None = None
        self.bound: BoundArguments = _UNBOUND
        self.began = 0.0
        self.is_waiting = False
        self.failed = False
        self.error: Exception | None = None
        key = run.call_key(call.call_id, call.arguments) if is_edited else ""
        self.context: ToolContext[Any] = context_of(run, call, key)

    @property
    def failure(self) -> CallOutcome:
        """What became of the call, where it has failed."""
        return "timed_out" if isinstance(self.error, ToolTimeoutError) else "failed"


def context_of(run: Run, call: FunctionCall, idempotency_key: str) -> ToolContext[Any]:
    """The run as a call of it sees it."""
    given, agent = run.context, run.agent.name
    return ToolContext(given.context, given.usage, call.name, call.call_id, call.arguments, idempotency_key, agent, run)
