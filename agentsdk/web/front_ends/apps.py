"""`ag_ui_app` and `vercel_app`: agents behind the protocol of a front end, as a Starlette application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.drive import registry_of
from agentsdk.ports.run_store import RUN_STORE, RunStore
from agentsdk.types.declared import CALLABLE, FLAG, Fields, a, one_of, optional
from agentsdk.types.errors import UserError
from agentsdk.web.caller import Authenticate
from agentsdk.web.front_ends.when_left import WhenLeft
from agentsdk.web.limits import WebLimits
from agentsdk.web.require import require_ag_ui, require_package

if TYPE_CHECKING:
    from starlette.applications import Starlette

Agents = Agent[Any, Any] | Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]]

_ARGUMENTS = Fields(
    "app",
    store=RUN_STORE,
    authenticate=optional(CALLABLE),
    config=optional(a(RunConfig, "a RunConfig; pass RunConfig(...)")),
    limits=optional(a(WebLimits, "WebLimits; pass WebLimits(...)")),
    shares_state=FLAG,
    when_left=one_of("'go_on' or 'cancel'", ("go_on", "cancel")),
)


def ag_ui_app(
    store: RunStore,
    *,
    agents: Agents,
    authenticate: Authenticate | None,
    config: RunConfig | None = None,
    limits: WebLimits | None = None,
    when_left: WhenLeft = "go_on",
    shares_state: bool = False,
) -> Starlette:
    """`agents` for front ends that speak AG-UI: `application.mount("/ag-ui", app)`, and `new HttpAgent({url: ".../ag-ui/"})`.

    Of several agents the path ends with the name of one. Like a `web_app` it submits runs to `store` and watches them there,
    for whoever `authenticate` knows; a `Worker` drives them, in the same process if deltas are to be seen.

    A run goes on though its client leaves, unless `when_left` is `"cancel"`. With `shares_state` the run's context is the state
    that client and agent share: the `context_codec` of `config` reads what the client sends, and what it writes, JSON, is what
    the client is shown.

    Raises `UserError` naming the argument that is wrong, for a workflow, and where a package is not installed.
    """
    _ARGUMENTS.check_given("ag_ui_app", shares_state=shares_state)
    registry, config = _checked("ag_ui_app", store, agents, authenticate, config, limits, when_left)
    if shares_state and config.context_codec is None:
        raise UserError(
            "ag_ui_app shares the state of runs without a context_codec, expected one: it reads what a client sends; give "
            "config=RunConfig(context_codec=...)"
        )
    require_ag_ui()
    from agentsdk.web.ag_ui.service import AgUiService

    service = AgUiService(config, registry, authenticate, limits or WebLimits(), when_left, shares_state=shares_state)
    return service.app()


def vercel_app(
    store: RunStore,
    *,
    agents: Agents,
    authenticate: Authenticate | None,
    config: RunConfig | None = None,
    limits: WebLimits | None = None,
    when_left: WhenLeft = "go_on",
) -> Starlette:
    """`agents` for `useChat` of the Vercel AI SDK: `application.mount("/chat", app)`, `DefaultChatTransport({api: "/chat/"})`.

    Otherwise as `ag_ui_app`. It answers in the UI message stream, version 1, which `ai` 6 and 7 read.
    """
    registry, config = _checked("vercel_app", store, agents, authenticate, config, limits, when_left)
    require_package()
    from agentsdk.web.vercel.service import VercelService

    return VercelService("vercel_app", config, registry, authenticate, limits or WebLimits(), when_left).app()


def _checked(
    where: str,
    store: RunStore,
    agents: Agents,
    authenticate: Authenticate | None,
    config: RunConfig | None,
    limits: WebLimits | None,
    when_left: WhenLeft,
) -> tuple[Mapping[str, Agent[Any, Any]], RunConfig]:
    _ARGUMENTS.check_given(where, store=store, authenticate=authenticate, config=config, limits=limits, when_left=when_left)
    registry = registry_of(agents)
    for agent in registry.values():
        if agent.driver is not None:
            raise UserError(f"{where} was given the workflow {agent.name!r}, expected agents: nobody talks to it; use web_app")
    return registry, replace(config or RunConfig(), store=store)
