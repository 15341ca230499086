"""agent-framework: `Agent.run` over a `BaseChatClient` with its function-invocation layer; over HTTP
`OpenAIChatCompletionClient`.

S10 keeps the run in an `AgentSession`, saved as JSON.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)
from agent_framework.observability import disable_instrumentation

from benchmarks import fake

SHARED = True
NO_PAUSE = ""

disable_instrumentation()
NO_LIMIT: Any = {"max_iterations": 1_000_000}


def make_agent(url: str | None, script: str, *, gated: bool = False) -> Any:
    if url is None:
        client: Any = FakeClient(function_invocation_configuration=NO_LIMIT)
    else:
        from agent_framework.openai import OpenAIChatCompletionClient

        client = OpenAIChatCompletionClient(script, api_key="none", base_url=url, function_invocation_configuration=NO_LIMIT)
    tools: list[Any] = [tool(fake.add, approval_mode="never_require")]
    if gated:
        tools.append(tool(fake.publish, approval_mode="always_require"))
    return Agent(client, fake.INSTRUCTIONS, tools=tools)


async def run(agent: Any) -> str:
    return (await agent.run(fake.PROMPT)).messages[-1].text


async def stream(agent: Any) -> tuple[int, str]:
    pieces: list[str] = []
    async for update in agent.run(fake.PROMPT, stream=True):
        if text := update.text:
            pieces.append(text)
    return len(pieces), "".join(pieces)


async def pause(agent: Any) -> Any:
    session = agent.create_session()
    response = await agent.run(fake.PROMPT, session=session)
    return session, [request.to_dict() for request in response.user_input_requests]


def dump(paused: Any) -> bytes:
    session, requests = paused
    return json.dumps({"session": session.to_dict(), "requests": requests}).encode()


async def load(agent: Any, data: bytes) -> Any:
    saved = json.loads(data)
    return AgentSession.from_dict(saved["session"]), [Content.from_dict(request) for request in saved["requests"]]


async def resume(agent: Any, loaded: Any) -> str:
    session, requests = loaded
    answers = [request.to_function_approval_response(True) for request in requests]
    response = await agent.run(Message("user", answers), session=session)
    return response.messages[-1].text


class RawFakeClient(BaseChatClient[Any]):
    """`fake.answer` as an agent-framework chat client."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        if stream:
            return self._build_response_stream(self.updates())
        return self.response()

    async def response(self) -> ChatResponse[Any]:
        reply = await fake.answer()
        contents = [Content.from_function_call(call.id, call.name, arguments=call.arguments) for call in reply.calls]
        if reply.text:
            contents.append(Content.from_text(reply.text))
        return ChatResponse(messages=[Message("assistant", contents)], finish_reason="tool_calls" if reply.calls else "stop")

    async def updates(self) -> AsyncIterator[ChatResponseUpdate]:
        for delta in (await fake.answer()).deltas:
            yield ChatResponseUpdate(contents=[Content.from_text(delta)], role="assistant")


class FakeClient(FunctionInvocationLayer[Any], RawFakeClient):
    """The same with the package's tool loop around it."""
