"""`FrontEndTools`: tools that a front end declares with its request, and runs itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.define.run_config import RunConfig
from agentsdk.define.tool import FunctionTool
from agentsdk.define.toolset import Toolset, ToolsetContext
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.events import ToolsetChanged
from agentsdk.types.spec import ToolSpec

NAME = "front end"
"""The name of the toolset."""

MAX_TOOLS = 64
MAX_BYTES = 65_536
"""How much a front end may declare, as JSON."""


class FrontEndTools(Toolset[Any]):
    """An agent with this among its `toolsets` is offered the tools that an AG-UI client declares: `FrontEndTools()`.

    Nothing of them runs here. A call ends the answer, the client runs it, and its next request has the result. What they are is
    recorded with the run when it begins. Their descriptions reach the model: whoever may chat with the agent writes them.
    """

    name = NAME

    def __init__(self) -> None:
        self._made: tuple[Mapping[str, ToolSpec], Sequence[FunctionTool[Any]]] = ({}, ())

    async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
        """Those that the run began with."""
        if self._made[0] is not context.offered:
            tools = [_tool(spec.name, spec.description, spec.parameters) for spec in context.offered.values()]
            self._made = context.offered, tools
        return self._made[1]


def offer_of(
    agent: Agent[Any, Any], config: RunConfig, declared: Iterable[tuple[str, str, object]]
) -> tuple[ToolsetChanged, ...]:
    """What is recorded of the tools that a client declares: names, descriptions and schemas. Raises `UserError`."""
    given = list(declared)
    if not given:
        return ()
    if not any(isinstance(toolset, FrontEndTools) for toolset in (*agent.toolsets, *config.toolsets)):
        raise UserError(
            f"the front end declares tools, which agent {agent.name!r} does not take, expected none; give it "
            "toolsets=[FrontEndTools()]"
        )
    own = Declaration.of(agent)
    taken = {*own.tools, *own.handoffs}
    specs: list[ToolSpec] = []
    for name, description, schema in given[: MAX_TOOLS + 1]:
        if name in taken:
            raise UserError(f"the front end declares the tool {name[:64]!r}, which there is already, expected another name")
        taken.add(name)
        specs.append(_tool(name, description, _schema(name, schema)).spec)
    if len(given) > MAX_TOOLS or len(msgspec.json.encode(specs)) > MAX_BYTES:
        raise UserError(f"the front end declares too much, expected at most {MAX_TOOLS} tools in {MAX_BYTES} bytes; send less")
    return (ToolsetChanged(NAME, tuple(specs)),)


def _schema(name: str, schema: object) -> JsonObject:
    if schema is None or schema == {}:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise UserError(
            f"the parameters of the front end's tool {name[:64]!r} are no JSON schema, expected an object; send one"
        )
    return cast("JsonObject", schema)


def _tool(name: str, description: str, schema: JsonObject) -> FunctionTool[Any]:
    return FunctionTool(name, description, schema, external=True, strict_json_schema=False)
