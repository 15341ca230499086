"""`serve`: the page on this machine, until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.evals import EvalReport
from agentsdk.ports.run_store import RunStore
from agentsdk.types.errors import UserError
from agentsdk.types.summary import RunQuery
from agentsdk.ui.application import LOOPBACK, app
from agentsdk.web.listening import listening_socket


async def serve(
    store: RunStore,
    *,
    agents: Agent[Any, Any] | Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]] | None = None,
    config: RunConfig | None = None,
    evals: Sequence[EvalReport] = (),
    host: str = "127.0.0.1",
    port: int = 0,
    say: Callable[[str], object] = print,
) -> None:
    """Serve the page of `store` at `host` and `port` (0 takes a free one), and `say` its URL; SIGINT and SIGTERM end it.

    On another host than this machine's loopback whoever has the URL reaches it, without encryption: put it behind a proxy that
    encrypts. Arguments are those of `app`. Raises `UserError` for what `app` refuses, where `uvicorn` is not installed, and
    where nothing can be served, and `StoreError` where the store cannot be read.
    """
    if find_spec("uvicorn") is None:
        raise UserError("agentsdk.ui needs uvicorn, which is not installed, expected it; pip install 'agentsdk[ui]'")
    import uvicorn

    hosts = LOOPBACK if host in LOOPBACK else (*LOOPBACK, host)
    application = app(store, agents=agents, config=config, evals=evals, hosts=hosts)
    await store.list(RunQuery(limit=1))  # a store that cannot be read is said here, not by each of the page's requests
    try:
        listening = listening_socket(host, port)
    except OSError as error:
        raise UserError(
            f"the page cannot be served at {host}, port {port} ({error.strerror}), expected an address of this machine and a "
            "free port; choose another"
        ) from error
    server = uvicorn.Server(uvicorn.Config(application, log_level="warning", timeout_graceful_shutdown=1))
    shown = f"[{host}]" if ":" in host else host
    say(f"http://{shown}:{listening.getsockname()[1]}/#token={application.state.token}")
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving
        listening.close()
