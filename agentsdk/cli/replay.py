"""`agentsdk replay`, `diff` and `fork`: stored runs again, beside each other, and from the middle on."""

from __future__ import annotations

import asyncio
from typing import Any

from agentsdk.cli.codes import DIFFERS, OK
from agentsdk.cli.driving import driven, load_agent, opened
from agentsdk.cli.given import found, open_existing
from agentsdk.cli.shown import plain, print_json, say, working
from agentsdk.core.diff import Divergence, RunDiff
from agentsdk.types.base import JsonObject


def replay_run(
    agent: str,
    run_id: str,
    instructions: str,
    model: str,
    change: str,
    at: int,
    live_effects: bool,
    keep: str,
    store: str,
    config: str,
    json: bool,
) -> int:
    """Replay a run; 4 where it does not come out the same. Raises what `Runner.replay` does."""
    from agentsdk.runner import Runner

    async def work() -> int:
        loaded = load_agent(agent)
        changed = load_agent(change) if change else loaded.clone(instructions=instructions) if instructions else None
        async with opened(store, config, opener=open_existing) as made:
            assert made.store is not None
            await found(made.store, run_id)
            if changed is None and not model:
                with working("replaying"):
                    same = await Runner.replay(loaded, run_id, run_config=made)
                body: JsonObject = {"run_id": run_id, "turns": same.turns, "steps": same.steps}
                return _ended(body, same.divergence, str(same), json)
            options: dict[str, Any] = {"at": at or None, "new_run_id": keep or None, "live_effects": live_effects}
            with working("replaying"):
                again = await Runner.replay(
                    loaded, run_id, change=changed or loaded, model=model or None, run_config=made, **options
                )
            body = {
                "run_id": run_id,
                "new_run_id": again.state.run_id if keep else None,
                "reused": again.reused,
                "asked": again.asked,
                **_totals(again.diff),
            }
            return _ended(body, again.divergence, str(again), json)

    return driven(work)


def diff_runs(run_id: str, other: str, store: str, json: bool) -> int:
    """Compare two runs; 4 where they part. Raises what `Runner.diff` does."""
    from agentsdk.define.run_config import RunConfig
    from agentsdk.runner import Runner

    async def work() -> RunDiff:
        kept = open_existing(store)
        try:
            for one in (run_id, other):
                await found(kept, one)
            return await Runner.diff(run_id, other, run_config=RunConfig(store=kept))
        finally:
            await kept.aclose()

    diff = asyncio.run(work())
    return _ended({"run_id": run_id, "other": other, **_totals(diff)}, diff.divergence, str(diff), json)


def fork_run(run_id: str, at: int, new: str, store: str, json: bool) -> int:
    """Fork a run. Raises what `Runner.fork` does."""
    from agentsdk.define.run_config import RunConfig
    from agentsdk.runner import Runner

    async def work() -> str:
        kept = open_existing(store)
        try:
            await found(kept, run_id)
            return await Runner.fork(run_id, at=at or None, new_run_id=new or None, run_config=RunConfig(store=kept))
        finally:
            await kept.aclose()

    forked = asyncio.run(work())
    if json:
        print_json({"run_id": forked, "forked_from": run_id})
    else:
        say(plain(forked))
    return OK


def _totals(diff: RunDiff) -> JsonObject:
    cost = None if diff.cost is None else f"{diff.cost:f}"
    return {"turns_more": diff.turns, "tool_calls_more": diff.tool_calls, "tokens_more": diff.tokens, "cost_more": cost}


def _ended(body: JsonObject, divergence: Divergence | None, text: str, json: bool) -> int:
    if json:
        print_json({**body, "same": divergence is None, "divergence": divergence})
    else:
        say(plain(text))
    return OK if divergence is None else DIFFERS
