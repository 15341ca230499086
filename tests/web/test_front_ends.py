"""What front ends are told of runs: every scenario of the engine, and runs at random, in an order that both protocols take."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, function_tool
from agentsdk.core.deltas import deltas_of
from agentsdk.core.next_step import interruptions
from agentsdk.core.state import new_state
from agentsdk.define.stream_events import RecordedEvent, WatchEvent
from agentsdk.errors import AgentsException
from agentsdk.runs import RunState
from agentsdk.testing import call
from agentsdk.testing.scripted import to_response
from agentsdk.types.deltas import AttemptDiscarded, ResponseCompleted
from agentsdk.types.items import FunctionCall, Message, Reasoning
from agentsdk.web import WebLimits
from agentsdk.web.ag_ui.events import Encoder as AgUi
from agentsdk.web.ag_ui.messages import messages_of
from agentsdk.web.front_ends.follow import Going, follow
from agentsdk.web.front_ends.narrator import Narrator
from agentsdk.web.front_ends.threads import Thread
from agentsdk.web.front_ends.told import (
    CallBegan,
    CallEnded,
    CallFinished,
    CallGrew,
    Cancelled,
    Failed,
    Finished,
    StepBegan,
    StepEnded,
    SubagentBegan,
    SubagentEnded,
    Told,
    Voided,
    Waits,
    WritingBegan,
    WritingEnded,
    WritingGrew,
)
from agentsdk.web.vercel.chunks import Encoder as Vercel
from tests.scenarios import RUN_ID, SCENARIOS, Scenario, World, config_of, decided, start_stored
from tests.web.fronts import Node, needs_npm, node

pytestmark = pytest.mark.anyio

OUTCOMES = Finished | Waits | Failed | Cancelled


@dataclass
class Order:
    """Checks the order of what one answer is told, and keeps the texts and calls that count."""

    texts: dict[str, str] = field(default_factory=dict)
    calls: dict[str, str | None] = field(default_factory=dict)
    open: dict[str, str] = field(default_factory=dict)
    nested: dict[str, bool] = field(default_factory=dict)
    step: str | None = None
    outcome: Any = None
    voided: bool = False
    reasoning: set[str] = field(default_factory=set)

    def take(self, told: Told) -> None:
        assert self.outcome is None, f"{told} comes behind the outcome"
        path = getattr(told, "path", ())
        assert not path or not isinstance(told, WritingBegan | CallBegan) or self.nested["/".join(path)], told
        match told:
            case WritingBegan(id, kind):
                (self.reasoning.add if kind == "reasoning" else self.reasoning.discard)(id)
                assert id not in self.open and id not in self.texts, f"{id} begins again"
                self.open[id], self.texts[id] = kind, ""
            case WritingGrew(id, kind, text):
                assert self.open[id] == kind and text
                self.texts[id] += text
            case WritingEnded(id, kind):
                assert self.open.pop(id) == kind
            case CallBegan(id):
                assert id not in self.open and id not in self.calls, f"{id} begins again"
                self.open[id], self.calls[id] = "call", ""
            case CallGrew(id, text):
                assert self.open[id] == "call"
                self.calls[id] = (self.calls[id] or "") + text
            case CallEnded(id, _, arguments):
                assert self.open.pop(id) == "call"
                self.calls[id] = arguments
            case CallFinished(id):
                assert id not in self.open
            case Voided(ids):
                self.voided = True
                assert not set(ids) & set(self.open)
                for id in ids:
                    self.texts.pop(id, None)
                    self.calls.pop(id, None)
            case StepBegan(agent):
                assert self.step is None
                self.step = agent
            case StepEnded(agent):
                assert self.step == agent
                self.step = None
            case SubagentBegan(id, parent):
                assert id not in self.nested and (not parent or self.nested[parent])
                self.nested[id] = True
            case SubagentEnded(id):
                assert self.nested[id] and not [one for one in self.nested if one.startswith(id + "/") and self.nested[one]]
                self.nested[id] = False
            case _ if isinstance(told, OUTCOMES):
                assert not self.open and self.step is None and not any(self.nested.values())
                self.outcome = told
            case _:
                pass


@dataclass
class Heard:
    """What was told of a run, answer by answer, and its forms."""

    orders: list[Order] = field(default_factory=list)
    ag_ui: list[str] = field(default_factory=list[str])
    vercel: list[str] = field(default_factory=list[str])

    def take(self, narrator: Narrator, told: list[Told]) -> None:
        """One answer, whole."""
        order, thread = Order(), Thread("a thread", None, None, new_state())
        one = AgUi(thread, f"answer {len(self.orders)}", narrator, is_plain=False)
        other = Vercel(thread, RUN_ID, narrator)
        forms = [one.started(), other.started()]
        for each in told:
            order.take(each)
            forms[0] += one.encode(each)
            forms[1] += other.encode(each)
        assert order.outcome is not None
        self.orders.append(order)
        self.ag_ui.append(forms[0].decode())
        self.vercel.append(forms[1].decode())


async def followed(narrator: Narrator, config: RunConfig) -> list[Told]:
    """What is told until the run rests or is over."""
    told: list[Told] = []
    async with aclosing(follow(Going(RUN_ID, narrator), config, WebLimits())) as following:
        async for some in following:
            told += some
    return told


_PLAYED: dict[str, tuple[Heard, RunState]] = {}


async def heard_of(scenario: Scenario) -> tuple[Heard, RunState]:
    """A scenario played to its end, and what was told of it meanwhile: once for all tests."""
    if scenario.name not in _PLAYED:
        _PLAYED[scenario.name] = await _played(scenario)
    return _PLAYED[scenario.name]


async def _played(scenario: Scenario) -> tuple[Heard, RunState]:
    agent, store, heard = scenario.build(World()), MemoryRunStore(), Heard()
    config = config_of(scenario, store=store)
    try:
        await Runner.submit(agent, scenario.input, run_config=config)
        state = new_state()
        for _ in range(20):
            narrator = Narrator(state, hold_text=config.buffer_output)
            working = asyncio.create_task(start_stored(scenario, agent, config, True, False))
            await store.wait(RUN_ID, len(state.log), 20)  # what has failed goes on
            heard.take(narrator, await followed(narrator, config))
            [error] = await asyncio.gather(working, return_exceptions=True)
            if isinstance(error, BaseException) and not isinstance(error, AgentsException):
                raise error
            left = await Runner.load(RUN_ID, run_config=config)
            if isinstance(error, AgentsException) and scenario.recover is not None:
                left = await Runner.decide(scenario.recover(error), run_config=config)
            elif not isinstance(error, AgentsException) and left.interruptions:
                decided(scenario, left, {})
                left = await Runner.decide(left, run_config=config)
            else:
                return heard, left
            state = (await Runner.load(RUN_ID, run_config=config)).value
        raise AssertionError("the run does not come to its end")
    finally:
        await store.aclose()


@pytest.fixture(scope="module")
def clients() -> Generator[Node, None, None]:
    with node() as process:
        yield process


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_every_scenario_is_told_in_order_and_whole(scenario: Scenario) -> None:
    heard, state = await heard_of(scenario)
    assert isinstance(heard.orders[-1].outcome, Finished if state.value.ended is not None else Failed)
    told = [text for order in heard.orders for id, text in order.texts.items() if "/" not in id]
    said = [item.text for item in state.value.transcript if isinstance(item, Message) and item.role == "assistant"]
    assert scenario.config.buffer_output or [text for text in said if text and text not in told] == []
    calls = {id: arguments for order in heard.orders for id, arguments in order.calls.items() if "/" not in id}
    made = {item.call_id: item.arguments for item in state.value.transcript if isinstance(item, FunctionCall)}
    assert made.items() <= calls.items()


@needs_npm
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_every_scenario_is_accepted_by_both_clients(scenario: Scenario, clients: Node) -> None:
    heard, state = await heard_of(scenario)
    read = await clients.ask("read", agUi=heard.ag_ui, vercel=heard.vercel)
    failures = [order.outcome for order in heard.orders if isinstance(order.outcome, Failed)]
    assert read["errors"] == [f"{failed.code}: {failed.message}" for failed in failures]
    if failures or scenario.config.buffer_output or any(order.voided for order in heard.orders):
        return
    kept = [message.model_dump(by_alias=True) for message in messages_of(state.value)]
    there = [shown(one) for one in read["messages"] if "/" not in one["id"]]
    expected = [shown(one) for one in kept if one["role"] != "user"]
    assert [one for one in there if one[1] != "tool"] == [one for one in expected if one[1] != "tool"]
    assert {one[0]: one for one in there} == {one[0]: one for one in expected}, "results stand behind their calls, or later"


def shown(message: dict[str, Any]) -> tuple[Any, ...]:
    """What a front end shows of a message."""
    calls = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message.get("toolCalls") or ()]
    return message["id"], message["role"], message.get("content") or "", calls


@function_tool(effect="none")
def look(at: str) -> str:
    """Look at it."""
    if at == "nothing":
        raise ValueError("there is nothing")
    return f"saw {at}"


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


CALLS = st.sampled_from(
    [
        call("look", at="it"),
        call("look", at="nothing"),
        call("pay", amount=3),
        call("pay", amount="much"),
        call("guess"),
        FunctionCall("", "look", "{"),
        FunctionCall("twice", "look", '{"at":"it"}'),
    ]
)
WORDS = st.text(st.sampled_from("ab \n\u2028\u00e9"), min_size=1, max_size=12)
ITEMS = st.one_of(WORDS.map(lambda text: Message("assistant", text)), WORDS.map(lambda text: Reasoning(text)), CALLS)


class Unsteady:
    """A model that says `replies`, and takes attempts back; the last one is a text."""

    name = "unsteady"

    def __init__(self, replies: list[list[Any]], chance: random.Random) -> None:
        self._replies = [*replies, [Message("assistant", "The end.")]]
        self._chance = chance
        self._asked = 0

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        self._asked += 1
        response = to_response(self._replies[min(self._asked, len(self._replies)) - 1], self._asked)
        deltas = list(deltas_of(response))
        while request.stream and self._chance.random() < 0.3:
            for delta in deltas[: self._chance.randrange(len(deltas) + 1)]:
                yield delta
            yield AttemptDiscarded("it broke off")
        for delta in deltas if request.stream else ():
            yield delta
        yield ResponseCompleted(response)


async def watched(agent: Agent[Any, Any], chance: random.Random) -> tuple[list[list[WatchEvent]], RunState]:
    """What watchers see of a run, up to each rest; all that waits is decided."""
    store = MemoryRunStore()
    config, parts = RunConfig(store=store, run_id=RUN_ID), list[list[WatchEvent]]()
    await Runner.submit(agent, "go", run_config=config)
    revision = 0
    while True:
        seen, came = list[WatchEvent](), asyncio.Event()

        async def watch(seen: list[WatchEvent], after: int, came: asyncio.Event) -> None:
            async for event in Runner.watch(RUN_ID, run_config=config, after=after):
                seen.append(event)
                came.set()

        watching = asyncio.create_task(watch(seen, revision, came))
        result: Any = None
        try:
            result = await Runner.resume(agent, RUN_ID, run_config=config)
        except AgentsException:
            pass
        state = await Runner.load(RUN_ID, run_config=config)
        while sum(isinstance(event, RecordedEvent) for event in seen) + revision < len(state.value.log):
            came.clear()
            await came.wait()
        watching.cancel()
        await asyncio.wait((watching,))
        parts.append(seen)
        if result is None or not state.interruptions:
            await store.aclose()
            return parts, state
        revision = len(state.value.log)
        for item in state.interruptions:
            state.approve(item) if chance.random() < 0.5 else state.reject(item)  # type: ignore[arg-type]
        await Runner.decide(state, run_config=config)


@settings(max_examples=60)
@given(st.lists(st.lists(ITEMS, min_size=1, max_size=4), max_size=3), st.integers(0, 2**32))
def test_whatever_a_run_does_and_whatever_deltas_are_missed_it_is_told_in_order(replies: list[list[Any]], seed: int) -> None:
    chance = random.Random(seed)
    agent = Agent[None, str](name="Random", tools=[look, pay], model=Unsteady(replies, chance))
    parts, end = asyncio.run(watched(agent, chance))
    state, heard = new_state(), Heard()
    for part in parts:
        narrator, told = Narrator(state), list[Told]()
        for event in part:
            if isinstance(event, RecordedEvent) or chance.random() < 0.8:
                told += narrator.feed(event)
        waiting = bool(interruptions(narrator.state))
        told += narrator.close(Waits(interruptions(narrator.state)) if waiting else Finished("", False))
        heard.take(narrator, told)
        state = narrator.state
    assert state.log == end.value.log
    said = [item.text for item in state.transcript if isinstance(item, Message) and item.role == "assistant"]
    assert "".join(text for order in heard.orders for text in written(order)) == "".join(said)


def written(order: Order) -> list[str]:
    """The texts that count, not the reasoning."""
    return [text for id, text in order.texts.items() if id not in order.reasoning]
