"""langgraph: `AsyncSqliteSaver` with `durability="sync"`, and after a kill `ainvoke(None)` on the same thread."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any

os.environ.update(LANGSMITH_TRACING="false", LANGCHAIN_TRACING_V2="false")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.crash.victim import Order, finished, found
from benchmarks.crash.world import PROMPT, World


async def live(order: Order) -> None:
    """Begin the run, or go on with it, until it has its final output."""
    world = order.world
    async with Watched.from_conn_string(order.store[1]) as saver:
        saver.world = world
        agent: Any = create_agent(
            ServedModel(world=world), tools_of(world), system_prompt="You are a clerk.", checkpointer=saver
        )
        config: Any = {"recursion_limit": 1_000_000, "configurable": {"thread_id": order.run_id}}
        saved = await saver.aget_tuple(config) if order.resume else None
        if saved is not None:
            messages: list[Any] = list(saved.checkpoint["channel_values"].get("messages", ()))
            for _, channel, value in saved.pending_writes or ():
                if channel == "messages":
                    messages += value
            results = [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]
            found(sum(isinstance(message, AIMessage) for message in messages), results)
        given = {"messages": [{"role": "user", "content": PROMPT}]} if saved is None else None
        result = await agent.ainvoke(given, config, durability="sync")
        finished(world, {"output": result["messages"][-1].content})


class Watched(AsyncSqliteSaver):
    """A saver that dies after a write, if that is where to die."""

    world: World

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        saved = await super().aput(config, checkpoint, metadata, new_versions)
        self._reached(checkpoint["channel_values"].get("messages", ()))
        return saved

    async def aput_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        await super().aput_writes(config, writes, task_id, task_path)
        for channel, value in writes:
            if channel == "messages":
                self._reached(value)

    def _reached(self, messages: Sequence[Any]) -> None:
        for message in messages:
            if isinstance(message, AIMessage):
                for call in message.tool_calls:
                    self.world.reached(int(str(call["id"]).split("_")[1]), "response saved")
            elif isinstance(message, ToolMessage):
                step, number = message.tool_call_id.split("_")[1:]
                self.world.reached(int(step), "result saved", f"{step}-{number}")


class ServedModel(BaseChatModel):
    """The model of a world."""

    world: Any

    @property
    def _llm_type(self) -> str:
        return "served"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        results = [(message.tool_call_id, str(message.content)) for message in messages if isinstance(message, ToolMessage)]
        _, calls = self.world.ask(results)
        asked: list[Any] = [
            {"name": call.tool, "args": {"item": call.item}, "id": call.call_id, "type": "tool_call"} for call in calls
        ]
        answer = AIMessage(content="" if calls else self.world.answer, tool_calls=asked)
        return ChatResult(generations=[ChatGeneration(message=answer)])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages)


def tools_of(world: World) -> list[Any]:
    """The four tools. The call's id is the key: the same whenever the call is run again."""

    @tool
    async def look_up(item: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Look an order up."""
        return world.do(item, tool_call_id)

    @tool
    def reserve(item: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Reserve what was ordered."""
        return world.do(item, tool_call_id)

    @tool
    def charge(item: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Charge the customer."""
        return world.do(item, tool_call_id)

    @tool
    def ship(item: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Ship the order."""
        return world.do(item, tool_call_id)

    return [look_up, reserve, charge, ship]
