"""AG-UI over real sockets, with its official client: what a front end sees of a run, and how little it is trusted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec
import pytest

from agentsdk import (
    Agent,
    ContextCodec,
    GuardrailFunctionOutput,
    MemoryRunStore,
    RunConfig,
    Runner,
    RunQuery,
    ToolContext,
    Worker,
    function_tool,
    output_guardrail,
)
from agentsdk.items import FunctionCall, InputImage, InputText, Reasoning
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.scripted import to_response
from agentsdk.types.deltas import AttemptDiscarded, OutputTextDelta, ResponseCompleted
from agentsdk.web import FrontEndTools, WebLimits, ag_ui_app
from agentsdk.web.ag_ui.shared_state import patches
from tests.web.fronts import Front, Node, fronted, needs_npm, node
from tests.web.served import ADA, ASKS, PAYS, clerk, pay

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


async def test_reasoning_and_nested_agents_are_told_apart(clients: Node) -> None:
    digger = Agent[None, str](name="Digger", model=ScriptedModel(["Dug."]))
    said: list[Any] = [[Reasoning("Who digs?"), call("dig", input="here")], "It is dug."]
    agent = Agent[None, str](name="Boss", tools=[digger.as_tool("dig", "Dig.")], model=ScriptedModel(said))
    async with fronted(ag_ui_app, agent) as front:
        chat = Chat(clients, front)
        types = await chat.run(say="Dig.")
        assert chat.answer["error"] is None and types[-1] == "RUN_FINISHED"
        [began] = [event for event in chat.answer["events"] if event["type"] == "SUBAGENT_STARTED"]
        assert (began["name"], began["parentToolCallId"]) == ("Digger", "call_1_1")
        dug = [one for one in chat.answer["messages"] if one.get("subagentRunId") == began["subagentRunId"]]
        assert [one["content"] for one in dug] == ["Dug."]
        assert [role for role, _ in chat.texts] == ["user", "reasoning", "assistant", "tool", "assistant", "assistant"]


async def test_a_tool_of_the_front_end_is_run_there(clients: Node) -> None:
    agent = Agent[None, str](
        name="Guide", model=ScriptedModel([call("locate", precise=True), "You are in Rome."]), toolsets=[FrontEndTools()]
    )
    schema = {"type": "object", "properties": {"precise": {"type": "boolean"}}, "required": ["precise"]}
    tools = [{"name": "locate", "description": "Where the user is.", "parameters": schema}]
    async with fronted(ag_ui_app, agent) as front:
        chat = Chat(clients, front)
        await chat.run(say="Where am I?", tools=tools)
        assert chat.last["outcome"] == {"type": "success", "pendingToolCallIds": ["call_1_1"]}
        await chat.run(toolResult={"toolCallId": "call_1_1", "content": "Rome"}, tools=tools)
        assert chat.texts[-1] == ("assistant", "You are in Rome.") and chat.answer["error"] is None
        asked: Any = agent.model
        assert [tool.name for tool in asked.requests[0].tools] == ["locate"]
        assert asked.requests[1].items[-1].output == "Rome"


async def test_a_tool_of_the_front_end_that_fails_is_an_error_for_the_model(clients: Node) -> None:
    agent = Agent[None, str](name="Guide", model=ScriptedModel([call("locate"), "No idea."]), toolsets=[FrontEndTools()])
    async with fronted(ag_ui_app, agent) as front:
        chat = Chat(clients, front)
        await chat.run(say="Where am I?", tools=[{"name": "locate", "description": "Where the user is."}])
        await chat.run(toolResult={"toolCallId": "call_1_1", "content": "", "error": "not allowed"})
        asked: Any = agent.model
        assert "not allowed" in asked.requests[1].items[-1].output and asked.requests[1].items[-1].is_error


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([{"name": "pay", "description": "Free money."}], "another name"),
        ([{"name": "a b", "description": ""}], "a b"),
        ([{"name": f"t{number}", "description": ""} for number in range(65)], "64 tools"),
        ([{"name": "long", "description": "x" * 70_000}], "65536 bytes"),
        ([{"name": "odd", "description": "", "parameters": [1]}], "no JSON schema"),
        ([{"name": "twice", "description": ""}] * 2, "another name"),
    ],
)
async def test_tools_of_a_front_end_that_are_refused(clients: Node, tools: Any, words: str) -> None:
    agent = Agent[None, str](name="Clerk", tools=[pay], model=ScriptedModel([]), toolsets=[FrontEndTools()])
    async with fronted(ag_ui_app, agent, works=False) as front:
        chat = Chat(clients, front)
        assert await chat.run(say="Hello.", tools=tools) == ["RUN_STARTED", "RUN_ERROR"]
        assert chat.last["code"] == "UserError" and words in chat.last["message"]


async def test_an_agent_that_takes_no_tools_of_front_ends_says_so(clients: Node) -> None:
    async with fronted(ag_ui_app, clerk("Hello."), works=False) as front:
        chat = Chat(clients, front)
        await chat.run(say="Hello.", tools=[{"name": "locate", "description": ""}])
        assert "FrontEndTools" in chat.last["message"]


@dataclass
class Recipe:
    """What the page and the agent write together."""

    title: str = ""
    steps: list[str] = field(default_factory=list[str])


@function_tool
def add_step(ctx: ToolContext[Recipe], step: str) -> str:
    """Add a step to the recipe."""
    ctx.context.steps.append(step)
    return "added"


async def test_the_state_is_shared_and_its_changes_are_sent(clients: Node) -> None:
    codec = ContextCodec[Recipe](
        lambda recipe: msgspec.json.encode(recipe).decode(), lambda text: msgspec.json.decode(text, type=Recipe)
    )
    model = ScriptedModel([call("add_step", step="Boil."), "Added.", "It has one step."])
    agent = Agent[Recipe, str](name="Cook", tools=[add_step], model=model)
    store = MemoryRunStore()
    config = RunConfig(context_codec=codec)
    async with fronted(ag_ui_app, agent, store=store, config=config, shares_state=True) as front:
        chat = Chat(clients, front)
        types = await chat.run(say="Add boiling.", state={"title": "Tea"})
        assert types[1] == "STATE_SNAPSHOT" and "STATE_DELTA" in types
        assert chat.answer["state"] == {"title": "Tea", "steps": ["Boil."]}
        await chat.run(say="Well?", state={})
        assert chat.answer["state"] == {"title": "Tea", "steps": ["Boil."]}, "the store has it"
        assert await chat.run(say="?", state={"steps": "all"}) == ["RUN_STARTED", "RUN_ERROR"]
        assert chat.last["code"] == "UserError" and "state" in chat.last["message"]
    await store.aclose()


def test_what_has_changed_is_a_json_patch() -> None:
    old = {"a": 1, "b/c": {"d": [1], "e": True}, "gone": 0}
    new = {"a": True, "b/c": {"d": [1, 2], "e": True, "~": None}}
    found = list(patches(old, new, ""))
    assert found == [
        {"op": "remove", "path": "/gone"},
        {"op": "replace", "path": "/a", "value": True},
        {"op": "replace", "path": "/b~1c/d", "value": [1, 2]},
        {"op": "add", "path": "/b~1c/~0", "value": None},
    ]


async def test_a_question_is_an_interrupt_whose_answer_is_checked(clients: Node) -> None:
    async with fronted(ag_ui_app, clerk(*ASKS)) as front:
        chat = Chat(clients, front)
        await chat.run(say="A coffee.")
        [interrupt] = chat.answer["interrupts"]
        assert (interrupt["reason"], interrupt["message"]) == ("input_required", "Which size?")
        assert await chat.resume("huge") == ["RUN_STARTED", "RUN_ERROR"]
        await chat.run(resume=[{"interruptId": interrupt["id"], "status": "resolved", "payload": "large"}])
        assert chat.texts[-1] == ("assistant", "A large one.")


async def test_an_interrupt_is_left_open_and_the_call_is_refused(clients: Node) -> None:
    async with fronted(ag_ui_app, clerk(PAYS[0], "As you like.")) as front:
        chat = Chat(clients, front)
        await chat.run(say="Pay Ada.")
        [interrupt] = chat.answer["interrupts"]
        await chat.run(resume=[{"interruptId": interrupt["id"], "status": "cancelled"}])
        assert chat.texts[-1] == ("assistant", "As you like.")


async def test_a_page_that_is_opened_again_is_shown_the_conversation(clients: Node) -> None:
    async with fronted(ag_ui_app, clerk()) as front:
        chat = Chat(clients, front)
        await chat.run(say="Pay Ada.")
        again = Chat(clients, front, threadId=chat.thread)
        assert await again.run(messages=[]) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
        assert again.answer["interrupts"] == chat.answer["interrupts"]
        await again.resume({"approved": True})
        assert again.texts[-1] == ("assistant", "Ada has her money.")


async def test_a_failure_tells_its_kind_and_no_more(clients: Node) -> None:
    agent = clerk(RuntimeError("the secret is 7"))  # type: ignore[arg-type]
    async with fronted(ag_ui_app, agent) as front:
        chat = Chat(clients, front)
        assert (await chat.run(say="Hello."))[-1] == "RUN_ERROR"
        assert "secret" not in str(chat.answer["events"])


@pytest.mark.parametrize(("when_left", "status"), [("go_on", "finished"), ("cancel", "cancelled")])
async def test_a_run_whose_client_leaves_goes_on_or_is_cancelled(clients: Node, when_left: str, status: str) -> None:
    begun, ends = asyncio.Event(), asyncio.Event()

    @function_tool(effect="none")
    async def dig() -> str:
        begun.set()
        await ends.wait()
        return "dug"

    agent = Agent[None, str](name="Digger", tools=[dig], model=ScriptedModel([call("dig"), "It is dug."]))
    async with fronted(ag_ui_app, agent, when_left=when_left) as front:
        await Chat(clients, front).run(say="Dig.", leaveAt=4)
        await begun.wait()
        [run] = await front.store.list(RunQuery())
        if when_left == "go_on":
            ends.set()
        async with asyncio.timeout(60):
            while (found := await front.store.summary(run.run_id)) is None or found.status != status:
                await front.store.wait(run.run_id, 0 if found is None else found.rev, timeout=0.1)


class Unsteady:
    """A model whose first attempt breaks off."""

    name = "unsteady"

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        yield OutputTextDelta("Wrong ")
        yield OutputTextDelta("words")
        yield AttemptDiscarded("it broke off")
        yield OutputTextDelta("Right")
        yield ResponseCompleted(to_response("Right words.", 1))


async def test_what_an_attempt_said_that_broke_off_is_taken_back(clients: Node) -> None:
    async with fronted(ag_ui_app, Agent[None, str](name="Unsteady", model=Unsteady())) as front:
        chat = Chat(clients, front)
        assert "MESSAGES_SNAPSHOT" in await chat.run(say="Hello.")
        assert "Wrong " in [event.get("delta") for event in chat.answer["events"]]
        assert chat.texts == [("user", "Hello."), ("assistant", "Right words.")]


async def test_a_client_of_before_1_0_is_told_what_it_knows() -> None:
    digger = Agent[None, str](name="Digger", model=ScriptedModel(["Dug."]))
    said: list[Any] = [[Reasoning("Who digs?"), call("dig", input="here")], "It is dug."]
    agent = Agent[None, str](name="Boss", tools=[digger.as_tool("dig", "Dig.")], model=ScriptedModel(said))
    body = {"threadId": "old", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "Dig."}]}
    async with fronted(ag_ui_app, agent) as front, httpx.AsyncClient(base_url=front.url, headers=ADA, timeout=60) as http:
        events = (await http.post("/", json=body)).text
        assert "REASONING" not in events and "subagent" not in events.lower() and "It is dug." in events


async def test_images_reach_the_model_and_progress_the_page(clients: Node) -> None:
    @function_tool(effect="none")
    async def look(ctx: ToolContext[None]) -> str:
        ctx.emit({"looked": 1})
        ctx.emit(object())
        return "a dot"

    agent = Agent[None, str](name="Seer", tools=[look], model=ScriptedModel([call("look"), "A dot."]))
    image = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}
    content = [{"type": "text", "text": "What is it?"}, image]
    async with fronted(ag_ui_app, agent) as front:
        chat = Chat(clients, front)
        await chat.run(messages=[{"id": "u", "role": "user", "content": content}])
        [progress] = [event["value"] for event in chat.answer["events"] if event["type"] == "CUSTOM"]
        assert progress == {"toolCallId": "call_1_1", "tool": "look", "data": {"looked": 1}}
        asked: Any = agent.model
        [seen] = asked.requests[0].items
        assert seen.content == (InputText("What is it?"), InputImage(image_url="data:image/png;base64,aGk="))


async def test_a_call_in_doubt_is_settled_by_the_user(clients: Node) -> None:
    """The worker that ran it was stopped in the middle, so nobody knows what became of it."""
    begun = asyncio.Event()

    @function_tool
    async def send() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "sent"

    agent = Agent[None, str](name="Post", tools=[send], model=ScriptedModel([call("send"), "It was sent."]))
    async with fronted(ag_ui_app, agent, works=False) as front:
        chat = Chat(clients, front)
        answering = asyncio.create_task(chat.run(say="Send it."))
        working = asyncio.create_task(Worker(front.store, agents=[agent], grace=0.0).run())
        await begun.wait()
        working.cancel()
        await asyncio.wait((working,))
        worker = Worker(front.store, agents=[agent], grace=0.0)
        working = asyncio.create_task(worker.run())
        await answering
        [interrupt] = chat.answer["interrupts"]
        assert interrupt["reason"] == "agentsdk:in_doubt"
        assert await chat.resume({"action": "guess"}) == ["RUN_STARTED", "RUN_ERROR"]
        payload = {"action": "provide_result", "result": "sent"}
        await chat.run(resume=[{"interruptId": interrupt["id"], "status": "resolved", "payload": payload}])
        assert chat.texts[-1] == ("assistant", "It was sent.")
        worker.stop()
        await working


async def test_a_run_that_is_cancelled_or_paused_says_so(clients: Node) -> None:
    for signal in ("cancel", "pause"):
        begun, ends = asyncio.Event(), asyncio.Event()
        async with fronted(ag_ui_app, _digger(begun, ends)) as front:
            chat = Chat(clients, front)
            answering = asyncio.create_task(chat.run(say="Dig."))
            await begun.wait()
            [run] = await front.store.list(RunQuery())
            await getattr(Runner, signal)(run.run_id, run_config=front.config)
            ends.set()
            await answering
            if signal == "cancel":
                assert chat.last["outcome"] == {"type": "cancelled"}
            else:
                assert (chat.last["type"], chat.last["code"]) == ("RUN_ERROR", "RunPaused")


def _digger(begun: asyncio.Event, ends: asyncio.Event) -> Agent[None, str]:
    @function_tool(effect="none")
    async def dig() -> str:
        begun.set()
        await ends.wait()
        return "dug"

    return Agent[None, str](name="Digger", tools=[dig], model=ScriptedModel([call("dig"), "It is dug."]))


async def test_a_stream_ends_after_its_time_and_silence_is_broken(clients: Node) -> None:
    begun, ends = asyncio.Event(), asyncio.Event()
    limits = WebLimits(stream_seconds=0.5, ping_seconds=0.1)
    async with fronted(ag_ui_app, _digger(begun, ends), limits=limits) as front:
        chat = Chat(clients, front)
        await chat.run(say="Dig.")
        assert (chat.last["type"], chat.last["code"]) == ("RUN_ERROR", "StreamEnded")
        ends.set()
        await chat.run()
        assert chat.texts[-1] == ("assistant", "It is dug."), "asked again, it is shown the rest"


async def test_text_that_guardrails_may_stop_is_held_back(clients: Node) -> None:
    @output_guardrail
    def clean(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, tripwire_triggered="rude" in str(output))

    agent = Agent[None, str](name="Clerk", model=ScriptedModel(["A rude word.", "A word."]), output_guardrails=[clean])
    async with fronted(ag_ui_app, agent, config=RunConfig(buffer_output=True)) as front:
        chat = Chat(clients, front)
        await chat.run(say="Say it.")
        assert chat.last["type"] == "RUN_ERROR" and "rude" not in str(chat.answer["events"])
        await chat.run(say="Say another.")
        assert chat.texts[-1] == ("assistant", "A word.")


async def test_a_call_id_that_a_provider_uses_again_is_another_call(clients: Node) -> None:
    same = FunctionCall("same", "look", "{}")

    @function_tool(effect="none")
    def look() -> str:
        return "seen"

    agent = Agent[None, str](name="Seer", tools=[look], model=ScriptedModel([same, "One.", same, "Two."]))
    async with fronted(ag_ui_app, agent) as front:
        chat = Chat(clients, front)
        await chat.run(say="Look.")
        assert "MESSAGES_SNAPSHOT" not in await chat.run(say="Again."), "nothing was to be taken back"
        calls = [made["id"] for one in chat.answer["messages"] for made in one.get("toolCalls") or ()]
        results = [one["toolCallId"] for one in chat.answer["messages"] if one["role"] == "tool"]
        assert len(set(calls)) == 2 and calls == results
        assert [role for role, _ in chat.texts] == ["user", "assistant", "tool", "assistant"] * 2
