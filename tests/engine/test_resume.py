"""The test that holds the engine together: a run resumed from any prefix of its log ends as the run that was never cut."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agentsdk import RunState
from agentsdk.core.state import fold
from agentsdk.define.declaration import Declaration
from agentsdk.define.read_result import read_result
from agentsdk.engine.run import Run
from agentsdk.types.events import HandedOff, RunEvent, ViewReplaced
from agentsdk.types.items import FunctionCall
from tests.scenarios import (
    SCENARIOS,
    Played,
    Scenario,
    World,
    answered_requests,
    finished_calls,
    intended_calls,
    play,
    recorded,
    reloaded,
    tools_of_agent,
    unwrapped,
)


@contextmanager
def appends() -> Iterator[list[tuple[RunEvent, ...]]]:
    """What was recorded in one append each, in order: a log can end only between two of these."""
    seen: list[tuple[RunEvent, ...]] = []
    record = Run.record

    async def noted(self: Run, *events: RunEvent) -> None:
        if self.parent is None:
            seen.append(events)
        await record(self, *events)

    Run.record = noted  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        Run.record = record  # type: ignore[method-assign]


def prefixes(seen: list[tuple[RunEvent, ...]]) -> list[int]:
    """Every prefix's length but those within the append of a handoff or of a compaction, which has to be one."""
    lengths: list[int] = []
    start = 0
    for events in seen:
        whole = any(isinstance(event, HandedOff | ViewReplaced) for _, event in unwrapped(events))
        lengths += [start + len(events)] if whole else range(start + 1, start + len(events) + 1)
        start += len(events)
    return lengths


def shown(played: Played) -> dict[str, Any]:
    """Everything a caller sees of a run."""
    result, error = played.result, played.error
    seen: dict[str, Any] = {
        "transcript": played.state.to_input_list(),
        "usage": played.state.usage,
        "turns": played.state.turns,
        "agent": played.state.current_agent,
        "error": None if error is None else (type(error), str(error)),
    }
    if result is not None:
        seen |= {
            "final output": result.final_output,
            # Results enter the log as they come, so their order may differ; the transcript has them in call order.
            "items": sorted((type(item).__name__, item.agent.name, repr(item.raw_item)) for item in result.new_items),
            "replies": result.raw_responses,
            "last agent": result.last_agent.name,
            "verdicts": sorted(map(repr, result.input_guardrail_results + result.output_guardrail_results)),
        }
    return seen


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_resuming_from_every_prefix_equals_the_uncut_run(scenario: Scenario, streamed: bool) -> None:
    async def main() -> None:
        uncut_world = World()
        with appends() as seen:
            uncut = await play(scenario, uncut_world, None, {}, streamed)
        log = [event for events in seen for event in events]
        assert not uncut.settled
        assert scenario.ends == (type(uncut.error) if uncut.result is None else uncut.result.final_output)
        assert [times for what, times in uncut_world.done.items() if what.startswith("r/")] == [1] * scenario.effects
        known = finished_calls(log)
        for length in prefixes(seen):
            await check_prefix(scenario, streamed, log, length, known, shown(uncut), uncut_world)

    asyncio.run(main())


TWICE = [
    "parallel tools of every effect",
    "approved and rejected",
    "nested approval",
    "handoff with filter",
    "continued after length",
]


@pytest.mark.parametrize("scenario", [scenario for scenario in SCENARIOS if scenario.name in TWICE], ids=str)
def test_a_resumed_run_can_be_cut_again_anywhere(scenario: Scenario) -> None:
    async def main() -> None:
        uncut_world = World()
        with appends() as seen:
            uncut = await play(scenario, uncut_world, None, {}, False)
        log = [event for events in seen for event in events]
        known = finished_calls(log)
        for length in prefixes(seen):
            with appends() as seen_again:
                await check_prefix(scenario, False, log, length, known, shown(uncut), uncut_world)
            log_again = [*log[:length], *(event for events in seen_again for event in events)]
            for further in prefixes(seen_again):
                await check_prefix(scenario, False, log_again, length + further, known, shown(uncut), uncut_world)

    asyncio.run(main())


async def check_prefix(
    scenario: Scenario,
    streamed: bool,
    log: list[RunEvent],
    length: int,
    known: Any,
    expected: dict[str, Any],
    uncut: World,
) -> None:
    world = World()
    state = reloaded(scenario.build(world), RunState(fold(log[:length])))
    check_resumed(scenario, log, length, await play(scenario, world, state, known, streamed), world, expected, uncut)


def check_resumed(
    scenario: Scenario, log: list[RunEvent], length: int, resumed: Played, world: World, expected: dict[str, Any], uncut: World
) -> None:
    """What was `resumed` in `world` after `length` events of `log` came to the `expected` end with nothing lost or repeated."""
    prefix = log[:length]
    where = f"{scenario}, resumed after event {length} of {len(log)}: {prefix[-1]!r}"
    in_doubt = calls_in_doubt(scenario, log, prefix)
    seen = shown(resumed)
    if expected["error"] is not None:
        # A run that a stored verdict stops stops at once: what its siblings would have added is not asked for.
        seen["transcript"] = expected["transcript"]
    assert sorted(resumed.settled) == sorted(call for call, reconciles in in_doubt.items() if not reconciles), (
        f"{where}: in doubt"
    )
    assert seen == expected, where
    asked_before = answered_requests(prefix)
    assert world.asked == {one: said for one, said in uncut.asked.items() if one not in asked_before}, f"{where}: model calls"
    happened = recorded(prefix)
    missing = Counter({what: times for what, times in uncut.done.items() if what not in happened and what not in in_doubt})
    assert world.done == missing or (expected["error"] is not None and world.done < missing), f"{where}: effects"


def calls_in_doubt(scenario: Scenario, log: list[RunEvent], prefix: list[RunEvent]) -> dict[str, bool]:
    """The calls in doubt after the prefix (begun, effect once, no result), and whether their tools can tell the result."""
    tools = {tool.name: tool for agent in agents_of(scenario) for tool in (*tools_of_agent(agent), read_result)}
    names = {f"{path}/{item.call_id}": item.name for path, item in calls_of(log)}
    began = intended_calls(prefix) - finished_calls(prefix).keys()
    called = {call: tools.get(names[call]) for call in began}  # an approval of a hosted tool is none of a tool here
    once = [call for call, tool in called.items() if tool is not None and tool.effect == "once" and not tool.external]
    return {call: tools[names[call]].reconcile is not None for call in once}


def calls_of(log: list[RunEvent]) -> Iterator[tuple[str, FunctionCall]]:
    for path, event in unwrapped(log):
        response = getattr(event, "response", None)
        for item in () if response is None else response.output:
            if isinstance(item, FunctionCall):
                yield path, item


def agents_of(scenario: Scenario) -> list[Any]:
    waiting, found = [scenario.build(World())], []
    while waiting:
        agent = waiting.pop()
        if agent in found:
            continue
        found.append(agent)
        waiting += [declared.agent for declared in Declaration.of(agent).handoffs.values()]
        waiting += Declaration.of(agent).nested_agents
    return found
