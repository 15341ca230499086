"""Models of OpenAI's two APIs, which are agentsdk's: a run asks them without a bridge, the program gets openai's types."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents._config import Defaults
from agentsdk.compat.openai_agents.models.interface import Model, ModelTracing
from agentsdk.ports.model import Model as OwnModel
from agentsdk.ports.model import ModelRequest

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent_output import AgentOutputSchemaBase
    from agentsdk.compat.openai_agents.handoffs import Handoff
    from agentsdk.compat.openai_agents.items import ModelResponse
    from agentsdk.compat.openai_agents.model_settings import ModelSettings
    from agentsdk.compat.openai_agents.tool import Tool
    from agentsdk.types.deltas import ModelStreamEvent


def client_options(client: Any) -> dict[str, Any]:
    """The key and address of an `AsyncOpenAI`, or those that were set for the process."""
    chosen = Defaults.client if client is None else client
    if chosen is None:
        return {} if Defaults.key is None else {"api_key": Defaults.key}
    options: dict[str, Any] = {}
    key, url = getattr(chosen, "api_key", None), getattr(chosen, "base_url", None)
    if isinstance(key, str):
        options["api_key"] = key
    if url is not None and isinstance(str(url), str):
        options["base_url"] = str(url).rstrip("/")
    headers = getattr(chosen, "_custom_headers", None)
    if isinstance(headers, dict) and headers:
        options["headers"] = {str(name): str(value) for name, value in headers.items()}  # pyright: ignore
    return options


class NativeModel(Model):
    """A model that agentsdk asks."""

    model: str

    def __init__(self, model: Any, openai_client: Any = None) -> None:
        self.model = str(model)
        self._client = openai_client
        self._native: OwnModel | None = None

    def _make(self, options: dict[str, Any]) -> OwnModel:
        raise NotImplementedError

    @property
    def native(self) -> OwnModel:
        """agentsdk's model: made when it is first asked."""
        if self._native is None:
            self._native = self._make(client_options(self._client))
        return self._native

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing = ModelTracing.DISABLED,
        *,
        previous_response_id: str | None = None,
        conversation_id: str | None = None,
        prompt: Any | None = None,
    ) -> ModelResponse:
        """Ask for a reply."""
        from agentsdk.compat.openai_agents._bridge.direct import direct_request, reply_of

        request = direct_request(
            system_instructions, input, model_settings, tools, output_schema, handoffs, prompt, model=self, stream=False
        )
        return await reply_of(self._events(request))

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing = ModelTracing.DISABLED,
        *,
        previous_response_id: str | None = None,
        conversation_id: str | None = None,
        prompt: Any | None = None,
    ) -> AsyncIterator[Any]:
        """Ask for a reply, event by event."""
        from agentsdk.compat.openai_agents._bridge.direct import direct_request
        from agentsdk.compat.openai_agents._bridge.events import built_event

        request = direct_request(
            system_instructions, input, model_settings, tools, output_schema, handoffs, prompt, model=self, stream=True
        )
        async with aclosing(self._events(request)) as events:
            async for event in events:
                yield built_event(event)

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent]:
        from agentsdk.compat.openai_agents._bridge.errors import bare_error
        from agentsdk.types.errors import AgentsException

        raised: BaseException | None = None
        try:
            async with aclosing(self.native.stream(request)) as events:
                async for event in events:
                    yield event
        except AgentsException as error:
            raised = bare_error(error)
            raised.__cause__ = error
        if raised is not None:
            raise raised
