"""`OpenAIResponsesCompactionSession`: when it asks, what it asks, and that nothing is lost."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from agentsdk.compat.openai_agents import Agent, ModelSettings, Runner, SQLiteSession, function_tool
from agentsdk.compat.openai_agents.memory import OpenAIResponsesCompactionSession, SessionSettings
from agentsdk.compat.openai_agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

pytestmark = pytest.mark.anyio

OLD = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
SMALL = {"type": "compaction", "encrypted_content": "x"}


class Client:
    """openai's client as far as the session asks it."""

    def __init__(self, *output: Any) -> None:
        self.responses = self
        self.asked: list[dict[str, Any]] = []
        self.output = list(output)
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.begun = asyncio.Event()

    async def compact(self, **asked: Any) -> Any:
        self.asked.append(asked)
        self.begun.set()
        await self.go_on.wait()
        return SimpleNamespace(output=self.output, usage={"input_tokens": 7, "output_tokens": 2, "total_tokens": 9})


def always(_: object) -> bool:
    return True


def made(client: Client, **given: Any) -> OpenAIResponsesCompactionSession:
    options: dict[str, Any] = {"should_trigger_compaction": always, "client": client, **given}
    return OpenAIResponsesCompactionSession("s", options.pop("beneath", SQLiteSession("s")), **options)


def answering(**given: Any) -> Agent[Any]:
    return Agent(name="A", model=ScriptedModel([ModelStep(output=[assistant_message("x")], response_id="r1")]), **given)


@function_tool
def look_up() -> str:
    """Look."""
    return "found"


async def test_a_run_has_its_session_made_smaller_and_counts_it() -> None:
    client = Client(SMALL)
    session = made(client)
    result = await Runner.run(answering(), "hi", session=session)
    assert client.asked == [{"model": "gpt-4.1", "previous_response_id": "r1"}]
    assert await session.get_items() == [SMALL]
    assert (result.context_wrapper.usage.requests, result.context_wrapper.usage.total_tokens) == (2, 9)
    await Runner.run(answering(model_settings=ModelSettings(store=False)), "again", session=session)
    assert [item["role"] for item in client.asked[1]["input"][1:]] == ["user", "assistant"]


async def test_enough_is_asked_for_first() -> None:
    client = Client(SMALL)
    session = made(client, should_trigger_compaction=None)
    await session.add_items([*OLD] * 9)
    await session.run_compaction()
    assert client.asked == []
    await session.add_items(OLD)
    await session.run_compaction({"response_id": "r1"})
    assert client.asked == [{"model": "gpt-4.1", "previous_response_id": "r1"}]


async def test_a_run_that_ends_with_a_tool_s_output_has_the_next_one_make_it_smaller() -> None:
    client, answers = Client(SMALL), iter([True])
    session = made(client, should_trigger_compaction=lambda _: next(answers, False))
    call = ScriptedModel([[function_call("look_up", {}, call_id="c")]])
    await Runner.run(
        Agent(name="A", model=call, tools=[look_up], tool_use_behavior="stop_on_first_tool"), "hi", session=session
    )
    assert client.asked == [] and len(await session.get_items()) == 3
    await Runner.run(answering(), "and?", session=session)
    assert len(client.asked) == 1 and await session.get_items() == [SMALL]


async def test_what_a_limit_hides_is_not_lost() -> None:
    client = Client(SMALL)
    session = made(client, beneath=SQLiteSession("s", session_settings=SessionSettings(limit=2)))
    await session.add_items([*OLD, *OLD])
    await Runner.run(answering(), "hi", session=session)
    assert client.asked == [] and len(await session.get_items(100)) == 6


async def test_what_another_run_has_added_is_not_lost() -> None:
    client, entered, go_on = Client(SMALL), asyncio.Event(), asyncio.Event()
    session = made(client, should_trigger_compaction=lambda context: context["response_id"] == "slow")

    async def slowly(_: Any) -> ModelStep:
        entered.set()
        await go_on.wait()
        return ModelStep(output=[assistant_message("slow")], response_id="slow")

    slow = asyncio.create_task(
        Runner.run(Agent(name="B", model=ScriptedModel([ModelStep.respond(slowly)])), "slow", session=session)
    )
    await entered.wait()
    await Runner.run(answering(), "quick", session=session)
    go_on.set()
    await slow
    assert client.asked == [] and len(await session.get_items()) == 4


async def test_items_added_while_it_is_made_smaller_wait() -> None:
    client = Client(SMALL)
    session = made(client)
    await session.add_items(OLD)
    client.go_on.clear()
    running = asyncio.create_task(session.run_compaction())
    await client.begun.wait()
    adding = asyncio.create_task(session.add_items(OLD[:1]))
    await asyncio.sleep(0.01)
    assert not adding.done()
    client.go_on.set()
    await running
    await adding
    assert await session.get_items() == [SMALL, OLD[0]]


class Failing(SQLiteSession):
    """Fails once while it is written, after what it does has been done."""

    def __init__(self, failing: str, limit: int | None) -> None:
        super().__init__("s", session_settings=SessionSettings(limit=limit))
        self.failing = failing

    async def clear_session(self) -> None:
        await super().clear_session()
        self._fail("clear")

    async def add_items(self, items: list[Any]) -> None:
        await super().add_items(items)
        self._fail("add")

    def _fail(self, doing: str) -> None:
        if doing == self.failing:
            self.failing = ""
            raise OSError("the disk is full")


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("failing", ["clear", "add"])
async def test_the_old_items_are_put_back_where_the_new_ones_cannot_be_written(failing: str, limit: int | None) -> None:
    beneath = Failing("", limit)
    session = made(Client(SMALL), beneath=beneath)
    await session.add_items(OLD)
    beneath.failing = failing
    with pytest.raises(OSError, match="disk is full"):
        await session.run_compaction()
    assert await session.get_items(10) == OLD
    await session.run_compaction()
    assert await session.get_items() == [SMALL]


async def test_what_it_is_given_is_checked() -> None:
    for given, said in (({"model": "claude-3"}, "Unsupported model"), ({"max_rollback_items": 0}, "must be positive")):
        with pytest.raises(ValueError, match=said):
            made(Client(), **given)
    client = Client(SMALL)
    session = made(client, compaction_mode="previous_response_id")
    with pytest.raises(ValueError, match="no response_id"):
        await session.run_compaction({"force": True})
    session = made(client, max_rollback_items=1)
    await session.add_items(OLD)
    with pytest.raises(ValueError, match="exceeds max_rollback_items"):
        await session.run_compaction({"force": True})
    assert client.asked == [] and await session.get_items() == OLD


async def test_the_provider_s_items_are_kept_as_it_takes_them_again() -> None:
    image = {"type": "input_image", "image_url": "https://example.org/a.png", "file_id": None}
    reply: dict[str, Any] = {"type": "message", "role": "assistant", "id": "m1", "content": []}
    session = made(Client({"type": "message", "role": "user", "content": [image]}, reply))
    await session.run_compaction()
    first, second = await session.get_items()
    assert first["content"] == [{"type": "input_image", "image_url": "https://example.org/a.png"}] and "id" not in second
    session = made(Client({"type": "message", "role": "user", "content": [{"type": "input_file"}]}))
    await session.add_items(OLD)
    with pytest.raises(ValueError, match="missing file_data, file_url, or file_id"):
        await session.run_compaction()
    assert await session.get_items() == OLD
