"""`agentsdk run` and `agentsdk resume`: a run in this process, its words as they come."""

from __future__ import annotations

import sys
from dataclasses import replace

from agentsdk.cli.driving import driven, finish, given_text, load_agent, opened, told
from agentsdk.cli.given import found, open_existing
from agentsdk.cli.shown import working


def run_once(agent: str, text: str, store: str, run_id: str, config: str, model: str, max_turns: int, json: bool) -> int:
    """Run an agent once; the exit code. Raises `UserError` for arguments that fit nothing."""
    from agentsdk.runner import Runner

    async def work() -> int:
        loaded, given = load_agent(agent), given_text(text)
        async with opened(store, config, model, run_id) as made:
            limits = replace(made.limits, turns=max_turns) if max_turns else made.limits
            made = replace(made, limits=limits)
            if json or loaded.driver is not None:
                with working("running"):
                    result = await Runner.run(loaded, given, run_config=made)
                return finish(result, json, store)
            stream = Runner.run_streamed(loaded, given, run_config=made)
            await told(stream, _say)
            return finish(stream, json, store, printed=True)

    return driven(work)


def resume_run(agent: str, run_id: str, store: str, config: str, model: str, take_over: bool, json: bool) -> int:
    """Go on with a stored run; the exit code. Raises `UserError` for arguments that fit nothing."""
    from agentsdk.runner import Runner

    async def work() -> int:
        loaded = load_agent(agent)
        async with opened(store, config, model, opener=open_existing) as made:
            assert made.store is not None
            await found(made.store, run_id)
            if json or loaded.driver is not None:
                with working("running"):
                    result = await Runner.resume(loaded, run_id, run_config=made, take_over=take_over)
                return finish(result, json, store)
            stream = Runner.resume_streamed(loaded, run_id, run_config=made, take_over=take_over)
            await told(stream, _say)
            return finish(stream, json, store, printed=True)

    return driven(work)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
