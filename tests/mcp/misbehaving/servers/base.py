"""A well-behaved MCP server, written by hand: each case is a subclass that does one thing badly.

Standard library only and few imports of it, so that a process of it starts in some 20 ms. It speaks both eras of the protocol:
`2025-11-25` begins with the handshake `initialize`, `2026-07-28` is stateless and answers `server/discover`. What it sees and
does goes to a journal (a file), which tells a test what has reached the server, and a server how often it was started.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"

Message = dict  # a JSON-RPC message
Result = dict


def tool(name: object = "ping", description: object = "ping", schema: object = None, **more: object) -> dict:
    """A tool's definition; it takes any arguments unless a schema is given."""
    return {"name": name, "description": description, "inputSchema": schema or {"type": "object"}, **more}


def text(*texts: str, **more: object) -> Result:
    """A result of texts."""
    return {"content": [{"type": "text", "text": one} for one in texts], **more}


PONG = text("pong")


class Server:
    """Answers `server/discover`, `initialize`, `tools/list`, `tools/call` and `ping` as it should."""

    tools: list = [tool()]
    capabilities: dict = {"tools": {}}
    instructions = ""
    holds = 0
    """For how many milliseconds its list may be kept, in the modern era."""

    def __init__(self, era: str, journal: str, write: Callable[[bytes], None]) -> None:
        self.era = era
        self.journal = journal
        self.raw = write
        self.starts = self.count("start")
        self.calls = 0
        """Calls that this process has got."""

    def note(self, line: str) -> None:
        """Writes a line to the journal, and rings the bell of who waits for one: a named pipe."""
        with open(self.journal, "a") as file:
            file.write(line.replace("\n", " ") + "\n")
        ring(self.journal + ".bell")

    def keep_silent(self) -> None:
        """Says to who listens that no more will come until it hears something: only a deadline of the client's is next."""
        ring(self.journal + ".silence")

    def count(self, word: str) -> int:
        """How many lines of the journal begin with a word."""
        try:
            with open(self.journal) as file:
                return sum(line.split(" ", 1)[0].strip() == word for line in file)
        except FileNotFoundError:
            return 0

    def begin(self) -> None:
        """What it does before it has read anything."""

    def end(self) -> None:
        """What it does when its input has ended."""

    def receive(self, message: Message) -> None:
        """Handles a message of the client."""
        method = message.get("method")
        self.note(f"{method or 'answer'} {json.dumps(message.get('params') if method else message)[:2000]}")
        if method == "server/discover":
            self.on_discover(message)
        elif method == "initialize":
            self.on_initialize(message)
        elif method == "tools/list":
            self.on_list(message)
        elif method == "tools/call":
            self.calls += 1
            self.note(f"call {message['params']['name']}")
            self.on_call(message)
        elif method == "ping":
            self.answer(message, {})
        elif method:
            self.on_other(message)
        else:
            self.on_answer(message)

    def on_discover(self, message: Message) -> None:
        if self.era != MODERN:
            return self.fail(message, -32601, "Method not found")
        found = {"supportedVersions": [MODERN], "capabilities": self.capabilities, "ttlMs": 0, "cacheScope": "private"}
        if self.instructions:
            found["instructions"] = self.instructions
        return self.answer(message, {**found, "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "bad", "version": "1"}}})

    def on_initialize(self, message: Message) -> None:
        if self.era != HANDSHAKE:
            return self.fail(message, -32022, "Unsupported protocol version", {"supported": [MODERN], "requested": HANDSHAKE})
        opened = {
            "protocolVersion": HANDSHAKE,
            "capabilities": self.capabilities,
            "serverInfo": {"name": "bad", "version": "1"},
        }
        if self.instructions:
            opened["instructions"] = self.instructions
        return self.answer(message, opened)

    def on_list(self, message: Message) -> None:
        self.answer(message, {"tools": self.tools})

    def on_call(self, message: Message) -> None:
        self.answer(message, self.result(message["params"]["name"], message["params"].get("arguments") or {}))

    def result(self, name: str, arguments: dict) -> Result:
        """What a call gives."""
        return PONG

    def on_other(self, message: Message) -> None:
        if "id" in message:
            self.fail(message, -32601, "Method not found")

    def on_answer(self, message: Message) -> None:
        """The client has answered a request of the server."""

    def answered(self, message: Message, result: object) -> Message:
        """The answer to a message, as this era has it."""
        if self.era == MODERN and isinstance(result, dict):
            result = {"resultType": "complete", **result}
            if message.get("method") == "tools/list":
                result = {"ttlMs": self.holds, "cacheScope": "private", **result}
        return {"jsonrpc": "2.0", "id": message.get("id"), "result": result}

    def answer(self, message: Message, result: object) -> None:
        self.send(self.answered(message, result))

    def fail(self, message: Message, code: int, why: str, data: object = None) -> None:
        error = {"code": code, "message": why, **({} if data is None else {"data": data})}
        self.send({"jsonrpc": "2.0", "id": message.get("id"), "error": error})

    def notify(self, method: str, **params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: object) -> None:
        self.raw(line(message))

    def die(self, status: int = 1) -> None:
        """Ends the process at once."""
        os._exit(status)

    def leave_grandchild(self, before: str = "") -> None:
        """Starts a process of its own, which does something `before`, holds none of its pipes and waits for a minute."""
        import subprocess  # costs each server 5 ms, and few need it

        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        child = subprocess.Popen([sys.executable, "-S", "-E", "-c", before + WAITING], stdin=null, stdout=pipe, stderr=null)
        assert child.stdout is not None
        self.note(f"pid {int(child.stdout.readline())}")  # it is there, and deaf to SIGTERM


def ring(bell: str) -> None:
    """Writes a byte to a named pipe, if anybody has it open."""
    try:
        pipe = os.open(bell, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return
    os.write(pipe, b"!")
    os.close(pipe)


WAITING = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(60)
"""


def line(message: object) -> bytes:
    """A message as it goes over a pipe."""
    return json.dumps(message).encode() + b"\n"


CASES: dict[str, type[Server]] = {"healthy": Server}
"""The servers by name: `group/case`."""


def case(name: str) -> Callable[[type[Server]], type[Server]]:
    """Registers a server."""

    def register(server: type[Server]) -> type[Server]:
        assert name not in CASES, name
        CASES[name] = server
        return server

    return register
