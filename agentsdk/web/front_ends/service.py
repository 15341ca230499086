"""`FrontEndService`: what the services of the protocols have in common."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.runner import Runner
from agentsdk.types.errors import RunConflictError, RunNotFoundError, UserError
from agentsdk.web.caller import Authenticate, Caller
from agentsdk.web.event_stream import EventStream
from agentsdk.web.feeds import PING
from agentsdk.web.front_ends.encoder import Encoder
from agentsdk.web.front_ends.follow import Going, follow
from agentsdk.web.front_ends.threads import Threads
from agentsdk.web.front_ends.told import Outcome
from agentsdk.web.front_ends.when_left import WhenLeft
from agentsdk.web.guard import Guard, client_of
from agentsdk.web.limits import WebLimits


class FrontEndService:
    """Agents behind a protocol; `where` is the application's name."""

    def __init__(
        self,
        where: str,
        config: RunConfig,
        agents: Mapping[str, Agent[Any, Any]],
        authenticate: Authenticate | None,
        limits: WebLimits,
        when_left: WhenLeft = "go_on",
    ) -> None:
        self.config = config
        self.limits = limits
        self.guard = Guard(where, authenticate, limits)
        self.threads = Threads(config)
        self._when_left: WhenLeft = when_left
        self._agents = agents

    def agent_of(self, request: Request) -> Agent[Any, Any]:
        """The agent that a request's path names, or the only one. Raises `UserError`."""
        name: str | None = request.path_params.get("agent")
        if name is None and len(self._agents) == 1:
            return next(iter(self._agents.values()))
        if name is None or name not in self._agents:
            raise UserError(f"the agent is {name!r}, expected one of {sorted(self._agents)}; end the path with its name")
        return self._agents[name]

    def stream(
        self, pieces: AsyncGenerator[bytes, None], caller: Caller | None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """The answer that is a stream."""
        return EventStream(pieces, self.limits.stall_seconds, self.guard.streams, client_of(caller), headers)

    async def pieces(self, encoder: Encoder, going: Going, caller: Caller | None, first: bytes) -> AsyncGenerator[bytes, None]:
        """What happens in a run, encoded, behind what comes `first`."""
        is_over = False
        try:
            yield first
            async with aclosing(follow(going, self.config, self.limits)) as following:
                async for told in following:
                    is_over = bool(told) and isinstance(told[-1], Outcome)
                    piece = b"".join([encoder.encode(one) for one in told]) if told else PING
                    if piece:
                        yield piece
        finally:
            if not is_over and self._when_left == "cancel":
                with suppress(RunConflictError, RunNotFoundError):  # it is over by itself
                    by = "" if caller is None else caller.user
                    await Runner.cancel(going.run_id, by=by, reason="the client has left", run_config=self.config)
