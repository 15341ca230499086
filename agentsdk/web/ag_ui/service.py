"""The handlers behind the routes of an `ag_ui_app`."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
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
from agentsdk.web.ag_ui.inputs import answers_in, input_of, offer_in, results_in, said_in
from agentsdk.web.ag_ui.shared_state import SharedState
from agentsdk.web.caller import Authenticate, Caller
from agentsdk.web.front_ends.follow import Going
from agentsdk.web.front_ends.service import FrontEndService
from agentsdk.web.front_ends.threads import Thread
from agentsdk.web.front_ends.when_left import WhenLeft
from agentsdk.web.inputs import json_of
from agentsdk.web.limits import WebLimits
from agentsdk.web.problems import HANDLERS, told_of

logger = logging.getLogger("agentsdk")


class AgUiService(FrontEndService):
    """Answers AG-UI requests. `shares_state`: the run's context is the client's state."""

    def __init__(
        self,
        config: RunConfig,
        agents: Mapping[str, Agent[Any, Any]],
        authenticate: Authenticate | None,
        limits: WebLimits,
        when_left: WhenLeft,
        *,
        shares_state: bool,
    ) -> None:
        super().__init__("ag_ui_app", config, agents, authenticate, limits, when_left)
        self._shares_state = shares_state

    def app(self) -> Starlette:
        """The application."""
        answer = partial(self.guard.answer, self.run)
        routes = [Route(path, answer, methods=["POST"]) for path in ("/", "/{agent}")]
        return Starlette(routes=routes, exception_handlers=HANDLERS)

    async def run(self, request: Request, caller: Caller | None) -> Response:
        """Answer a request with the events of a run."""
        self.guard.require_stream(caller)
        agent = self.agent_of(request)
        asked = input_of(await json_of(request, self.limits))
        thread = await self.threads.find(asked.thread_id, caller)
        if asked.protocol_version not in (None, PROTOCOL_VERSION):
            logger.info("an AG-UI client speaks version %.20r, and is answered in %s", asked.protocol_version, PROTOCOL_VERSION)
        try:
            going, shows = await self._going(thread, agent, asked)
        except AgentsException as error:
            status, words = told_of(error)
            if status >= 500:
                raise
            encoder = self._encoder(thread, asked, self.threads.going(thread))
            pieces = _refused(encoder, type(error).__name__, words)
        else:
            encoder = self._encoder(thread, asked, going)
            pieces = self.pieces(encoder, going, caller, encoder.started() + (encoder.snapshot() if shows else b""))
        return self.stream(pieces, caller)

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
            return await self.threads.decide(thread, decisions), False
        if said is not None and is_new:
            return await self.threads.begin(thread, agent, said, offer_in(asked, shares_state=self._shares_state)), False
        if thread.run is None:
            raise UserError("the request has no message of the user, expected one; add it to messages")
        return self.threads.going(thread), True

    def _encoder(self, thread: Thread, asked: RunAgentInput, going: Going) -> Encoder:
        state = SharedState(going.narrator.state.context) if self._shares_state else None
        return Encoder(thread, asked.run_id, going.narrator, state, is_plain=asked.protocol_version is None)


async def _refused(encoder: Encoder, code: str, message: str) -> AsyncGenerator[bytes, None]:
    yield encoder.started() + encoder.refused(code, message)
