"""Prompts that OpenAI keeps."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.run_context import RunContextWrapper

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent


class Prompt(TypedDict):
    """A prompt by its id."""

    id: str
    version: NotRequired[str]
    variables: NotRequired[dict[str, Any]]


@dataclass
class GenerateDynamicPromptData:
    """What a function that gives a prompt is called with."""

    context: RunContextWrapper[Any]
    agent: Agent[Any]


DynamicPromptFunction = Callable[[GenerateDynamicPromptData], "Prompt | Awaitable[Prompt]"]


class PromptUtil:
    """Prompts as the model is sent them."""

    @staticmethod
    async def to_model_input(
        prompt: Prompt | DynamicPromptFunction | None, context: RunContextWrapper[Any], agent: Agent[Any]
    ) -> dict[str, Any] | None:
        """The prompt of a turn as a dict with `id`, `version` and `variables`; None for none."""
        if prompt is None:
            return None
        given: object = prompt
        if callable(prompt):
            made = prompt(GenerateDynamicPromptData(context, agent))
            given = await made if inspect.isawaitable(made) else made
        if not isinstance(given, Mapping):
            raise UserError(
                f"the prompt of agent {agent.name!r} is {type(given).__name__!r}, expected a dict; write {{'id': 'pmpt_...'}}"
            )
        fields = cast("Mapping[str, Any]", given)
        return {"id": fields["id"], "version": fields.get("version"), "variables": fields.get("variables")}
