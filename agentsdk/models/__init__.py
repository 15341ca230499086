"""Models: an adapter for each protocol, models around models, embeddings, their settings, and what a request costs.

The adapters are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.models.anthropic import AnthropicModel
    from agentsdk.models.auth import Auth, AuthRequest
    from agentsdk.models.bedrock import BedrockModel
    from agentsdk.models.bedrock.auth import AwsAuth
    from agentsdk.models.cached import CachedModel, MemoryResponseCache, ResponseCache, SQLiteResponseCache
    from agentsdk.models.direct import DirectResponse, respond
    from agentsdk.models.entra import EntraAuth
    from agentsdk.models.fallback import FallbackModel
    from agentsdk.models.google import GoogleModel
    from agentsdk.models.limited import ConcurrencyLimitedModel
    from agentsdk.models.local import LocalEmbedder, LocalModel
    from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
    from agentsdk.models.openai_embedder import OpenAIEmbedder
    from agentsdk.models.openai_responses import OpenAIResponsesModel
    from agentsdk.models.prices import RunCost, cost_of, price_run
    from agentsdk.models.rate_limited import RateLimitedModel
    from agentsdk.models.retrying import RetryingModel
    from agentsdk.models.shared_client import aclose, set_max_connections
    from agentsdk.models.transport import ModelTimeouts
    from agentsdk.models.vertex import VertexAnthropicModel, VertexGoogleModel
    from agentsdk.models.vertex.auth import GoogleAuth
    from agentsdk.ports.embedder import Embedder, TextKind
    from agentsdk.ports.model import Model, ModelProvider, ModelRequest
    from agentsdk.types.hosted import Prompt
    from agentsdk.types.response import ModelResponse
    from agentsdk.types.settings import ModelRetrySettings, ModelSettings, Thinking
    from agentsdk.types.tape import Tape
    from agentsdk.types.usage import SpentAttempt, Usage

__all__ = [
    "AnthropicModel",
    "Auth",
    "AuthRequest",
    "AwsAuth",
    "BedrockModel",
    "CachedModel",
    "ConcurrencyLimitedModel",
    "DirectResponse",
    "Embedder",
    "EntraAuth",
    "FallbackModel",
    "GoogleAuth",
    "GoogleModel",
    "LocalEmbedder",
    "LocalModel",
    "MemoryResponseCache",
    "Model",
    "ModelProvider",
    "ModelRequest",
    "ModelResponse",
    "ModelRetrySettings",
    "ModelSettings",
    "ModelTimeouts",
    "OpenAIChatCompletionsModel",
    "OpenAIEmbedder",
    "OpenAIResponsesModel",
    "Prompt",
    "RateLimitedModel",
    "ResponseCache",
    "RetryingModel",
    "RunCost",
    "SQLiteResponseCache",
    "SpentAttempt",
    "Tape",
    "TextKind",
    "Thinking",
    "Usage",
    "VertexAnthropicModel",
    "VertexGoogleModel",
    "aclose",
    "cost_of",
    "price_run",
    "respond",
    "set_max_connections",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.models.anthropic": "AnthropicModel",
            "agentsdk.models.auth": "Auth AuthRequest",
            "agentsdk.models.bedrock": "BedrockModel",
            "agentsdk.models.bedrock.auth": "AwsAuth",
            "agentsdk.models.cached": "CachedModel MemoryResponseCache ResponseCache SQLiteResponseCache",
            "agentsdk.models.direct": "DirectResponse respond",
            "agentsdk.models.entra": "EntraAuth",
            "agentsdk.models.fallback": "FallbackModel",
            "agentsdk.models.google": "GoogleModel",
            "agentsdk.models.limited": "ConcurrencyLimitedModel",
            "agentsdk.models.local": "LocalEmbedder LocalModel",
            "agentsdk.models.openai_chat": "OpenAIChatCompletionsModel",
            "agentsdk.models.openai_embedder": "OpenAIEmbedder",
            "agentsdk.models.openai_responses": "OpenAIResponsesModel",
            "agentsdk.models.prices": "RunCost cost_of price_run",
            "agentsdk.models.rate_limited": "RateLimitedModel",
            "agentsdk.models.retrying": "RetryingModel",
            "agentsdk.models.shared_client": "aclose set_max_connections",
            "agentsdk.models.transport": "ModelTimeouts",
            "agentsdk.models.vertex": "VertexAnthropicModel VertexGoogleModel",
            "agentsdk.models.vertex.auth": "GoogleAuth",
            "agentsdk.ports.embedder": "Embedder TextKind",
            "agentsdk.ports.model": "Model ModelProvider ModelRequest",
            "agentsdk.types.hosted": "Prompt",
            "agentsdk.types.response": "ModelResponse",
            "agentsdk.types.settings": "ModelRetrySettings ModelSettings Thinking",
            "agentsdk.types.tape": "Tape",
            "agentsdk.types.usage": "SpentAttempt Usage",
        },
    )
