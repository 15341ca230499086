"""An agent as a step of a workflow: a run nested in the workflow's, its events in the one log; another workflow likewise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.define.program_tool import ProgramInput
from agentsdk.engine import hooks
from agentsdk.engine.channel import NestedChannel
from agentsdk.engine.final_output import final_value, last_rejection
from agentsdk.engine.guards import guards_of
from agentsdk.engine.loop import run_loop
from agentsdk.engine.nested import find_current_agent, in_words
from agentsdk.engine.prepare import check_agent_names, find_agent, find_agents
from agentsdk.engine.programs import last_reply
from agentsdk.engine.run import Run, version_of
from agentsdk.engine.streaming import stream_nested_to
from agentsdk.types.errors import (
    AgentsException,
    GuardrailError,
    GuardrailFailedError,
    InvalidOutputError,
    LimitExceededError,
    ModelError,
    ProviderError,
    ToolError,
    UserError,
    WorkflowFailedError,
)
from agentsdk.types.events import RunStarted, ToolFinished, milliseconds
from agentsdk.types.items import Message
from agentsdk.types.text import shortened
from agentsdk.workflow.call import MAX_DETAIL, Call, Program, failure
from agentsdk.workflow.rule import Judgement, validator_of
from agentsdk.workflow.scope import PLACE


class AgentOutput(msgspec.Struct):
    """The recorded result of an agent's step: the agent that gave it, and what. `version`: of a workflow as a step."""

    agent: str
    output: str
    is_json: bool = False
    version: str = ""


class AgentCall(Call):
    """A call of an agent: `text` is the input of its run, of at most `max_turns` turns.

    `read` reads the output, of a version, where the agent is a workflow. `check` judges the output. `replies`
    gives the replies in place of a model.
    """

    __slots__ = ("_read", "_replies", "_validators", "agent", "max_turns", "run", "text")

    def __init__(
        self,
        key: str,
        run: Run,
        agent: Agent[Any, Any],
        text: str,
        max_turns: int | None,
        read: Callable[[str, str], object] | None = None,
        check: Callable[[Any], Judgement] | None = None,
        replies: ProgramInput[Any] | None = None,
    ) -> None:
        check_agent_names(agent)
        output = Declaration.of(agent).output
        if output is not None and output.is_media:
            raise UserError(
                f"agent {agent.name!r} gives images, sounds or files, expected an output that JSON can be: a step's result is "
                "recorded; have a tool of it keep them, and give their ids"
            )
        validators = () if check is None else (validator_of(check),)
        guards = list(guards_of(agent, run.deps.config, None))  # what guards it now must guard it wherever it goes on
        guards += [("check", one.name) for one in validators]
        arguments = text if replies is not None else msgspec.json.encode({"input": text}).decode()
        super().__init__(key, agent.name, arguments, *[part for guard in guards for part in guard])
        self.run = run
        self.agent = agent
        self.text = text
        self.max_turns = max_turns
        self._read = read
        self._replies = replies
        self._validators = validators

    async def come_to_result(self, program: Program) -> ToolFinished | None:
        """The final output of its run; None while that waits."""
        run = self.run
        config = run.deps.config
        if run.depth + 1 > config.max_depth:
            raise UserError(
                f"agent {self.agent.name!r} would be {run.depth + 1} runs deep, expected at most {config.max_depth}; nest "
                "less, or raise RunConfig.max_depth"
            )
        child = run.child(self.key, self.agent)
        if self.agent.driver is None:
            child.drive = run_loop
        child.limits = RunLimits(turns=self.max_turns)
        child.validators = self._validators
        child.program = self._replies
        channel = None if run.channel is None else NestedChannel(run.channel)
        started_at, place = run.deps.now(), PLACE.set(None)  # what its tools call is no step of this program
        try:
            if channel is not None:
                find_agents(child, self.agent)
                stream_nested_to(child, channel)
            await self._begin(child)
            await child.drive(child)
        except (ModelError, GuardrailError, LimitExceededError, WorkflowFailedError) as error:
            if not _is_its_own(error, child):
                raise
            detail = in_words(child.agent.name, error)
            if isinstance(error, InvalidOutputError):
                detail = f"{detail} {last_rejection(child)[0]}"
            return failure(self.key, type(error).__name__, shortened(detail, MAX_DETAIL), started_at, run.deps.stamp())
        finally:
            PLACE.reset(place)
            if channel is not None:
                channel.close()
        ended = child.state.ended
        if ended is None:
            return None
        last = None if self._replies is None else last_reply(child)
        if last is not None and last.response.finish == "error":
            detail = shortened(ended.output, MAX_DETAIL)
            return failure(self.key, ToolError.__name__, detail, started_at, run.deps.stamp())
        started = child.state.log[0]
        version = started.version if isinstance(started, RunStarted) else ""
        output = AgentOutput(child.state.agent, ended.output, ended.is_json, version)
        untrusted, text, at = child.taint is not None, msgspec.json.encode(output).decode(), run.deps.stamp()
        return ToolFinished(self.key, text, took_ms=milliseconds(started_at, at), at=at, untrusted=untrusted)

    def read(self, result: ToolFinished) -> object:
        """The final output, of the output type of the agent that gave it."""
        assert isinstance(result.output, str)
        given = msgspec.json.decode(result.output, type=AgentOutput)
        if self._read is not None:
            return self._read(given.output, given.version)
        agent = find_agent(self.agent, given.agent)
        if agent is None:
            raise ValueError("the agent that gave it is gone")
        return final_value(self.run, Declaration.of(agent).output, given.output, given.is_json)

    async def _begin(self, child: Run) -> None:
        """Let its run begin, or find the agent that it has come to."""
        if child.state.log:
            find_current_agent(child, self.agent, f"step {self.key!r}")
            return
        untrusted = self.run.taint is not None  # who wrote it has read what strangers wrote
        message = Message("user", self.text, untrusted=untrusted)
        version = version_of(self.agent)
        await child.record(RunStarted("", self.agent.name, (message,), 0, child.deps.stamp(), version=version))
        await hooks.agent_started(child)


def _is_its_own(error: AgentsException, child: Run) -> bool:
    """Whether an error is the end of the nested run alone: one that would come again, and no word on the whole run."""
    if isinstance(error, LimitExceededError):
        return child.is_at_limit
    if isinstance(error, ProviderError):
        return not error.retryable
    return not isinstance(error, GuardrailFailedError)
