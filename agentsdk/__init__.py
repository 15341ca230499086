"""agentsdk: an asyncio-native agent SDK whose every turn resolves to one typed next step.

Names only. The loop and its declarations are imported at once; adapters (models, sessions, tracing) on first use, so that a
program pays only for those it names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from agentsdk.core.diff import Divergence, RunDiff
from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.core.next_step import (
    FinalOutput,
    Handoff,
    Interruption,
    NextStep,
    PendingCall,
    RunAgain,
    ToolApprovalItem,
    ToolInDoubtItem,
)
from agentsdk.core.run_state import RunState
from agentsdk.core.window.context_window import ContextWindow
from agentsdk.core.window.strategies import DropOldest, KeepByPriority, SlidingWindow, Summarize, TruncateToolResults
from agentsdk.define.agent import Agent, AgentHooks, AgentTool, HandoffDeclaration, InputGuardrail, OutputGuardrail
from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.define.function_tool import function_tool, tool
from agentsdk.define.guardrail import input_guardrail, output_guardrail
from agentsdk.define.guardrail_output import GuardrailFunctionOutput, GuardrailResult, ToolGuardrailFunctionOutput
from agentsdk.define.handoff import handoff
from agentsdk.define.handoff_filter import HandoffInputData
from agentsdk.define.hooks import RunHooks
from agentsdk.define.inbox import Inbox
from agentsdk.define.output import AgentOutputSchema
from agentsdk.define.prices import ModelPrice
from agentsdk.define.read_result import read_result
from agentsdk.define.run_config import ContextCodec, RunConfig, RunErrorHandlerInput, RunErrorHandlerResult
from agentsdk.define.run_items import (
    HandoffCallItem,
    HandoffOutputItem,
    HostedToolItem,
    ItemHelpers,
    MessageOutputItem,
    ReasoningItem,
    RunItem,
    ToolCallItem,
    ToolCallOutputItem,
)
from agentsdk.define.stream_events import (
    AgentUpdatedStreamEvent,
    ContextCompactedStreamEvent,
    LimitWarningStreamEvent,
    RawResponsesStreamEvent,
    RunItemStreamEvent,
    StreamEvent,
)
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_guardrail import (
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.define.tool_options import default_tool_error_function
from agentsdk.define.tool_output import ToolOutputFileContent, ToolOutputImage, ToolOutputText
from agentsdk.define.tool_use import StopAtTools, ToolResult, ToolsToFinalOutputResult
from agentsdk.engine.limits.limiter import shared_limits
from agentsdk.engine.replay import Replay
from agentsdk.engine.rerun import ReplayWithChanges
from agentsdk.ports.clock import Clock
from agentsdk.ports.model import Model, ModelProvider, ModelRequest
from agentsdk.ports.run_store import RunStore
from agentsdk.ports.session import Session
from agentsdk.ports.token_counter import TokenCounter
from agentsdk.ports.tracer import Span, Tracer
from agentsdk.result import RunResult, RunResultStreaming
from agentsdk.runner import Runner
from agentsdk.types.deltas import (
    AttemptDiscarded,
    FunctionCallArgumentsDelta,
    ModelStreamEvent,
    OutputItemAdded,
    OutputItemDone,
    OutputTextDelta,
    ReasoningTextDelta,
    RefusalDelta,
    ResponseCompleted,
    ResponseCreated,
)
from agentsdk.types.errors import (
    AgentsException,
    AuthenticationError,
    BadRequestError,
    CallbackError,
    ConsecutiveErrorsExceededError,
    ContentFilterError,
    ContextTooLongError,
    ContextWindowError,
    CostLimitExceededError,
    DeadlineExceededError,
    EmptyResponseError,
    GuardrailError,
    GuardrailFailedError,
    HookError,
    IncompleteResponseError,
    InputGuardrailTripwireTriggered,
    InvalidArgumentsError,
    InvalidOutputError,
    LimitExceededError,
    MalformedResponseError,
    MaxTurnsExceeded,
    ModelBehaviorError,
    ModelConnectionError,
    ModelError,
    ModelRefusalError,
    ModelTimeoutError,
    NoProgressError,
    NotFoundError,
    OutputGuardrailTripwireTriggered,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
    RepeatedCallsError,
    RequestLimitExceededError,
    ResumableState,
    RunConflictError,
    RunNotFoundError,
    SessionBusyError,
    SessionError,
    StateCorruptError,
    StateError,
    StateMismatchError,
    StateTamperedError,
    StateVersionError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
    TokenLimitExceededError,
    ToolCallLimitExceededError,
    ToolError,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
    ToolTimeoutError,
    UnsupportedCallError,
    UserError,
)
from agentsdk.types.events import LimitReachedEvent
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    Item,
    Message,
    OutputText,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.summary import RunQuery, RunSummary
from agentsdk.types.usage import SpentAttempt, Usage

if TYPE_CHECKING:
    from agentsdk.models.anthropic import AnthropicModel
    from agentsdk.models.fallback import FallbackModel
    from agentsdk.models.google import GoogleModel
    from agentsdk.models.limited import ConcurrencyLimitedModel
    from agentsdk.models.local import LocalModel
    from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
    from agentsdk.models.openai_responses import OpenAIResponsesModel
    from agentsdk.models.rate_limited import RateLimitedModel
    from agentsdk.models.shared_client import aclose, set_max_connections
    from agentsdk.models.token_counter import EstimatingCounter, TiktokenCounter
    from agentsdk.models.transport import ModelTimeouts
    from agentsdk.sessions.encrypted import EncryptedSession
    from agentsdk.sessions.memory import MemorySession
    from agentsdk.sessions.postgres import PostgresSession
    from agentsdk.sessions.redis import RedisSession
    from agentsdk.sessions.sqlite import SQLiteSession
    from agentsdk.stores.encrypted import EncryptedRunStore
    from agentsdk.stores.memory import MemoryRunStore
    from agentsdk.stores.postgres import PostgresRunStore
    from agentsdk.stores.redis import RedisRunStore
    from agentsdk.stores.sqlite import SQLiteRunStore
    from agentsdk.tracing.otel import OpenTelemetryTracer
    from agentsdk.tracing.workflow import trace

__version__ = "0.2.0"

_LAZY = {
    "AnthropicModel": "agentsdk.models.anthropic",
    "FallbackModel": "agentsdk.models.fallback",
    "GoogleModel": "agentsdk.models.google",
    "ModelTimeouts": "agentsdk.models.transport",
    "aclose": "agentsdk.models.shared_client",
    "set_max_connections": "agentsdk.models.shared_client",
    "ConcurrencyLimitedModel": "agentsdk.models.limited",
    "LocalModel": "agentsdk.models.local",
    "OpenAIChatCompletionsModel": "agentsdk.models.openai_chat",
    "OpenAIResponsesModel": "agentsdk.models.openai_responses",
    "RateLimitedModel": "agentsdk.models.rate_limited",
    "EstimatingCounter": "agentsdk.models.token_counter",
    "TiktokenCounter": "agentsdk.models.token_counter",
    "EncryptedSession": "agentsdk.sessions.encrypted",
    "MemorySession": "agentsdk.sessions.memory",
    "PostgresSession": "agentsdk.sessions.postgres",
    "RedisSession": "agentsdk.sessions.redis",
    "SQLiteSession": "agentsdk.sessions.sqlite",
    "EncryptedRunStore": "agentsdk.stores.encrypted",
    "MemoryRunStore": "agentsdk.stores.memory",
    "PostgresRunStore": "agentsdk.stores.postgres",
    "RedisRunStore": "agentsdk.stores.redis",
    "SQLiteRunStore": "agentsdk.stores.sqlite",
    "OpenTelemetryTracer": "agentsdk.tracing.otel",
    "trace": "agentsdk.tracing.workflow",
}

__all__ = [
    "Agent",
    "AgentHooks",
    "AgentOutputSchema",
    "AgentTool",
    "AgentUpdatedStreamEvent",
    "AgentsException",
    "AnthropicModel",
    "AttemptDiscarded",
    "AuthenticationError",
    "BadRequestError",
    "CallbackError",
    "Clock",
    "ConcurrencyLimitedModel",
    "ConsecutiveErrorsExceededError",
    "ContentFilterError",
    "ContextCodec",
    "ContextCompactedStreamEvent",
    "ContextTooLongError",
    "ContextWindow",
    "ContextWindowError",
    "CostLimitExceededError",
    "DeadlineExceededError",
    "Divergence",
    "DropOldest",
    "EmptyResponseError",
    "EncryptedRunStore",
    "EncryptedSession",
    "EstimatingCounter",
    "FallbackModel",
    "FinalOutput",
    "FunctionCall",
    "FunctionCallArgumentsDelta",
    "FunctionCallOutput",
    "FunctionTool",
    "GoogleModel",
    "GuardrailError",
    "GuardrailFailedError",
    "GuardrailFunctionOutput",
    "GuardrailResult",
    "Handoff",
    "HandoffCallItem",
    "HandoffDeclaration",
    "HandoffInputData",
    "HandoffOutputItem",
    "HookError",
    "HostedToolItem",
    "Inbox",
    "IncompleteResponseError",
    "InputAudio",
    "InputFile",
    "InputGuardrail",
    "InputGuardrailTripwireTriggered",
    "InputImage",
    "InputText",
    "Interruption",
    "InvalidArgumentsError",
    "InvalidOutputError",
    "Item",
    "ItemHelpers",
    "KeepByPriority",
    "LimitExceededError",
    "LimitReachedEvent",
    "LimitWarningStreamEvent",
    "LocalModel",
    "MalformedResponseError",
    "MaxTurnsExceeded",
    "MemoryRunStore",
    "MemorySession",
    "Message",
    "MessageOutputItem",
    "Model",
    "ModelBehaviorError",
    "ModelConnectionError",
    "ModelError",
    "ModelPrice",
    "ModelProvider",
    "ModelRefusalError",
    "ModelRequest",
    "ModelResponse",
    "ModelRetrySettings",
    "ModelSettings",
    "ModelStreamEvent",
    "ModelTimeoutError",
    "ModelTimeouts",
    "NextStep",
    "NoProgressError",
    "NotFoundError",
    "OpenAIChatCompletionsModel",
    "OpenAIResponsesModel",
    "OpenTelemetryTracer",
    "OutputGuardrail",
    "OutputGuardrailTripwireTriggered",
    "OutputItemAdded",
    "OutputItemDone",
    "OutputText",
    "OutputTextDelta",
    "PendingCall",
    "PostgresRunStore",
    "PostgresSession",
    "ProviderError",
    "ProviderItem",
    "ProviderUnavailableError",
    "RateLimitError",
    "RateLimitedModel",
    "RawResponsesStreamEvent",
    "Reasoning",
    "ReasoningItem",
    "ReasoningTextDelta",
    "RedisRunStore",
    "RedisSession",
    "Refusal",
    "RefusalDelta",
    "RepeatedCallsError",
    "Replay",
    "ReplayWithChanges",
    "RequestLimitExceededError",
    "ResponseCompleted",
    "ResponseCreated",
    "ResumableState",
    "RunAgain",
    "RunConfig",
    "RunConflictError",
    "RunContextWrapper",
    "RunDiff",
    "RunErrorHandlerInput",
    "RunErrorHandlerResult",
    "RunHooks",
    "RunItem",
    "RunItemStreamEvent",
    "RunLimits",
    "RunNotFoundError",
    "RunQuery",
    "RunResult",
    "RunResultStreaming",
    "RunState",
    "RunStore",
    "RunSummary",
    "Runner",
    "SQLiteRunStore",
    "SQLiteSession",
    "Session",
    "SessionBusyError",
    "SessionError",
    "SlidingWindow",
    "Span",
    "SpentAttempt",
    "StateCorruptError",
    "StateError",
    "StateMismatchError",
    "StateTamperedError",
    "StateVersionError",
    "StopAtTools",
    "StoreBusyError",
    "StoreError",
    "StoreUnavailableError",
    "StreamEvent",
    "Summarize",
    "TiktokenCounter",
    "TokenCounter",
    "TokenLimitExceededError",
    "ToolApprovalItem",
    "ToolCallItem",
    "ToolCallLimitExceededError",
    "ToolCallOutputItem",
    "ToolContext",
    "ToolError",
    "ToolGuardrailFunctionOutput",
    "ToolInDoubtItem",
    "ToolInputGuardrail",
    "ToolInputGuardrailData",
    "ToolInputGuardrailTripwireTriggered",
    "ToolOutputFileContent",
    "ToolOutputGuardrail",
    "ToolOutputGuardrailData",
    "ToolOutputGuardrailTripwireTriggered",
    "ToolOutputImage",
    "ToolOutputText",
    "ToolResult",
    "ToolTimeoutError",
    "ToolsToFinalOutputResult",
    "Tracer",
    "TruncateToolResults",
    "UnsupportedCallError",
    "Usage",
    "UserError",
    "aclose",
    "default_tool_error_function",
    "function_tool",
    "handoff",
    "input_guardrail",
    "output_guardrail",
    "read_result",
    "set_max_connections",
    "shared_limits",
    "tool",
    "tool_input_guardrail",
    "tool_output_guardrail",
    "trace",
]


if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one

    def __getattr__(name: str) -> object:
        if name not in _LAZY:
            raise AttributeError(f"module 'agentsdk' has no attribute {name!r}")
        value: object = getattr(import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
