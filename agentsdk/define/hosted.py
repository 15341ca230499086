"""An agent's hosted tools: checked together, and for each MCP server the tool that handles its approvals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agentsdk.define.tool import FunctionTool
from agentsdk.types.errors import UserError
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.hosted_tools import HostedMCPTool
from agentsdk.types.spec import approval_name

APPROVED = "approved"
"""The result of a call that asks for an approval and got it. One that was refused is an error, whose text says why."""


class MCPApprovalTool(FunctionTool[Any]):
    """Handles the approvals of a server: a person is asked as its `needs_approval` says, and the result is the answer."""

    server: HostedMCPTool

    def __init__(self, server: HostedMCPTool) -> None:
        vars(self)["server"] = server
        super().__init__(
            approval_name(server.server_label),
            "",
            {"type": "object"},
            _approved,
            False,
            needs_approval=server.needs_approval,
            effect="none",
            kind="mcp_approval",
            permission=server.permission,
            kind_settings=replace(server, needs_approval=True).declared[1],
        )

    def _check(self) -> None:
        """Nothing that a user gave: its server was checked."""


async def _approved(context: object, arguments: str) -> str:
    return APPROVED


def read_hosted(name: str, given: Sequence[HostedTool]) -> tuple[tuple[HostedTool, ...], list[FunctionTool[Any]]]:
    """The hosted tools of the agent `name` as plain data, and the tools that handle their approvals.

    Raises `UserError` for two of a kind, or of one server label.
    """
    tools: dict[str, HostedTool] = {}
    approvals: list[FunctionTool[Any]] = []
    for tool in given:
        if tool.name in tools:
            raise UserError(f"agent {name!r} has two hosted tools {tool.name!r}, expected one; leave the other out")
        if isinstance(tool, HostedMCPTool):
            approvals.append(MCPApprovalTool(tool))
            tool = replace(tool, needs_approval=True)
        tools[tool.name] = tool
    return tuple(tools.values()), approvals
