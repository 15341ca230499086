"""The interface of models: subclass `Model` for one of your own."""

from __future__ import annotations

import abc
import enum
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent_output import AgentOutputSchemaBase
    from agentsdk.compat.openai_agents.handoffs import Handoff
    from agentsdk.compat.openai_agents.items import ModelResponse
    from agentsdk.compat.openai_agents.model_settings import ModelSettings
    from agentsdk.compat.openai_agents.tool import Tool


class ModelTracing(enum.Enum):
    """What of a request is traced."""

    DISABLED = 0
    ENABLED = 1
    ENABLED_WITHOUT_DATA = 2

    def is_disabled(self) -> bool:
        """Whether nothing is."""
        return self is ModelTracing.DISABLED

    def include_data(self) -> bool:
        """Whether inputs and outputs are."""
        return self is ModelTracing.ENABLED


class Model(abc.ABC):
    """A model. What it raises ends the run, and arrives as it was raised."""

    async def close(self) -> None:
        """Let go of connections."""

    def get_retry_advice(self, request: Any) -> Any:
        """What this model knows of whether a failed request may be sent again; None for nothing."""
        return None

    @abc.abstractmethod
    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: Any | None,
    ) -> ModelResponse:
        """Ask for a reply."""

    @abc.abstractmethod
    def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: Any | None,
    ) -> AsyncIterator[Any]:
        """Ask for a reply, event by event; the last one carries all of it."""


class ModelProvider(abc.ABC):
    """Finds models by name."""

    @abc.abstractmethod
    def get_model(self, model_name: str | None) -> Model:
        """The model of that name, or the default one."""

    async def aclose(self) -> None:
        """Let go of connections."""
