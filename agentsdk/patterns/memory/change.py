"""`MemoryChange`: what was done to a memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class MemoryChange:
    """A change of a memory's file at `at`, a Unix timestamp: all that it held `before` and `after`.

    `kind` says what has changed it: a `"dream"`, the `"tool"` of an agent, or an `"undo"`.
    """

    kind: Literal["dream", "tool", "undo"]
    at: float
    before: str
    after: str

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        import difflib

        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), "MEMORY.md (before)", "MEMORY.md (after)", lineterm=""
        )
        return "\n".join(lines)
