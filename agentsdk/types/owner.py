"""`RunOwner`: which attempt of an engine drives a run, so that a later one need not wait for an earlier one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentsdk.types.declared import Expected, Fields, is_whole
from agentsdk.types.text import storable_text

_MOST = 10**18 - 1
_ORDER = re.compile(r"#([0-9]{1,18})#[0-9a-f]{16}")


@dataclass(frozen=True)
class RunOwner:
    """One attempt at driving a run, for `RunConfig(owner=...)`: by whom, and which of all it is.

    `name` is the same for all attempts at one run: `"temporal/default/order-7"`. `attempt` is a whole number that grows from
    one attempt to the next, however many others lie between them: a counter that is kept, or a time at which the engine began
    the attempt. Owners of different names have no order: one waits for the other's lease.

    Raises `UserError` for a name that is empty or that no store can keep, and for an attempt that is no whole number from 0
    to 10**18 - 1.
    """

    name: str
    attempt: int

    def __post_init__(self) -> None:
        _FIELDS.check(self)

    def text(self, process: str) -> str:
        """How a store keeps it in `RunSummary.owner`. `process`, 16 hex digits, tells two processes apart that are given one
        attempt: as long as one holds the run, the other is refused."""
        return f"{self.name}#{self.attempt}#{process}"

    @staticmethod
    def read(text: str) -> RunOwner | None:
        """What `text` says; None for the owner of a run that was driven without one."""
        begins = text.rfind("#", 0, text.rfind("#")) if "#" in text else -1
        found = None if begins < 1 else _ORDER.fullmatch(text, begins)
        return None if found is None else RunOwner(text[:begins], int(found[1]))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != "" and storable_text(value) == value


_FIELDS = Fields(
    "RunOwner",
    name=Expected("a name for all attempts at one run; write 'temporal/default/order-7'", _is_name),
    attempt=Expected("a whole number, 0 or more, that grows with each attempt", lambda value: is_whole(value, 0, _MOST)),
)
