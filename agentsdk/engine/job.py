"""`Job`: a call that may run."""

from __future__ import annotations

from typing import Any

from agentsdk.define.context import ToolContext
from agentsdk.define.tool import FunctionTool
from agentsdk.engine.run import Run
from agentsdk.types.base import JsonObject
from agentsdk.types.items import FunctionCall


class Job:
    """A call that may run: its tool, its parsed arguments, the context its body gets, and whether that has begun."""

    __slots__ = ("arguments", "begun", "call", "context", "tool")

    def __init__(self, run: Run, call: FunctionCall, tool: FunctionTool[Any], arguments: JsonObject) -> None:
        self.call = call
        self.tool = tool
        self.arguments = arguments
        self.begun = False
        self.context: ToolContext[Any] = ToolContext(
            run.context.context,
            run.context.usage,
            call.name,
            call.call_id,
            call.arguments,
            f"{run.path}/{call.call_id}",
            run.agent.name,
            run,
        )
