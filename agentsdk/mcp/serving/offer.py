"""What is served: the tools that clients see, and the agent whose run a call of one is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from agentsdk.core.json_schema import check_arguments
from agentsdk.define.agent import Agent, AgentTool
from agentsdk.define.answer_type import AnswerType
from agentsdk.define.declaration import Declaration
from agentsdk.define.tool import FunctionTool
from agentsdk.define.toolset import Toolset, ToolsetContext
from agentsdk.define.toolset_tools import tools_by_name
from agentsdk.mcp.serving.one_call import agent_of_call, input_of_call
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import AgentsException, ToolsetError, UserError
from agentsdk.types.usage import Usage

T = TypeVar("T")

RESULT_KEY = "result"
"""Under which a structured result stands that is no object: the protocol's older versions take only objects."""


@dataclass(frozen=True, eq=False)
class Served:
    """One tool as clients see it, and the agent whose run a call of it is.

    `output_schema` describes the structured results, None where results are text; `is_wrapped` where they stand under
    `RESULT_KEY`. The effect is None where it is not known. A tool with `is_enabled=False` is not offered.
    """

    name: str
    description: str
    input_schema: JsonObject
    agent: Agent[Any, Any]
    is_one_call: bool
    output_schema: JsonObject | None = None
    is_wrapped: bool = False
    effect: str | None = None
    needs_approval: bool = False
    is_offered: bool = True

    def input_of(self, arguments: Mapping[str, object]) -> str:
        """The input of the run. Raises `InvalidArgumentsError`; those of a tool are checked in its run."""
        if self.is_one_call:
            return input_of_call(arguments)
        check_arguments(self.input_schema, arguments)
        return cast(str, arguments["input"])


class Offer:
    """The tools that a client is offered. `name` is what is served, for those who do not name their server."""

    name: str
    instructions: str = ""

    async def tools(self, context: Any) -> Mapping[str, Served]:
        """All tools, for who has this context object. Raises an `AgentsException` for a toolset that fails."""
        raise NotImplementedError

    async def find(self, context: Any, name: str) -> Served | None:
        """The tool of that name, or None."""
        return (await self.tools(context)).get(name)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called when the tools have changed; what is returned ends that."""
        return lambda: None


class FixedOffer(Offer):
    """Tools that never change: `served`, by name."""

    def __init__(self, name: str, served: Iterable[Served]) -> None:
        self.name = name
        self.served: dict[str, Served] = {}
        for one in served:
            if one.name in self.served:
                raise UserError(
                    f"two of what is to be served are named {one.name!r}, expected unique names; rename one of them"
                )
            self.served[one.name] = one
        if not self.served:
            raise UserError("an empty list is to be served, expected tools or agents; pass at least one")

    async def tools(self, context: Any) -> Mapping[str, Served]:
        return {name: served for name, served in self.served.items() if served.is_offered}

    async def find(self, context: Any, name: str) -> Served | None:
        served = self.served.get(name)
        return served if served is not None and served.is_offered else None


class _Found(Offer):
    """What a toolset has, asked each time. What was made of a tool is kept while the toolset gives the same one."""

    def __init__(self, toolset: Toolset[Any], timeout: float) -> None:
        self.name = toolset.name
        self.instructions = getattr(toolset, "instructions", "")
        self._toolset = toolset
        self._timeout = timeout
        self._known: dict[str, tuple[FunctionTool[Any], Served]] = {}
        self._asker = Agent[Any, Any](toolset.name)

    async def tools(self, context: Any) -> Mapping[str, Served]:
        given = await self._asked(self._toolset.get_tools(ToolsetContext[Any](context, Usage(), self._asker)))
        found = {name: self._served(tool) for name, tool in tools_by_name(self.name, given).items()}
        self._known = {name: self._known[name] for name in found}
        return {name: served for name, served in found.items() if served.is_offered}

    async def find(self, context: Any, name: str) -> Served | None:
        tool = await self._asked(self._toolset.find_tool(ToolsetContext[Any](context, Usage(), self._asker), name))
        if tool is None:
            return None
        served = self._served(tools_by_name(self.name, (tool,))[tool.name])
        return served if served.is_offered and served.name == name else None

    async def _asked(self, answer: Awaitable[T]) -> T:
        """What the toolset answers. Raises `ToolsetError` for one that raises, or does not answer in time."""
        try:
            async with asyncio.timeout(self._timeout):
                return await answer
        except AgentsException:
            raise
        except TimeoutError:
            raise ToolsetError(
                f"toolset {self.name!r} gave no tools within {self._timeout:g} s, expected it to; raise toolset_timeout"
            ) from None
        except Exception as error:
            raise ToolsetError(f"toolset {self.name!r} raised {type(error).__name__}; see the chained exception") from error

    def _served(self, tool: FunctionTool[Any]) -> Served:
        known = self._known.get(tool.name)
        if known is None or known[0] is not tool:
            known = self._known[tool.name] = tool, served_tool(tool)
        return known[1]

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        return self._toolset.on_change(callback)


def offer_of(thing: object, toolset_timeout: float) -> Offer:
    """What serving `thing` offers. Raises `UserError` for what cannot be served, and for two of one name."""
    if isinstance(thing, Toolset):
        return _Found(cast(Any, thing), toolset_timeout)
    several = cast("Sequence[object]", thing) if isinstance(thing, Sequence) and not isinstance(thing, str | bytes) else [thing]
    served = [_served(one) for one in several]
    return FixedOffer(served[0].name if len(served) == 1 else "agentsdk", served)


def _served(thing: object) -> Served:
    if isinstance(thing, Agent):
        return served_agent(cast(Any, thing))
    if isinstance(thing, FunctionTool):
        return served_tool(cast(Any, thing))
    raise UserError(
        f"a {type(thing).__name__!r} is to be served, expected an Agent, a FunctionTool, a list of these, or a Toolset; make a "
        "tool of a function with @function_tool"
    )


def served_agent(agent: Agent[Any, Any]) -> Served:
    """An agent as a tool whose run is the agent's own. Raises `UserError` for parts of it that do not fit together."""
    tool = agent.as_tool()
    output = Declaration.of(agent).output
    schema, is_wrapped = None, False
    if (
        output is not None
        and not output.is_function
        and not output.is_plain_text
        and not output.is_media
        and not agent.handoffs
    ):
        schema, is_wrapped = _output_schema(agent.name, output.output_type)
    return Served(tool.name, tool.description, tool.params_json_schema, agent, False, schema, is_wrapped)


def served_tool(tool: FunctionTool[Any]) -> Served:
    """A tool; a call of it is a run of its own."""
    schema, is_wrapped = None, False
    if not isinstance(tool, AgentTool):
        try:
            schema, is_wrapped = _as_object(tool.answer_type.schema)
        except UserError:  # a type without a JSON schema: its results are sent as text, as to a model
            pass
    return Served(
        tool.name,
        tool.description,
        tool.params_json_schema,
        agent_of_call(tool),
        True,
        schema,
        is_wrapped,
        None if isinstance(tool, AgentTool) else tool.effect,
        tool.needs_approval is not False,
        tool.is_enabled is not False,
    )


def _output_schema(name: str, annotation: object) -> tuple[JsonObject | None, bool]:
    return _as_object(AnswerType(name, annotation).schema)


def _as_object(schema: JsonObject | None) -> tuple[JsonObject | None, bool]:
    """The schema as that of an object, and whether the values had to be put under `RESULT_KEY`; None for plain text."""
    if schema is None or (schema.get("type") == "string" and "enum" not in schema):
        return None, False
    if schema.get("type") == "object":
        return schema, False
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    wrapped: JsonObject = {"type": "object", "properties": {RESULT_KEY: inner}, "required": [RESULT_KEY]}
    if "$defs" in schema:
        wrapped["$defs"] = schema["$defs"]
    return wrapped, True
