"""Handoffs: one agent giving the run to another."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, cast, overload

from pydantic import TypeAdapter, ValidationError

from agentsdk.compat.openai_agents._answers import is_yes
from agentsdk.compat.openai_agents._changes import Noticed
from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError, UserError
from agentsdk.compat.openai_agents.handoffs.history import default_handoff_history_mapper as default_handoff_history_mapper
from agentsdk.compat.openai_agents.handoffs.history import (
    get_conversation_history_wrappers as get_conversation_history_wrappers,
)
from agentsdk.compat.openai_agents.handoffs.history import nest_handoff_history as nest_handoff_history
from agentsdk.compat.openai_agents.handoffs.history import (
    reset_conversation_history_wrappers as reset_conversation_history_wrappers,
)
from agentsdk.compat.openai_agents.handoffs.history import (
    set_conversation_history_wrappers as set_conversation_history_wrappers,
)
from agentsdk.compat.openai_agents.run_context import RunContextWrapper, TContext
from agentsdk.compat.openai_agents.strict_schema import ensure_strict_json_schema

if sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    from typing_extensions import TypeVar

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent, AgentBase
    from agentsdk.compat.openai_agents.items import RunItem

THandoffInput = TypeVar("THandoffInput", default=Any)
TAgent = TypeVar("TAgent", default=Any)
OnHandoffWithInput = Callable[[RunContextWrapper[Any], THandoffInput], Any]
OnHandoffWithoutInput = Callable[[RunContextWrapper[Any]], Any]


@dataclass(frozen=True)
class HandoffInputData:
    """What an `input_filter` may change: what the next agent will see. `input_items`, where given, is what it is sent of the
    turn in place of `new_items`."""

    input_history: str | tuple[Any, ...]
    pre_handoff_items: tuple[RunItem, ...]
    new_items: tuple[RunItem, ...]
    run_context: RunContextWrapper[Any] | None = None
    input_items: tuple[RunItem, ...] | None = None

    def clone(self, **kwargs: Any) -> HandoffInputData:
        """A copy with some fields replaced."""
        return replace(self, **kwargs)


HandoffInputFilter = Callable[[HandoffInputData], "HandoffInputData | Awaitable[HandoffInputData]"]
HandoffHistoryMapper = Callable[[list[Any]], list[Any]]


def function_name(text: str) -> str:
    """A text as the name of a function."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", text.replace(" ", "_")).lower()


@dataclass
class Handoff(Noticed, Generic[TContext, TAgent]):
    """A handoff as the model sees it. `on_invoke_handoff` gives the agent that takes over, for the arguments as JSON text."""

    tool_name: str
    tool_description: str
    input_json_schema: dict[str, Any]
    on_invoke_handoff: Callable[[RunContextWrapper[Any], str], Awaitable[TAgent]]
    agent_name: str
    input_filter: HandoffInputFilter | None = None
    nest_handoff_history: bool | None = None
    strict_json_schema: bool = True
    is_enabled: bool | Callable[[RunContextWrapper[Any], AgentBase[Any]], bool | Awaitable[bool]] = True
    agent: Any = None

    def get_transfer_message(self, agent: AgentBase[Any]) -> str:
        """What the result of the handoff's call says."""
        return json.dumps({"assistant": agent.name})

    @classmethod
    def default_tool_name(cls, agent: AgentBase[Any]) -> str:
        """The name of the handoff's tool, unless one is given."""
        return function_name(f"transfer_to_{agent.name}")

    @classmethod
    def default_tool_description(cls, agent: AgentBase[Any]) -> str:
        """What the model is told of it, unless a text is given."""
        return f"Give the conversation to the agent {agent.name}. {agent.handoff_description or ''}".rstrip()


@overload
def handoff(
    agent: Agent[TContext],
    *,
    tool_name_override: str | None = None,
    tool_description_override: str | None = None,
    input_filter: HandoffInputFilter | None = None,
    nest_handoff_history: bool | None = None,
    is_enabled: bool | Callable[[RunContextWrapper[Any], Agent[Any]], bool | Awaitable[bool]] = True,
) -> Handoff[TContext, Agent[TContext]]: ...
@overload
def handoff(
    agent: Agent[TContext],
    *,
    on_handoff: OnHandoffWithInput[THandoffInput],
    input_type: type[THandoffInput],
    tool_description_override: str | None = None,
    tool_name_override: str | None = None,
    input_filter: HandoffInputFilter | None = None,
    nest_handoff_history: bool | None = None,
    is_enabled: bool | Callable[[RunContextWrapper[Any], Agent[Any]], bool | Awaitable[bool]] = True,
) -> Handoff[TContext, Agent[TContext]]: ...
@overload
def handoff(
    agent: Agent[TContext],
    *,
    on_handoff: OnHandoffWithoutInput,
    tool_description_override: str | None = None,
    tool_name_override: str | None = None,
    input_filter: HandoffInputFilter | None = None,
    nest_handoff_history: bool | None = None,
    is_enabled: bool | Callable[[RunContextWrapper[Any], Agent[Any]], bool | Awaitable[bool]] = True,
) -> Handoff[TContext, Agent[TContext]]: ...
def handoff(
    agent: Agent[TContext],
    tool_name_override: str | None = None,
    tool_description_override: str | None = None,
    on_handoff: OnHandoffWithInput[THandoffInput] | OnHandoffWithoutInput | None = None,
    input_type: type[THandoffInput] | None = None,
    input_filter: HandoffInputFilter | None = None,
    nest_handoff_history: bool | None = None,
    is_enabled: bool | Callable[[RunContextWrapper[Any], Agent[Any]], bool | Awaitable[bool]] = True,
) -> Handoff[TContext, Agent[TContext]]:
    """Declare a handoff to `agent`. Raises `UserError` for arguments that do not go together."""
    if input_type is not None and on_handoff is None:
        raise UserError("handoff has an input_type and no on_handoff, expected both or neither")
    wanted = 1 if input_type is None else 2
    if on_handoff is not None:
        if not callable(on_handoff):
            raise UserError(f"on_handoff is {on_handoff!r}, expected a function")
        if len(inspect.signature(on_handoff).parameters) != wanted:
            arguments = "one argument: the context" if wanted == 1 else "two arguments: the context and the input"
            raise UserError(f"on_handoff must take {arguments}; change its signature")
    adapter = None if input_type is None else TypeAdapter(input_type)

    async def on_invoke_handoff(context: RunContextWrapper[Any], input_json: str | None = None) -> Agent[TContext]:
        if on_handoff is None:
            return agent
        given: list[Any] = [context]
        if adapter is not None:
            if input_json is None:
                raise ModelBehaviorError(f"the handoff to {agent.name} has no input, expected one")
            try:
                given.append(adapter.validate_json(input_json))
            except ValidationError as error:
                raise ModelBehaviorError(f"the input of the handoff to {agent.name} does not fit: {error}") from error
        called = cast("Callable[..., Any]", on_handoff)(*given)
        if inspect.isawaitable(called):
            await called
        return agent

    async def enabled(context: RunContextWrapper[Any], asking: AgentBase[Any]) -> bool:
        return await is_yes(cast("Callable[..., Any]", is_enabled)(context, asking))

    return Handoff(
        tool_name=tool_name_override or Handoff.default_tool_name(agent),
        tool_description=tool_description_override or Handoff.default_tool_description(agent),
        input_json_schema=ensure_strict_json_schema({} if adapter is None else adapter.json_schema()),
        on_invoke_handoff=on_invoke_handoff,
        agent_name=agent.name,
        input_filter=input_filter,
        nest_handoff_history=nest_handoff_history,
        is_enabled=enabled if callable(is_enabled) else is_enabled,
        agent=agent,
    )
