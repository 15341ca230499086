"""`Caller`: who makes a request, and which runs that one may see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentsdk.types.declared import FLAG, Fields, any_text
from agentsdk.types.errors import UserError
from agentsdk.types.summary import RunSummary

if TYPE_CHECKING:
    from starlette.requests import Request

TENANT, USER = "web.tenant", "web.user"
"""Where a run's metadata has whose it is, and who began it."""


@dataclass(frozen=True)
class Caller:
    """Who makes a request: what the `authenticate` of a `web_app` returns.

    Runs belong to the `tenant` that began them, and no other sees them. `user` is recorded as who began a run, and who decided.
    One with `own_runs_only` sees of the tenant's runs those that it began. One that may not decide (`may_decide=False`) is
    refused (403) where it approves, rejects, or says what became of a call; what asks for an answer it may answer. Raises
    `UserError` for a wrong value.
    """

    tenant: str
    user: str = ""
    may_decide: bool = True
    own_runs_only: bool = False

    def __post_init__(self) -> None:
        _FIELDS.check(self)
        if self.own_runs_only and not self.user:
            raise UserError("Caller(own_runs_only=True) has no user, expected the id of who asks; give it")

    @property
    def metadata(self) -> Mapping[str, str]:
        """What is recorded of it with a run."""
        return {TENANT: self.tenant, USER: self.user}

    @property
    def sees(self) -> Mapping[str, str]:
        """What the metadata of a run that it may see has."""
        return self.metadata if self.own_runs_only else {TENANT: self.tenant}


_FIELDS = Fields(
    "Caller",
    tenant=any_text("a str; give the id of whom the runs belong to"),
    user=any_text("a str; give the id of who asks"),
    may_decide=FLAG,
    own_runs_only=FLAG,
)

Authenticate = Callable[["Request"], "Caller | Awaitable[Caller | None] | None"]
"""Says who makes a request, None for nobody that is known; it may be async."""


def may_see(caller: Caller | None, run: RunSummary) -> bool:
    """Whether a run is the caller's; without authentication (None) every run is everybody's."""
    return caller is None or caller.sees.items() <= run.metadata.items()
