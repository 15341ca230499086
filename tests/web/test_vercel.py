"""The UI message stream over real sockets, with the Vercel AI SDK: what a page sees of a run, and how little it is trusted."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsdk import (
    Agent,
    GuardrailFunctionOutput,
    RunConfig,
    RunLimits,
    Runner,
    RunQuery,
    SQLiteRunStore,
    Worker,
    function_tool,
    input_guardrail,
)
from agentsdk.items import FunctionCall, InputFile, InputImage, InputText, Message, Reasoning, Refusal
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.scripted import to_response
from agentsdk.types.deltas import (
    AttemptDiscarded,
    FunctionCallArgumentsDelta,
    OutputItemAdded,
    OutputTextDelta,
    ResponseCompleted,
)
from agentsdk.web import vercel_app
from tests.web.fronts import ROOT, Front, Node, fronted, needs_npm, node
from tests.web.killed_worker import digger
from tests.web.served import ADA, EVE, clerk, pay

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
        """The chunks of the answer, whose end was there; none of one that is no stream."""
        if self.answer["http"] != 200:
            return []
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


@function_tool(external=True)
def locate(precise: bool) -> dict[str, str]:
    """Where the user is."""
    raise NotImplementedError("the page answers")


async def test_a_tool_of_the_page_is_run_there(clients: Node) -> None:
    said: list[Any] = [[call("locate", precise=True), call("locate", precise=False)], "You are in Rome."]
    agent = Agent[None, str](name="Guide", tools=[locate], model=ScriptedModel(said))
    async with fronted(vercel_app, agent) as front:
        chat = Chat(clients, front)
        assert (await chat.run(say="Where am I?"))[-1] == "finish"
        assert [part["state"] for part in chat.parts] == ["input-available"] * 2
        await chat.run(outputs=[{"tool": "locate", "toolCallId": "call_1_1", "output": {"city": "Rome"}}])
        assert [part["state"] for part in chat.parts] == ["output-available", "input-available"], "one is waited for"
        await chat.run(outputs=[{"state": "output-error", "toolCallId": "call_1_2", "errorText": "not allowed"}])
        assert chat.parts[-1]["text"] == "You are in Rome."
        asked: Any = agent.model
        found, failed = asked.requests[1].items[-2:]
        assert found.output == '{"city":"Rome"}' and "not allowed" in failed.output


async def test_an_answer_that_does_not_fit_is_refused_and_the_call_waits_on(clients: Node) -> None:
    agent = Agent[None, str](name="Guide", tools=[locate], model=ScriptedModel([call("locate", precise=True), "Thanks."]))
    async with fronted(vercel_app, agent) as front:
        chat = Chat(clients, front)
        await chat.run(say="Where am I?")
        await chat.run(outputs=[{"tool": "locate", "toolCallId": "call_1_1", "output": 7}])
        assert chat.answer["http"] == 422 and "does not fit" in chat.answer["error"]
        await chat.run(outputs=[{"tool": "locate", "toolCallId": "call_1_1", "output": {"city": "Rome"}}])
        assert chat.parts[-1]["text"] == "Thanks."


async def test_images_and_files_reach_the_model(clients: Node) -> None:
    agent = clerk("A dot.")
    files = [
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="},
        {"type": "file", "mediaType": "application/pdf", "url": "https://example.com/a.pdf", "filename": "a.pdf"},
    ]
    async with fronted(vercel_app, agent) as front:
        await Chat(clients, front).run(say="What is it?", files=files)
        asked: Any = agent.model
        assert asked.requests[0].items[0].content == (
            InputImage(image_url="data:image/png;base64,aGk="),
            InputFile(file_url="https://example.com/a.pdf", filename="a.pdf"),
            InputText("What is it?"),
        )


async def test_an_answer_is_written_anew_and_a_message_is_edited(clients: Node) -> None:
    agent = clerk("One.", "Two.", "Three.", "Four.")
    async with fronted(vercel_app, agent) as front:
        chat = Chat(clients, front)
        await chat.run(say="First.")
        first = chat.answer["messages"][0]["id"]
        await chat.run(say="Second.")
        await chat.run(regenerate=True)
        assert chat.parts[0]["text"] == "Three." and len(chat.answer["messages"]) == 4
        await chat.run(say="Edited.", messageId=first)
        assert chat.parts[0]["text"] == "Four." and len(chat.answer["messages"]) == 2
        asked: Any = agent.model
        said = [[item.text for item in request.items] for request in asked.requests]
        assert said == [["First."], ["First.", "One.", "Second."], ["First.", "One.", "Second."], ["Edited."]]


async def test_a_page_that_comes_back_gets_the_message_from_its_beginning(clients: Node) -> None:
    begun, ends = asyncio.Event(), asyncio.Event()

    @function_tool(effect="none")
    async def dig() -> str:
        begun.set()
        await ends.wait()
        return "dug"

    agent = Agent[None, str](name="Digger", tools=[dig], model=ScriptedModel([call("dig"), "It is dug."]))
    async with fronted(vercel_app, agent) as front:
        chat = Chat(clients, front)
        first = asyncio.create_task(chat.run(say="Dig."))
        await begun.wait()
        again = Chat(clients, front, chatId=chat.name)
        coming = asyncio.create_task(again.run(resume=True))
        await asyncio.sleep(0)  # so it is asked before
        await clients.ask("opened", name=again.name)
        async with httpx.AsyncClient() as http, http.stream("GET", f"{front.url}/{chat.name}/stream", headers=ADA) as answer:
            assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
            await anext(answer.aiter_bytes())
        ends.set()
        assert (await coming)[:3] == ["start", "start-step", "tool-input-start"]
        await first
        assert again.answer["messages"][-1]["parts"] == chat.answer["messages"][-1]["parts"]
        await again.run(resume=True)
        assert again.answer["http"] == 204, "nothing is being written"


async def test_a_page_that_is_opened_anew_goes_on_with_what_is_in_the_store(clients: Node) -> None:
    payer = Agent[None, str](name="Payer", tools=[pay], model=ScriptedModel([call("pay", name="Bob", amount=4), "Paid."]))
    said: list[Any] = [
        [Reasoning("Whom?"), call("pay", name="Ada", amount=3), call("have_it_paid", input="Bob")],
        "Both are paid.",
    ]
    boss = Agent[None, str](name="Boss", tools=[pay, payer.as_tool("have_it_paid", "Pay.")], model=ScriptedModel(said))
    files = [{"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="}]
    async with fronted(vercel_app, boss) as front, httpx.AsyncClient(base_url=front.url, headers=ADA) as http:
        chat = Chat(clients, front)

        async def kept() -> Any:
            return (await http.get(f"/{chat.name}/messages")).json()

        await chat.run(say="Pay them.", files=files)
        assert without_descriptors(chat.answer["messages"]) == await kept()
        again = Chat(clients, front, chatId=chat.name, messages=await kept())
        again.answer = {"messages": await kept()}
        await again.approve()
        assert again.answer["error"] is None and len(again.answer["messages"]) == 2
        assert [part["text"] for part in again.parts if part["type"] == "text"] == ["Both are paid."]
        assert [(one["id"], one["role"]) for one in await kept()] == [
            (one["id"], one["role"]) for one in again.answer["messages"]
        ]
        assert (await http.get(f"/{chat.name}/messages", headers=EVE)).json() == []


def without_descriptors(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages as a page has them, without what only the page needs."""
    found: list[dict[str, Any]] = []
    for message in messages:
        parts = [{name: value for name, value in part.items() if name not in ("id", "rawInput")} for part in message["parts"]]
        for part in parts:
            if "approval" in part:
                part["approval"] = {"id": part["approval"]["id"]}
        found.append({"id": message["id"], "role": message["role"], "parts": parts})
    return found


async def test_a_failure_tells_its_kind_and_the_chat_goes_on(clients: Node) -> None:
    agent = Agent[None, str](name="Clerk", model=ScriptedModel([RuntimeError("the secret is 7"), "Here I am."]))
    async with fronted(vercel_app, agent) as front:
        chat = Chat(clients, front)
        assert (await chat.run(say="Hello."))[-1] == "error"
        assert "secret" not in chat.answer["error"] and chat.answer["status"] == "error"
        await chat.run(say="Are you there?")
        assert chat.parts[0]["text"] == "Here I am."


async def test_a_limit_and_a_guardrail_end_a_message_and_the_chat_goes_on(clients: Node) -> None:
    @input_guardrail
    def polite(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, tripwire_triggered="rude" in str(given))

    said: list[Any] = [call("look"), call("look"), "Never.", "Fine."]

    @function_tool(effect="none")
    def look() -> str:
        """Look."""
        return "seen"

    agent = Agent[None, str](name="Clerk", tools=[look], model=ScriptedModel(said), input_guardrails=[polite])
    config = RunConfig(limits=RunLimits(turns=2))
    async with fronted(vercel_app, agent, config=config) as front:
        chat = Chat(clients, front)
        assert (await chat.run(say="Look."))[-1] == "error"
        assert chat.answer["error"].startswith("MaxTurnsExceeded")
        assert (await chat.run(say="Be rude."))[-1] == "error"
        assert chat.answer["error"].startswith("InputGuardrailTripwireTriggered")
        await chat.run(say="Well?")
        assert chat.answer["error"] is None
        asked: Any = agent.model
        last = [item.text for item in asked.requests[-1].items if hasattr(item, "text")]
        assert last == ["Look.", "Well?"], "what a guardrail refused is not said again"


async def test_a_handoff_and_a_nested_approval(clients: Node) -> None:
    payer = Agent[None, str](name="Payer", tools=[pay], model=ScriptedModel([call("pay", name="Ada", amount=3), "Paid."]))
    model = ScriptedModel([call("have_it_paid", input="Ada"), "It is paid."])
    boss = Agent[None, str](name="Boss", tools=[payer.as_tool("have_it_paid", "Pay.")], model=model)
    desk = Agent[None, str](name="Desk", handoffs=[boss], model=ScriptedModel([call("transfer_to_boss")]))
    async with fronted(vercel_app, desk) as front:
        chat = Chat(clients, front)
        await chat.run(say="Pay Ada.")
        [waiting] = [part for part in chat.parts if part["state"] == "approval-requested"]
        assert waiting["type"] == "tool-pay" and len(waiting["toolMetadata"]["path"]) == 1
        await chat.approve()
        assert chat.answer["error"] is None and chat.parts[-1]["text"] == "It is paid."


async def test_a_long_conversation_goes_on(clients: Node) -> None:
    agent = clerk(*[f"Answer {number}." for number in range(15)])
    async with fronted(vercel_app, agent) as front:
        chat = Chat(clients, front)
        for number in range(15):
            await chat.run(say=f"Question {number}.")
        asked: Any = agent.model
        assert len(asked.requests[-1].items) == 29 and len(chat.answer["messages"]) == 30


async def test_a_message_goes_on_where_its_process_was_killed(clients: Node, tmp_path: Path) -> None:
    """The worker, in a process of its own, dies in the middle of a tool; another goes on, and the page sees one message."""
    path, config = tmp_path / "runs.db", RunConfig(lease=0.5)
    store, agent = SQLiteRunStore(path), digger(stuck=False)
    command = [sys.executable, "-m", "tests.web.killed_worker", str(path)]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=subprocess.PIPE)
    async with fronted(vercel_app, agent, store=store, config=config, works=False) as front:
        chat = Chat(clients, front)
        answering = asyncio.create_task(chat.run(say="Dig."))
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"digging\n"
        process.kill()
        await process.wait()
        worker = Worker(store, agents=[agent], config=config)
        working = asyncio.create_task(worker.run())
        assert (await answering)[-1] == "finish"
        worker.stop()
        await working
    assert [part.get("output", part.get("text")) for part in chat.parts] == ["dug", "It is dug."]
    assert chat.answer["error"] is None
    await store.aclose()


class Breaking:
    """A model that breaks off in the middle: at first it begins anew, then it fails."""

    name = "breaking"

    def __init__(self, *, fails: bool) -> None:
        self._fails = fails

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        yield OutputTextDelta("Wrong ")
        yield OutputItemAdded(FunctionCall("void", "pay", ""), 1)
        yield FunctionCallArgumentsDelta('{"na', 1)
        if self._fails:
            raise RuntimeError("the secret is 7")
        yield AttemptDiscarded("it broke off")
        yield OutputTextDelta("Right")
        yield ResponseCompleted(to_response("Right words.", 1))


@pytest.mark.parametrize("fails", [False, True])
async def test_what_an_attempt_said_that_broke_off_is_void(clients: Node, fails: bool) -> None:
    async with fronted(vercel_app, Agent[None, str](name="Breaking", tools=[pay], model=Breaking(fails=fails))) as front:
        chat = Chat(clients, front)
        types = await chat.run(say="Hello.")
        first, called, voided, *rest = chat.parts
        assert (first["text"], called["state"], voided["type"]) == ("Wrong ", "output-error", "data-voided")
        assert types[-1] == ("error" if fails else "finish") and "secret" not in str(chat.answer)
        assert [part["text"] for part in rest] == ([] if fails else ["Right words."])


async def test_a_refusal_is_shown_and_ends_the_message(clients: Node) -> None:
    refusal = Message("assistant", (Refusal("I will not."),))
    async with fronted(vercel_app, clerk(refusal)) as front:
        chat = Chat(clients, front)
        assert (await chat.run(say="Do harm."))[-1] == "error"
        assert chat.parts[0]["text"] == "I will not." and chat.answer["error"].startswith("ModelRefusalError")


async def test_a_run_that_somebody_cancels_aborts_the_message(clients: Node) -> None:
    begun = asyncio.Event()

    @function_tool(effect="none")
    async def dig() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "dug"

    agent = Agent[None, str](name="Digger", tools=[dig], model=ScriptedModel([call("dig")]))
    async with fronted(vercel_app, agent) as front:
        chat = Chat(clients, front)
        answering = asyncio.create_task(chat.run(say="Dig."))
        await begun.wait()
        [run] = await front.store.list(RunQuery())
        await Runner.cancel(run.run_id, run_config=front.config)
        assert (await answering)[-1] == "abort"
        assert chat.answer["error"] is None


async def test_an_output_of_a_type_is_told_as_the_model_wrote_it(clients: Node) -> None:
    @dataclass
    class Sum:
        total: int

    agent = Agent[None, Sum](name="Adder", output_type=Sum, model=ScriptedModel(['{"total": 3}']))
    async with fronted(vercel_app, agent) as front:
        chat = Chat(clients, front)
        await chat.run(say="Add.")
        assert chat.answer["error"] is None and json.loads(chat.parts[0]["text"]) == {"total": 3}


async def test_the_last_message_is_all_that_a_page_has_to_send() -> None:
    async with fronted(vercel_app, clerk()) as front, httpx.AsyncClient(base_url=front.url, headers=ADA, timeout=60) as http:
        body = {"id": "slim", "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "Pay Ada."}]}]}
        await http.post("/", json=body)
        [_, last] = (await http.get("/slim/messages")).json()
        [part] = [part for part in last["parts"] if part["type"] == "tool-pay"]
        part.update(state="approval-responded", approval={**part["approval"], "approved": True})
        answer = await http.post("/", json={**body, "messages": [last]})
        assert "Ada has her money." in "".join(
            json.loads(line[6:]).get("delta", "") for line in answer.text.splitlines() if line.startswith("data: {")
        )
