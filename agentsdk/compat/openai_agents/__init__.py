"""`agents` of openai-agents 0.24, on agentsdk: a program of it runs with its import line changed.

```python
from agentsdk.compat.openai_agents import Agent, Runner, function_tool
```

Each name means what it means there. What cannot be here is absent: its import says why, and what there is instead. Names are
imported when they are first used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentsdk.compat.openai_agents._absent import AbsentModules, absent

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents._config import enable_verbose_stdout_logging as enable_verbose_stdout_logging
    from agentsdk.compat.openai_agents._config import (
        set_default_openai_agent_registration as set_default_openai_agent_registration,
    )
    from agentsdk.compat.openai_agents._config import set_default_openai_api as set_default_openai_api
    from agentsdk.compat.openai_agents._config import set_default_openai_client as set_default_openai_client
    from agentsdk.compat.openai_agents._config import set_default_openai_harness as set_default_openai_harness
    from agentsdk.compat.openai_agents._config import set_default_openai_key as set_default_openai_key
    from agentsdk.compat.openai_agents._config import (
        set_default_openai_responses_transport as set_default_openai_responses_transport,
    )
    from agentsdk.compat.openai_agents.agent import Agent as Agent
    from agentsdk.compat.openai_agents.agent import AgentBase as AgentBase
    from agentsdk.compat.openai_agents.agent import AgentToolStreamEvent as AgentToolStreamEvent
    from agentsdk.compat.openai_agents.agent import StopAtTools as StopAtTools
    from agentsdk.compat.openai_agents.agent import ToolsToFinalOutputFunction as ToolsToFinalOutputFunction
    from agentsdk.compat.openai_agents.agent import ToolsToFinalOutputResult as ToolsToFinalOutputResult
    from agentsdk.compat.openai_agents.agent_output import AgentOutputSchema as AgentOutputSchema
    from agentsdk.compat.openai_agents.agent_output import AgentOutputSchemaBase as AgentOutputSchemaBase
    from agentsdk.compat.openai_agents.apply_diff import apply_diff as apply_diff
    from agentsdk.compat.openai_agents.computer import AsyncComputer as AsyncComputer
    from agentsdk.compat.openai_agents.computer import Button as Button
    from agentsdk.compat.openai_agents.computer import Computer as Computer
    from agentsdk.compat.openai_agents.computer import Environment as Environment
    from agentsdk.compat.openai_agents.editor import ApplyPatchEditor as ApplyPatchEditor
    from agentsdk.compat.openai_agents.editor import ApplyPatchOperation as ApplyPatchOperation
    from agentsdk.compat.openai_agents.editor import ApplyPatchResult as ApplyPatchResult
    from agentsdk.compat.openai_agents.exceptions import AgentsException as AgentsException
    from agentsdk.compat.openai_agents.exceptions import InputGuardrailTripwireTriggered as InputGuardrailTripwireTriggered
    from agentsdk.compat.openai_agents.exceptions import MaxTurnsExceeded as MaxTurnsExceeded
    from agentsdk.compat.openai_agents.exceptions import MCPToolCancellationError as MCPToolCancellationError
    from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError as ModelBehaviorError
    from agentsdk.compat.openai_agents.exceptions import ModelRefusalError as ModelRefusalError
    from agentsdk.compat.openai_agents.exceptions import ModelTimeoutError as ModelTimeoutError
    from agentsdk.compat.openai_agents.exceptions import OutputGuardrailTripwireTriggered as OutputGuardrailTripwireTriggered
    from agentsdk.compat.openai_agents.exceptions import RunErrorDetails as RunErrorDetails
    from agentsdk.compat.openai_agents.exceptions import (
        ToolInputGuardrailTripwireTriggered as ToolInputGuardrailTripwireTriggered,
    )
    from agentsdk.compat.openai_agents.exceptions import (
        ToolOutputGuardrailTripwireTriggered as ToolOutputGuardrailTripwireTriggered,
    )
    from agentsdk.compat.openai_agents.exceptions import ToolTimeoutError as ToolTimeoutError
    from agentsdk.compat.openai_agents.exceptions import UserError as UserError
    from agentsdk.compat.openai_agents.guardrail import GuardrailFunctionOutput as GuardrailFunctionOutput
    from agentsdk.compat.openai_agents.guardrail import InputGuardrail as InputGuardrail
    from agentsdk.compat.openai_agents.guardrail import InputGuardrailResult as InputGuardrailResult
    from agentsdk.compat.openai_agents.guardrail import OutputGuardrail as OutputGuardrail
    from agentsdk.compat.openai_agents.guardrail import OutputGuardrailResult as OutputGuardrailResult
    from agentsdk.compat.openai_agents.guardrail import input_guardrail as input_guardrail
    from agentsdk.compat.openai_agents.guardrail import output_guardrail as output_guardrail
    from agentsdk.compat.openai_agents.handoffs import Handoff as Handoff
    from agentsdk.compat.openai_agents.handoffs import HandoffInputData as HandoffInputData
    from agentsdk.compat.openai_agents.handoffs import HandoffInputFilter as HandoffInputFilter
    from agentsdk.compat.openai_agents.handoffs import default_handoff_history_mapper as default_handoff_history_mapper
    from agentsdk.compat.openai_agents.handoffs import get_conversation_history_wrappers as get_conversation_history_wrappers
    from agentsdk.compat.openai_agents.handoffs import handoff as handoff
    from agentsdk.compat.openai_agents.handoffs import nest_handoff_history as nest_handoff_history
    from agentsdk.compat.openai_agents.handoffs import (
        reset_conversation_history_wrappers as reset_conversation_history_wrappers,
    )
    from agentsdk.compat.openai_agents.handoffs import set_conversation_history_wrappers as set_conversation_history_wrappers
    from agentsdk.compat.openai_agents.items import CompactionItem as CompactionItem
    from agentsdk.compat.openai_agents.items import HandoffCallItem as HandoffCallItem
    from agentsdk.compat.openai_agents.items import HandoffOutputItem as HandoffOutputItem
    from agentsdk.compat.openai_agents.items import InputItem as InputItem
    from agentsdk.compat.openai_agents.items import ItemHelpers as ItemHelpers
    from agentsdk.compat.openai_agents.items import MCPApprovalRequestItem as MCPApprovalRequestItem
    from agentsdk.compat.openai_agents.items import MCPApprovalResponseItem as MCPApprovalResponseItem
    from agentsdk.compat.openai_agents.items import MCPListToolsItem as MCPListToolsItem
    from agentsdk.compat.openai_agents.items import MessageOutputItem as MessageOutputItem
    from agentsdk.compat.openai_agents.items import ModelResponse as ModelResponse
    from agentsdk.compat.openai_agents.items import ReasoningItem as ReasoningItem
    from agentsdk.compat.openai_agents.items import RunItem as RunItem
    from agentsdk.compat.openai_agents.items import ToolApprovalItem as ToolApprovalItem
    from agentsdk.compat.openai_agents.items import ToolCallItem as ToolCallItem
    from agentsdk.compat.openai_agents.items import ToolCallOutputItem as ToolCallOutputItem
    from agentsdk.compat.openai_agents.items import ToolSearchCallItem as ToolSearchCallItem
    from agentsdk.compat.openai_agents.items import ToolSearchOutputItem as ToolSearchOutputItem
    from agentsdk.compat.openai_agents.items import TResponseInputItem as TResponseInputItem
    from agentsdk.compat.openai_agents.lifecycle import AgentHooks as AgentHooks
    from agentsdk.compat.openai_agents.lifecycle import RunHooks as RunHooks
    from agentsdk.compat.openai_agents.memory import OpenAIConversationsSession as OpenAIConversationsSession
    from agentsdk.compat.openai_agents.memory import OpenAIResponsesCompactionArgs as OpenAIResponsesCompactionArgs
    from agentsdk.compat.openai_agents.memory import (
        OpenAIResponsesCompactionAwareSession as OpenAIResponsesCompactionAwareSession,
    )
    from agentsdk.compat.openai_agents.memory import OpenAIResponsesCompactionSession as OpenAIResponsesCompactionSession
    from agentsdk.compat.openai_agents.memory import Session as Session
    from agentsdk.compat.openai_agents.memory import SessionABC as SessionABC
    from agentsdk.compat.openai_agents.memory import SessionSettings as SessionSettings
    from agentsdk.compat.openai_agents.memory import (
        is_openai_responses_compaction_aware_session as is_openai_responses_compaction_aware_session,
    )
    from agentsdk.compat.openai_agents.memory.sqlite_session import SQLiteSession as SQLiteSession
    from agentsdk.compat.openai_agents.model_settings import ModelSettings as ModelSettings
    from agentsdk.compat.openai_agents.models.interface import Model as Model
    from agentsdk.compat.openai_agents.models.interface import ModelProvider as ModelProvider
    from agentsdk.compat.openai_agents.models.interface import ModelTracing as ModelTracing
    from agentsdk.compat.openai_agents.models.multi_provider import MultiProvider as MultiProvider
    from agentsdk.compat.openai_agents.models.openai_agent_registration import (
        OpenAIAgentRegistrationConfig as OpenAIAgentRegistrationConfig,
    )
    from agentsdk.compat.openai_agents.models.openai_chatcompletions import (
        OpenAIChatCompletionsModel as OpenAIChatCompletionsModel,
    )
    from agentsdk.compat.openai_agents.models.openai_provider import OpenAIProvider as OpenAIProvider
    from agentsdk.compat.openai_agents.models.openai_responses import OpenAIResponsesModel as OpenAIResponsesModel
    from agentsdk.compat.openai_agents.models.openai_responses import (
        OpenAIResponsesWebSocketOptions as OpenAIResponsesWebSocketOptions,
    )
    from agentsdk.compat.openai_agents.models.openai_responses import OpenAIResponsesWSModel as OpenAIResponsesWSModel
    from agentsdk.compat.openai_agents.prompts import DynamicPromptFunction as DynamicPromptFunction
    from agentsdk.compat.openai_agents.prompts import GenerateDynamicPromptData as GenerateDynamicPromptData
    from agentsdk.compat.openai_agents.prompts import Prompt as Prompt
    from agentsdk.compat.openai_agents.repl import run_demo_loop as run_demo_loop
    from agentsdk.compat.openai_agents.responses_websocket_session import ResponsesWebSocketSession as ResponsesWebSocketSession
    from agentsdk.compat.openai_agents.responses_websocket_session import (
        responses_websocket_session as responses_websocket_session,
    )
    from agentsdk.compat.openai_agents.result import AgentToolInvocation as AgentToolInvocation
    from agentsdk.compat.openai_agents.result import RunResult as RunResult
    from agentsdk.compat.openai_agents.result import RunResultStreaming as RunResultStreaming
    from agentsdk.compat.openai_agents.retry import ModelRetryAdvice as ModelRetryAdvice
    from agentsdk.compat.openai_agents.retry import ModelRetryAdviceRequest as ModelRetryAdviceRequest
    from agentsdk.compat.openai_agents.retry import ModelRetryBackoffSettings as ModelRetryBackoffSettings
    from agentsdk.compat.openai_agents.retry import ModelRetryNormalizedError as ModelRetryNormalizedError
    from agentsdk.compat.openai_agents.retry import ModelRetrySettings as ModelRetrySettings
    from agentsdk.compat.openai_agents.retry import RetryDecision as RetryDecision
    from agentsdk.compat.openai_agents.retry import RetryPolicy as RetryPolicy
    from agentsdk.compat.openai_agents.retry import RetryPolicyContext as RetryPolicyContext
    from agentsdk.compat.openai_agents.retry import retry_policies as retry_policies
    from agentsdk.compat.openai_agents.run import OutputGuardrailBlockedMessageArgs as OutputGuardrailBlockedMessageArgs
    from agentsdk.compat.openai_agents.run import (
        OutputGuardrailBlockedMessageFormatter as OutputGuardrailBlockedMessageFormatter,
    )
    from agentsdk.compat.openai_agents.run import ReasoningItemIdPolicy as ReasoningItemIdPolicy
    from agentsdk.compat.openai_agents.run import RunConfig as RunConfig
    from agentsdk.compat.openai_agents.run import Runner as Runner
    from agentsdk.compat.openai_agents.run import ToolErrorFormatter as ToolErrorFormatter
    from agentsdk.compat.openai_agents.run import ToolErrorFormatterArgs as ToolErrorFormatterArgs
    from agentsdk.compat.openai_agents.run import ToolExecutionConfig as ToolExecutionConfig
    from agentsdk.compat.openai_agents.run import ToolNameCollisionPolicy as ToolNameCollisionPolicy
    from agentsdk.compat.openai_agents.run import ToolNotFoundBehavior as ToolNotFoundBehavior
    from agentsdk.compat.openai_agents.run_context import AgentHookContext as AgentHookContext
    from agentsdk.compat.openai_agents.run_context import RunContextWrapper as RunContextWrapper
    from agentsdk.compat.openai_agents.run_context import TContext as TContext
    from agentsdk.compat.openai_agents.run_error_handlers import RunErrorData as RunErrorData
    from agentsdk.compat.openai_agents.run_error_handlers import RunErrorHandler as RunErrorHandler
    from agentsdk.compat.openai_agents.run_error_handlers import RunErrorHandlerInput as RunErrorHandlerInput
    from agentsdk.compat.openai_agents.run_error_handlers import RunErrorHandlerResult as RunErrorHandlerResult
    from agentsdk.compat.openai_agents.run_error_handlers import RunErrorHandlers as RunErrorHandlers
    from agentsdk.compat.openai_agents.run_state import RunState as RunState
    from agentsdk.compat.openai_agents.stream_events import AgentUpdatedStreamEvent as AgentUpdatedStreamEvent
    from agentsdk.compat.openai_agents.stream_events import RawResponsesStreamEvent as RawResponsesStreamEvent
    from agentsdk.compat.openai_agents.stream_events import RunItemStreamEvent as RunItemStreamEvent
    from agentsdk.compat.openai_agents.stream_events import StreamEvent as StreamEvent
    from agentsdk.compat.openai_agents.tool import ApplyPatchTool as ApplyPatchTool
    from agentsdk.compat.openai_agents.tool import ApplyPatchToolCustomDataContext as ApplyPatchToolCustomDataContext
    from agentsdk.compat.openai_agents.tool import ApplyPatchToolCustomDataExtractor as ApplyPatchToolCustomDataExtractor
    from agentsdk.compat.openai_agents.tool import CodeInterpreterTool as CodeInterpreterTool
    from agentsdk.compat.openai_agents.tool import ComputerProvider as ComputerProvider
    from agentsdk.compat.openai_agents.tool import ComputerTool as ComputerTool
    from agentsdk.compat.openai_agents.tool import ComputerToolCustomDataContext as ComputerToolCustomDataContext
    from agentsdk.compat.openai_agents.tool import ComputerToolCustomDataExtractor as ComputerToolCustomDataExtractor
    from agentsdk.compat.openai_agents.tool import CustomTool as CustomTool
    from agentsdk.compat.openai_agents.tool import CustomToolCustomDataContext as CustomToolCustomDataContext
    from agentsdk.compat.openai_agents.tool import CustomToolCustomDataExtractor as CustomToolCustomDataExtractor
    from agentsdk.compat.openai_agents.tool import FileSearchTool as FileSearchTool
    from agentsdk.compat.openai_agents.tool import FunctionTool as FunctionTool
    from agentsdk.compat.openai_agents.tool import FunctionToolCustomDataContext as FunctionToolCustomDataContext
    from agentsdk.compat.openai_agents.tool import FunctionToolCustomDataExtractor as FunctionToolCustomDataExtractor
    from agentsdk.compat.openai_agents.tool import FunctionToolResult as FunctionToolResult
    from agentsdk.compat.openai_agents.tool import HostedMCPTool as HostedMCPTool
    from agentsdk.compat.openai_agents.tool import ImageGenerationTool as ImageGenerationTool
    from agentsdk.compat.openai_agents.tool import ImageGenerationToolConfig as ImageGenerationToolConfig
    from agentsdk.compat.openai_agents.tool import LocalShellCommandRequest as LocalShellCommandRequest
    from agentsdk.compat.openai_agents.tool import LocalShellExecutor as LocalShellExecutor
    from agentsdk.compat.openai_agents.tool import LocalShellTool as LocalShellTool
    from agentsdk.compat.openai_agents.tool import MCPToolApprovalFunction as MCPToolApprovalFunction
    from agentsdk.compat.openai_agents.tool import MCPToolApprovalFunctionResult as MCPToolApprovalFunctionResult
    from agentsdk.compat.openai_agents.tool import MCPToolApprovalRequest as MCPToolApprovalRequest
    from agentsdk.compat.openai_agents.tool import ProgrammaticToolCallingTool as ProgrammaticToolCallingTool
    from agentsdk.compat.openai_agents.tool import ShellActionRequest as ShellActionRequest
    from agentsdk.compat.openai_agents.tool import ShellCallData as ShellCallData
    from agentsdk.compat.openai_agents.tool import ShellCallOutcome as ShellCallOutcome
    from agentsdk.compat.openai_agents.tool import ShellCommandOutput as ShellCommandOutput
    from agentsdk.compat.openai_agents.tool import ShellCommandRequest as ShellCommandRequest
    from agentsdk.compat.openai_agents.tool import ShellExecutor as ShellExecutor
    from agentsdk.compat.openai_agents.tool import ShellResult as ShellResult
    from agentsdk.compat.openai_agents.tool import ShellTool as ShellTool
    from agentsdk.compat.openai_agents.tool import ShellToolContainerAutoEnvironment as ShellToolContainerAutoEnvironment
    from agentsdk.compat.openai_agents.tool import ShellToolContainerNetworkPolicy as ShellToolContainerNetworkPolicy
    from agentsdk.compat.openai_agents.tool import (
        ShellToolContainerNetworkPolicyAllowlist as ShellToolContainerNetworkPolicyAllowlist,
    )
    from agentsdk.compat.openai_agents.tool import (
        ShellToolContainerNetworkPolicyDisabled as ShellToolContainerNetworkPolicyDisabled,
    )
    from agentsdk.compat.openai_agents.tool import (
        ShellToolContainerNetworkPolicyDomainSecret as ShellToolContainerNetworkPolicyDomainSecret,
    )
    from agentsdk.compat.openai_agents.tool import (
        ShellToolContainerReferenceEnvironment as ShellToolContainerReferenceEnvironment,
    )
    from agentsdk.compat.openai_agents.tool import ShellToolContainerSkill as ShellToolContainerSkill
    from agentsdk.compat.openai_agents.tool import ShellToolEnvironment as ShellToolEnvironment
    from agentsdk.compat.openai_agents.tool import ShellToolHostedEnvironment as ShellToolHostedEnvironment
    from agentsdk.compat.openai_agents.tool import ShellToolInlineSkill as ShellToolInlineSkill
    from agentsdk.compat.openai_agents.tool import ShellToolInlineSkillSource as ShellToolInlineSkillSource
    from agentsdk.compat.openai_agents.tool import ShellToolLocalEnvironment as ShellToolLocalEnvironment
    from agentsdk.compat.openai_agents.tool import ShellToolLocalSkill as ShellToolLocalSkill
    from agentsdk.compat.openai_agents.tool import ShellToolSkillReference as ShellToolSkillReference
    from agentsdk.compat.openai_agents.tool import Tool as Tool
    from agentsdk.compat.openai_agents.tool import ToolCaller as ToolCaller
    from agentsdk.compat.openai_agents.tool import ToolOrigin as ToolOrigin
    from agentsdk.compat.openai_agents.tool import ToolOriginType as ToolOriginType
    from agentsdk.compat.openai_agents.tool import ToolOutputFileContent as ToolOutputFileContent
    from agentsdk.compat.openai_agents.tool import ToolOutputFileContentDict as ToolOutputFileContentDict
    from agentsdk.compat.openai_agents.tool import ToolOutputImage as ToolOutputImage
    from agentsdk.compat.openai_agents.tool import ToolOutputImageDict as ToolOutputImageDict
    from agentsdk.compat.openai_agents.tool import ToolOutputText as ToolOutputText
    from agentsdk.compat.openai_agents.tool import ToolOutputTextDict as ToolOutputTextDict
    from agentsdk.compat.openai_agents.tool import ToolSearchTool as ToolSearchTool
    from agentsdk.compat.openai_agents.tool import WebSearchTool as WebSearchTool
    from agentsdk.compat.openai_agents.tool import WebSearchToolImageSettings as WebSearchToolImageSettings
    from agentsdk.compat.openai_agents.tool import default_tool_error_function as default_tool_error_function
    from agentsdk.compat.openai_agents.tool import dispose_resolved_computers as dispose_resolved_computers
    from agentsdk.compat.openai_agents.tool import function_tool as function_tool
    from agentsdk.compat.openai_agents.tool import resolve_computer as resolve_computer
    from agentsdk.compat.openai_agents.tool import tool_namespace as tool_namespace
    from agentsdk.compat.openai_agents.tool_guardrails import ToolGuardrailFunctionOutput as ToolGuardrailFunctionOutput
    from agentsdk.compat.openai_agents.tool_guardrails import ToolInputGuardrail as ToolInputGuardrail
    from agentsdk.compat.openai_agents.tool_guardrails import ToolInputGuardrailData as ToolInputGuardrailData
    from agentsdk.compat.openai_agents.tool_guardrails import ToolInputGuardrailResult as ToolInputGuardrailResult
    from agentsdk.compat.openai_agents.tool_guardrails import ToolOutputGuardrail as ToolOutputGuardrail
    from agentsdk.compat.openai_agents.tool_guardrails import ToolOutputGuardrailData as ToolOutputGuardrailData
    from agentsdk.compat.openai_agents.tool_guardrails import ToolOutputGuardrailResult as ToolOutputGuardrailResult
    from agentsdk.compat.openai_agents.tool_guardrails import tool_input_guardrail as tool_input_guardrail
    from agentsdk.compat.openai_agents.tool_guardrails import tool_output_guardrail as tool_output_guardrail
    from agentsdk.compat.openai_agents.tracing import AgentSpanData as AgentSpanData
    from agentsdk.compat.openai_agents.tracing import CustomSpanData as CustomSpanData
    from agentsdk.compat.openai_agents.tracing import FunctionSpanData as FunctionSpanData
    from agentsdk.compat.openai_agents.tracing import GenerationSpanData as GenerationSpanData
    from agentsdk.compat.openai_agents.tracing import GuardrailSpanData as GuardrailSpanData
    from agentsdk.compat.openai_agents.tracing import HandoffSpanData as HandoffSpanData
    from agentsdk.compat.openai_agents.tracing import MCPListToolsSpanData as MCPListToolsSpanData
    from agentsdk.compat.openai_agents.tracing import ResponseSpanData as ResponseSpanData
    from agentsdk.compat.openai_agents.tracing import Span as Span
    from agentsdk.compat.openai_agents.tracing import SpanData as SpanData
    from agentsdk.compat.openai_agents.tracing import SpanError as SpanError
    from agentsdk.compat.openai_agents.tracing import SpeechGroupSpanData as SpeechGroupSpanData
    from agentsdk.compat.openai_agents.tracing import SpeechSpanData as SpeechSpanData
    from agentsdk.compat.openai_agents.tracing import TaskSpanData as TaskSpanData
    from agentsdk.compat.openai_agents.tracing import Trace as Trace
    from agentsdk.compat.openai_agents.tracing import TracingProcessor as TracingProcessor
    from agentsdk.compat.openai_agents.tracing import TranscriptionSpanData as TranscriptionSpanData
    from agentsdk.compat.openai_agents.tracing import TurnSpanData as TurnSpanData
    from agentsdk.compat.openai_agents.tracing import add_trace_processor as add_trace_processor
    from agentsdk.compat.openai_agents.tracing import agent_span as agent_span
    from agentsdk.compat.openai_agents.tracing import custom_span as custom_span
    from agentsdk.compat.openai_agents.tracing import flush_traces as flush_traces
    from agentsdk.compat.openai_agents.tracing import function_span as function_span
    from agentsdk.compat.openai_agents.tracing import gen_span_id as gen_span_id
    from agentsdk.compat.openai_agents.tracing import gen_trace_id as gen_trace_id
    from agentsdk.compat.openai_agents.tracing import generation_span as generation_span
    from agentsdk.compat.openai_agents.tracing import get_current_span as get_current_span
    from agentsdk.compat.openai_agents.tracing import get_current_trace as get_current_trace
    from agentsdk.compat.openai_agents.tracing import guardrail_span as guardrail_span
    from agentsdk.compat.openai_agents.tracing import handoff_span as handoff_span
    from agentsdk.compat.openai_agents.tracing import mcp_tools_span as mcp_tools_span
    from agentsdk.compat.openai_agents.tracing import response_span as response_span
    from agentsdk.compat.openai_agents.tracing import set_trace_processors as set_trace_processors
    from agentsdk.compat.openai_agents.tracing import set_trace_provider as set_trace_provider
    from agentsdk.compat.openai_agents.tracing import set_tracing_disabled as set_tracing_disabled
    from agentsdk.compat.openai_agents.tracing import set_tracing_export_api_key as set_tracing_export_api_key
    from agentsdk.compat.openai_agents.tracing import speech_group_span as speech_group_span
    from agentsdk.compat.openai_agents.tracing import speech_span as speech_span
    from agentsdk.compat.openai_agents.tracing import task_span as task_span
    from agentsdk.compat.openai_agents.tracing import trace as trace
    from agentsdk.compat.openai_agents.tracing import transcription_span as transcription_span
    from agentsdk.compat.openai_agents.tracing import turn_span as turn_span
    from agentsdk.compat.openai_agents.usage import Usage as Usage
    from agentsdk.compat.openai_agents.version import __version__ as __version__

_NAMES: dict[str, tuple[str, ...]] = {
    "_config": (
        "enable_verbose_stdout_logging",
        "set_default_openai_agent_registration",
        "set_default_openai_api",
        "set_default_openai_client",
        "set_default_openai_harness",
        "set_default_openai_key",
        "set_default_openai_responses_transport",
    ),
    "agent": (
        "Agent",
        "AgentBase",
        "AgentToolStreamEvent",
        "StopAtTools",
        "ToolsToFinalOutputFunction",
        "ToolsToFinalOutputResult",
    ),
    "agent_output": (
        "AgentOutputSchema",
        "AgentOutputSchemaBase",
    ),
    "apply_diff": ("apply_diff",),
    "computer": (
        "AsyncComputer",
        "Button",
        "Computer",
        "Environment",
    ),
    "editor": (
        "ApplyPatchEditor",
        "ApplyPatchOperation",
        "ApplyPatchResult",
    ),
    "exceptions": (
        "AgentsException",
        "InputGuardrailTripwireTriggered",
        "MCPToolCancellationError",
        "MaxTurnsExceeded",
        "ModelBehaviorError",
        "ModelRefusalError",
        "ModelTimeoutError",
        "OutputGuardrailTripwireTriggered",
        "RunErrorDetails",
        "ToolInputGuardrailTripwireTriggered",
        "ToolOutputGuardrailTripwireTriggered",
        "ToolTimeoutError",
        "UserError",
    ),
    "guardrail": (
        "GuardrailFunctionOutput",
        "InputGuardrail",
        "InputGuardrailResult",
        "OutputGuardrail",
        "OutputGuardrailResult",
        "input_guardrail",
        "output_guardrail",
    ),
    "handoffs": (
        "Handoff",
        "HandoffInputData",
        "HandoffInputFilter",
        "default_handoff_history_mapper",
        "get_conversation_history_wrappers",
        "handoff",
        "nest_handoff_history",
        "reset_conversation_history_wrappers",
        "set_conversation_history_wrappers",
    ),
    "items": (
        "CompactionItem",
        "HandoffCallItem",
        "HandoffOutputItem",
        "InputItem",
        "ItemHelpers",
        "MCPApprovalRequestItem",
        "MCPApprovalResponseItem",
        "MCPListToolsItem",
        "MessageOutputItem",
        "ModelResponse",
        "ReasoningItem",
        "RunItem",
        "TResponseInputItem",
        "ToolApprovalItem",
        "ToolCallItem",
        "ToolCallOutputItem",
        "ToolSearchCallItem",
        "ToolSearchOutputItem",
    ),
    "lifecycle": (
        "AgentHooks",
        "RunHooks",
    ),
    "memory": (
        "OpenAIConversationsSession",
        "OpenAIResponsesCompactionArgs",
        "OpenAIResponsesCompactionAwareSession",
        "OpenAIResponsesCompactionSession",
        "Session",
        "SessionABC",
        "SessionSettings",
        "is_openai_responses_compaction_aware_session",
    ),
    "memory.sqlite_session": ("SQLiteSession",),
    "model_settings": ("ModelSettings",),
    "models.interface": (
        "Model",
        "ModelProvider",
        "ModelTracing",
    ),
    "models.multi_provider": ("MultiProvider",),
    "models.openai_agent_registration": ("OpenAIAgentRegistrationConfig",),
    "models.openai_chatcompletions": ("OpenAIChatCompletionsModel",),
    "models.openai_provider": ("OpenAIProvider",),
    "models.openai_responses": (
        "OpenAIResponsesModel",
        "OpenAIResponsesWSModel",
        "OpenAIResponsesWebSocketOptions",
    ),
    "prompts": (
        "DynamicPromptFunction",
        "GenerateDynamicPromptData",
        "Prompt",
    ),
    "repl": ("run_demo_loop",),
    "responses_websocket_session": (
        "ResponsesWebSocketSession",
        "responses_websocket_session",
    ),
    "result": (
        "AgentToolInvocation",
        "RunResult",
        "RunResultStreaming",
    ),
    "retry": (
        "ModelRetryAdvice",
        "ModelRetryAdviceRequest",
        "ModelRetryBackoffSettings",
        "ModelRetryNormalizedError",
        "ModelRetrySettings",
        "RetryDecision",
        "RetryPolicy",
        "RetryPolicyContext",
        "retry_policies",
    ),
    "run": (
        "OutputGuardrailBlockedMessageArgs",
        "OutputGuardrailBlockedMessageFormatter",
        "ReasoningItemIdPolicy",
        "RunConfig",
        "Runner",
        "ToolErrorFormatter",
        "ToolErrorFormatterArgs",
        "ToolExecutionConfig",
        "ToolNameCollisionPolicy",
        "ToolNotFoundBehavior",
    ),
    "run_context": (
        "AgentHookContext",
        "RunContextWrapper",
        "TContext",
    ),
    "run_error_handlers": (
        "RunErrorData",
        "RunErrorHandler",
        "RunErrorHandlerInput",
        "RunErrorHandlerResult",
        "RunErrorHandlers",
    ),
    "run_state": ("RunState",),
    "stream_events": (
        "AgentUpdatedStreamEvent",
        "RawResponsesStreamEvent",
        "RunItemStreamEvent",
        "StreamEvent",
    ),
    "tool": (
        "ApplyPatchTool",
        "ApplyPatchToolCustomDataContext",
        "ApplyPatchToolCustomDataExtractor",
        "CodeInterpreterTool",
        "ComputerProvider",
        "ComputerTool",
        "ComputerToolCustomDataContext",
        "ComputerToolCustomDataExtractor",
        "CustomTool",
        "CustomToolCustomDataContext",
        "CustomToolCustomDataExtractor",
        "FileSearchTool",
        "FunctionTool",
        "FunctionToolCustomDataContext",
        "FunctionToolCustomDataExtractor",
        "FunctionToolResult",
        "HostedMCPTool",
        "ImageGenerationTool",
        "ImageGenerationToolConfig",
        "LocalShellCommandRequest",
        "LocalShellExecutor",
        "LocalShellTool",
        "MCPToolApprovalFunction",
        "MCPToolApprovalFunctionResult",
        "MCPToolApprovalRequest",
        "ProgrammaticToolCallingTool",
        "ShellActionRequest",
        "ShellCallData",
        "ShellCallOutcome",
        "ShellCommandOutput",
        "ShellCommandRequest",
        "ShellExecutor",
        "ShellResult",
        "ShellTool",
        "ShellToolContainerAutoEnvironment",
        "ShellToolContainerNetworkPolicy",
        "ShellToolContainerNetworkPolicyAllowlist",
        "ShellToolContainerNetworkPolicyDisabled",
        "ShellToolContainerNetworkPolicyDomainSecret",
        "ShellToolContainerReferenceEnvironment",
        "ShellToolContainerSkill",
        "ShellToolEnvironment",
        "ShellToolHostedEnvironment",
        "ShellToolInlineSkill",
        "ShellToolInlineSkillSource",
        "ShellToolLocalEnvironment",
        "ShellToolLocalSkill",
        "ShellToolSkillReference",
        "Tool",
        "ToolCaller",
        "ToolOrigin",
        "ToolOriginType",
        "ToolOutputFileContent",
        "ToolOutputFileContentDict",
        "ToolOutputImage",
        "ToolOutputImageDict",
        "ToolOutputText",
        "ToolOutputTextDict",
        "ToolSearchTool",
        "WebSearchTool",
        "WebSearchToolImageSettings",
        "default_tool_error_function",
        "dispose_resolved_computers",
        "function_tool",
        "resolve_computer",
        "tool_namespace",
    ),
    "tool_guardrails": (
        "ToolGuardrailFunctionOutput",
        "ToolInputGuardrail",
        "ToolInputGuardrailData",
        "ToolInputGuardrailResult",
        "ToolOutputGuardrail",
        "ToolOutputGuardrailData",
        "ToolOutputGuardrailResult",
        "tool_input_guardrail",
        "tool_output_guardrail",
    ),
    "tracing": (
        "AgentSpanData",
        "CustomSpanData",
        "FunctionSpanData",
        "GenerationSpanData",
        "GuardrailSpanData",
        "HandoffSpanData",
        "MCPListToolsSpanData",
        "ResponseSpanData",
        "Span",
        "SpanData",
        "SpanError",
        "SpeechGroupSpanData",
        "SpeechSpanData",
        "TaskSpanData",
        "Trace",
        "TracingProcessor",
        "TranscriptionSpanData",
        "TurnSpanData",
        "add_trace_processor",
        "agent_span",
        "custom_span",
        "flush_traces",
        "function_span",
        "gen_span_id",
        "gen_trace_id",
        "generation_span",
        "get_current_span",
        "get_current_trace",
        "guardrail_span",
        "handoff_span",
        "mcp_tools_span",
        "response_span",
        "set_trace_processors",
        "set_trace_provider",
        "set_tracing_disabled",
        "set_tracing_export_api_key",
        "speech_group_span",
        "speech_span",
        "task_span",
        "trace",
        "transcription_span",
        "turn_span",
    ),
    "usage": ("Usage",),
    "version": ("__version__",),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "Agent",
    "AgentBase",
    "AgentHookContext",
    "AgentHooks",
    "AgentOutputSchema",
    "AgentOutputSchemaBase",
    "AgentSpanData",
    "AgentToolInvocation",
    "AgentToolStreamEvent",
    "AgentUpdatedStreamEvent",
    "AgentsException",
    "ApplyPatchEditor",
    "ApplyPatchOperation",
    "ApplyPatchResult",
    "ApplyPatchTool",
    "ApplyPatchToolCustomDataContext",
    "ApplyPatchToolCustomDataExtractor",
    "AsyncComputer",
    "Button",
    "CodeInterpreterTool",
    "CompactionItem",
    "Computer",
    "ComputerProvider",
    "ComputerTool",
    "ComputerToolCustomDataContext",
    "ComputerToolCustomDataExtractor",
    "CustomSpanData",
    "CustomTool",
    "CustomToolCustomDataContext",
    "CustomToolCustomDataExtractor",
    "DynamicPromptFunction",
    "Environment",
    "FileSearchTool",
    "FunctionSpanData",
    "FunctionTool",
    "FunctionToolCustomDataContext",
    "FunctionToolCustomDataExtractor",
    "FunctionToolResult",
    "GenerateDynamicPromptData",
    "GenerationSpanData",
    "GuardrailFunctionOutput",
    "GuardrailSpanData",
    "Handoff",
    "HandoffCallItem",
    "HandoffInputData",
    "HandoffInputFilter",
    "HandoffOutputItem",
    "HandoffSpanData",
    "HostedMCPTool",
    "ImageGenerationTool",
    "ImageGenerationToolConfig",
    "InputGuardrail",
    "InputGuardrailResult",
    "InputGuardrailTripwireTriggered",
    "InputItem",
    "ItemHelpers",
    "LocalShellCommandRequest",
    "LocalShellExecutor",
    "LocalShellTool",
    "MCPApprovalRequestItem",
    "MCPApprovalResponseItem",
    "MCPListToolsItem",
    "MCPListToolsSpanData",
    "MCPToolApprovalFunction",
    "MCPToolApprovalFunctionResult",
    "MCPToolApprovalRequest",
    "MCPToolCancellationError",
    "MaxTurnsExceeded",
    "MessageOutputItem",
    "Model",
    "ModelBehaviorError",
    "ModelProvider",
    "ModelRefusalError",
    "ModelResponse",
    "ModelRetryAdvice",
    "ModelRetryAdviceRequest",
    "ModelRetryBackoffSettings",
    "ModelRetryNormalizedError",
    "ModelRetrySettings",
    "ModelSettings",
    "ModelTimeoutError",
    "ModelTracing",
    "MultiProvider",
    "OpenAIAgentRegistrationConfig",
    "OpenAIChatCompletionsModel",
    "OpenAIConversationsSession",
    "OpenAIProvider",
    "OpenAIResponsesCompactionArgs",
    "OpenAIResponsesCompactionAwareSession",
    "OpenAIResponsesCompactionSession",
    "OpenAIResponsesModel",
    "OpenAIResponsesWSModel",
    "OpenAIResponsesWebSocketOptions",
    "OutputGuardrail",
    "OutputGuardrailBlockedMessageArgs",
    "OutputGuardrailBlockedMessageFormatter",
    "OutputGuardrailResult",
    "OutputGuardrailTripwireTriggered",
    "ProgrammaticToolCallingTool",
    "Prompt",
    "RawResponsesStreamEvent",
    "ReasoningItem",
    "ReasoningItemIdPolicy",
    "ResponseSpanData",
    "ResponsesWebSocketSession",
    "RetryDecision",
    "RetryPolicy",
    "RetryPolicyContext",
    "RunConfig",
    "RunContextWrapper",
    "RunErrorData",
    "RunErrorDetails",
    "RunErrorHandler",
    "RunErrorHandlerInput",
    "RunErrorHandlerResult",
    "RunErrorHandlers",
    "RunHooks",
    "RunItem",
    "RunItemStreamEvent",
    "RunResult",
    "RunResultStreaming",
    "RunState",
    "Runner",
    "SQLiteSession",
    "Session",
    "SessionABC",
    "SessionSettings",
    "ShellActionRequest",
    "ShellCallData",
    "ShellCallOutcome",
    "ShellCommandOutput",
    "ShellCommandRequest",
    "ShellExecutor",
    "ShellResult",
    "ShellTool",
    "ShellToolContainerAutoEnvironment",
    "ShellToolContainerNetworkPolicy",
    "ShellToolContainerNetworkPolicyAllowlist",
    "ShellToolContainerNetworkPolicyDisabled",
    "ShellToolContainerNetworkPolicyDomainSecret",
    "ShellToolContainerReferenceEnvironment",
    "ShellToolContainerSkill",
    "ShellToolEnvironment",
    "ShellToolHostedEnvironment",
    "ShellToolInlineSkill",
    "ShellToolInlineSkillSource",
    "ShellToolLocalEnvironment",
    "ShellToolLocalSkill",
    "ShellToolSkillReference",
    "Span",
    "SpanData",
    "SpanError",
    "SpeechGroupSpanData",
    "SpeechSpanData",
    "StopAtTools",
    "StreamEvent",
    "TContext",
    "TResponseInputItem",
    "TaskSpanData",
    "Tool",
    "ToolApprovalItem",
    "ToolCallItem",
    "ToolCallOutputItem",
    "ToolCaller",
    "ToolErrorFormatter",
    "ToolErrorFormatterArgs",
    "ToolExecutionConfig",
    "ToolGuardrailFunctionOutput",
    "ToolInputGuardrail",
    "ToolInputGuardrailData",
    "ToolInputGuardrailResult",
    "ToolInputGuardrailTripwireTriggered",
    "ToolNameCollisionPolicy",
    "ToolNotFoundBehavior",
    "ToolOrigin",
    "ToolOriginType",
    "ToolOutputFileContent",
    "ToolOutputFileContentDict",
    "ToolOutputGuardrail",
    "ToolOutputGuardrailData",
    "ToolOutputGuardrailResult",
    "ToolOutputGuardrailTripwireTriggered",
    "ToolOutputImage",
    "ToolOutputImageDict",
    "ToolOutputText",
    "ToolOutputTextDict",
    "ToolSearchCallItem",
    "ToolSearchOutputItem",
    "ToolSearchTool",
    "ToolTimeoutError",
    "ToolsToFinalOutputFunction",
    "ToolsToFinalOutputResult",
    "Trace",
    "TracingProcessor",
    "TranscriptionSpanData",
    "TurnSpanData",
    "Usage",
    "UserError",
    "WebSearchTool",
    "WebSearchToolImageSettings",
    "__version__",
    "add_trace_processor",
    "agent_span",
    "apply_diff",
    "custom_span",
    "default_handoff_history_mapper",
    "default_tool_error_function",
    "dispose_resolved_computers",
    "enable_verbose_stdout_logging",
    "flush_traces",
    "function_span",
    "function_tool",
    "gen_span_id",
    "gen_trace_id",
    "generation_span",
    "get_conversation_history_wrappers",
    "get_current_span",
    "get_current_trace",
    "guardrail_span",
    "handoff",
    "handoff_span",
    "input_guardrail",
    "is_openai_responses_compaction_aware_session",
    "mcp_tools_span",
    "nest_handoff_history",
    "output_guardrail",
    "reset_conversation_history_wrappers",
    "resolve_computer",
    "response_span",
    "responses_websocket_session",
    "retry_policies",
    "run_demo_loop",
    "set_conversation_history_wrappers",
    "set_default_openai_agent_registration",
    "set_default_openai_api",
    "set_default_openai_client",
    "set_default_openai_harness",
    "set_default_openai_key",
    "set_default_openai_responses_transport",
    "set_trace_processors",
    "set_trace_provider",
    "set_tracing_disabled",
    "set_tracing_export_api_key",
    "speech_group_span",
    "speech_span",
    "task_span",
    "tool_input_guardrail",
    "tool_namespace",
    "tool_output_guardrail",
    "trace",
    "transcription_span",
    "turn_span",
]

if not any(isinstance(finder, AbsentModules) for finder in sys.meta_path):
    sys.meta_path.append(AbsentModules())

if not TYPE_CHECKING:

    def __getattr__(name):
        import importlib

        module = _MODULE_OF.get(name)
        if module is not None:
            home = importlib.import_module(f"{__name__}.{module}")
            # All of its names at once: one may be the module's own, which the import has just put in its place.
            globals().update({one: getattr(home, one) for one in _NAMES[module]})
            return globals()[name]
        if name == "AsyncOpenAI":
            return importlib.import_module("openai").AsyncOpenAI
        raise absent(__name__, name)

    def __dir__():
        return sorted({*globals(), *__all__})
