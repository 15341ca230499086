"""`web_app`: the routes of runs, as a Starlette application to run alone or to mount."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.drive import registry_of
from agentsdk.ports.run_store import RUN_STORE, RunStore
from agentsdk.types.declared import CALLABLE, Fields, a, optional
from agentsdk.web.caller import Authenticate
from agentsdk.web.limits import WebLimits
from agentsdk.web.require import require_package

if TYPE_CHECKING:
    from starlette.applications import Starlette

_ARGUMENTS = Fields(
    "web_app",
    store=RUN_STORE,
    authenticate=optional(CALLABLE),
    config=optional(a(RunConfig, "a RunConfig; pass RunConfig(...)")),
    limits=optional(a(WebLimits, "WebLimits; pass WebLimits(...)")),
)


def web_app(
    store: RunStore,
    *,
    agents: Agent[Any, Any] | Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]],
    authenticate: Authenticate | None,
    config: RunConfig | None = None,
    limits: WebLimits | None = None,
) -> Starlette:
    """Runs of `agents`, workflows among them, over HTTP: `uvicorn module:app`, or `application.mount("/agents", app)`.

    It submits runs to `store` and watches them there; a `Worker` drives them. `authenticate` gets each request and returns the
    `Caller`, or None to refuse it; None in its place lets everybody see and do everything. `config` is each run's `RunConfig`:
    give it what the worker has.

    Raises `UserError` naming the argument that is wrong, and where the package `starlette` is not installed.
    """
    _ARGUMENTS.check_given("web_app", store=store, authenticate=authenticate, config=config, limits=limits)
    registry, config = registry_of(agents), replace(config or RunConfig(), store=store)
    require_package()
    from agentsdk.web.service import Service

    return Service(config, registry, authenticate, limits or WebLimits()).app()
