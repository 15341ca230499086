"""Tools: functions, agents as tools, those that providers run, and shells, editors and computers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents._tools.decorator import function_tool as function_tool
from agentsdk.compat.openai_agents._tools.editing import ApplyPatchApprovalFunction as ApplyPatchApprovalFunction
from agentsdk.compat.openai_agents._tools.editing import ApplyPatchOnApprovalFunction as ApplyPatchOnApprovalFunction
from agentsdk.compat.openai_agents._tools.editing import (
    ApplyPatchOnApprovalFunctionResult as ApplyPatchOnApprovalFunctionResult,
)
from agentsdk.compat.openai_agents._tools.editing import ApplyPatchTool as ApplyPatchTool
from agentsdk.compat.openai_agents._tools.editing import ApplyPatchToolCustomDataContext as ApplyPatchToolCustomDataContext
from agentsdk.compat.openai_agents._tools.editing import ApplyPatchToolCustomDataExtractor as ApplyPatchToolCustomDataExtractor
from agentsdk.compat.openai_agents._tools.editing import CustomTool as CustomTool
from agentsdk.compat.openai_agents._tools.editing import CustomToolApprovalFunction as CustomToolApprovalFunction
from agentsdk.compat.openai_agents._tools.editing import CustomToolCustomDataContext as CustomToolCustomDataContext
from agentsdk.compat.openai_agents._tools.editing import CustomToolCustomDataExtractor as CustomToolCustomDataExtractor
from agentsdk.compat.openai_agents._tools.editing import CustomToolExecutor as CustomToolExecutor
from agentsdk.compat.openai_agents._tools.editing import CustomToolOnApprovalFunction as CustomToolOnApprovalFunction
from agentsdk.compat.openai_agents._tools.editing import (
    CustomToolOnApprovalFunctionResult as CustomToolOnApprovalFunctionResult,
)
from agentsdk.compat.openai_agents._tools.function import FunctionTool as FunctionTool
from agentsdk.compat.openai_agents._tools.function import FunctionToolCustomDataContext as FunctionToolCustomDataContext
from agentsdk.compat.openai_agents._tools.function import FunctionToolCustomDataExtractor as FunctionToolCustomDataExtractor
from agentsdk.compat.openai_agents._tools.function import FunctionToolResult as FunctionToolResult
from agentsdk.compat.openai_agents._tools.function import MaybeAwaitable as MaybeAwaitable
from agentsdk.compat.openai_agents._tools.function import T as T
from agentsdk.compat.openai_agents._tools.function import ToolCaller as ToolCaller
from agentsdk.compat.openai_agents._tools.function import ToolErrorFunction as ToolErrorFunction
from agentsdk.compat.openai_agents._tools.function import ToolFunction as ToolFunction
from agentsdk.compat.openai_agents._tools.function import ToolFunctionWithContext as ToolFunctionWithContext
from agentsdk.compat.openai_agents._tools.function import ToolFunctionWithoutContext as ToolFunctionWithoutContext
from agentsdk.compat.openai_agents._tools.function import ToolFunctionWithToolContext as ToolFunctionWithToolContext
from agentsdk.compat.openai_agents._tools.function import ToolOrigin as ToolOrigin
from agentsdk.compat.openai_agents._tools.function import ToolOriginType as ToolOriginType
from agentsdk.compat.openai_agents._tools.function import ToolParams as ToolParams
from agentsdk.compat.openai_agents._tools.function import ToolTimeoutBehavior as ToolTimeoutBehavior
from agentsdk.compat.openai_agents._tools.function import check_timeout as check_timeout
from agentsdk.compat.openai_agents._tools.function import default_tool_error_function as default_tool_error_function
from agentsdk.compat.openai_agents._tools.function import parse_arguments as parse_arguments
from agentsdk.compat.openai_agents._tools.function import tool_namespace as tool_namespace
from agentsdk.compat.openai_agents._tools.hosted import CodeInterpreterTool as CodeInterpreterTool
from agentsdk.compat.openai_agents._tools.hosted import FileSearchTool as FileSearchTool
from agentsdk.compat.openai_agents._tools.hosted import HostedMCPTool as HostedMCPTool
from agentsdk.compat.openai_agents._tools.hosted import ImageGenerationTool as ImageGenerationTool
from agentsdk.compat.openai_agents._tools.hosted import ImageGenerationToolConfig as ImageGenerationToolConfig
from agentsdk.compat.openai_agents._tools.hosted import MCPToolApprovalFunction as MCPToolApprovalFunction
from agentsdk.compat.openai_agents._tools.hosted import MCPToolApprovalFunctionResult as MCPToolApprovalFunctionResult
from agentsdk.compat.openai_agents._tools.hosted import MCPToolApprovalRequest as MCPToolApprovalRequest
from agentsdk.compat.openai_agents._tools.hosted import ProgrammaticToolCallingTool as ProgrammaticToolCallingTool
from agentsdk.compat.openai_agents._tools.hosted import ToolSearchTool as ToolSearchTool
from agentsdk.compat.openai_agents._tools.hosted import WebSearchTool as WebSearchTool
from agentsdk.compat.openai_agents._tools.hosted import WebSearchToolImageSettings as WebSearchToolImageSettings
from agentsdk.compat.openai_agents._tools.outputs import ToolOutputFileContent as ToolOutputFileContent
from agentsdk.compat.openai_agents._tools.outputs import ToolOutputFileContentDict as ToolOutputFileContentDict
from agentsdk.compat.openai_agents._tools.outputs import ToolOutputImage as ToolOutputImage
from agentsdk.compat.openai_agents._tools.outputs import ToolOutputImageDict as ToolOutputImageDict
from agentsdk.compat.openai_agents._tools.outputs import ToolOutputText as ToolOutputText
from agentsdk.compat.openai_agents._tools.outputs import ToolOutputTextDict as ToolOutputTextDict
from agentsdk.compat.openai_agents._tools.outputs import ValidToolOutputPydanticModels as ValidToolOutputPydanticModels
from agentsdk.compat.openai_agents._tools.outputs import (
    ValidToolOutputPydanticModelsTypeAdapter as ValidToolOutputPydanticModelsTypeAdapter,
)
from agentsdk.compat.openai_agents._tools.screen import ComputerCreate as ComputerCreate
from agentsdk.compat.openai_agents._tools.screen import ComputerDispose as ComputerDispose
from agentsdk.compat.openai_agents._tools.screen import ComputerLike as ComputerLike
from agentsdk.compat.openai_agents._tools.screen import ComputerProvider as ComputerProvider
from agentsdk.compat.openai_agents._tools.screen import ComputerT as ComputerT
from agentsdk.compat.openai_agents._tools.screen import ComputerT_co as ComputerT_co
from agentsdk.compat.openai_agents._tools.screen import ComputerT_contra as ComputerT_contra
from agentsdk.compat.openai_agents._tools.screen import ComputerTool as ComputerTool
from agentsdk.compat.openai_agents._tools.screen import ComputerToolCustomDataContext as ComputerToolCustomDataContext
from agentsdk.compat.openai_agents._tools.screen import ComputerToolCustomDataExtractor as ComputerToolCustomDataExtractor
from agentsdk.compat.openai_agents._tools.screen import ComputerToolSafetyCheckData as ComputerToolSafetyCheckData
from agentsdk.compat.openai_agents._tools.screen import dispose_resolved_computers as dispose_resolved_computers
from agentsdk.compat.openai_agents._tools.screen import resolve_computer as resolve_computer
from agentsdk.compat.openai_agents._tools.shell import LocalShellCommandRequest as LocalShellCommandRequest
from agentsdk.compat.openai_agents._tools.shell import LocalShellExecutor as LocalShellExecutor
from agentsdk.compat.openai_agents._tools.shell import LocalShellTool as LocalShellTool
from agentsdk.compat.openai_agents._tools.shell import ShellActionRequest as ShellActionRequest
from agentsdk.compat.openai_agents._tools.shell import ShellApprovalFunction as ShellApprovalFunction
from agentsdk.compat.openai_agents._tools.shell import ShellCallData as ShellCallData
from agentsdk.compat.openai_agents._tools.shell import ShellCallOutcome as ShellCallOutcome
from agentsdk.compat.openai_agents._tools.shell import ShellCommandOutput as ShellCommandOutput
from agentsdk.compat.openai_agents._tools.shell import ShellCommandRequest as ShellCommandRequest
from agentsdk.compat.openai_agents._tools.shell import ShellExecutor as ShellExecutor
from agentsdk.compat.openai_agents._tools.shell import ShellOnApprovalFunction as ShellOnApprovalFunction
from agentsdk.compat.openai_agents._tools.shell import ShellOnApprovalFunctionResult as ShellOnApprovalFunctionResult
from agentsdk.compat.openai_agents._tools.shell import ShellResult as ShellResult
from agentsdk.compat.openai_agents._tools.shell import ShellTool as ShellTool
from agentsdk.compat.openai_agents._tools.shell import ShellToolContainerAutoEnvironment as ShellToolContainerAutoEnvironment
from agentsdk.compat.openai_agents._tools.shell import ShellToolContainerNetworkPolicy as ShellToolContainerNetworkPolicy
from agentsdk.compat.openai_agents._tools.shell import (
    ShellToolContainerNetworkPolicyAllowlist as ShellToolContainerNetworkPolicyAllowlist,
)
from agentsdk.compat.openai_agents._tools.shell import (
    ShellToolContainerNetworkPolicyDisabled as ShellToolContainerNetworkPolicyDisabled,
)
from agentsdk.compat.openai_agents._tools.shell import (
    ShellToolContainerNetworkPolicyDomainSecret as ShellToolContainerNetworkPolicyDomainSecret,
)
from agentsdk.compat.openai_agents._tools.shell import (
    ShellToolContainerReferenceEnvironment as ShellToolContainerReferenceEnvironment,
)
from agentsdk.compat.openai_agents._tools.shell import ShellToolContainerSkill as ShellToolContainerSkill
from agentsdk.compat.openai_agents._tools.shell import ShellToolEnvironment as ShellToolEnvironment
from agentsdk.compat.openai_agents._tools.shell import ShellToolHostedEnvironment as ShellToolHostedEnvironment
from agentsdk.compat.openai_agents._tools.shell import ShellToolInlineSkill as ShellToolInlineSkill
from agentsdk.compat.openai_agents._tools.shell import ShellToolInlineSkillSource as ShellToolInlineSkillSource
from agentsdk.compat.openai_agents._tools.shell import ShellToolLocalEnvironment as ShellToolLocalEnvironment
from agentsdk.compat.openai_agents._tools.shell import ShellToolLocalSkill as ShellToolLocalSkill
from agentsdk.compat.openai_agents._tools.shell import ShellToolSkillReference as ShellToolSkillReference

Tool = (
    FunctionTool
    | FileSearchTool
    | WebSearchTool
    | ComputerTool[Any]
    | HostedMCPTool
    | ShellTool
    | ApplyPatchTool
    | CustomTool
    | LocalShellTool
    | ImageGenerationTool
    | CodeInterpreterTool
    | ToolSearchTool
    | ProgrammaticToolCallingTool
)

if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
