"""`serve`: the page on this machine, until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.ports.run_store import RunStore
from agentsdk.types.errors import UserError
from agentsdk.ui.application import LOOPBACK, app


async def serve(
    store: RunStore,
    *,
    agents: Agent[Any, Any] | Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]] | None = None,
    config: RunConfig | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    say: Callable[[str], object] = print,
) -> None:
    """Serve the page of `store` at `host` and `port` (0 takes a free one), and `say` its URL; SIGINT and SIGTERM end it.

    On another host than this machine's loopback whoever has the URL reaches it, without encryption: put it behind a proxy that
    encrypts. Arguments are those of `app`. Raises `UserError` for what `app` refuses, and where `uvicorn` is not installed.
    """
    if find_spec("uvicorn") is None:
        raise UserError("agentsdk.ui needs uvicorn, which is not installed, expected it; pip install 'agentsdk[ui]'")
    import uvicorn

    hosts = LOOPBACK if host in LOOPBACK else (*LOOPBACK, host)
    application = app(store, agents=agents, config=config, hosts=hosts)
    server = uvicorn.Server(uvicorn.Config(application, host=host, port=port, log_level="warning", timeout_graceful_shutdown=1))
    socket = server.config.bind_socket()
    socket.listen(server.config.backlog)  # who has the URL may come before the server is up
    shown = f"[{host}]" if ":" in host else host
    say(f"http://{shown}:{socket.getsockname()[1]}/#token={application.state.token}")
    serving = asyncio.ensure_future(server.serve(sockets=[socket]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving
        socket.close()
