"""agentsdk: an asyncio-native agent SDK whose every turn resolves to one typed next step.

What a first program and a production service need is here. A submodule (`agentsdk.errors`, `agentsdk.events`, ...) has every
name of its noun. All are imported on first use, so that a program pays only for what it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.context_window import ContextWindow, DropOldest, KeepByPriority, SlidingWindow, Summarize, TruncateToolResults
    from agentsdk.define.agent import Agent
    from agentsdk.define.output import AgentOutputSchema
    from agentsdk.define.output_function import OutputFunction
    from agentsdk.errors import (
        AgentsException,
        CostLimitExceededError,
        GuardrailError,
        InputGuardrailTripwireTriggered,
        LimitExceededError,
        MaxTurnsExceeded,
        ModelBehaviorError,
        ModelError,
        ModelRefusalError,
        OutputGuardrailTripwireTriggered,
        RateLimitError,
        RunConflictError,
        RunNotFoundError,
        SessionError,
        StateError,
        StoreError,
        ToolError,
        ToolInputGuardrailTripwireTriggered,
        ToolOutputGuardrailTripwireTriggered,
        UserError,
    )
    from agentsdk.events import (
        AgentUpdatedStreamEvent,
        OutputTextDelta,
        RawResponsesStreamEvent,
        RunItemStreamEvent,
        StreamEvent,
        ToolProgressStreamEvent,
    )
    from agentsdk.guardrails import (
        GuardrailFunctionOutput,
        InputGuardrail,
        OutputGuardrail,
        ToolGuardrailFunctionOutput,
        ToolInputGuardrailData,
        ToolOutputGuardrailData,
        input_guardrail,
        output_guardrail,
        tool_input_guardrail,
        tool_output_guardrail,
    )
    from agentsdk.handoffs import HandoffInputData, handoff
    from agentsdk.hooks import AgentHooks, RunHooks
    from agentsdk.items import (
        FunctionCall,
        FunctionCallOutput,
        InputFile,
        InputImage,
        InputText,
        Item,
        ItemHelpers,
        Message,
        MessageOutputItem,
        RunItem,
        ToolCallItem,
        ToolCallOutputItem,
    )
    from agentsdk.limits import ModelPrice, RunLimits, shared_limits
    from agentsdk.models import (
        AnthropicModel,
        FallbackModel,
        GoogleModel,
        LocalModel,
        Model,
        ModelRequest,
        ModelResponse,
        ModelRetrySettings,
        ModelSettings,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        Usage,
        aclose,
        set_max_connections,
    )
    from agentsdk.runner import Runner
    from agentsdk.runs import (
        ContextCodec,
        Inbox,
        RunConfig,
        RunContextWrapper,
        RunErrorHandlerInput,
        RunErrorHandlerResult,
        RunResult,
        RunResultStreaming,
        RunState,
        ToolAnswerItem,
        ToolApprovalItem,
        ToolInDoubtItem,
    )
    from agentsdk.sessions import EncryptedSession, MemorySession, PostgresSession, RedisSession, Session, SQLiteSession
    from agentsdk.stores import (
        EncryptedRunStore,
        FileRunStore,
        MemoryRunStore,
        PostgresRunStore,
        RedisRunStore,
        RunQuery,
        RunStore,
        RunSummary,
        SQLiteRunStore,
    )
    from agentsdk.tools import (
        FunctionTool,
        StopAtTools,
        ToolContext,
        ToolOutputFileContent,
        ToolOutputImage,
        ToolOutputText,
        ToolsToFinalOutputResult,
        function_tool,
        read_result,
        tool,
    )
    from agentsdk.tracing import OpenTelemetryTracer, trace
    from agentsdk.worker import Worker

__version__ = "0.2.0"

SUBMODULES = (
    "context_window",
    "durable",
    "durable.dbos",
    "durable.temporal",
    "errors",
    "evals",
    "events",
    "guardrails",
    "handoffs",
    "hooks",
    "hosted_tools",
    "items",
    "limits",
    "mcp",
    "models",
    "output",
    "patterns",
    "permissions",
    "runs",
    "sandboxes",
    "sessions",
    "stores",
    "testing",
    "tools",
    "toolsets",
    "ui",
    "web",
    "workflow",
    "tracing",
)
"""What each has is public too."""

__all__ = [
    "Agent",
    "AgentHooks",
    "AgentOutputSchema",
    "AgentUpdatedStreamEvent",
    "AgentsException",
    "AnthropicModel",
    "ContextCodec",
    "ContextWindow",
    "CostLimitExceededError",
    "DropOldest",
    "EncryptedRunStore",
    "EncryptedSession",
    "FallbackModel",
    "FileRunStore",
    "FunctionCall",
    "FunctionCallOutput",
    "FunctionTool",
    "GoogleModel",
    "GuardrailError",
    "GuardrailFunctionOutput",
    "HandoffInputData",
    "Inbox",
    "InputFile",
    "InputGuardrail",
    "InputGuardrailTripwireTriggered",
    "InputImage",
    "InputText",
    "Item",
    "ItemHelpers",
    "KeepByPriority",
    "LimitExceededError",
    "LocalModel",
    "MaxTurnsExceeded",
    "MemoryRunStore",
    "MemorySession",
    "Message",
    "MessageOutputItem",
    "Model",
    "ModelBehaviorError",
    "ModelError",
    "ModelPrice",
    "ModelRefusalError",
    "ModelRequest",
    "ModelResponse",
    "ModelRetrySettings",
    "ModelSettings",
    "OpenAIChatCompletionsModel",
    "OpenAIResponsesModel",
    "OpenTelemetryTracer",
    "OutputFunction",
    "OutputGuardrail",
    "OutputGuardrailTripwireTriggered",
    "OutputTextDelta",
    "PostgresRunStore",
    "PostgresSession",
    "RateLimitError",
    "RawResponsesStreamEvent",
    "RedisRunStore",
    "RedisSession",
    "RunConfig",
    "RunConflictError",
    "RunContextWrapper",
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
    "SessionError",
    "SlidingWindow",
    "StateError",
    "StopAtTools",
    "StoreError",
    "StreamEvent",
    "Summarize",
    "ToolAnswerItem",
    "ToolApprovalItem",
    "ToolCallItem",
    "ToolCallOutputItem",
    "ToolContext",
    "ToolError",
    "ToolGuardrailFunctionOutput",
    "ToolInDoubtItem",
    "ToolInputGuardrailData",
    "ToolInputGuardrailTripwireTriggered",
    "ToolOutputFileContent",
    "ToolOutputGuardrailData",
    "ToolOutputGuardrailTripwireTriggered",
    "ToolOutputImage",
    "ToolOutputText",
    "ToolProgressStreamEvent",
    "ToolsToFinalOutputResult",
    "TruncateToolResults",
    "Usage",
    "UserError",
    "Worker",
    "aclose",
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
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.context_window": "ContextWindow DropOldest KeepByPriority SlidingWindow Summarize TruncateToolResults",
            "agentsdk.define.agent": "Agent",
            "agentsdk.define.output": "AgentOutputSchema",
            "agentsdk.define.output_function": "OutputFunction",
            "agentsdk.errors": (
                "AgentsException CostLimitExceededError GuardrailError InputGuardrailTripwireTriggered "
                "LimitExceededError MaxTurnsExceeded ModelBehaviorError ModelError ModelRefusalError "
                "OutputGuardrailTripwireTriggered RateLimitError RunConflictError RunNotFoundError SessionError "
                "StateError StoreError ToolError ToolInputGuardrailTripwireTriggered "
                "ToolOutputGuardrailTripwireTriggered UserError"
            ),
            "agentsdk.events": (
                "AgentUpdatedStreamEvent OutputTextDelta RawResponsesStreamEvent RunItemStreamEvent StreamEvent "
                "ToolProgressStreamEvent"
            ),
            "agentsdk.guardrails": (
                "GuardrailFunctionOutput InputGuardrail OutputGuardrail ToolGuardrailFunctionOutput "
                "ToolInputGuardrailData ToolOutputGuardrailData input_guardrail output_guardrail tool_input_guardrail "
                "tool_output_guardrail"
            ),
            "agentsdk.handoffs": "HandoffInputData handoff",
            "agentsdk.hooks": "AgentHooks RunHooks",
            "agentsdk.items": (
                "FunctionCall FunctionCallOutput InputFile InputImage InputText Item ItemHelpers Message "
                "MessageOutputItem RunItem ToolCallItem ToolCallOutputItem"
            ),
            "agentsdk.limits": "ModelPrice RunLimits shared_limits",
            "agentsdk.models": (
                "AnthropicModel FallbackModel GoogleModel LocalModel Model ModelRequest ModelResponse "
                "ModelRetrySettings ModelSettings OpenAIChatCompletionsModel OpenAIResponsesModel Usage aclose "
                "set_max_connections"
            ),
            "agentsdk.runner": "Runner",
            "agentsdk.runs": (
                "ContextCodec Inbox RunConfig RunContextWrapper RunErrorHandlerInput RunErrorHandlerResult RunResult "
                "RunResultStreaming RunState ToolAnswerItem ToolApprovalItem ToolInDoubtItem"
            ),
            "agentsdk.sessions": "EncryptedSession MemorySession PostgresSession RedisSession SQLiteSession Session",
            "agentsdk.stores": (
                "EncryptedRunStore FileRunStore MemoryRunStore PostgresRunStore RedisRunStore RunQuery RunStore RunSummary "
                "SQLiteRunStore"
            ),
            "agentsdk.tools": (
                "FunctionTool StopAtTools ToolContext ToolOutputFileContent ToolOutputImage ToolOutputText "
                "ToolsToFinalOutputResult function_tool read_result tool"
            ),
            "agentsdk.tracing": "OpenTelemetryTracer trace",
            "agentsdk.worker": "Worker",
        },
        SUBMODULES,
    )
