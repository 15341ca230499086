"""`Acting`: what a person does to a run on the page, and the worker that goes on with it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.requests import Request

from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.runner import Runner
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import AgentsException
from agentsdk.types.signals import Decision
from agentsdk.types.summary import RunSummary
from agentsdk.web.bodies import (
    AnswerBody,
    Body,
    CancelBody,
    DecisionBody,
    EmptyBody,
    ForkBody,
    MessageBody,
    ReasonBody,
    SignalBody,
)
from agentsdk.web.inputs import body_of
from agentsdk.web.limits import WebLimits
from agentsdk.web.problems import ProblemError
from agentsdk.worker import Worker

logger = logging.getLogger("agentsdk")

BY = "the page"
"""Who a decision on the page is recorded as."""

_LIMITS = WebLimits()


class ReplayBody(Body):
    """What to change: the `instructions` of the agent that began the run, or the `model` of all its agents; from revision `at`.

    With `live_effects` calls that the record knows nothing of run whatever their effect.
    """

    instructions: str | None = None
    model: str | None = None
    at: int | None = None
    live_effects: bool = False


Act = Callable[["Acting", RunSummary, Any], Awaitable[JsonObject]]


class Acting:
    """Does what the page asks for, where there are agents; and is a `Worker` of them from the first time on."""

    def __init__(self, config: RunConfig, agents: Mapping[str, Agent[Any, Any]]) -> None:
        self._config = config
        self._agents = agents
        self._worker: Worker | None = None
        self._working: asyncio.Task[None] | None = None
        self._driving: set[asyncio.Task[None]] = set()

    async def act(self, name: str, run: RunSummary, request: Request) -> JsonObject:
        """Do it, and say what came of it. Raises `ProblemError` where nothing may be done here."""
        if not self._agents:
            raise ProblemError(403, "the page only shows, expected agents to act with; pass app(agents=...)")
        kind, act = ACTIONS[name]
        body = await body_of(request, kind, _LIMITS)
        self._work()
        return await act(self, run, body)

    def _work(self) -> None:
        """Have the worker work."""
        if self._working is None or self._working.done():
            assert self._config.store is not None
            self._worker = Worker(self._config.store, agents=dict(self._agents), config=self._config)
            self._working = asyncio.create_task(self._worker.run(), name="the worker of agentsdk.ui")

    async def aclose(self) -> None:
        """Hand back what is in work."""
        for task in self._driving:
            task.cancel()
        if self._worker is not None and self._working is not None:
            self._worker.stop()
            await asyncio.wait([self._working, *self._driving])

    async def decide(self, run: RunSummary, body: DecisionBody) -> JsonObject:
        """A word on a call that waits."""
        return await self._post(run, Decision(**msgspec.structs.asdict(body), by=BY))

    async def answer(self, run: RunSummary, body: AnswerBody) -> JsonObject:
        """The answer to a call that waits for one."""
        return await self._post(run, Decision(body.call_id, "answer", body.path, answer=body.answer, by=BY))

    async def _post(self, run: RunSummary, decision: Decision) -> JsonObject:
        return {"signal": await Runner.decide(run.run_id, decision, run_config=self._config)}

    async def send(self, run: RunSummary, body: MessageBody) -> JsonObject:
        """A user's message."""
        return {"signal": await Runner.send(run.run_id, body.message, by=BY, run_config=self._config)}

    async def signal(self, run: RunSummary, body: SignalBody) -> JsonObject:
        """Data that a workflow waits for."""
        return {"signal": await Runner.signal(run.run_id, body.name, body.data, by=BY, run_config=self._config)}

    async def pause(self, run: RunSummary, body: ReasonBody) -> JsonObject:
        """Have the run go no further than its turn."""
        return {"signal": await Runner.pause(run.run_id, by=BY, reason=body.reason, run_config=self._config)}

    async def unpause(self, run: RunSummary, body: EmptyBody) -> JsonObject:
        """Let a paused run go on."""
        return {"signal": await Runner.unpause(run.run_id, by=BY, run_config=self._config)}

    async def cancel(self, run: RunSummary, body: CancelBody) -> JsonObject:
        """Stop the run."""
        number = await Runner.cancel(run.run_id, mode=body.mode, by=BY, reason=body.reason, run_config=self._config)
        return {"signal": number}

    async def resume(self, run: RunSummary, body: EmptyBody) -> JsonObject:
        """Go on with a run that has failed, was cancelled or was forked: these wait until somebody asks for it."""
        agent = self._agent(run)

        async def drive() -> None:
            try:
                await Runner.resume(agent, run.run_id, run_config=self._config)
            except AgentsException as error:
                logger.warning("run %r, resumed on the page, stopped: %s", run.run_id, error)

        task = asyncio.create_task(drive(), name=f"agentsdk.ui resumes {run.run_id}")
        self._driving.add(task)
        task.add_done_callback(self._driving.discard)
        return {"run_id": run.run_id}

    async def fork(self, run: RunSummary, body: ForkBody) -> JsonObject:
        """A run of its own that goes on from there."""
        forked = await Runner.fork(run.run_id, at=body.at, new_run_id=os.urandom(16).hex(), run_config=self._config)
        return {"run_id": forked}

    async def replay(self, run: RunSummary, body: ReplayBody) -> JsonObject:
        """The run again with a change, as a run of its own; or, without a change, whether it still comes out the same."""
        agent = self._agent(run)
        if body.instructions is None and body.model is None:
            outcome = await Runner.replay(agent, run.run_id, run_config=self._config)
            return {"run_id": None, "summary": str(outcome)}
        changed = agent if body.instructions is None else agent.clone(instructions=body.instructions)
        replayed = await Runner.replay(
            agent,
            run.run_id,
            change=changed,
            model=body.model,
            at=body.at,
            new_run_id=os.urandom(16).hex(),
            live_effects=body.live_effects,
            run_config=self._config,
        )
        return {"run_id": replayed.state.value.run_id, "summary": str(replayed)}

    def _agent(self, run: RunSummary) -> Agent[Any, Any]:
        agent = self._agents.get(run.first_agent)
        if agent is None:
            raise ProblemError(
                409,
                f"run {run.run_id!r} began with agent {run.first_agent!r}, expected one of {sorted(self._agents)}; give it",
            )
        return agent


ACTIONS: Mapping[str, tuple[type[Body], Act]] = {
    "decide": (DecisionBody, Acting.decide),
    "answer": (AnswerBody, Acting.answer),
    "send": (MessageBody, Acting.send),
    "signal": (SignalBody, Acting.signal),
    "pause": (ReasonBody, Acting.pause),
    "unpause": (EmptyBody, Acting.unpause),
    "cancel": (CancelBody, Acting.cancel),
    "resume": (EmptyBody, Acting.resume),
    "fork": (ForkBody, Acting.fork),
    "replay": (ReplayBody, Acting.replay),
}
"""What can be done to a run: the body that says how, and what does it."""
