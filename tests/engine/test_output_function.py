"""A function that the model ends with: what it is given, what becomes of its result and errors, how often it is called."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCallOutput,
    MemoryRunStore,
    Message,
    OutputFunction,
    RunConfig,
    RunContextWrapper,
    Runner,
    RunState,
    ToolContext,
    UserError,
    output_guardrail,
)
from agentsdk.errors import InvalidOutputError
from agentsdk.guardrails import GuardrailFunctionOutput
from agentsdk.output import ModelRetry
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.spec import OUTPUT_TOOL
from tests.scenarios import reloaded

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["native", "tool", "prompted", "json"])


@dataclass
class Booking:
    seat: str
    price: int


class Clerk:
    """Books seats, and counts."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    async def book(self, ctx: RunContextWrapper[Any], seat: str, people: int = 1) -> Booking:
        """Book a seat.

        Args:
            seat: Such as 4A.
        """
        self.asked[seat] += 1
        if seat == "13":
            raise LookupError("there is no such seat")
        return Booking(seat, people * ctx.context)


def output(mode: str, seat: object = "4A", people: object = 2) -> Any:
    if mode == "tool":
        return call(OUTPUT_TOOL, seat=seat, people=people)
    return f'```json\n{{"seat": "{seat}", "people": {people}}}\n```'


def agent_of(clerk: Clerk, *replies: Any, mode: Any = "native", **fields: Any) -> Agent[int, Booking]:
    model = ScriptedModel(replies)
    return Agent[int, Booking]("main", model=model, output_type=OutputFunction(clerk.book, mode=mode), **fields)


def requests(agent: Agent[Any, Any]) -> list[Any]:
    assert isinstance(agent.model, ScriptedModel)
    return list(agent.model.requests)


@MODES
async def test_what_it_returns_is_the_final_output(mode: str) -> None:
    clerk = Clerk()
    agent = agent_of(clerk, output(mode), mode=mode)
    result = await Runner.run(agent, "Book 4A.", context=50)
    assert result.final_output == Booking("4A", 100)
    assert clerk.asked == {"4A": 1}
    if mode == "native":
        (request,) = requests(agent)
        assert request.output.name == "book"
        assert request.output.schema["description"] == "Book a seat."
        assert list(request.output.schema["properties"]) == ["seat", "people"]


@MODES
async def test_its_errors_and_arguments_that_do_not_fit_go_back_to_the_model(mode: str) -> None:
    clerk = Clerk()
    agent = agent_of(
        clerk, output(mode, "13"), output(mode, people='"two"' if mode != "tool" else "two"), output(mode), mode=mode
    )
    config = RunConfig(max_output_retries=2)
    result = await Runner.run(agent, "Book 13.", context=50, run_config=config)
    assert (result.final_output, clerk.asked) == (Booking("4A", 100), {"13": 1, "4A": 1})
    told = [request.items[-1] for request in requests(agent)[1:]]
    if mode == "tool":
        texts = [str(item.output) for item in told if isinstance(item, FunctionCallOutput)]
    else:
        texts = [item.text for item in told if isinstance(item, Message)]
        assert all(text.startswith("Your answer was not taken: ") for text in texts)
    assert "LookupError: there is no such seat" in texts[0]
    assert "people: expected an integer, got a string" in texts[1]


async def test_a_retry_tells_the_model_its_feedback_alone() -> None:
    def book(seat: str) -> str:
        if seat == "13":
            raise ModelRetry("take another seat")
        return seat

    model = ScriptedModel(['{"seat":"13"}', '{"seat":"4A"}'])
    agent = Agent[None, str]("main", model=model, output_type=OutputFunction(book))
    assert (await Runner.run(agent, "go")).final_output == "4A"
    told = model.requests[1].items[-1]
    assert isinstance(told, Message)
    assert told.text.startswith("Your answer was not taken: take another seat\nAnswer again")


async def test_it_gives_up_when_the_retries_are_spent_and_goes_on_when_resumed() -> None:
    clerk = Clerk()
    agent = agent_of(clerk, output("", "13"), output("", "13"), output("", "4A"))
    with pytest.raises(InvalidOutputError, match="there is no such seat") as caught:
        await Runner.run(agent, "Book 13.", context=50)
    assert isinstance(caught.value.state, RunState)
    result = await Runner.run(agent, reloaded(agent, caught.value.state), context=50)
    assert (result.final_output, clerk.asked) == (Booking("4A", 100), {"13": 2, "4A": 1})


async def test_a_finished_run_has_it_without_a_further_call() -> None:
    clerk, config = Clerk(), RunConfig(store=MemoryRunStore(), run_id="r")
    agent = agent_of(clerk, output(""))
    finished = await Runner.run(agent, "Book 4A.", context=50, run_config=config)
    again = await Runner.run(agent, reloaded(agent, finished.to_state()), context=50)
    assert again.final_output == Booking("4A", 100)
    assert (await Runner.resume(agent, "r", run_config=config, context=50)).final_output == Booking("4A", 100)
    assert clerk.asked == {"4A": 1}


async def test_an_open_turn_has_it_without_a_further_call() -> None:
    clerk = Clerk()
    fails = True

    @output_guardrail
    async def judge(ctx: RunContextWrapper[Any], agent: Agent[Any, Any], given: Booking) -> GuardrailFunctionOutput:
        if fails:
            raise ConnectionError
        return GuardrailFunctionOutput(None, given != Booking("4A", 100))

    agent = agent_of(clerk, output("tool"), mode="tool", output_guardrails=[judge])
    with pytest.raises(Exception, match="output guardrail 'judge' raised") as caught:
        await Runner.run(agent, "Book 4A.", context=50)
    fails = False
    state: Any = caught.value.state  # type: ignore[attr-defined]
    assert (await Runner.run(agent, reloaded(agent, state), context=50)).final_output == Booking("4A", 100)
    assert clerk.asked == {"4A": 1}


async def test_a_replay_does_not_call_it() -> None:
    clerk, config = Clerk(), RunConfig(store=MemoryRunStore(), run_id="r")
    agent = agent_of(clerk, output("", "13"), output(""))
    await Runner.run(agent, "Book 13.", context=50, run_config=config)
    replay = await Runner.replay(agent, "r", run_config=config)
    assert (replay.divergence, replay.turns, sum(clerk.asked.values())) == (None, 2, 2)
    same = await Runner.replay(agent, "r", change=agent.clone(handoff_description="x"), run_config=config, context=50)
    assert (same.divergence, same.asked, same.final_output) == (None, 0, Booking("4A", 100))
    assert clerk.asked == {"13": 2, "4A": 1}, "an error was not recorded as a result"


async def test_a_changed_function_is_called_in_a_replay_with_changes() -> None:
    def book(ctx: RunContextWrapper[Any], seat: str, people: int = 1) -> str:
        """Book a seat.

        Args:
            seat: Such as 4A.
        """
        return seat * 2

    clerk, config = Clerk(), RunConfig(store=MemoryRunStore(), run_id="r")
    agent = agent_of(clerk, output(""))
    await Runner.run(agent, "Book 4A.", context=50, run_config=config)
    changed: Agent[Any, Any] = agent.clone(output_type=OutputFunction(book))
    now = await Runner.replay(agent, "r", change=changed, run_config=config, context=50)
    assert now.final_output == "4A4A"


async def test_a_sync_function_runs_on_a_thread_and_gets_the_run() -> None:
    seen: list[Any] = []

    def tell(ctx: ToolContext[Any], text: str) -> int:
        seen.append((threading.current_thread() is threading.main_thread(), ctx.run_id, ctx.tool_name))
        return len(text)

    agent = Agent[None, int]("main", model=ScriptedModel(['{"text":"abc"}']), output_type=OutputFunction(tell))
    result = await Runner.run(agent, "go")
    assert (result.final_output, seen) == (3, [(False, result.run_id, "tell")])


async def test_it_may_return_what_has_no_json_form() -> None:
    class Handle:
        def __str__(self) -> str:
            return "a handle"

    handle = Handle()

    def opened(path: str) -> Handle:
        return handle

    agent = Agent("main", model=ScriptedModel(['{"path":"x"}']), output_type=OutputFunction(opened))
    result = await Runner.run(agent, "go")
    assert result.final_output is handle
    again = await Runner.run(agent, reloaded(agent, result.to_state()))
    assert again.final_output == "a handle", "what was saved of it"


async def test_without_a_return_type_what_was_saved_is_plain_json() -> None:
    def anything(x: int):  # type: ignore[no-untyped-def]
        return {"x": x}

    agent: Agent[Any, Any] = Agent("main", model=ScriptedModel(['{"x":1}']), output_type=OutputFunction(anything))
    result = await Runner.run(agent, "go")
    assert (await Runner.run(agent, reloaded(agent, result.to_state()))).final_output == {"x": 1}


async def test_a_cancelled_run_cancels_it() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def waits(x: int) -> int:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return x

    agent = Agent[None, int]("main", model=ScriptedModel(['{"x":1}', '{"x":2}']), output_type=OutputFunction(waits))
    task = asyncio.create_task(Runner.run(agent, "go"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_what_it_is_given_is_shown_while_it_grows() -> None:
    clerk = Clerk()
    run = Runner.run_streamed(agent_of(clerk, output("tool", "row 4 A"), mode="tool"), "go", context=1)
    shown: list[Any] = [value async for value in run.stream_output()]
    assert shown[-1] == {"seat": "row 4 A", "people": 2}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: OutputFunction(5), "expected a function"),  # type: ignore[call-overload]
        (lambda: OutputFunction(Booking), "expected a function"),
        (lambda: OutputFunction(lambda **more: 1), "no strict|strict_mode|shape"),
        (lambda: OutputFunction(len, mode="x"), "mode='x'"),  # type: ignore[call-overload]
    ],
)
def test_what_cannot_be_one_is_refused(make: Any, says: str) -> None:
    with pytest.raises(UserError, match=says):
        make()
