"""`app`: the page and its JSON API, as a Starlette application to run alone or to mount."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.drive import registry_of
from agentsdk.evals import EvalReport
from agentsdk.ports.run_store import RUN_STORE, RunStore
from agentsdk.types.declared import Expected, Fields, a, any_text, optional, sequence_of
from agentsdk.web.require import require_package

if TYPE_CHECKING:
    from starlette.applications import Starlette

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names under which a page on this machine is asked for."""


def _is_token(value: object) -> bool:
    return isinstance(value, str) and len(value) >= 16 and value.isascii() and value.isprintable()


_ARGUMENTS = Fields(
    "ui.app",
    store=RUN_STORE,
    config=optional(a(RunConfig, "a RunConfig; pass RunConfig(...)")),
    token=optional(Expected("16 printable ASCII characters or more; leave it out, and one is made", _is_token)),
    evals=sequence_of(a(EvalReport, "an EvalReport"), "a list or tuple of reports; pass [report]"),
    hosts=sequence_of(any_text("a host's name"), "a list or tuple of the names of hosts; write ('runs.example.com',)"),
)


def app(
    store: RunStore,
    *,
    agents: Agent[Any, Any] | Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]] | None = None,
    config: RunConfig | None = None,
    token: str | None = None,
    hosts: Sequence[str] = LOOPBACK,
    evals: Sequence[EvalReport] = (),
) -> Starlette:
    """A page of the runs of `store`: `uvicorn module:app`, or `application.mount("/runs", app)`.

    With `agents` a person may act on it (approve, answer, fork, replay, ...), and the application is a `Worker` of these
    agents while its page is open; `config` is each run's `RunConfig` then. Without, it only shows.

    Whoever has the `token` may see everything, and do everything: it is made anew at each start where none is given, and is
    `app.state.token`. The page is asked for as `/#token=...`. `hosts` are the names under which it may be asked for, which
    keeps out strange pages that have a name of theirs lead to this machine.

    `evals` are reports to show beside the runs.

    Raises `UserError` naming the argument that is wrong, and where the package `starlette` is not installed.
    """
    _ARGUMENTS.check_given(store=store, config=config, token=token, hosts=hosts, evals=evals)
    registry = {} if agents is None else registry_of(agents)
    require_package("agentsdk.ui", "ui")
    from agentsdk.ui.service import Service

    made, run_config = token or secrets.token_urlsafe(24), replace(config or RunConfig(), store=store)
    application = Service(run_config, registry, made, tuple(hosts), {one.name: one for one in evals}).app()
    application.state.token = made
    return application
