"""`python -m benchmarks.payload`: the memory that one large thing in the history takes, over twenty turns.

A picture of 5 MB, and a tool result of 2 MB that is not cut, over HTTP to a server in another process. What the process takes
at its peak above what it had before the run may be four times the payload, the payload itself not counted. Each case is a
process of its own. Linux only: memory is read from `/proc`.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from agentsdk import (
    Agent,
    AnthropicModel,
    GoogleModel,
    InputImage,
    InputText,
    Message,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteRunStore,
    aclose,
    function_tool,
)
from agentsdk.testing import FakeAnthropicServer, FakeGoogleServer, FakeOpenAIServer, FakeResponsesServer, call

TURNS = 20
ALLOWED = 4.0
"""Payloads above the start."""
ALLOWED_STORED = 6.0
"""The same with SQLite, which copies a value twice on its way to the file and keeps 2 MB of pages."""
IMAGE_BYTES = 5_000_000
RESULT_CHARACTERS = 2_000_000
MIB = 1024 * 1024

PROTOCOLS: dict[str, tuple[Any, Any]] = {
    "chat": (FakeOpenAIServer, OpenAIChatCompletionsModel),
    "responses": (FakeResponsesServer, OpenAIResponsesModel),
    "anthropic": (FakeAnthropicServer, AnthropicModel),
    "google": (FakeGoogleServer, GoogleModel),
}
WAYS = ("run", "streamed", "own client", "stored")
CASES = [
    *((protocol, kind, "run") for protocol in PROTOCOLS for kind in ("image", "result")),
    *(("chat", kind, way) for way in WAYS[1:] for kind in ("image", "result")),
]


def serve(protocol: str) -> None:
    """Answer with calls, then with text: for a run that warms up, and for the one that is measured."""

    async def answer() -> None:
        replies = [*(call("look", x=number) for number in range(TURNS)), "done"]
        async with PROTOCOLS[protocol][0](replies * 2) as server:
            print(server.base_url, flush=True)
            await asyncio.to_thread(sys.stdin.read)

    asyncio.run(answer())


def memory(field: str) -> int:
    """A line of `/proc/self/status`, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def memory_from_now() -> int:
    """The memory at present, in bytes. The peak begins anew."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


async def measured(url: str, protocol: str, kind: str, way: str) -> None:
    """Print the peak above the start, in payloads and in MiB."""
    long = "x" * RESULT_CHARACTERS
    is_measured = False

    @function_tool(effect="none")
    async def look(x: int) -> str:
        """Look."""
        return long if kind == "result" and is_measured and not x else "ok"

    image = "data:image/png;base64," + base64.b64encode(os.urandom(IMAGE_BYTES)).decode()
    shown: Any = [Message("user", (InputText("What is this?"), InputImage(image)))] if kind == "image" else "Look."
    payload = len(image) if kind == "image" else len(long)
    async with httpx.AsyncClient() as client:
        own = {"http_client": client} if way == "own client" else {}
        model = PROTOCOLS[protocol][1]("none", base_url=url, api_key="none", **own)
        agent = Agent("main", model=model, tools=[look])
        with tempfile.TemporaryDirectory() as folder:
            store = SQLiteRunStore(Path(folder) / "runs.db") if way == "stored" else None
            config = RunConfig(max_tool_result_chars=10**9, store=store)
            await Runner.run(agent, "Look.", max_turns=TURNS + 5, run_config=config)
            is_measured = True
            gc.collect()
            before = memory_from_now()
            if way == "streamed":
                async for _ in Runner.run_streamed(agent, shown, max_turns=TURNS + 5, run_config=config):
                    pass
            else:
                await Runner.run(agent, shown, max_turns=TURNS + 5, run_config=config)
            above = memory("VmHWM") - before
            print(above / payload, above / MIB)
            if store is not None:
                await store.aclose()
    await aclose()


def one(protocol: str, kind: str, way: str) -> tuple[float, float]:
    """A case in processes of its own: the peak above the start, in payloads and in MiB."""
    command = [sys.executable, "-m", "benchmarks.payload"]
    with subprocess.Popen([*command, "--serve", protocol], stdin=-1, stdout=-1, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        ran = subprocess.run([*command, "--one", url, protocol, kind, way], stdout=-1, text=True, check=True)
        server.communicate()
    times, mib = ran.stdout.split()
    return float(times), float(mib)


def main() -> int:
    """Print each case against the bound; 1 where it is missed."""
    missed = 0
    for protocol, kind, way in CASES:
        times, mib = one(protocol, kind, way)
        allowed = ALLOWED_STORED if way == "stored" else ALLOWED
        missed += times > allowed
        verdict = "PASS" if times <= allowed else "MISS"
        print(f"{protocol:10}{kind:7}{way:11}{mib:6.1f} MiB above the start, {times:.2f} payloads of {allowed:g}", end="")
        print(f"  {verdict}", flush=True)
    return int(bool(missed))


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve(sys.argv[2])
    elif "--one" in sys.argv:
        asyncio.run(measured(*sys.argv[2:]))
    else:
        sys.exit(main())
