"""`ContextWindow`: how a run is to stay inside its model's window, as the user declares it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from agentsdk.core.window.fit import Strategy, WindowView
from agentsdk.core.window.strategies import DropOldest, TruncateToolResults
from agentsdk.types.declared import SYNC, Fields, having, number, optional, sequence_of, whole
from agentsdk.types.errors import UserError
from agentsdk.types.items import Item


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextWindow:
    """How a run stays inside its model's context window.

    `size`: the window in tokens, input and answer together (None: the model's known size). Once a request takes more than
    the fraction `trigger` of it, the `strategies` are tried in order until it takes no more than the fraction `target`.
    `reserve`: tokens kept for the answer (None: an eighth of the window). Never dropped, cut or summarized are items for which
    `pin` is true, system and developer messages and the run's input. Never dropped or summarized are results that the model
    has not answered yet. Calls and their results stay or go together.

    Raises `UserError` for values that contradict each other.
    """

    size: int | None = None
    trigger: float = 0.75
    target: float = 0.5
    reserve: int | None = None
    strategies: Sequence[Strategy] = (TruncateToolResults(), DropOldest())
    pin: Callable[[Item], bool] | None = None

    def __post_init__(self) -> None:
        _FIELDS.check(self)
        if not 0 < self.target < self.trigger <= 1:
            raise UserError(
                f"ContextWindow(trigger={self.trigger!r}, target={self.target!r}), expected 0 < target < trigger <= 1; both "
                "are fractions of the window, and 0.75 and 0.5 suit most"
            )
        if self.size is not None and self.reserve is not None and self.reserve >= self.size:
            raise UserError(
                f"ContextWindow(size={self.size!r}, reserve={self.reserve!r}), expected a reserve below the size; "
                "lower the reserve or use a model with a larger window"
            )

    def view(
        self, items: Sequence[Item], counts: Sequence[int], *, size: int, fixed: int = 0, inputs: Collection[Item] = ()
    ) -> WindowView:
        """A request to be fitted into a window of `size` tokens, for `fit`. The rest as in `WindowView`.

        Where the provider found a request too long, its tokens are the size to go on with.
        """
        return WindowView(
            items=items,
            counts=counts,
            size=size,
            reserve=size // 8 if self.reserve is None else self.reserve,
            fixed=fixed,
            trigger_share=self.trigger,
            target_share=self.target,
            strategies=self.strategies,
            inputs=inputs,
            pin=self.pin,
        )


def cuts_results(window: ContextWindow) -> bool:
    """Whether one of its strategies cuts tool results, so that the model needs a way to read on in them."""
    return any(isinstance(strategy, TruncateToolResults) for strategy in window.strategies)


_SHARE = number("a number; it is a fraction of the window")
_FIELDS = Fields(
    "ContextWindow",
    size=optional(whole("a whole number of tokens above 0", 1)),
    trigger=_SHARE,
    target=_SHARE,
    reserve=optional(whole("a whole number of tokens, 0 or more", 0)),
    strategies=sequence_of(
        having(("offer",), "an object with an `offer` method; pass e.g. [DropOldest()]"),
        "a list or tuple of strategies; pass [DropOldest()], say",
    ),
    pin=optional(SYNC),
)
