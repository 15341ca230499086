"""Callbacks: calling the user's functions, sync or async, their errors typed."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from agentsdk.types.errors import AgentsException, CallbackError, UserError

T = TypeVar("T")


async def yes_or_no(what: str, function: Callable[..., object], *args: object) -> bool:
    """The same, of a rule. Raises `UserError` for an answer that is neither True nor False: None would be taken for no."""
    answer = await call_user(what, function, *args)
    if answer is not True and answer is not False:
        raise UserError(f"{what} returned {type(answer).__name__!r}, expected True or False; return one")
    return answer


async def call_user(what: str, function: Callable[..., T | Awaitable[T]], *args: object) -> T:
    """`function(*args)`, awaited if need be. `what` names it in the `CallbackError` raised when it raises."""
    try:
        result = function(*args)
        return cast(T, await result if inspect.isawaitable(result) else result)
    except AgentsException:
        raise
    except Exception as error:
        raise CallbackError(
            f"{what} raised {type(error).__name__}, expected it to return; see the chained exception and resume error.state"
        ) from error
