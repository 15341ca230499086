"""`ServeOptions`: how agents and tools are served, and `MCPRequest`: who asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from agentsdk.define.run_config import RunConfig
from agentsdk.ports.run_store import RUN_STORE, RunStore
from agentsdk.types.declared import CALLABLE, FLAG, SECONDS, Fields, a, a_name, any_text, optional, whole
from agentsdk.types.errors import UserError


@dataclass(frozen=True, kw_only=True)
class MCPRequest:
    """A request of an MCP client, as the `context` callable sees it.

    `tool` is the tool that is called, `""` where the client lists the tools. `user` is what an authentication middleware said
    of the HTTP request (`scope["user"]`), and `principal` a text that names it: `""` where nobody was authenticated. `headers`
    are the HTTP request's, with lower-case names. `client` is the client's name and version, as it says itself.
    """

    tool: str = ""
    run_id: str = ""
    principal: str = ""
    user: object = field(default=None, repr=False)
    client: str = ""
    protocol_version: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


ContextOf = Callable[[MCPRequest], "Any | Awaitable[Any]"]
"""Gives the context object of the run that a request leads to; it may be async."""


class ServeOptions(TypedDict, total=False):
    """What `serve` and `asgi_app` take beside what is served. They are described at `serve`."""

    name: str | None
    version: str
    instructions: str
    store: RunStore | None
    config: RunConfig | None
    context: ContextOf | None
    ask_client: bool
    ask_timeout: float
    goes_on_without_client: bool
    max_calls: int
    max_waiting_calls: int
    max_argument_bytes: int


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The `ServeOptions`, checked, with their defaults. Raises `UserError` naming the one that is wrong."""

    name: str | None = None
    version: str = ""
    instructions: str = ""
    store: RunStore | None = None
    config: RunConfig | None = None
    context: ContextOf | None = None
    ask_client: bool = True
    ask_timeout: float = 600.0
    goes_on_without_client: bool = False
    max_calls: int = 16
    max_waiting_calls: int = 1_000
    max_argument_bytes: int = 4_194_304

    def __post_init__(self) -> None:
        _FIELDS.check(self)
        if self.config is not None and self.config.store is not None:
            raise UserError("the config of an MCP server has a store, expected none; pass serve(..., store=...)")
        if self.goes_on_without_client and self.store is None:
            raise UserError(
                "serve(goes_on_without_client=True) was given no store, expected one; nobody could ask for the result"
            )


_FIELDS = Fields(
    "serve",
    name=optional(a_name("the server's name")),
    version=any_text("a text; it is shown to clients"),
    instructions=any_text("a text; clients show it to their models"),
    store=optional(RUN_STORE),
    config=optional(a(RunConfig, "a RunConfig; pass RunConfig(...)")),
    context=optional(CALLABLE),
    ask_client=FLAG,
    ask_timeout=SECONDS,
    goes_on_without_client=FLAG,
    max_calls=whole("at least 1", 1),
    max_waiting_calls=whole("a whole number, 0 or more", 0),
    max_argument_bytes=whole("at least 1", 1),
)
DEFAULTS: Mapping[str, object] = {name: getattr(Settings, name) for name in ServeOptions.__annotations__}
