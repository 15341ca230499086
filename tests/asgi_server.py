"""A real server (uvicorn) of an ASGI application, on the event loop of the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn


@asynccontextmanager
async def listening(app: Any) -> AsyncGenerator[str, None]:
    """The address of a server of the application, which has started up. Raises `RuntimeError` where that fails."""
    with socket.create_server(("127.0.0.1", 0), backlog=2_048) as sock:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
        serving = asyncio.create_task(server.serve(sockets=[sock]))
        try:
            while not server.started:
                if serving.done():
                    raise RuntimeError("the application did not start")
                await asyncio.sleep(0)
            yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
            for task in asyncio.all_tasks():  # the SSE library of MCP watches for the end of the process on each loop
                if getattr(task.get_coro(), "__name__", "") == "_shutdown_watcher":
                    task.cancel()
                    await asyncio.wait((task,))
