"""One module per contestant, all with the functions of `Contestant`."""

from __future__ import annotations

import importlib
from typing import Any, Protocol, cast


class Contestant(Protocol):
    """What a contestant's module holds.

    Every agent has the instructions `fake.INSTRUCTIONS`, the prompt `fake.PROMPT` and the tool `fake.add`. Its model
    answers with `fake.answer()`; when a `url` is given it is the package's own OpenAI chat-completions model instead, with
    that base URL and the script's name as the model's name. Tracing and telemetry are off, limits on turns are lifted.
    """

    SHARED: bool
    """Whether one agent may serve several runs at once. If not, S5 makes one agent per run."""

    NO_PAUSE: str
    """Why the package cannot do S10; empty when it can."""

    def make_agent(self, url: str | None, script: str, *, gated: bool = False, protocol: str = "chat") -> Any:
        """An agent; with `gated` it also has the tool `fake.publish`, which needs an approval.

        Only bare and agentsdk take a `protocol`, one of `scenarios.PROTOCOLS`.
        """
        ...

    async def run(self, agent: Any) -> str:
        """Run to the end, not streamed, from an empty history; the final text."""
        ...

    async def stream(self, agent: Any) -> tuple[int, str]:
        """Run to the end, streamed; the number of text deltas seen and the text they make."""
        ...

    async def limit_connections(self, count: int) -> None:
        """From now on, at most so many connections. Only agentsdk has it."""
        ...

    async def pause(self, agent: Any) -> Any:
        """Run until the approval of `publish` is asked for; what there is to save."""
        ...

    def dump(self, paused: Any) -> bytes:
        """The paused run as bytes."""
        ...

    async def load(self, agent: Any, data: bytes) -> Any:
        """The paused run, back from `dump`'s bytes."""
        ...

    async def resume(self, agent: Any, loaded: Any) -> str:
        """Approve and run to the end; the final text."""
        ...


IMPORTS = {
    "bare": "import asyncio, json",
    "agentsdk": "from agentsdk import Agent, Runner, function_tool",
    "openai-agents": "from agents import Agent, Runner, function_tool",
    "pydantic-ai": "from pydantic_ai import Agent",
    "langgraph": "from langchain.agents import create_agent",
    "agno": "from agno.agent import Agent",
    "strands": "from strands import Agent, tool",
    "agent-framework": "from agent_framework import Agent, tool",
}
"""What a user of each package writes at the top of a first program: what S7 measures."""


def load(name: str) -> Contestant:
    """The contestant called `name`; its package must be installed here."""
    return cast(Contestant, importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))
