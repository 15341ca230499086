"""Runs of agents that an output validator asks, critics say: nested in the run whose output is judged, and recorded with it.

Such a run is known by the validator, the agent and what it was asked, so that a validator that is called again, after a crash
or a pause, finds what it had asked before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from agentsdk.core.keys import validator_run_id
from agentsdk.core.taint import as_untrusted
from agentsdk.define.agent import Agent
from agentsdk.define.output_validator import AskedAgent, OutputValidator
from agentsdk.engine import hooks
from agentsdk.engine.channel import NestedChannel
from agentsdk.engine.nested import find_current_agent
from agentsdk.engine.prepare import find_agents
from agentsdk.engine.run import Run, version_of
from agentsdk.engine.streaming import stream_nested_to
from agentsdk.types.errors import UserError
from agentsdk.types.events import GuardrailPlace, RunStarted
from agentsdk.types.items import FunctionCall, InputItem, Item, items_from_input


class ValidatorWaits(BaseException):
    """A run that an output validator asked for waits for a person, and so does what it was asked for. No `Exception`, which the
    validator might take for one of its own."""


class ValidatorRuns:
    """The nested runs that one call of an output validator asks for. `what` names the validator."""

    def __init__(self, run: Run, place: GuardrailPlace, validator: OutputValidator[Any, Any], what: str) -> None:
        self._run = run
        self._place = place
        self._agents = {agent.name: cast("Agent[Any, Any]", agent) for agent in validator.agents}
        self._what = what
        self._asked: Counter[str] = Counter()

    async def ask(self, given: AskedAgent[Any], input: str | Sequence[InputItem]) -> object:
        """The final output of an agent of the validator's, in a nested run that begins with `input`, or goes on."""
        run, most = self._run, self._run.deps.config.max_depth
        agent = self._agents.get(given.name)
        if agent is None:
            raise UserError(
                f"{self._what} ran agent {given.name!r}, expected one of its agents {list(self._agents)}; write "
                "@output_validator(agents=[...])"
            )
        if run.depth + 1 > most:
            raise UserError(
                f"{self._what} ran agent {agent.name!r} in a nested run, expected at most {most} within each other; raise "
                "RunConfig(max_depth=...)"
            )
        items = items_from_input(input)
        child = run.child(self._run_id(agent, items), agent)
        child.span = run.span
        channel = None if run.channel is None else NestedChannel(run.channel)
        try:
            if channel is not None:
                find_agents(child, agent)
                stream_nested_to(child, channel)
            await self._begin(child, agent, items)
            await child.drive(child)
        finally:
            child.is_over = True  # whatever ignores its cancellation changes the run no more
            if channel is not None:
                channel.close()
        if child.state.ended is None:
            raise ValidatorWaits
        return child.final_output

    def _run_id(self, agent: Agent[Any, Any], items: Sequence[Item]) -> str:
        asked = msgspec.json.encode((agent.name, items)).decode()
        number, (name, occurrence, _) = self._asked[asked], self._place
        self._asked[asked] += 1
        return validator_run_id(self._run.state.turns, name, occurrence, agent.name, asked, number)

    async def _begin(self, child: Run, agent: Agent[Any, Any], items: tuple[Item, ...]) -> None:
        if child.state.log:
            find_current_agent(child, agent, self._what)
            return
        if self._run.state.taint is not None:  # the output that is judged is of who has read what strangers wrote
            items = as_untrusted(items)
        child.call_ids = {item.call_id for item in items if type(item) is FunctionCall}
        await child.record(RunStarted("", agent.name, items, 0, child.deps.stamp(), version=version_of(agent)))
        await hooks.agent_started(child)
