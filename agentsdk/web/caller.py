"""`Caller`: who makes a request, and which runs that one may see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentsdk.types.declared import Fields, any_text
from agentsdk.types.summary import RunSummary

if TYPE_CHECKING:
    from starlette.requests import Request

TENANT, USER = "web.tenant", "web.user"
"""Where a run's metadata has whose it is, and who began it."""


@dataclass(frozen=True)
class Caller:
    """Who makes a request: what the `authenticate` of a `web_app` returns.

    Runs belong to the `tenant` that began them, and no other sees them. `user` is recorded as who began a run, and who decided.
    Raises `UserError` for what is no text.
    """

    tenant: str
    user: str = ""

    def __post_init__(self) -> None:
        _FIELDS.check(self)

    @property
    def metadata(self) -> Mapping[str, str]:
        """What is recorded of it with a run."""
        return {TENANT: self.tenant, USER: self.user}


_FIELDS = Fields(
    "Caller",
    tenant=any_text("a str; give the id of whom the runs belong to"),
    user=any_text("a str; give the id of who asks"),
)

Authenticate = Callable[["Request"], "Caller | Awaitable[Caller | None] | None"]
"""Says who makes a request, None for nobody that is known; it may be async."""


def may_see(caller: Caller | None, run: RunSummary) -> bool:
    """Whether a run is the caller's; without authentication (None) every run is everybody's."""
    return caller is None or run.metadata.get(TENANT) == caller.tenant
