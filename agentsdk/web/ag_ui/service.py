"""The handlers behind the routes of an `ag_ui_app`."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from ag_ui.core import PROTOCOL_VERSION, RunAgentInput
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.types.errors import AgentsException, RunConflictError, UserError
from agentsdk.web.ag_ui.events import Encoder
from agentsdk.web.ag_ui.inputs import answers_in, input_of, results_in, said_in
from agentsdk.web.caller import Authenticate, Caller
from agentsdk.web.event_stream import EventStream
from agentsdk.web.front_ends.follow import Going, follow
from agentsdk.web.front_ends.threads import Thread, Threads
from agentsdk.web.guard import Guard, client_of
from agentsdk.web.inputs import json_of
from agentsdk.web.limits import WebLimits
from agentsdk.web.problems import HANDLERS, told_of

logger = logging.getLogger("agentsdk")


class AgUiService:
    """Answers AG-UI requests."""

    def __init__(
        self, config: RunConfig, agents: Mapping[str, Agent[Any, Any]], authenticate: Authenticate | None, limits: WebLimits
    ) -> None:
        self._config = config
        self._agents = agents
        self._limits = limits
        self._guard = Guard("ag_ui_app", authenticate, limits)
        self._threads = Threads(config)

    def app(self) -> Starlette:
        """The application."""
        answer = partial(self._guard.answer, self.run)
        routes = [Route(path, answer, methods=["POST"]) for path in ("/", "/{agent}")]
        return Starlette(routes=routes, exception_handlers=HANDLERS)

    async def run(self, request: Request, caller: Caller | None) -> Response:
        """Answer a request with the events of a run."""
        self._guard.require_stream(caller)
        agent = agent_of(self._agents, request)
        asked = input_of(await json_of(request, self._limits))
        thread = await self._threads.find(asked.thread_id, caller)
        if asked.protocol_version not in (None, PROTOCOL_VERSION):
            logger.info("an AG-UI client speaks version %.20r, and is answered in %s", asked.protocol_version, PROTOCOL_VERSION)
        try:
            going, shows = await self._going(thread, agent, asked)
        except AgentsException as error:
            status, words = told_of(error)
            if status >= 500:
                raise
            encoder = _encoder(thread, asked, self._threads.going(thread))
            pieces = _refused(encoder, type(error).__name__, words)
        else:
            pieces = self._pieces(_encoder(thread, asked, going), going, shows=shows)
        return EventStream(pieces, self._limits.stall_seconds, self._guard.streams, client_of(caller))

    async def _going(self, thread: Thread, agent: Agent[Any, Any], asked: RunAgentInput) -> tuple[Going, bool]:
        """The run that answers, and whether the client is to be shown the whole conversation first."""
        said = said_in(asked.messages)
        decisions = results_in(asked.messages, thread)
        if asked.resume:
            decisions += answers_in(asked.resume, thread)
        is_new = said is not None and not thread.has(said)
        if decisions:
            if is_new:
                raise RunConflictError("the request has a new message beside its answers, expected one of them; send it later")
            return await self._threads.decide(thread, decisions), False
        if said is not None and is_new:
            return await self._threads.begin(thread, agent, said), False
        if thread.run is None:
            raise UserError("the request has no message of the user, expected one; add it to messages")
        return self._threads.going(thread), True

    async def _pieces(self, encoder: Encoder, going: Going, *, shows: bool) -> AsyncGenerator[bytes, None]:
        yield encoder.started() + (encoder.snapshot() if shows else b"")
        async with aclosing(follow(going, self._config, self._limits)) as following:
            async for told in following:
                yield b"".join([encoder.encode(one) for one in told]) if told else b": still here\n\n"


def agent_of(agents: Mapping[str, Agent[Any, Any]], request: Request) -> Agent[Any, Any]:
    """The agent that a request's path names, or the only one. Raises `UserError`."""
    name: str | None = request.path_params.get("agent")
    if name is None and len(agents) == 1:
        return next(iter(agents.values()))
    if name is None or name not in agents:
        raise UserError(f"the agent is {name!r}, expected one of {sorted(agents)}; end the path with its name")
    return agents[name]


def _encoder(thread: Thread, asked: RunAgentInput, going: Going) -> Encoder:
    return Encoder(thread, asked.run_id, going.narrator, is_plain=asked.protocol_version is None)


async def _refused(encoder: Encoder, code: str, message: str) -> AsyncGenerator[bytes, None]:
    yield encoder.started() + encoder.refused(code, message)
