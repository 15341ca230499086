"""A workflow of 50 steps of every kind, whose effects stay outside, and the person who decides what it waits for.

`benchmarks.workflow_kills` kills its processes. `World` is what is outside, `day_of` the program, `live` one process of a run.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar, cast

from agentsdk import Agent, FunctionCall, FunctionCallOutput, Message, ModelRequest, RunConfig, Runner, RunState, ToolContext
from agentsdk import function_tool as tool
from agentsdk.core.keys import SCHEME, call_key
from agentsdk.core.next_step import PendingCall, ToolAnswerItem, ToolApprovalItem, ToolInDoubtItem
from agentsdk.errors import RunConflictError, StepFailedError, WorkflowFailedError
from agentsdk.ports.run_store import RunStore
from agentsdk.runs import Decision
from agentsdk.testing import ScriptedModel
from agentsdk.testing.scripted import Say
from agentsdk.tools import ToolRetrySettings
from agentsdk.types.summary import RunSummary
from agentsdk.workflow import Workflow, flow, step, workflow
from benchmarks.crash.outside import Outside, die
from benchmarks.crash.stores import Address, open_store
from benchmarks.crash.watched import Watched

ONCE = ("pay", "charge", "sign")
"""The steps and tools whose effect is once."""

ANSWERS = {"Go on?": True, "Which one?": "this one"}
LEASE = 600.0
SKIP_S = 7200.0
"""By how much the clock is put forward: behind every lease, and behind what the program sleeps."""

T = TypeVar("T")


class World(Outside):
    """The outside of one run. Its process dies at boundary number `kill`, counted from its begin; 0 for none."""

    def __init__(self, folder: Any, kill: int = 0) -> None:
        super().__init__(folder)
        self._left = kill
        self._skipped = SKIP_S * len(self.read("skips"))
        self._has_saved = False

    def reached(self, point: str) -> None:
        """Die, if this is where."""
        self._left -= 1
        if self._left == 0:
            self.write("deaths", point)
            die()

    async def sent(self, point: str, work: Coroutine[Any, Any, T]) -> T:
        """What `work`, a call of the store, gives; it may be on its way anywhere when the process dies."""
        if self._left == 1:
            task = asyncio.ensure_future(work)
            chance = random.Random(len(self.read("ledger")))
            for _ in range(chance.randrange(6)):
                await asyncio.sleep(0)
            time.sleep(chance.uniform(0, 0.001))  # noqa: ASYNC251 - a thread, or a server, goes on with it meanwhile
            self.reached(point)
            return await task
        self.reached(point)
        return await work

    def saved(self, rev: int, events: Sequence[bytes]) -> None:
        """Note from where on this process has gone on with the run, and what is durable."""
        if not self._has_saved:
            self._has_saved = True
            self.write("processes", [rev, len(self.read("ledger"))])
        self.write("witness", [rev, [event.hex() for event in events]])
        self.reached("append saved")

    def do(self, name: str, n: int, key: str) -> str:
        """What the body of a step or of a tool does."""
        self.write("ledger", {"name": name, "n": n, "key": key}, sync=True)
        self.reached("effect done")
        return f"{name} {n}"

    def time(self) -> float:
        """The time, as far as it has been put forward."""
        return time.time() + self._skipped

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def skip(self) -> None:
        """Put the clock forward, for all processes."""
        self.write("skips", SKIP_S)
        self._skipped += SKIP_S


class Deadly(Watched):
    """A store whose process may die while an append or a post is on its way, and when it has come back."""

    def __init__(self, store: RunStore, world: World) -> None:
        super().__init__(store, world.saved)
        self._world = world

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        return await self._world.sent("append sent", super().append(run_id, expected_rev, events, summary))

    async def post(self, run_id: str, signal: bytes) -> int:
        number = await self._world.sent("post sent", self._store.post(run_id, signal))
        self._world.reached("post saved")
        return number


def clerk_of(world: World) -> Agent[None, str]:
    """An agent that makes the calls which its input names, all at once."""

    @tool(effect="idempotent")
    async def reserve(ctx: ToolContext[None], n: int) -> str:
        return world.do("reserve", n, ctx.idempotency_key)

    @tool
    async def charge(ctx: ToolContext[None], n: int) -> str:
        return world.do("charge", n, ctx.idempotency_key)

    @tool(needs_approval=True)
    async def sign(ctx: ToolContext[None], n: int) -> str:
        return world.do("sign", n, ctx.idempotency_key)

    def said(request: ModelRequest) -> Say:
        if any(isinstance(item, FunctionCallOutput) for item in request.items):
            return "all is done"
        words = next(str(item.content) for item in request.items if isinstance(item, Message)).split()
        return [FunctionCall(f"call_{n}", name, f'{{"n": {n}}}') for name, n in zip(words[::2], words[1::2], strict=True)]

    return Agent("clerk", model=ScriptedModel([said] * 20), tools=[reserve, charge, sign])


def day_of(world: World) -> Workflow[bool, list[str]]:
    """The program: 50 steps, some of them with steps of their own. Its last one fails, where it is told so: all is undone."""
    clerk = clerk_of(world)

    @step(effect="none")
    async def look(n: int) -> str:
        return world.do("look", n, flow.idempotency_key())

    @step(effect="idempotent")
    async def put(n: int) -> str:
        return world.do("put", n, flow.idempotency_key())

    @step
    async def pay(n: int) -> str:
        return world.do("pay", n, flow.idempotency_key())

    @pay.undo
    async def take_back(paid: str) -> None:
        world.do("take back", int(paid.split()[1]), flow.idempotency_key())

    @step(effect="idempotent")
    async def book(n: int) -> str:
        return world.do("book", n, flow.idempotency_key())

    @book.undo
    async def cancel(booked: str) -> None:
        world.do("cancel", int(booked.split()[1]), flow.idempotency_key())

    @step(effect="none")
    async def same(chance: float) -> None:
        pass

    @step(effect="idempotent", retry=ToolRetrySettings(max_retries=3, initial_delay=0.0, max_delay=0.0))
    async def flaky(n: int) -> str:
        if not world.read("attempts"):
            world.write("attempts", n)
            raise ConnectionError("not today")
        return world.do("flaky", n, flow.idempotency_key())

    @step(effect="none", retry=0)
    async def fail(seen: list[str]) -> None:
        raise ConnectionError("the mail is away")

    async def branch(n: int) -> str:
        return f"{await look(n)}, {await pay(n)}"

    @workflow
    async def trip(n: int) -> list[str]:
        booked = list(await asyncio.gather(book(n), book(n + 1)))
        if n % 2:
            await fail(booked)
        return booked

    @workflow
    async def day(fails: bool) -> list[str]:
        await same(await flow.random())
        seen = [await look(1), await put(2), await pay(3)]
        seen += await asyncio.gather(look(4), put(5), pay(6), pay(7), flow.agent(clerk, "reserve 8 charge 9 sign 10"))
        seen += await flow.each(branch, range(11, 19), limit=3)
        if await flow.ask("Go on?", len(seen)):
            waits = flow.ask("Which one?", answer=str), flow.wait_for("shipped", str)
            seen += await asyncio.gather(*waits, put(20), pay(21))
        await flow.sleep(3600)
        seen.append(await flaky(22))
        for call in (lambda: flow.ask("Anybody?", answer=list[str], timeout=600), lambda: trip(31)):
            try:
                seen += await call()
            except StepFailedError as error:
                seen.append(error.error_type)
        seen += await trip(40)
        seen += await asyncio.gather(flow.agent(clerk, "charge 50"), flow.agent(clerk, "charge 51 reserve 52"))
        seen.append(await flow.wait_for("stock", str, timeout=600))
        for n in range(60, 70):
            seen.append(await (look, put, pay)[n % 3](n))
        if fails:
            await fail(seen)
        return seen

    return day


async def live(world: World, address: Address, run_id: str, fails: bool) -> None:
    """Begin the run, or go on with it, to its end; a person decides what it waits for."""
    store = open_store(address)
    config = RunConfig(
        store=cast(RunStore, Deadly(store, world)), run_id=run_id, lease=LEASE, clock=world, tracing_disabled=True
    )
    program = day_of(world)
    outcome: object = None
    world.skip()  # the lease of a process that died has passed
    for _ in range(100):
        try:
            result = await program.drive(run_id, fails, run_config=config)
        except WorkflowFailedError as error:
            outcome = [error.step, sorted(error.undone), error.not_undone]
            break
        except RunConflictError:  # an append of the process that died has come to its server only now
            world.skip()
            continue
        if result.is_finished:
            outcome = result.final_output
            break
        await decide(world, await Runner.load(run_id, run_config=config), run_id, config)
    world.write("log", [event.hex() for event in await store.read(run_id)])
    world.write("outcome", outcome)
    await store.aclose()


async def decide(world: World, state: RunState, run_id: str, config: RunConfig) -> None:
    """Say what is known of all that waits; where that is nothing, some time passes."""
    signals = [item.call_id for item in state.interruptions if item.tool_name == "shipped"]
    if any(isinstance(item, ToolAnswerItem) and item.question == "Go on?" for item in state.interruptions):
        await Runner.signal(run_id, "stock", "in stock", run_config=config)  # long before the program waits for it
    said = [item.call_id for item in state.interruptions if _said(world, state, run_id, item)]
    if said:
        await Runner.decide(state, run_config=config)
    for call_id in signals:
        await Runner.decide(run_id, Decision(call_id, "answer", answer="on its way"), run_config=config)
    if not (said or signals):
        world.skip()


def _said(world: World, state: RunState, run_id: str, item: PendingCall) -> bool:
    """Whether a person has something to say of a call that waits; of one in doubt what the ledger says."""
    if isinstance(item, ToolApprovalItem):
        state.approve(item)
    elif isinstance(item, ToolInDoubtItem):
        key = call_key(SCHEME, run_id, item.path, item.call_id)
        world.write("in doubt", key)
        if any(line["key"] == key for line in world.read("ledger")):
            state.provide_result(item, result=f"{item.tool_name} {json.loads(item.arguments)['n']}")
        else:
            state.retry(item)
    elif isinstance(item, ToolAnswerItem) and item.question in ANSWERS:
        state.answer(item, ANSWERS[item.question])
    else:
        return False
    return True
