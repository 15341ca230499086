"""The official clients of front-end protocols in one node process, and what they talk to: an application on a real socket."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import subprocess
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from agentsdk import Agent, MemoryRunStore, RunConfig, Worker
from agentsdk.stores import RunStore
from agentsdk.web import Caller
from tests.asgi_server import listening
from tests.web.served import ADA, by_token

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / ".venv" / "front-ends" / "node_modules"

needs_npm = pytest.mark.skipif(
    shutil.which("node") is None or not (PACKAGES / "ai").exists(),
    reason="needs node, and @ag-ui/client and ai from npm: make .venv/.front-ends",
)


class Node:
    """A node process with the clients. Requests go side by side."""

    def __init__(self) -> None:
        script = str(ROOT / "tests" / "web" / "front_ends.mjs")
        self._process = subprocess.Popen(["node", script, str(PACKAGES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._numbers = itertools.count(1)
        self._asked: dict[int, Future[dict[str, Any]]] = {}
        self._reader = threading.Thread(target=self._read, name="reads what node answers")
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            self._asked.pop(answer["id"]).set_result(answer)
        for future in self._asked.values():
            future.set_exception(RuntimeError("node has ended"))

    async def ask(self, operation: str, **given: Any) -> dict[str, Any]:
        """What an operation of the script gives."""
        number = next(self._numbers)
        future = self._asked[number] = Future()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"id": number, "operation": operation, **given}).encode() + b"\n")
        self._process.stdin.flush()
        async with asyncio.timeout(60):
            answer = await asyncio.wrap_future(future)
        assert "crash" not in answer, answer["crash"]
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._reader.join()
        self._process.stdout.close()


@contextmanager
def node() -> Generator[Node, None, None]:
    """The process, while it is needed."""
    process = Node()
    try:
        yield process
    finally:
        process.close()


@dataclass
class Front:
    """An application and what stands behind it: `url` is its address, `store` has the runs."""

    url: str
    store: RunStore
    config: RunConfig
    agents: list[Agent[Any, Any]]
    worker: Worker
    headers: dict[str, str] = field(default_factory=lambda: dict(ADA))


@asynccontextmanager
async def fronted(
    app: Callable[..., Any],
    *agents: Agent[Any, Any],
    store: RunStore | None = None,
    works: bool = True,
    config: RunConfig | None = None,
    authenticate: Callable[[Request], Caller | None] | None = by_token,
    **options: Any,
) -> AsyncGenerator[Front, None]:
    """`app` (`ag_ui_app`, say) of these agents, with a worker beside it if `works`."""
    kept = store or MemoryRunStore()
    application = app(kept, agents=list(agents), authenticate=authenticate, config=config, **options)
    worker = Worker(kept, agents=list(agents), grace=0.0, config=config)
    working = asyncio.create_task(worker.run()) if works else None
    try:
        async with listening(application) as address:
            yield Front(address, kept, config or RunConfig(store=kept), list(agents), worker)
    finally:
        worker.stop()
        if working is not None:
            await working
        if store is None:
            await kept.aclose()
