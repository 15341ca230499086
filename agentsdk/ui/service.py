"""`Service`: the handlers behind the routes of a `ui.app`, those that show; `acting.py` has those that act.

The page gets everything through this JSON API, which docs/ui.md describes. Nothing is kept here but what was read of the store.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import structs
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from agentsdk.core.next_step import pending_calls
from agentsdk.core.state import transcript
from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.define.stream_events import RecordedEvent
from agentsdk.engine.stored import store_of
from agentsdk.evals import EvalReport
from agentsdk.models.prices import price_with
from agentsdk.ports.run_store import not_found
from agentsdk.runner import Runner
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import AgentsException
from agentsdk.types.events import LimitReachedEvent, LimitWarningEvent, ModelReplied, RunStarted, ViewReplaced
from agentsdk.types.summary import RunQuery, RunSummary
from agentsdk.ui.acting import ACTIONS, Acting
from agentsdk.ui.copied_test import as_test
from agentsdk.ui.export import MOST_EVENTS, exported
from agentsdk.ui.guard import Guard
from agentsdk.ui.history import Histories, History
from agentsdk.ui.live_text import LiveText
from agentsdk.ui.masks import masked
from agentsdk.ui.opened import opened_event, opened_state
from agentsdk.ui.reports import shown_report
from agentsdk.ui.shown import MAX_TEXT_CHARS, Shower, plain
from agentsdk.web.bodies import Call
from agentsdk.web.event_stream import EventStream, Streams
from agentsdk.web.inputs import number_of
from agentsdk.web.keep_slashes import KeepSlashes, id_in_path
from agentsdk.web.limits import WebLimits
from agentsdk.web.problems import ProblemError, crashed, failed, refused
from agentsdk.workflow import Workflow

STATIC = Path(__file__).parent / "static"

PAGE = 100
"""Runs of a page, unless more are asked for."""

MOST_SEARCHED = 5_000
"""Runs that are looked through for a text, the latest."""

LOOK_SECONDS = 0.5
"""How often the list of runs is looked at while somebody follows it."""

UNQUOTED = "!'()*-._~"
"""What `encodeURIComponent` leaves as it is."""

MOST_ROWS = 20_000
"""Rows that one answer has."""

BEFORE_PARTING, MOST_COMPARED = 4, 500
"""Rows that are shown of two runs: so many before they part, and so many in all."""

LIMITS = WebLimits(stream_bytes=16_777_216)


class Service:
    """The handlers of the routes."""

    def __init__(
        self,
        config: RunConfig,
        agents: Mapping[str, Agent[Any, Any]],
        token: str,
        hosts: Sequence[str],
        evals: Mapping[str, EvalReport],
    ) -> None:
        assert config.store is not None
        self._config = config
        self._store, self._listing = store_of(config), config.store
        self._agents = agents
        self._token = token
        self._hosts = hosts
        self._evals = evals
        self._histories = Histories(self._listing, price_with(config.prices))
        self._streams = Streams()
        self._acting = Acting(config, agents)

    def app(self) -> Starlette:
        """The application."""
        show: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/api/info": self.info,
            "/api/runs": self.runs,
            "/api/runs/events": self.follow_runs,
            "/api/diff": self.diff,
            "/api/runs/{run_id}": self.run,
            "/api/runs/{run_id}/rows": self.rows,
            "/api/runs/{run_id}/spans": self.spans,
            "/api/runs/{run_id}/events": self.follow,
            "/api/runs/{run_id}/events/{revision:int}": self.event,
            "/api/runs/{run_id}/state": self.state,
            "/api/runs/{run_id}/conversation": self.conversation,
            "/api/runs/{run_id}/workflow": self.workflow,
            "/api/runs/{run_id}/export": self.export,
            "/api/runs/{run_id}/test": self.test,
            "/api/evals": self.evals,
            "/api/evals/{name}": self.eval,
        }
        routes: list[Route | Mount] = [Route(path, handler, methods=["GET"]) for path, handler in show.items()]
        routes += [Route(f"/api/runs/{{run_id}}/{name}", partial(self._act, name), methods=["POST"]) for name in ACTIONS]
        routes += [Route("/", self.page, methods=["GET"]), Mount("/static", StaticFiles(directory=STATIC))]
        handlers: Any = {HTTPException: refused, AgentsException: failed, Exception: crashed}
        middleware = [
            Middleware(Guard, token=self._token, hosts=self._hosts),
            Middleware(KeepSlashes),
            Middleware(_Zipped, minimum_size=2_000),
        ]
        return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await self._acting.aclose()

    async def _act(self, name: str, request: Request) -> Response:
        summary = await self._summary(request)
        return _json(await self._acting.act(name, summary, request), 202)

    async def page(self, request: Request) -> Response:
        """The page itself."""
        return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})

    async def info(self, request: Request) -> Response:
        """What the page may do."""
        return _json(self._info())

    def _info(self) -> JsonObject:
        agents = [{"name": name, "model": _model_of(agent)} for name, agent in self._agents.items()]
        return {
            "version": version("agentsdk"),
            "agents": agents,
            "can_act": bool(agents),
            "store": type(self._listing).__name__,
            "readonly_reason": "" if agents else "no agents were given to the page, so it only shows",
            "has_evals": bool(self._evals),
        }

    async def runs(self, request: Request) -> Response:
        """A page of runs, the latest first; on the first page those that wait for somebody apart."""
        given = request.query_params
        query = _query(given)
        text = given.get("q", "").strip().casefold()
        runs, after = await self._found(query, text) if text else await self._listed(query)
        body: JsonObject = {"runs": [_summary(run) for run in runs], "after": after}
        if query.after is None and query.status is None and not text:
            waiting = await self._listing.list(structs.replace(query, status="waiting", limit=PAGE))
            body["waiting"] = [_summary(run) for run in waiting]
        return _json(body)

    async def _listed(self, query: RunQuery) -> tuple[list[RunSummary], str | None]:
        page = await self._listing.list(query)
        return page, page[-1].cursor if len(page) == query.limit else None

    async def _found(self, query: RunQuery, text: str) -> tuple[list[RunSummary], str | None]:
        """Those of the latest runs that have a text in what is known of them without their logs."""
        found: list[RunSummary] = []
        look, looked = structs.replace(query, limit=500), 0
        while looked < MOST_SEARCHED:
            page = await self._listing.list(look)
            for run in page:
                if text in _searched(run):
                    found.append(run)
                    if len(found) == query.limit:
                        return found, run.cursor
            looked += len(page)
            if len(page) < look.limit:
                return found, None
            look = structs.replace(look, after=page[-1])
        return found, look.after.cursor if isinstance(look.after, RunSummary) else None

    async def follow_runs(self, request: Request) -> Response:
        """Runs that change, as server-sent events."""
        return EventStream(self._changing(), LIMITS.stall_seconds, self._streams, ("", "runs"))

    async def _changing(self) -> AsyncGenerator[bytes, None]:
        known: dict[str, tuple[int, str, int]] = {}
        is_first = True
        while True:
            for run in reversed(await self._listing.list(RunQuery(limit=PAGE))):
                stands = (run.rev, run.status, run.signals)
                if known.get(run.run_id) != stands:
                    known[run.run_id] = stands
                    if not is_first:
                        yield _sent("summary", _summary(run))
            is_first = False
            yield b": still here\n\n"
            await asyncio.sleep(LOOK_SECONDS)

    async def run(self, request: Request) -> Response:
        """How a run stands, the calls that wait, its input and output."""
        summary = await self._summary(request)
        history = await self._folded(request)
        return _json(self._detail(summary, history))

    def _detail(self, summary: RunSummary, history: History) -> JsonObject:
        state, shower = history.state(len(history.events)), Shower()
        started = next(event for event in history.events if isinstance(event, RunStarted))
        waiting = () if summary.is_over else pending_calls(state)
        ended = state.ended
        return {
            "run": _summary(summary),
            "calls": [shower.value(msgspec.to_builtins(Call.of(item))) for item in waiting],
            "input": shower.items(started.input[started.history :]),
            "output": None if ended is None else shower.text(ended.output),
            "agents": [summary.first_agent] if summary.first_agent in self._agents else [],
            "paused": state.paused is not None,
            "is_workflow": bool(getattr(self._agents.get(summary.first_agent), "driver", None)),
        }

    async def rows(self, request: Request) -> Response:
        """A row for each event."""
        history = await self._history(request)
        after = number_of(request.query_params, "after", int) or 0
        limit = min(number_of(request.query_params, "limit", int) or MOST_ROWS, MOST_ROWS)
        rows = history.rows[max(after, 0) : max(after, 0) + max(limit, 0)]
        return _json({"rows": rows, "last": rows[-1].rev if rows else after, "total": len(history.rows)})

    async def spans(self, request: Request) -> Response:
        """What took time, and how limits and the model's window filled."""
        return _json(self._spans(await self._history(request)))

    def _spans(self, history: History) -> JsonObject:
        limits = [
            {"rev": row.rev, "at": row.at, "limit": event.limit, "used": event.used, "allowed": event.allowed}
            for row, event in zip(history.rows, history.events, strict=True)
            if isinstance(event, LimitWarningEvent | LimitReachedEvent)
        ]
        return {"spans": history.spans(), "budget": limits, "window": _window(history)}

    async def follow(self, request: Request) -> Response:
        """What happens in a run, as server-sent events: rows, deltas, and how it stands."""
        summary = await self._summary(request)
        text = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
        if not (text.isascii() and text.isdecimal() and int(text[:20]) <= summary.rev):
            raise ProblemError(422, f"the last event is {text[:40]!r}, expected a revision from 0 to {summary.rev}; send one")
        return EventStream(self._happening(summary, int(text)), LIMITS.stall_seconds, self._streams, ("", "run"))

    async def _happening(self, summary: RunSummary, after: int) -> AsyncGenerator[bytes, None]:
        """From revision `after` on, until the run is over."""
        run_id, sent, live = summary.run_id, after, LiveText()
        while True:
            async with aclosing(Runner.watch(run_id, run_config=self._config, after=sent)) as watching:
                async for event in watching:
                    if not isinstance(event, RecordedEvent):
                        if (delta := live.delta(event)) is not None:
                            yield _sent("delta", delta)
                    elif event.revision > sent:
                        live.recorded(event.path)
                        history = await self._histories.of(run_id)
                        for row in history.rows[sent:]:
                            yield _sent("row", row, row.rev)
                        sent = len(history.rows)
                        if (now := await self._store.summary(run_id)) is not None and not now.is_over:
                            yield _sent("summary", _summary(now))
            now = await self._store.summary(run_id)
            if now is None or now.is_over or now.status == "failed":
                break
        if now is not None:
            yield _sent("summary", _summary(now))
        yield _sent("end", {})

    async def event(self, request: Request) -> Response:
        """One event in full, and of a model's reply what it was asked; `?full=1` cuts no text."""
        history = await self._folded(request)
        most = None if request.query_params.get("full") else MAX_TEXT_CHARS
        return _json(opened_event(history, self._agents, request.path_params["revision"], most))

    async def state(self, request: Request) -> Response:
        """The state at a revision, and what its event changed."""
        history = await self._folded(request)
        at = number_of(request.query_params, "at", int)
        return _json(opened_state(history, len(history.events) if at is None else at))

    async def conversation(self, request: Request) -> Response:
        """The items as a reader sees them, at a revision."""
        history = await self._folded(request)
        at = number_of(request.query_params, "at", int)
        state = history.state(len(history.events) if at is None else at)
        return _json({"items": Shower().items(transcript(state))})

    async def workflow(self, request: Request) -> Response:
        """The drawing of a workflow with what has happened."""
        summary = await self._summary(request)
        agent = self._agents.get(summary.first_agent)
        if not isinstance(agent, Workflow):
            raise ProblemError(404, f"run {summary.run_id!r} is of no workflow that the page has; give it to app(agents=...)")
        state = await Runner.load(summary.run_id, run_config=self._config)
        return _json({"svg": agent.draw(state, format="svg")})

    async def export(self, request: Request) -> Response:
        """The run as one HTML file."""
        summary = await self._summary(request)
        history = await self._folded(request)
        path = f"runs/{quote(summary.run_id, safe=UNQUOTED)}"
        last = len(history.events)
        answers: JsonObject = {
            "info": {**self._info(), "can_act": False, "readonly_reason": "an exported file only shows"},
            path: {**self._detail(summary, history), "is_workflow": False},
            f"{path}/rows": {"rows": history.rows, "last": last, "total": last},
            f"{path}/spans": self._spans(history),
            f"{path}/conversation": {"items": Shower().items(transcript(history.state(last)))},
        }
        for revision in range(1, min(last, MOST_EVENTS) + 1):
            answers[f"{path}/events/{revision}"] = opened_event(history, self._agents, revision)
            answers[f"{path}/state?at={revision}"] = opened_state(history, revision)
            if revision % 50 == 0:
                await asyncio.sleep(0)
        page = await asyncio.to_thread(exported, summary.run_id, answers)
        return Response(page, headers={"cache-control": "no-store"}, media_type="text/html")

    async def test(self, request: Request) -> Response:
        """The run as a test: its record, and a pytest function."""
        summary = await self._summary(request)
        state = await Runner.load(summary.run_id, run_config=self._config)
        return _json(as_test(state, self._config, "your_agents"))

    async def evals(self, request: Request) -> Response:
        """The reports that the page was given."""
        reports = [{"name": name, "agents": one.agents, "cases": len(one.cases)} for name, one in self._evals.items()]
        return _json({"reports": reports})

    async def eval(self, request: Request) -> Response:
        """One of them: cases by agents, and what changed from the first agent to the last."""
        report = self._evals.get(request.path_params["name"])
        if report is None:
            raise ProblemError(404, f"the page has no report {request.path_params['name']!r}, expected {sorted(self._evals)}")
        return _json(shown_report(report))

    async def diff(self, request: Request) -> Response:
        """Where two runs part, and what each took."""
        ids = [request.query_params.get(side, "") for side in ("left", "right")]
        left, right = [await self._histories.of(run_id) for run_id in ids]
        found = await Runner.diff(*ids, run_config=self._config)
        parts = found.divergence
        starts = (0, 0) if parts is None else (parts.revision - BEFORE_PARTING, found.revision_b - BEFORE_PARTING)
        of_left, of_right = [
            history.rows[max(start, 0) : max(start, 0) + MOST_COMPARED]
            for history, start in zip((left, right), starts, strict=True)
        ]
        return _json(
            {
                "summary": str(found),
                "first": None if parts is None else {"left_rev": parts.revision, "right_rev": found.revision_b},
                "lines": None if parts is None else {"left": parts.recorded, "right": parts.now},
                "left": of_left,
                "right": of_right,
                "totals": {"left": plain(found.totals_a), "right": plain(found.totals_b)},
                "cost": None if found.cost is None else f"{found.cost:f}",
            }
        )

    async def _summary(self, request: Request) -> RunSummary:
        run_id = id_in_path(request.path_params["run_id"])
        summary = await self._store.summary(run_id)
        if summary is None:
            raise not_found(run_id)
        return summary

    async def _history(self, request: Request) -> History:
        return await self._histories.of(id_in_path(request.path_params["run_id"]))

    async def _folded(self, request: Request) -> History:
        """The same, where states are looked at."""
        history = await self._history(request)
        await history.fold()
        return history


class _Zipped(GZipMiddleware):
    """Compresses what is not streamed: an event must not wait for the next."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["path"].endswith("/events"):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def _query(given: Mapping[str, str]) -> RunQuery:
    """Which runs are asked for. Raises `ProblemError` for a wrong number, `UserError` for a wrong value."""
    name, colon, value = given.get("meta", "").partition(":")
    limit = number_of(given, "limit", int) or PAGE
    return RunQuery(
        status=given.get("status") or None,  # type: ignore[arg-type]  # checked there
        agent=given.get("agent") or None,
        metadata={name: value} if colon else {},
        limit=max(1, min(limit, 500)),
        after=given.get("after") or None,
    )


def _summary(run: RunSummary) -> JsonObject:
    fields = {name: getattr(run, name) for name in RunSummary.__struct_fields__ if name not in ("rev", "paid", "owner")}
    held = run.status == "running" and run.held_until > time.time()
    return {**fields, "error": masked(run.error), "revision": run.rev, "cost": run.paid or None, "held": held}


def _searched(run: RunSummary) -> str:
    known = (
        run.run_id,
        run.agent,
        run.first_agent,
        run.reason,
        run.error,
        run.forked_from,
        *run.metadata,
        *run.metadata.values(),
    )
    return "\n".join(known).casefold()


def _window(history: History) -> list[JsonObject]:
    """How many tokens each request had, and what compactions left."""
    filled: list[JsonObject] = []
    for row, event in zip(history.rows, history.events, strict=True):
        if isinstance(event, ModelReplied) and (tokens := event.response.usage.input_tokens or event.counted):
            filled.append({"rev": row.rev, "at": row.at, "tokens": tokens})
        elif isinstance(event, ViewReplaced) and event.before:
            filled.append({"rev": row.rev, "at": row.at, "tokens": event.after, "before": event.before})
    return filled


def _model_of(agent: Agent[Any, Any]) -> str:
    model = agent.model
    return model if isinstance(model, str) else getattr(model, "name", "") or ""


def _sent(kind: str, body: object, revision: int | None = None) -> bytes:
    number = b"" if revision is None else b"id: %d\n" % revision
    return b"%bevent: %b\ndata: %b\n\n" % (number, kind.encode(), msgspec.json.encode(body, enc_hook=str))


def _json(body: object, status: int = 200) -> Response:
    data = msgspec.json.encode(body, enc_hook=str)
    return Response(data, status, {"cache-control": "no-store"}, "application/json")
