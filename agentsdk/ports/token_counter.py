"""The port to token counting: the tokens of items and requests, before they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentsdk.types.declared import having
from agentsdk.types.items import Item
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec


class TokenCounter(Protocol):
    """Counts tokens. A request has `count_fixed` of them and the sum of `count` over its items.

    Both may be asked from several event loops and threads. Neither blocks the loop for more than a few milliseconds.
    """

    @property
    def is_exact(self) -> bool:
        """Whether texts are counted by the model's own encoding. False: the counts are estimates."""
        ...

    async def count(self, items: Sequence[Item]) -> list[int]:
        """The tokens of each item, with what surrounds it in a request. An item counts the same whatever its neighbors."""
        ...

    async def count_fixed(self, instructions: str, tools: tuple[ToolSpec | HandoffSpec, ...], output: OutputSpec | None) -> int:
        """The tokens that every request carries beside its items. Cheap when asked again with the same objects."""
        ...


TOKEN_COUNTER = having(("count", "count_fixed"), "a TokenCounter; pass EstimatingCounter(), say")
