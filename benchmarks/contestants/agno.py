"""agno: `Agent.arun` over its `Model`; over HTTP `OpenAILike`. Telemetry off, no database."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.run.agent import RunContentEvent, RunOutput
from agno.tools import tool

from benchmarks import fake

SHARED = True
NO_PAUSE = ""


def make_agent(url: str | None, script: str, *, gated: bool = False) -> Agent:
    if url is None:
        model: Model = FakeModel(id="fake")
    else:
        from agno.models.openai.like import OpenAILike

        model = OpenAILike(id=script, base_url=url, api_key="none")
    tools: list[Any] = [fake.add]
    if gated:
        tools.append(tool(requires_confirmation=True)(fake.publish))
    return Agent(model=model, instructions=fake.INSTRUCTIONS, tools=tools, telemetry=False)


async def run(agent: Agent) -> str:
    return str((await agent.arun(fake.PROMPT)).content)


async def stream(agent: Agent) -> tuple[int, str]:
    pieces: list[str] = []
    async for event in agent.arun(fake.PROMPT, stream=True):
        if isinstance(event, RunContentEvent) and event.content:
            pieces.append(event.content)
    return len(pieces), "".join(pieces)


async def pause(agent: Agent) -> RunOutput:
    paused = await agent.arun(fake.PROMPT)
    assert paused.is_paused
    return paused


def dump(paused: RunOutput) -> bytes:
    return json.dumps(paused.to_dict()).encode()


async def load(agent: Agent, data: bytes) -> RunOutput:
    return RunOutput.from_dict(json.loads(data))


async def resume(agent: Agent, loaded: RunOutput) -> str:
    for call in loaded.tools or []:
        if call.requires_confirmation:
            call.confirmed = True
    result = await agent.acontinue_run(run_response=loaded)
    return str(result.content)


@dataclass
class FakeModel(Model):
    """`fake.answer` as an agno model."""

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        reply = await fake.answer()
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
        return ModelResponse(role="assistant", content=reply.text or None, tool_calls=calls)

    async def ainvoke_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ModelResponse]:
        for delta in (await fake.answer()).deltas:
            yield ModelResponse(content=delta)

    def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        raise NotImplementedError

    def invoke_stream(self, *args: Any, **kwargs: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **kwargs: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError
