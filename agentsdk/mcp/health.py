"""`MCPHealth`: how it stands with the connection to a server, for a person to see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentsdk.types.errors import MCPError

MCPState = Literal["new", "connecting", "ready", "down", "closed"]
"""`"new"`: not used yet. `"down"`: the last attempt failed, or the connection ended; the next use connects again."""


@dataclass(frozen=True, slots=True)
class MCPHealth:
    """How it stands with a server. A snapshot: `server.health` gives the next.

    `error` is why it was last down, `failures` how often connecting has failed since it last worked, `retry_in` the seconds
    until it is tried again (0 where the next use tries). `warnings` are the last things it sent that were left out, `stderr`
    the last lines that a stdio server wrote there, also by a process of it that has ended. `connections` counts how often it
    has been connected.
    """

    state: MCPState
    error: MCPError | None = None
    failures: int = 0
    retry_in: float = 0.0
    connections: int = 0
    tools: int = 0
    protocol_version: str = ""
    server_name: str = ""
    server_version: str = ""
    warnings: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()
