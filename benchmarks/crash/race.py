"""Many processes resume one paused run at the same moment, round after round, and one more comes late: the first one wins."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agentsdk.define.agent import Agent
from agentsdk.define.function_tool import function_tool
from agentsdk.ports.run_store import RunStore
from agentsdk.runner import Runner
from agentsdk.testing.scripted import ScriptedModel, ScriptedReply, call
from agentsdk.testing.store_conformance.workers import order, workers
from benchmarks.crash.ours import config_of
from benchmarks.crash.stores import Address, open_store

WON, FINISHED, CONFLICT = "won", "finished", "RunConflictError"

Hold = Callable[[], Awaitable[None]]
"""Waits, in the middle of a call, until the round is over."""


@dataclass
class Race:
    """How many rounds had exactly one winner, the effects in all, and how the others ended."""

    rounds: int = 0
    one_winner: int = 0
    effects: int = 0
    losers: Counter[str] = field(default_factory=Counter[str])

    @property
    def holds(self) -> bool:
        """One winner and one effect a round, and only `RunConflictError` for the others."""
        return self.one_winner == self.effects == self.rounds and set(self.losers) <= {CONFLICT}


async def race(address: Address, folder: Path, processes: int, rounds: int, on_round: Callable[[], None]) -> Race:
    """`processes` that live over all rounds; in each they resume a run whose one call has been approved.

    While the winner works on it, this process tries as well.
    """
    found = Race()
    effects = folder / "effects"
    store = open_store(address)
    async with workers(functools.partial(open_store, address), racer, [(effects,)] * processes) as racers:
        for one in racers:
            await one.hear()
        for number in range(rounds):
            run_id = f"race-{number}"
            await _pause(store, run_id, effects)
            for one in racers:
                await one.tell(run_id)
            ends = [await one.hear() for one in racers]
            late = await _resume(store, run_id, effects, _nothing)
            winners = [one for one, end in zip(racers, ends, strict=True) if end == WON]
            for one in winners:
                await one.tell("finish")
            ends += [await one.hear() for one in winners]
            found.rounds += 1
            found.one_winner += ends.count(WON) == ends.count(FINISHED) == 1
            found.losers.update(end for end in (*ends, late) if end not in (WON, FINISHED))
            on_round()
        for one in racers:
            await one.end()
    await store.aclose()
    found.effects = len(effects.read_text().split()) if effects.exists() else 0
    return found


async def racer(store: RunStore, effects: Path) -> AsyncIterator[str]:
    """A process: it resumes each run it is told, and holds one that it has won until all others have been told."""
    yield "ready"
    while run_id := await order():
        holds, finish = asyncio.Event(), asyncio.Event()

        async def hold(holds: asyncio.Event = holds, finish: asyncio.Event = finish) -> None:
            holds.set()
            await finish.wait()

        held = asyncio.create_task(holds.wait())
        resumed = asyncio.create_task(_resume(store, run_id, effects, hold))
        await asyncio.wait((held, resumed), return_when=asyncio.FIRST_COMPLETED)
        if held.done():
            yield WON
            await order()
            finish.set()
        held.cancel()
        yield await resumed


async def _resume(store: RunStore, run_id: str, effects: Path, hold: Hold) -> str:
    try:
        result = await Runner.resume(_agent(effects, hold, ["done"]), run_id, run_config=config_of(store, run_id))
    except Exception as error:
        return type(error).__name__
    return FINISHED if not result.interruptions and result.final_output == "done" else "another end"


async def _pause(store: RunStore, run_id: str, effects: Path) -> None:
    """A paused run, its call approved."""
    config = config_of(store, run_id)
    await Runner.run(_agent(effects, _nothing, [call("publish", title=run_id)]), "Publish.", run_config=config)
    state = await Runner.load(run_id, run_config=config)
    state.approve(state.interruptions[0])
    _ = await Runner.decide(state, run_config=config)


async def _nothing() -> None: ...


def _agent(effects: Path, hold: Hold, replies: Iterable[ScriptedReply]) -> Agent[None, str]:
    @function_tool(needs_approval=True)
    async def publish(title: str) -> str:
        """Publish the report."""
        with effects.open("a") as file:
            file.write(f"{title}\n")
        await hold()
        return "published"

    return Agent("editor", tools=[publish], model=ScriptedModel(replies))
