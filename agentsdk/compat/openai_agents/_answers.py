"""What callables of the program answer, sync or async."""

from __future__ import annotations

import inspect
from typing import Any


async def is_yes(answer: Any) -> bool:
    """Whether a rule of the program's said yes."""
    return bool(await answer) if inspect.isawaitable(answer) else bool(answer)
