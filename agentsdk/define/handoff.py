"""`handoff`: one agent giving the run to another. What it makes is declared in `agent.py`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Generic, TypedDict, Unpack, overload

from agentsdk.define.agent import Agent, HandoffDeclaration, HandoffIsEnabled
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.handoff_filter import HandoffInputFilter
from agentsdk.define.output import AgentOutputSchema
from agentsdk.types.declared import CALLABLE, RULE, Fields, a, a_tool_name, any_text, optional
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext, TOutput
from agentsdk.types.spec import HandoffSpec
from agentsdk.types.text import clean_text

_NO_INPUT: dict[str, object] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


_FIELDS = Fields(
    "handoff",
    agent=a(Agent, "an Agent; pass handoff(agent)"),
    tool_name_override=optional(a_tool_name("a name for the handoff's tool")),
    tool_description_override=optional(any_text("a str; it tells the model when to hand over")),
    on_handoff=optional(CALLABLE),
    input_filter=optional(CALLABLE),
    is_enabled=RULE,
)


class HandoffOptions(TypedDict, Generic[TContext], total=False):
    """The keywords that `handoff` takes with and without an `input_type`."""

    tool_name_override: str | None
    tool_description_override: str | None
    input_filter: HandoffInputFilter | None
    is_enabled: bool | HandoffIsEnabled[TContext]


@overload
def handoff(
    agent: Agent[TContext, Any],
    *,
    on_handoff: Callable[[RunContextWrapper[TContext]], object] | None = None,
    input_type: None = None,
    **options: Unpack[HandoffOptions[TContext]],
) -> HandoffDeclaration[TContext]: ...
@overload
def handoff(
    agent: Agent[TContext, Any],
    *,
    on_handoff: Callable[[RunContextWrapper[TContext], TOutput], object],
    input_type: type[TOutput],
    **options: Unpack[HandoffOptions[TContext]],
) -> HandoffDeclaration[TContext]: ...
def handoff(
    agent: Agent[TContext, Any],
    *,
    tool_name_override: str | None = None,
    tool_description_override: str | None = None,
    on_handoff: Callable[..., object] | None = None,
    input_type: type[Any] | None = None,
    input_filter: HandoffInputFilter | None = None,
    is_enabled: bool | HandoffIsEnabled[TContext] = True,
) -> HandoffDeclaration[TContext]:
    """Declare a handoff to `agent`.

    `on_handoff(context)`, or `on_handoff(context, payload)` with an `input_type`, is called when the model hands over.
    `input_filter` decides what the next agent sees. Raises `UserError` for an argument that is wrong, and when `on_handoff`
    takes other arguments.
    """
    _FIELDS.check_given(
        agent=agent,
        tool_name_override=tool_name_override,
        tool_description_override=tool_description_override,
        on_handoff=on_handoff,
        input_filter=input_filter,
        is_enabled=is_enabled,
    )
    if input_type is not None and on_handoff is None:
        raise UserError(
            f"handoff to agent {agent.name!r} has an input_type, expected on_handoff(context, payload) to take it; "
            "give on_handoff or drop input_type"
        )
    if on_handoff is not None:
        wanted = 1 if input_type is None else 2
        try:
            inspect.signature(on_handoff).bind(*range(wanted))
        except Exception:  # it takes something else, or is an object whose signature cannot be read
            raise UserError(
                f"on_handoff of the handoff to agent {agent.name!r} cannot take {wanted} argument(s), expected "
                f"{'(context)' if wanted == 1 else '(context, payload)'}; change its signature"
            ) from None
    payload = None if input_type is None else AgentOutputSchema[Any](input_type)
    spec = HandoffSpec(
        tool_name_override if tool_name_override is not None else f"transfer_to_{_snake(agent.name)}",
        clean_text(tool_description_override if tool_description_override is not None else _description(agent)),
        _NO_INPUT if payload is None or payload.spec is None else payload.spec.schema,
        agent.name,
        True if payload is None or payload.spec is None else payload.spec.strict,
    )
    return HandoffDeclaration(agent, spec, on_handoff, payload, input_filter, is_enabled)


def _description(agent: Agent[Any, Any]) -> str:
    about = agent.handoff_description
    return f"Give the conversation to the agent {agent.name}.{' ' + about if about else ''}"


def _snake(name: str) -> str:
    return re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_") or "agent"
