"""AG-UI over real sockets, with its official client: what a front end sees of a run, and how little it is trusted."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import pytest

from agentsdk.testing import call
from agentsdk.web import ag_ui_app
from tests.web.fronts import Front, Node, fronted, needs_npm, node
from tests.web.served import clerk

pytestmark = [pytest.mark.anyio, needs_npm]


@pytest.fixture(scope="module")
def clients() -> Generator[Node, None, None]:
    with node() as process:
        yield process


class Chat:
    """One `HttpAgent` in one thread."""

    _count = 0

    def __init__(self, clients: Node, front: Front, agent: str = "", **given: Any) -> None:
        Chat._count += 1
        self._name = f"chat {Chat._count}"
        self.thread = f"thread {Chat._count}"
        self._clients = clients
        self._given = {"url": f"{front.url}/{agent}", "headers": front.headers, "threadId": self.thread, **given}
        self.answer: dict[str, Any] = {}

    async def run(self, **given: Any) -> list[str]:
        """The types of the events of one answer."""
        async with asyncio.timeout(60):
            self.answer = await self._clients.ask("agUi", name=self._name, **self._given, **given)
        return [event["type"] for event in self.answer["events"]]

    @property
    def last(self) -> dict[str, Any]:
        """The last event."""
        event: dict[str, Any] = self.answer["events"][-1]
        return event

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The messages as the client has them: roles and texts."""
        return [(one["role"], one.get("content") or "") for one in self.answer["messages"]]

    async def resume(self, *payloads: Any, **given: Any) -> list[str]:
        """Answer the interrupts."""
        entries = [
            {"interruptId": one["id"], "status": "resolved", "payload": payload}
            for one, payload in zip(self.answer["interrupts"], payloads, strict=True)
        ]
        return await self.run(resume=entries, **given)


async def test_a_text_is_streamed_and_the_conversation_goes_on(clients: Node) -> None:
    agent = clerk("Hello there, Ada.", "As I said.")
    async with fronted(ag_ui_app, agent) as front:
        chat = Chat(clients, front)
        assert await chat.run(say="Hello.") == [
            "RUN_STARTED",
            "STEP_STARTED",
            "TEXT_MESSAGE_START",
            *["TEXT_MESSAGE_CONTENT"] * 3,
            "TEXT_MESSAGE_END",
            "STEP_FINISHED",
            "RUN_FINISHED",
        ]
        assert chat.last["outcome"] == {"type": "success"} and chat.last["result"] == "Hello there, Ada."
        await chat.run(say="What?")
        assert chat.texts == [
            ("user", "Hello."),
            ("assistant", "Hello there, Ada."),
            ("user", "What?"),
            ("assistant", "As I said."),
        ]
        requests: Any = agent.model
        assert [item.text for item in requests.requests[1].items] == ["Hello.", "Hello there, Ada.", "What?"]


async def test_an_approval_is_an_interrupt_and_resumes(clients: Node) -> None:
    async with fronted(ag_ui_app, clerk()) as front:
        chat = Chat(clients, front)
        assert (await chat.run(say="Pay Ada."))[-2:] == ["MESSAGES_SNAPSHOT", "RUN_FINISHED"]
        [interrupt] = chat.answer["interrupts"]
        assert (interrupt["reason"], interrupt["toolCallId"]) == ("tool_call", "call_1_1")
        assert (await chat.resume({"approved": True}))[:2] == ["RUN_STARTED", "TOOL_CALL_RESULT"]
        assert chat.texts == [
            ("user", "Pay Ada."),
            ("assistant", ""),
            ("tool", "3 paid to Ada"),
            ("assistant", "Ada has her money."),
        ]


async def test_an_approval_is_refused_and_another_is_edited(clients: Node) -> None:
    agent = clerk([call("pay", name="Ada", amount=3), call("pay", name="Bob", amount=4)], "Done.")
    async with fronted(ag_ui_app, agent) as front:
        chat = Chat(clients, front)
        await chat.run(say="Pay them.")
        await chat.resume({"approved": False, "reason": "no"}, {"approved": True, "editedArgs": {"name": "Bob", "amount": 1}})
        results = [text for role, text in chat.texts if role == "tool"]
        assert "no" in results[0] and results[1].endswith("1 paid to Bob")
