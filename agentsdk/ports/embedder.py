"""The port to embeddings: texts as vectors, of which those of like meaning point the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from agentsdk.types.declared import having

TextKind = Literal["query", "document"]
"""What a text is to a search: what is looked for, or what may be found. Some models embed the two in different ways."""


class Embedder(Protocol):
    """Embeds texts. Subclass it or just have its method.

    May be asked from several event loops and by several tasks together.
    """

    name: str
    """The model's name. Vectors of two models cannot be compared."""

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Sequence[Sequence[float]]:
        """A vector for each text, in their order, all of one length. Raises whatever it likes where it cannot."""
        ...


EMBEDDER = having(("embed",), "an Embedder: an object with a name and the method embed", texts=("name",))
