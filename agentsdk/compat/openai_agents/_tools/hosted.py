"""Tools that the provider runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents._tools.function import MaybeAwaitable
from agentsdk.compat.openai_agents.run_context import RunContextWrapper


@dataclass
class FileSearchTool:
    """Searches files that OpenAI keeps."""

    vector_store_ids: list[str]
    max_num_results: int | None = None
    include_search_results: bool = False
    ranking_options: Any | None = None
    filters: Any | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return "file_search"


class WebSearchToolImageSettings(TypedDict, total=False):
    """Images among the results."""

    max_results: int
    caption: bool


@dataclass
class WebSearchTool:
    """Searches the web, at the provider."""

    user_location: Any | None = None
    filters: Any | None = None
    search_context_size: Literal["low", "medium", "high"] = "medium"
    external_web_access: bool | None = None
    search_content_types: list[Literal["text", "image"]] | None = None
    image_settings: WebSearchToolImageSettings | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return "web_search"


@dataclass
class MCPToolApprovalRequest:
    """A call of an MCP server's tool, which the provider runs, that waits for approval."""

    ctx_wrapper: RunContextWrapper[Any]
    data: Any


class MCPToolApprovalFunctionResult(TypedDict):
    """What was decided on it."""

    approve: bool
    reason: NotRequired[str]


MCPToolApprovalFunction = Callable[[MCPToolApprovalRequest], MaybeAwaitable[MCPToolApprovalFunctionResult]]


@dataclass
class HostedMCPTool:
    """The tools of an MCP server that the provider asks itself. `tool_config` is what the provider is told of it."""

    tool_config: Any
    on_approval_request: MCPToolApprovalFunction | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return "hosted_mcp"


@dataclass
class CodeInterpreterTool:
    """Runs the model's code, at the provider."""

    tool_config: Any

    @property
    def name(self) -> str:
        """Its name."""
        return "code_interpreter"


class ImageGenerationToolConfig(TypedDict, total=False):
    """What the provider is told of the images to make."""

    type: Literal["image_generation"]
    action: Literal["generate", "edit", "auto"]
    background: Literal["transparent", "opaque", "auto"]
    input_fidelity: Literal["high", "low"] | None
    input_image_mask: Any
    model: str
    moderation: Literal["auto", "low"]
    output_compression: int
    output_format: Literal["png", "webp", "jpeg"]
    partial_images: int
    quality: Literal["low", "medium", "high", "auto"]
    size: str


@dataclass
class ImageGenerationTool:
    """Makes images, at the provider."""

    tool_config: Any

    @property
    def name(self) -> str:
        """Its name."""
        return "image_generation"


@dataclass
class ToolSearchTool:
    """Lets the model search for tools whose loading is deferred."""

    description: str | None = None
    execution: Literal["server", "client"] | None = None
    parameters: object | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return "tool_search"


@dataclass
class ProgrammaticToolCallingTool:
    """Lets the model write programs that call tools, at the provider."""

    @property
    def name(self) -> str:
        """Its name."""
        return "programmatic_tool_calling"
