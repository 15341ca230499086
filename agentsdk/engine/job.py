"""`Job`: a call that may run."""

from __future__ import annotations

from typing import Any

from agentsdk.define.context import ToolContext
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_body import BoundArguments
from agentsdk.engine.run import Run, StreamChannel
from agentsdk.ports.tracer import Span
from agentsdk.types.base import JsonObject
from agentsdk.types.items import FunctionCall

_UNBOUND: BoundArguments = ((), {})


class Job:
    """A call that may run: its tool, its arguments as parsed and as `bound` for the body, the context that the body gets, when
    that has begun, its span, and where the stream events of a nested run go, None where nobody reads them."""

    __slots__ = ("arguments", "bound", "call", "channel", "context", "span", "started_at", "tool")

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
        self.context: ToolContext[Any] = ToolContext(
            run.context.context,
            run.context.usage,
            call.name,
            call.call_id,
            call.arguments,
            run.call_key(call.call_id, call.arguments) if is_edited else "",
            run.agent.name,
            run,
        )
