"""The UI message stream over real sockets, with the Vercel AI SDK: what a page sees of a run, and how little it is trusted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from typing import Any

import pytest

from agentsdk.testing import call
from agentsdk.web import vercel_app
from tests.web.fronts import Front, Node, fronted, needs_npm, node
from tests.web.served import clerk

pytestmark = [pytest.mark.anyio, needs_npm]


@pytest.fixture(scope="module")
def clients() -> Generator[Node, None, None]:
    with node() as process:
        yield process


class Chat:
    """One `Chat` of the AI SDK, in one conversation."""

    _count = 0

    def __init__(self, clients: Node, front: Front, agent: str = "", **given: Any) -> None:
        Chat._count += 1
        self.name = f"chat {Chat._count}"
        self._clients = clients
        self._given = {"url": f"{front.url}/{agent}", "headers": front.headers, "chatId": self.name, **given}
        self.answer: dict[str, Any] = {}

    async def run(self, **given: Any) -> list[str]:
        """The types of the chunks of one answer."""
        async with asyncio.timeout(60):
            self.answer = await self._clients.ask("vercel", name=self.name, **self._given, **given)
        return [chunk["type"] for chunk in self.chunks]

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """The chunks of the answer, whose end was there."""
        *chunks, done = self.answer["chunks"]
        assert done == "[DONE]"
        return [json.loads(chunk) for chunk in chunks]

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The parts of the last message."""
        parts: list[dict[str, Any]] = self.answer["messages"][-1]["parts"]
        return [part for part in parts if part["type"] != "step-start"]

    async def approve(self, **given: Any) -> list[str]:
        """Approve all that waits."""
        waiting = [part["approval"]["id"] for part in self.parts if part.get("state") == "approval-requested"]
        return await self.run(approvals=[{"id": id, "approved": True, **given} for id in waiting])


async def test_a_text_is_streamed_and_the_conversation_goes_on(clients: Node) -> None:
    agent = clerk("Hello there, Ada.", "As I said.")
    async with fronted(vercel_app, agent) as front:
        chat = Chat(clients, front)
        text = ["text-start", *["text-delta"] * 3, "text-end"]
        assert await chat.run(say="Hello.") == ["start", "start-step", *text, "finish-step", "finish"]
        assert chat.parts == [{"type": "text", "text": "Hello there, Ada.", "state": "done"}]
        await chat.run(say="What?")
        assert [message["role"] for message in chat.answer["messages"]] == ["user", "assistant"] * 2
        requests: Any = agent.model
        assert [item.text for item in requests.requests[1].items] == ["Hello.", "Hello there, Ada.", "What?"]


async def test_an_approval_is_asked_for_and_the_message_goes_on(clients: Node) -> None:
    async with fronted(vercel_app, clerk()) as front:
        chat = Chat(clients, front)
        assert (await chat.run(say="Pay Ada."))[-2:] == ["tool-approval-request", "finish"]
        [part] = chat.parts
        assert (part["type"], part["state"], part["input"]) == ("tool-pay", "approval-requested", {"name": "Ada", "amount": 3})
        assert (await chat.approve())[:2] == ["start", "tool-output-available"]
        assert chat.answer["complete"] and len(chat.answer["messages"]) == 2
        paid, said = chat.parts
        assert (paid["state"], paid["output"], said["text"]) == ("output-available", "3 paid to Ada", "Ada has her money.")


async def test_one_call_is_refused_and_its_reason_told(clients: Node) -> None:
    agent = clerk([call("pay", name="Ada", amount=3)], "Not paid.")
    async with fronted(vercel_app, agent) as front:
        chat = Chat(clients, front)
        await chat.run(say="Pay them.")
        await chat.approve(approved=False, reason="too much")
        assert [part.get("state") for part in chat.parts] == ["output-denied", "done"]
        requests: Any = agent.model
        assert "too much" in requests.requests[1].items[-1].output
