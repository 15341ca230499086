"""`agentsdk.mcp.serve`: what is served, as the official client sees it, in both eras of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as wire
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from agentsdk import Agent, RunQuery, function_tool
from agentsdk.mcp.serving.serve import agent_server
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ToolOutputImage
from agentsdk.toolsets import ToolRegistry
from tests.mcp.served import Crowd, Script, Weather, Work, add, ask_user, clerk, refund, tools

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]

ERAS = ["legacy", "auto"]  # 2025-11-25 and 2026-07-28
both = pytest.mark.parametrize("era", ERAS)


@asynccontextmanager
async def connected(thing: Any, era: str, options: Any = None, **client: Any) -> AsyncGenerator[Client, None]:
    async with Client(agent_server(thing, options or {}).server, mode=era, cache=None, **client) as one:
        yield one


class Person:
    """The person at a client: answers each form with the next of `answers`, and keeps what was asked."""

    def __init__(self, *answers: wire.ElicitResult | None) -> None:
        self.asked: list[str] = []
        self.forms: list[dict[str, Any]] = []
        self._answers = list(answers)

    async def __call__(self, context: Any, params: Any) -> wire.ElicitResult:
        self.asked.append(params.message)
        self.forms.append(params.requested_schema)
        answer = self._answers.pop(0)
        if answer is None:
            await asyncio.Event().wait()
        assert answer is not None
        return answer


def accept(**content: Any) -> wire.ElicitResult:
    return wire.ElicitResult(action="accept", content=content)


DECLINE, CANCEL = wire.ElicitResult(action="decline"), wire.ElicitResult(action="cancel")


def text(result: wire.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, wire.TextContent)
    return block.text


@both
async def test_tools_are_listed_with_what_they_declare(era: str) -> None:
    async with connected(tools, era, {"name": "shop", "version": "2", "instructions": "Be brief."}) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        info = client.server_info
        assert (info and info.name, info and info.version, client.instructions) == ("shop", "2", "Be brief.")
    assert list(listed) == ["add", "weather", "refund", "broken", "ask_user"]
    assert listed["add"].description == "Add two numbers."
    assert listed["add"].input_schema["required"] == ["a", "b"]
    assert listed["add"].output_schema == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }
    assert listed["refund"].output_schema is None

    def hints(name: str) -> tuple[bool | None, ...]:
        given = listed[name].annotations
        assert given is not None
        return given.read_only_hint, given.idempotent_hint, given.destructive_hint

    assert hints("add") == (True, True, None)
    assert hints("weather") == (False, True, None)
    assert hints("refund") == (False, False, True)


@both
async def test_results_are_text_and_structured_where_the_type_says_so(era: str) -> None:
    async with connected(tools, era) as client:
        added = await client.call_tool("add", {"a": 1, "b": 2})
        assert (text(added), added.structured_content, added.is_error) == ("3", {"result": 3}, False)
        found = await client.call_tool("weather", {"city": "Rome"})
        assert found.structured_content == {"city": "Rome", "degrees": 24.0}


@both
async def test_an_agent_is_one_tool_whose_call_is_its_run(era: str) -> None:
    typed = Agent("Weather man", model=ScriptedModel(['{"city": "Oslo", "degrees": 3}']), output_type=Weather)
    async with connected(typed, era) as client:
        (tool,) = (await client.list_tools()).tools
        assert (tool.name, tool.input_schema["required"]) == ("Weather_man", ["input"])
        result = await client.call_tool("Weather_man", {"input": "How is Oslo?"})
    assert result.structured_content == {"city": "Oslo", "degrees": 3.0}


@both
async def test_wrong_arguments_and_failing_tools_are_results_that_a_model_can_read(era: str) -> None:
    async with connected([*tools, clerk], era) as client:
        wrong = await client.call_tool("add", {"a": 1, "b": "x"})
        assert wrong.is_error and "b: expected an integer" in text(wrong)
        failed = await client.call_tool("broken", {"key": "hunter2"})
        assert failed.is_error and text(failed) == "Error while running the tool: ValueError: the disk is full"
        asked = await client.call_tool("Clerk", {"question": "Why?"})
        assert asked.is_error and text(asked).startswith("InvalidArgumentsError: - input: missing")
        with pytest.raises(MCPError, match="there is no tool 'nothing'"):
            await client.call_tool("nothing", {})


@both
async def test_an_error_of_the_run_is_told_by_its_name_without_a_traceback(era: str, caplog: Any) -> None:
    def explode(request: Any) -> str:
        raise RuntimeError("secret-token")

    agent = Agent("Clerk", model=ScriptedModel([explode]))
    async with connected(agent, era) as client:
        result = await client.call_tool("Clerk", {"input": "Hello"})
    assert result.is_error and text(result).startswith("ModelError: ")
    assert (result.meta or {})["agentsdk/error"] == "ModelError"
    assert "secret-token" not in text(result) and "Traceback" not in text(result)


@both
async def test_an_approval_is_asked_of_the_person_at_the_client(era: str) -> None:
    person = Person(accept(approve=True), accept(approve=False, reason="too much"), DECLINE)
    async with connected(tools, era, elicitation_callback=person) as client:
        assert text(await client.call_tool("refund", {"order": 1})) == "order 1 is paid back"
        rejected = await client.call_tool("refund", {"order": 2})
        assert rejected.is_error and "too much" in text(rejected)
        assert (await client.call_tool("refund", {"order": 3})).is_error
    assert person.asked[0] == 'call of refund: may refund({"order":1}) run?'
    assert person.forms[0]["required"] == ["approve"]


@both
async def test_approvals_inside_an_agents_run_are_asked_one_after_another(era: str) -> None:
    replies = [[call("refund", order=1), call("refund", order=2)], call("refund", order=3), "All paid."]
    agent = Agent("Clerk", tools=[refund], model=ScriptedModel(replies))
    person = Person(*[accept(approve=True)] * 3)
    async with connected(agent, era, elicitation_callback=person) as client:
        assert text(await client.call_tool("Clerk", {"input": "Pay all back."})) == "All paid."
    assert len(person.asked) == 3


@both
async def test_a_question_of_the_agent_is_asked_with_its_choices(era: str) -> None:
    person = Person(accept(answer="red"), accept(answer="blue"), DECLINE)
    agent = Agent(
        "Painter", tools=[ask_user], model=Script(call("ask_user", question="Which?", choices=["blue"]), "Blue it is.")
    )
    async with connected([ask_user, agent], era, elicitation_callback=person) as client:
        given = {"question": "Which colour?", "choices": ["red", "green"]}
        assert text(await client.call_tool("ask_user", given)) == "red"
        assert text(await client.call_tool("Painter", {"input": "Paint."})) == "Blue it is."
        assert (await client.call_tool("ask_user", given)).is_error
    assert person.asked == ["Which colour?", "Which?", "Which colour?"]
    assert person.forms[0]["properties"]["answer"]["enum"] == ["red", "green"]


@both
async def test_a_client_that_cannot_be_asked_is_told_what_the_run_waits_for(era: str) -> None:
    async with connected(tools, era) as client:
        result = await client.call_tool("refund", {"order": 1})
    assert result.is_error and (result.meta or {})["agentsdk/error"] == "ApprovalRequired"
    assert 'may refund({"order":1}) run?' in text(result) and "elicitation" in text(result)


@both
async def test_a_person_who_dismisses_the_form_decides_nothing(era: str) -> None:
    async with connected(tools, era, elicitation_callback=Person(CANCEL)) as client:
        result = await client.call_tool("refund", {"order": 1})
    assert result.is_error and "may refund" in text(result)


@both
async def test_a_cancelled_request_cancels_the_run_before_it_is_done(era: str) -> None:
    work = Work()
    async with connected([work.tool(), add], era) as client:
        waiting = asyncio.create_task(client.call_tool("work", {}))
        await work.began.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await work.ended.wait()
        assert text(await client.call_tool("add", {"a": 1, "b": 1})) == "2"


@both
async def test_a_thousand_calls_at_once_are_all_answered_few_at_a_time(era: str) -> None:
    crowd = Crowd()
    async with connected([crowd.tool()], era, {"max_calls": 8, "max_waiting_calls": 992}) as client:
        results = await asyncio.gather(*[client.call_tool("work", {"number": number}) for number in range(1_000)])
    assert [result.structured_content for result in results] == [{"result": number} for number in range(1_000)]
    assert crowd.most <= 8


class Order(BaseModel):
    number: int
    gift: bool = False


@both
async def test_an_agent_as_a_tool_takes_the_parameters_that_it_declares(era: str) -> None:
    agent = Agent("Packer", tools=[refund], model=ScriptedModel([call("refund", order=7), "Packed."]))
    person = Person(accept(approve=True))
    async with connected(
        [agent.as_tool("pack", "Pack an order.", parameters=Order)], era, elicitation_callback=person
    ) as client:
        (tool,) = (await client.list_tools()).tools
        assert (tool.description, "number" in tool.input_schema["properties"], tool.annotations) == (
            "Pack an order.",
            True,
            None,
        )
        assert text(await client.call_tool("pack", {"number": 7, "gift": True})) == "Packed."
        assert (await client.call_tool("pack", {"number": "seven"})).is_error
    assert person.asked == ['Packer: may refund({"order":7}) run?']


@both
async def test_a_tool_that_is_not_enabled_is_not_there(era: str) -> None:
    off = refund.clone(is_enabled=False)
    for thing in ([off, add], ToolRegistry[Any]([off, add])):
        async with connected(thing, era) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
            with pytest.raises(MCPError, match="there is no tool 'refund'"):
                await client.call_tool("refund", {"order": 1})


@both
async def test_media_are_content(era: str) -> None:
    @function_tool
    def picture() -> list[Any]:
        """A picture."""
        return [ToolOutputImage("data:image/png;base64,iVBORw0K"), ToolOutputImage("https://example.com/a.png")]

    async with connected([picture], era) as client:
        image, link = (await client.call_tool("picture", {})).content
    assert isinstance(image, wire.ImageContent) and (image.mime_type, image.data) == ("image/png", "iVBORw0K")
    assert isinstance(link, wire.TextContent) and link.text == "[image: https://example.com/a.png]"


@both
async def test_a_result_that_does_not_fit_its_declared_type_is_told_as_an_error(era: str) -> None:
    @function_tool
    def count() -> int:
        """Count."""
        return "many"  # type: ignore[return-value]

    async with connected([count], era) as client:
        result = await client.call_tool("count", {})
    assert result.is_error and text(result) == "many"
    assert (result.meta or {})["agentsdk/error"] == "InvalidOutputError"


@both
async def test_calls_cancelled_at_every_point_leave_nothing_behind(era: str) -> None:
    working = 0

    @function_tool(needs_approval=True)
    async def work() -> str:
        """Work."""
        nonlocal working
        working += 1
        try:
            for _ in range(20):
                await asyncio.sleep(0)
        finally:
            working -= 1
        return "done"

    async def approve(context: Any, params: Any) -> wire.ElicitResult:
        return accept(approve=True)

    server, before = agent_server([work], {"max_calls": 2}), asyncio.all_tasks()
    async with Client(server.server, mode=era, cache=None, elicitation_callback=approve) as client:
        for steps in range(200):
            calling = asyncio.create_task(client.call_tool("work", {}))
            for _ in range(steps):
                await asyncio.sleep(0)
            calling.cancel()
            await asyncio.wait((calling,))
        assert text(await client.call_tool("work", {})) == "done"
        assert working == 0
        left = {run.status for run in await server.calls._store.list(RunQuery())}
        assert left <= ({"waiting"} if era == "auto" else set())  # asked, and the client might yet answer
    assert server.calls.at_work == 0
    assert {task for task in asyncio.all_tasks() if not task.done()} <= before


async def test_a_person_who_does_not_answer_in_time_leaves_the_run_waiting() -> None:
    async with connected(tools, "legacy", {"ask_timeout": 0.05}, elicitation_callback=Person(None)) as client:
        result = await client.call_tool("refund", {"order": 1})
        assert result.is_error and "may refund" in text(result)
        assert text(await client.call_tool("add", {"a": 1, "b": 1})) == "2"


@both
async def test_a_server_that_does_not_ask_its_clients_takes_no_answer_of_theirs(era: str) -> None:
    person = Person(accept(approve=True))
    async with connected(tools, era, {"ask_client": False}, elicitation_callback=person) as client:
        assert (await client.call_tool("refund", {"order": 1})).is_error
        if era == "auto":
            answers: Any = {"call_1": accept(approve=True)}
            assert (await client.call_tool("refund", {"order": 1}, input_responses=answers)).is_error
    assert person.asked == []
