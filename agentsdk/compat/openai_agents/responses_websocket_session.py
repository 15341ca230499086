"""Runs over one websocket, which agentsdk has not: they go over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from agentsdk.compat.openai_agents.models.openai_provider import OpenAIProvider
from agentsdk.compat.openai_agents.result import RunResult, RunResultStreaming
from agentsdk.compat.openai_agents.run import Runner
from agentsdk.compat.openai_agents.run_config import RunConfig


class ResponsesWebSocketSession:
    """Runs agents with one provider."""

    def __init__(self, provider: OpenAIProvider, run_config: RunConfig) -> None:
        self.provider = provider
        self.run_config = run_config

    async def run(self, starting_agent: Any, input: Any, **kwargs: Any) -> RunResult:
        """`Runner.run`."""
        return await Runner.run(starting_agent, input, run_config=self.run_config, **kwargs)

    def run_streamed(self, starting_agent: Any, input: Any, **kwargs: Any) -> RunResultStreaming:
        """`Runner.run_streamed`."""
        return Runner.run_streamed(starting_agent, input, run_config=self.run_config, **kwargs)


@asynccontextmanager
async def responses_websocket_session(
    *, api_key: str | None = None, base_url: str | None = None, openai_client: Any = None, **_: Any
) -> AsyncGenerator[ResponsesWebSocketSession]:
    """A session for a block."""
    provider = OpenAIProvider(api_key=api_key, base_url=base_url, openai_client=openai_client, use_responses=True)
    yield ResponsesWebSocketSession(provider, RunConfig(model_provider=provider))
