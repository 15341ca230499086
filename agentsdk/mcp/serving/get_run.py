"""`get_run`: the tool with which a client looks at a run that it began, from whatever connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import mcp_types as wire

from agentsdk.core.json_schema import check_arguments
from agentsdk.core.next_step import pending_calls
from agentsdk.mcp.serving.answers import output_text
from agentsdk.mcp.serving.asking import told
from agentsdk.mcp.serving.caller import Caller
from agentsdk.mcp.serving.calls import Calls, require_run_id
from agentsdk.types.base import JsonObject
from agentsdk.types.summary import RunStatus

GET_RUN = "get_run"

_INPUT: JsonObject = {
    "type": "object",
    "properties": {"run_id": {"type": "string", "description": "The run_id that the call was made with."}},
    "required": ["run_id"],
    "additionalProperties": False,
}
_OUTPUT: JsonObject = {
    "type": "object",
    "properties": {
        "run_id": {"type": "string"},
        "tool": {"type": "string"},
        "status": {"type": "string", "enum": list(get_args(RunStatus))},
        "waits_for": {"type": "array", "items": {"type": "string"}},
        "output": {"type": "string"},
    },
    "required": ["run_id", "tool", "status", "waits_for", "output"],
}


def get_run_tool() -> wire.Tool:
    """The tool as clients see it."""
    return wire.Tool(
        name=GET_RUN,
        description="Look at a piece of work that a call of another tool began under a run_id: whether it goes on, waits for a "
        "person, or is finished, and with what. It changes nothing: call the other tool again, with the same run_id and "
        "arguments, to go on.",
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        annotations=wire.ToolAnnotations(read_only_hint=True, idempotent_hint=True),
    )


async def get_run(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> wire.CallToolResult:
    """How the run stands. Raises `InvalidArgumentsError`, and `RunNotFoundError` for one that the caller did not begin."""
    check_arguments(_INPUT, arguments)
    run_id = require_run_id(arguments["run_id"])
    summary, state = await calls.look(run_id, caller.describe(GET_RUN, run_id))
    output = output_text(state.value)
    waits_for = [told(item) for item in pending_calls(state.value)]
    structured = {
        "run_id": run_id,
        "tool": summary.metadata.get("mcp.tool", ""),
        "status": summary.status,
        "waits_for": waits_for,
        "output": output,
    }
    said = output or "\n".join([f"The run is {summary.status}.", *waits_for])
    return wire.CallToolResult(content=[wire.TextContent(text=said)], structured_content=structured)
