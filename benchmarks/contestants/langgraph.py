"""langgraph: langchain's `create_agent` graph over a `BaseChatModel`; over HTTP `ChatOpenAI`.

S10 keeps the run in an in-memory saver with `durability="exit"`, which writes one checkpoint when the run pauses: the least
it can do. (By default it writes one per step, each with the whole conversation: 5 MB here.) Saving is the serializer's work
on that checkpoint; loading is the serializer's and putting it under a new thread.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any

os.environ.update(LANGSMITH_TRACING="false", LANGCHAIN_TRACING_V2="false")

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from benchmarks import fake

SHARED = True
NO_PAUSE = ""

NO_LIMIT = {"recursion_limit": 1_000_000}
INPUT: Any = {"messages": [{"role": "user", "content": fake.PROMPT}]}


def make_agent(url: str | None, script: str, *, gated: bool = False) -> Any:
    if url is None:
        model: BaseChatModel = FakeModel()
    else:
        from langchain_openai import ChatOpenAI

        model = ChatOpenAI(model=script, base_url=url, api_key="none", use_responses_api=False, stream_usage=True)  # type: ignore[arg-type]
    if gated:
        approval = HumanInTheLoopMiddleware(interrupt_on={"publish": True})
        tools = [fake.add, fake.publish]
        return create_agent(model, tools, system_prompt=fake.INSTRUCTIONS, middleware=[approval], checkpointer=InMemorySaver())
    return create_agent(model, [fake.add], system_prompt=fake.INSTRUCTIONS)


async def run(agent: Any) -> str:
    return (await agent.ainvoke(INPUT, NO_LIMIT))["messages"][-1].content


async def stream(agent: Any) -> tuple[int, str]:
    pieces: list[str] = []
    async for message, _ in agent.astream(INPUT, NO_LIMIT, stream_mode="messages"):
        if isinstance(message, AIMessageChunk) and message.content:
            pieces.append(str(message.content))
    return len(pieces), "".join(pieces)


async def pause(agent: Any) -> Any:
    config = new_thread()
    result = await agent.ainvoke(INPUT, config, durability="exit")
    assert result["__interrupt__"]
    return agent.checkpointer, agent.checkpointer.get_tuple(config)


def dump(paused: Any) -> bytes:
    saver, saved = paused
    kind, data = saver.serde.dumps_typed((saved.checkpoint, saved.metadata, saved.pending_writes))
    assert kind == "msgpack"
    return data


async def load(agent: Any, data: bytes) -> Any:
    saver = agent.checkpointer
    checkpoint, metadata, writes = saver.serde.loads_typed(("msgpack", data))
    config = new_thread()
    saved = await saver.aput(config, checkpoint, metadata, checkpoint["channel_versions"])
    for task, channel, value in writes:
        await saver.aput_writes(saved, [(channel, value)], task)
    return config


async def resume(agent: Any, loaded: Any) -> str:
    result = await agent.ainvoke(Command(resume={"decisions": [{"type": "approve"}]}), loaded, durability="exit")
    return result["messages"][-1].content


def new_thread() -> Any:
    return {**NO_LIMIT, "configurable": {"thread_id": str(uuid.uuid4()), "checkpoint_ns": ""}}


class FakeModel(BaseChatModel):
    """`fake.answer` as a langchain chat model."""

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        reply = await fake.answer()
        calls: list[Any] = [
            {"name": call.name, "args": json.loads(call.arguments), "id": call.id, "type": "tool_call"} for call in reply.calls
        ]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=reply.text, tool_calls=calls))])

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for delta in (await fake.answer()).deltas:
            yield ChatGenerationChunk(message=AIMessageChunk(content=delta))
