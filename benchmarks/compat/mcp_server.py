"""The MCP server that pages of documentation speak of: over HTTP at localhost:8000, as `/mcp` and `/sse`, or over stdio.

    python -m benchmarks.compat.mcp_server           # HTTP, until it is ended
    python -m benchmarks.compat.mcp_server npx -y @modelcontextprotocol/server-filesystem FOLDER

The second stands for the command `npx`, which would fetch a server.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ADDRESS = ("127.0.0.1", 8000)


@contextlib.contextmanager
def mcp_services(python: Path, folder: Path, env: dict[str, str]) -> Iterator[dict[str, str]]:
    """Serve while it is open: what programs need beside in their environment, `npx` that is this server in its PATH.

    Where something else listens at the address, that is left alone, and blocks that ask it fail.
    """
    script = folder / "npx"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={env["PYTHONPATH"]} exec {python} -m {__name__} npx "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    served = subprocess.Popen([str(python), "-m", __name__], env=env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        _wait(served)
        yield {**env, "PATH": os.pathsep.join([str(folder), os.environ["PATH"]])}
    finally:
        served.terminate()
        served.wait(10)


def _wait(served: subprocess.Popen[bytes], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and served.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(ADDRESS, 1):
            return
        time.sleep(0.1)
    print(f"  no MCP server at {ADDRESS[0]}:{ADDRESS[1]}: the port is taken, or it did not start")


def main() -> None:
    """Serve."""
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("documentation")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def list_directory(path: str) -> str:
        """The names in a folder."""
        return "report.md"

    @server.prompt()
    def generate_code_review_instructions(focus: str, language: str) -> str:
        """Instructions of a reviewer."""
        return f"Review {language} code with a focus on {focus}."

    if sys.argv[1:]:
        server.run("stdio")
        return
    import uvicorn
    from starlette.applications import Starlette

    over_http = server.streamable_http_app()
    routes = [*over_http.routes, *server.sse_app().routes]
    app = Starlette(routes=routes, lifespan=over_http.router.lifespan_context)
    uvicorn.run(app, host=ADDRESS[0], port=ADDRESS[1], log_level="error")


if __name__ == "__main__":
    main()
