"""Tools of MCP servers."""

from agentsdk.compat.openai_agents.mcp.manager import MCPServerManager as MCPServerManager
from agentsdk.compat.openai_agents.mcp.server import LocalMCPApprovalCallable as LocalMCPApprovalCallable
from agentsdk.compat.openai_agents.mcp.server import MCPServer as MCPServer
from agentsdk.compat.openai_agents.mcp.server import MCPServerSse as MCPServerSse
from agentsdk.compat.openai_agents.mcp.server import MCPServerSseParams as MCPServerSseParams
from agentsdk.compat.openai_agents.mcp.server import MCPServerStdio as MCPServerStdio
from agentsdk.compat.openai_agents.mcp.server import MCPServerStdioParams as MCPServerStdioParams
from agentsdk.compat.openai_agents.mcp.server import MCPServerStreamableHttp as MCPServerStreamableHttp
from agentsdk.compat.openai_agents.mcp.server import MCPServerStreamableHttpParams as MCPServerStreamableHttpParams
from agentsdk.compat.openai_agents.mcp.util import MCPToolCustomDataContext as MCPToolCustomDataContext
from agentsdk.compat.openai_agents.mcp.util import MCPToolCustomDataExtractor as MCPToolCustomDataExtractor
from agentsdk.compat.openai_agents.mcp.util import MCPToolMetaContext as MCPToolMetaContext
from agentsdk.compat.openai_agents.mcp.util import MCPToolMetaResolver as MCPToolMetaResolver
from agentsdk.compat.openai_agents.mcp.util import MCPUtil as MCPUtil
from agentsdk.compat.openai_agents.mcp.util import ToolFilter as ToolFilter
from agentsdk.compat.openai_agents.mcp.util import ToolFilterCallable as ToolFilterCallable
from agentsdk.compat.openai_agents.mcp.util import ToolFilterContext as ToolFilterContext
from agentsdk.compat.openai_agents.mcp.util import ToolFilterStatic as ToolFilterStatic
from agentsdk.compat.openai_agents.mcp.util import create_static_tool_filter as create_static_tool_filter
