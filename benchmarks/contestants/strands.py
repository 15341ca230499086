"""strands-agents: `Agent.invoke_async` over its `Model`, which always streams; over HTTP its `OpenAIModel`.

An agent holds one conversation and refuses a second run beside the first: runs one after another empty it, S5 makes one
agent per run. S10 saves its snapshot as JSON. The conversation manager that drops all but forty messages is off, since the
others keep them all.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any

from strands import Agent, ToolContext, tool
from strands.agent.conversation_manager import NullConversationManager
from strands.models import Model
from strands.types._snapshot import Snapshot
from strands.types.streaming import StreamEvent

from benchmarks import fake

SHARED = False
NO_PAUSE = ""


def make_agent(url: str | None, script: str, *, gated: bool = False) -> Agent:
    if url is None:
        model: Model = FakeModel()
    else:
        from openai import AsyncOpenAI
        from strands.models.openai import OpenAIModel

        model = OpenAIModel(client=AsyncOpenAI(base_url=url, api_key="none"), model_id=script)
    tools: list[Any] = [tool(fake.add)]
    if gated:
        tools.append(tool(context=True)(publish))
    return Agent(
        model=model,
        system_prompt=fake.INSTRUCTIONS,
        tools=tools,
        callback_handler=None,
        conversation_manager=NullConversationManager(),
    )


async def publish(title: str, tool_context: ToolContext) -> str:
    """Publish the report. Needs a person's approval.

    Args:
        title: The title of the report.
    """
    if tool_context.interrupt("approval", reason=title) != "yes":
        return "refused"
    return await fake.publish(title)


async def run(agent: Agent) -> str:
    agent.messages.clear()
    return text_of(await agent.invoke_async(fake.PROMPT))


async def stream(agent: Agent) -> tuple[int, str]:
    agent.messages.clear()
    pieces: list[str] = []
    async for event in agent.stream_async(fake.PROMPT):
        if "data" in event:
            pieces.append(event["data"])
    return len(pieces), "".join(pieces)


async def pause(agent: Agent) -> Agent:
    agent.messages.clear()
    result = await agent.invoke_async(fake.PROMPT)
    assert result.stop_reason == "interrupt"
    saved = make_agent(None, fake.PAUSE.name, gated=True)
    saved.load_snapshot(agent.take_snapshot(preset="session"))
    return saved


def dump(paused: Agent) -> bytes:
    return json.dumps(paused.take_snapshot(preset="session").to_dict()).encode()


async def load(agent: Agent, data: bytes) -> Agent:
    agent.load_snapshot(Snapshot.from_dict(json.loads(data)))
    return agent


async def resume(agent: Agent, loaded: Agent) -> str:
    interrupts = loaded._interrupt_state.interrupts.values()
    answers: Any = [{"interruptResponse": {"interruptId": interrupt.id, "response": "yes"}} for interrupt in interrupts]
    return text_of(await loaded.invoke_async(answers))


def text_of(result: Any) -> str:
    return "".join(block.get("text", "") for block in result.message["content"])


class FakeModel(Model):
    """`fake.answer` as a strands model."""

    def update_config(self, **model_config: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> AsyncGenerator[dict[str, Any], None]:
        raise NotImplementedError

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterable[StreamEvent]:
        reply = await fake.answer()
        yield {"messageStart": {"role": "assistant"}}
        for call in reply.calls:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": call.name, "toolUseId": call.id}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": call.arguments}}}}
            yield {"contentBlockStop": {}}
        if reply.deltas:
            yield {"contentBlockStart": {"start": {}}}
            for delta in reply.deltas:
                yield {"contentBlockDelta": {"delta": {"text": delta}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if reply.calls else "end_turn"}}
