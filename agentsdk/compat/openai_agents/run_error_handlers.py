"""Error handlers: a final output in place of an error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents.exceptions import MaxTurnsExceeded, ModelBehaviorError, ModelRefusalError
from agentsdk.compat.openai_agents.run_context import RunContextWrapper, TContext

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.items import ModelResponse, RunItem


@dataclass
class RunErrorData:
    """How far the run has come."""

    input: str | list[Any]
    new_items: list[RunItem]
    history: list[Any]
    output: list[Any]
    raw_responses: list[ModelResponse]
    last_agent: Agent[Any]


@dataclass
class RunErrorHandlerInput(Generic[TContext]):
    """What a handler is given."""

    error: MaxTurnsExceeded | ModelRefusalError | ModelBehaviorError
    context: RunContextWrapper[TContext]
    run_data: RunErrorData


@dataclass
class RunErrorHandlerResult:
    """What a handler gives: the final output. A bare value does as well."""

    final_output: Any
    include_in_history: bool = True


RunErrorHandler = Callable[[RunErrorHandlerInput[TContext]], "Awaitable[Any] | Any"]


class RunErrorHandlers(TypedDict, Generic[TContext], total=False):
    """Handlers by the kind of error."""

    max_turns: RunErrorHandler[TContext]
    model_refusal: RunErrorHandler[TContext]
    invalid_final_output: RunErrorHandler[TContext]
