"""The agents of a service in two versions: the second one has changed all that the first one has, and has one more."""

from __future__ import annotations

import os
from typing import Any

from agentsdk import Agent, function_tool
from agentsdk.testing import ScriptedModel, call
from agentsdk.workflow import flow, workflow


def agents_of(version: str) -> list[Agent[Any, Any]]:
    """What a worker of that version has."""

    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    @workflow(name="trip", version=version)
    async def trip(to: str) -> str:
        agreed = await flow.ask(f"Book {to}?")
        return f"{to} is booked by version {version}" if agreed else "nothing"

    replies = [call("pay"), f"paid by version {version}"]
    clerk = Agent[None, str](name="clerk", model=ScriptedModel(replies), tools=[pay] if version == "1" else [])
    newcomer = Agent[None, str](name="newcomer", model=ScriptedModel([f"hello of version {version}"]))
    return [clerk, trip, *([newcomer] if version == "2" else [])]


agents = agents_of(os.environ.get("APP_VERSION", "1"))
