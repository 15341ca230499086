"""`Grant`: what a run may call, by the permissions and tags of tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agentsdk.define.context import TurnContext
from agentsdk.types.declared import Expected, Fields, a, a_name, any_text, either, one_of, sequence_of
from agentsdk.types.permission import PERMISSIONS, Permission, includes


@dataclass(frozen=True, slots=True)
class Grant:
    """Lets a run call tools that need `permission` or less.

    Of these only those that have one of the `tags`, are named in `tools`, and are called by one of the `agents`, wherever such
    a list is given. A tool is named as the model sees it, a hosted one as in results (`"web_search"`, `"mcp:github"`). `name`
    says whose grant it is, a role or a user say: the audit of refused calls names it. Raises `UserError`.
    """

    permission: Permission
    tags: Sequence[str] = ()
    tools: Sequence[str] = ()
    agents: Sequence[str] = ()
    name: str = ""

    def __post_init__(self) -> None:
        _FIELDS.check(self)
        for field in ("tags", "tools", "agents"):
            object.__setattr__(self, field, tuple(getattr(self, field)))  # which nobody changes

    def covers(self, permission: Permission, tags: Sequence[str], tool: str, agent: str) -> bool:
        """Whether it lets `agent` call a tool of this name and these tags, which needs `permission`."""
        return (
            includes(self.permission, permission)
            and (not self.tools or tool in self.tools)
            and (not self.agents or agent in self.agents)
            and (not self.tags or any(tag in self.tags for tag in tags))
        )


GrantRule = Callable[[TurnContext[Any]], "Grant | Sequence[Grant] | Awaitable[Grant | Sequence[Grant]]"]
"""Called with the run as its turn sees it: what it may call. Sync or async."""

Grants = Grant | Sequence[Grant] | GrantRule
"""What a run may call: what any of these grants covers, or those that the callable gives."""


def listed(given: Grant | Sequence[Grant]) -> tuple[Grant, ...]:
    """The grants, be it one or several."""
    return (given,) if isinstance(given, Grant) else tuple(given)


def are_grants(given: object) -> bool:
    """Whether it is a grant or a list of them."""
    return GRANT.fits(given)


def _texts(what: str) -> Expected:
    return sequence_of(a_name("a text that is not empty"), f"a list or tuple of {what}")


_FIELDS = Fields(
    Grant,
    permission=one_of(f"one of {PERMISSIONS}", PERMISSIONS),
    tags=_texts("tags of tools; write ('billing',)"),
    tools=_texts("names of tools; write ('send_mail',)"),
    agents=_texts("names of agents; write ('Clerk',)"),
    name=any_text("a str; name the role or the user"),
)
_A_GRANT = a(Grant, "a Grant; pass Grant('read')")
GRANT = either(_A_GRANT, sequence_of(_A_GRANT, ""), what="a Grant or a list of them; pass [Grant('read')]")
GRANTS = either(
    GRANT,
    Expected("", lambda value: callable(value) and not isinstance(value, type)),
    what="a Grant, a list of them, or a callable that gives them; pass [Grant('read')]",
)
