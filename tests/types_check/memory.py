"""A memory is typed: its instructions fit an agent of any context, and what it does to its file is a `MemoryChange`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from agentsdk.define.agent import Agent
from agentsdk.patterns import Memory, MemoryChange
from agentsdk.runner import Runner
from agentsdk.types.items import Message
from agentsdk.workflow import flow, workflow


@dataclass
class User:
    name: str


async def main(memory: Memory) -> None:
    agent = Agent[User, str](name="A", instructions=memory.instructions("Be short."), tools=[memory.tool()])
    result = await Runner.run(agent, [*await memory.recall(), Message("user", "Hello.")], context=User("Ada"))
    assert_type(await memory.remember(result), MemoryChange | None)
    assert_type(await memory.remember(result.to_state(), dream=False), MemoryChange | None)
    assert_type(await memory.undo(), MemoryChange | None)
    assert_type(await memory.history(), list[MemoryChange])


@workflow
async def nightly(users: list[str]) -> int:
    async def dream(user: str) -> MemoryChange | None:
        return await Memory("memories", user=user).dream()

    changes = await flow.each(dream, users)
    assert_type(changes, list[MemoryChange | None])
    return len(changes)
