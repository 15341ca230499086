"""`Service`: the handlers behind the routes of a `web_app`.

Nothing of a run is kept here, and nothing runs here: a route submits, watches, and speaks to a run through its store, by the
calls that any program has. Whoever drives the store's runs, a `Worker` in this process or another, sees no difference.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentsdk.core.keys import digest
from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.stored import store_of
from agentsdk.ports.run_store import not_found
from agentsdk.runner import Runner
from agentsdk.types.errors import RunConflictError, StoreError, UserError
from agentsdk.types.signals import Decision
from agentsdk.types.summary import RunQuery, RunSummary
from agentsdk.web.bodies import (
    AnswerBody,
    CancelBody,
    DecisionBody,
    EmptyBody,
    ForkBody,
    Health,
    MessageBody,
    Posted,
    ReasonBody,
    Run,
    RunDetail,
    RunPage,
    SignalBody,
    StartBody,
    Started,
)
from agentsdk.web.caller import Authenticate, Caller, may_see
from agentsdk.web.event_stream import EventStream
from agentsdk.web.feeds import Feeds
from agentsdk.web.guard import Guard, Handler, client_of, require_may_decide
from agentsdk.web.inputs import body_of, input_for, key_of, last_event_of, query_of
from agentsdk.web.keep_slashes import KeepSlashes, id_in_path
from agentsdk.web.limits import WebLimits
from agentsdk.web.openapi import OPERATIONS, Operation, description
from agentsdk.web.problems import HANDLERS, ProblemError

REQUEST = "web.request"
"""Where the metadata of a run that was begun, or forked, under an `Idempotency-Key` has what the request was."""

READY_SECONDS = 2.0
"""How long the store may take to answer before the service says that it is not ready."""


_Begin = Callable[[RunConfig], Awaitable[None]]


class Service:
    """The handlers of the routes. `Caller` is None where nobody is asked who they are."""

    def __init__(
        self, config: RunConfig, agents: Mapping[str, Agent[Any, Any]], authenticate: Authenticate | None, limits: WebLimits
    ) -> None:
        self._config = config
        self._store = store_of(config)
        self._agents = agents
        self._limits = limits
        self._guard = Guard("web_app", authenticate, limits)
        self._feeds = Feeds(config, limits.stream_bytes)

    def app(self) -> Starlette:
        """The application."""
        routes = [self._route(operation) for operation in OPERATIONS]
        routes.append(Route("/openapi.json", self.openapi, methods=["GET"]))
        return Starlette(routes=routes, middleware=[Middleware(KeepSlashes)], exception_handlers=HANDLERS)

    def _route(self, operation: Operation) -> Route:
        handler: Handler = getattr(self, operation.name)
        guarded = self._open if operation.open else self._guard.answer
        return Route(operation.path, partial(guarded, handler), methods=[operation.method])

    async def _open(self, handler: Handler, request: Request) -> Response:
        """The answer to a request that everybody may make."""
        return await handler(request, None)

    async def _run_of(self, request: Request, caller: Caller | None) -> RunSummary:
        """The run that a request is about. Raises `RunNotFoundError`, also for one that the caller may not see."""
        run_id = id_in_path(request.path_params["run_id"])
        summary = await self._store.summary(run_id)
        if summary is None or not may_see(caller, summary):
            raise not_found(run_id)
        return summary

    async def start(self, request: Request, caller: Caller | None) -> Response:
        """Begin a run."""
        key = key_of(request)
        body = await body_of(request, StartBody, self._limits)
        agent = self._agent(body.agent)
        given = input_for(agent, body.input)
        config = self._config
        if caller is not None:
            config = replace(config, metadata={**(config.metadata or {}), **caller.metadata})

        async def begin(config: RunConfig) -> None:
            await Runner.submit(agent, given, run_config=config, at=body.at)

        run_id = await self._once(begin, config, key, ("web run", *_whose(caller)), agent.name, body)
        return _answer(Started(run_id), 201, {"location": f"{request.url.path}/{run_id}"})

    async def _once(
        self, begin: _Begin, config: RunConfig, key: str | None, of: Sequence[str], what: str, body: StartBody | ForkBody
    ) -> str:
        """The id of the run that `begin` begins: of one key `of` somebody there is one.

        Raises `RunConflictError` where the key was used for something else than `what` with this `body`.
        """
        if key is None:
            run_id = os.urandom(16).hex()
            await begin(replace(config, run_id=run_id))
            return run_id
        run_id = digest(*of, key)
        asked = digest("web request", what, msgspec.json.encode(body, order="deterministic").decode())
        try:
            await begin(replace(config, run_id=run_id, metadata={**(config.metadata or {}), REQUEST: asked}))
        except RunConflictError:
            pass  # it is there already
        summary = await self._store.summary(run_id)
        if summary is not None and summary.metadata.get(REQUEST) != asked:
            raise RunConflictError("the Idempotency-Key was used with another body, expected the same; choose another key")
        return run_id

    def _agent(self, name: str | None) -> Agent[Any, Any]:
        if name is None and len(self._agents) == 1:
            return next(iter(self._agents.values()))
        agent = None if name is None else self._agents.get(name)
        if agent is None:
            raise UserError(f"the agent is {name!r}, expected one of {sorted(self._agents)}; name it")
        return agent

    async def list(self, request: Request, caller: Caller | None) -> Response:
        """A page of the caller's runs, the latest first."""
        query = query_of(request, caller, self._limits.page_size)
        assert self._config.store is not None
        page = await self._config.store.list(query)
        after = page[-1].cursor if len(page) == query.limit else None
        return _answer(RunPage([Run.of(summary) for summary in page], after))

    async def get(self, request: Request, caller: Caller | None) -> Response:
        """How a run stands, the calls that wait, and its output."""
        summary = await self._run_of(request, caller)
        return _answer(RunDetail.looked_at(summary, await Runner.load(summary.run_id, run_config=self._config)))

    async def events(self, request: Request, caller: Caller | None) -> Response:
        """What happens in a run, as server-sent events, from the one on that the client saw last."""
        summary = await self._run_of(request, caller)
        after = last_event_of(request, summary)
        if request.method == "HEAD":
            return Response(media_type=EventStream.media_type)
        if after == summary.rev and summary.status in ("finished", "failed", "cancelled"):
            return Response(status_code=204)  # a browser comes again after anything else
        self._guard.require_stream(caller)
        limits = self._limits
        pieces = self._feeds.follow(summary.run_id, after, summary.rev, limits.ping_seconds, limits.stream_seconds)
        return EventStream(pieces, limits.stall_seconds, self._guard.streams, client_of(caller))

    async def decide(self, request: Request, caller: Caller | None) -> Response:
        """A person's word on a call that waits."""
        run = await self._run_of(request, caller)
        body = await body_of(request, DecisionBody, self._limits)
        decision = Decision(**msgspec.structs.asdict(body), by=_by(caller))
        require_may_decide(caller, (decision,))
        return await self._decided(run, decision)

    async def answer(self, request: Request, caller: Caller | None) -> Response:
        """The answer to a call that waits for one."""
        run = await self._run_of(request, caller)
        body = await body_of(request, AnswerBody, self._limits)
        return await self._decided(run, Decision(body.call_id, "answer", body.path, answer=body.answer, by=_by(caller)))

    async def _decided(self, run: RunSummary, decision: Decision) -> Response:
        return _posted(await Runner.decide(run.run_id, decision, run_config=self._config))

    async def send(self, request: Request, caller: Caller | None) -> Response:
        """A user's message for the run."""
        run = await self._run_of(request, caller)
        body = await body_of(request, MessageBody, self._limits)
        return _posted(await Runner.send(run.run_id, body.message, by=_by(caller), run_config=self._config))

    async def signal(self, request: Request, caller: Caller | None) -> Response:
        """Data for the program of a workflow."""
        run = await self._run_of(request, caller)
        body = await body_of(request, SignalBody, self._limits)
        number = await Runner.signal(run.run_id, body.name, body.data, by=_by(caller), run_config=self._config)
        return _posted(number)

    async def pause(self, request: Request, caller: Caller | None) -> Response:
        """Have the run go no further than its turn."""
        run = await self._run_of(request, caller)
        body = await body_of(request, ReasonBody, self._limits)
        return _posted(await Runner.pause(run.run_id, by=_by(caller), reason=body.reason, run_config=self._config))

    async def unpause(self, request: Request, caller: Caller | None) -> Response:
        """Let a paused run go on."""
        run = await self._run_of(request, caller)
        await body_of(request, EmptyBody, self._limits)
        return _posted(await Runner.unpause(run.run_id, by=_by(caller), run_config=self._config))

    async def cancel(self, request: Request, caller: Caller | None) -> Response:
        """Stop the run."""
        run = await self._run_of(request, caller)
        body = await body_of(request, CancelBody, self._limits)
        number = await Runner.cancel(run.run_id, mode=body.mode, by=_by(caller), reason=body.reason, run_config=self._config)
        return _posted(number)

    async def fork(self, request: Request, caller: Caller | None) -> Response:
        """A new run, the caller's too, that goes on from where this one was."""
        run, key = await self._run_of(request, caller), key_of(request)
        body = await body_of(request, ForkBody, self._limits)

        async def begin(config: RunConfig) -> None:
            await Runner.fork(run.run_id, at=body.at, new_run_id=config.run_id, run_config=config)

        forked = await self._once(begin, self._config, key, ("web fork", *_whose(caller), run.run_id), "fork", body)
        runs = request.url.path.rpartition("/")[0].rpartition("/")[0]
        return _answer(Started(forked), 201, {"location": f"{runs}/{forked}"})

    async def openapi(self, request: Request) -> Response:
        """What can be asked here."""
        return _answer(description(version("agentsdk"), request.scope.get("root_path", "")))

    async def health(self, request: Request, caller: Caller | None) -> Response:
        """That the process serves."""
        return _answer(Health())

    async def ready(self, request: Request, caller: Caller | None) -> Response:
        """That the store answers too. Raises `ProblemError`."""
        assert self._config.store is not None
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._config.store.list(RunQuery(limit=1))
        except (StoreError, TimeoutError):
            raise ProblemError(503, "the store of the runs does not answer, expected it to; send requests elsewhere") from None
        return _answer(Health())


def _by(caller: Caller | None) -> str:
    return "" if caller is None else caller.user


def _whose(caller: Caller | None) -> Sequence[str]:
    """Whose a key is."""
    return () if caller is None else (caller.tenant, caller.user)


def _answer(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    data = msgspec.json.encode(body)
    return Response(data, status, {"cache-control": "no-store", **(headers or {})}, "application/json")


def _posted(number: int) -> Response:
    return _answer(Posted(number), 202)
