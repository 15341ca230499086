"""A message of a reply, put together from its parts."""

from __future__ import annotations

from agentsdk.types.items import Message, OutputText, Part, Reasoning
from agentsdk.types.response import OutputItem
from agentsdk.types.text import clean_text


class OpenMessage:
    """A message that is being put together. `signed` are the signatures of its parts, each with its output_index."""

    __slots__ = ("index", "parts", "signed")

    def __init__(self, index: int) -> None:
        self.index = index
        self.parts: list[list[str] | Part] = []
        self.signed: dict[int, tuple[str, int]] = {}

    def add(self, text: str, *, apart: bool = False) -> None:
        """More text: in a part of its own if `apart`, or if the last one is signed or no text."""
        last = self.parts[-1] if self.parts and not apart else None
        if not isinstance(last, list) or len(self.parts) - 1 in self.signed:
            fresh: list[str] = []
            self.parts.append(fresh)
            last = fresh
        if text:
            last.append(text)

    def sign(self, signature: str, index: int) -> None:
        """Sign the last part."""
        self.signed[len(self.parts) - 1] = (signature, index)

    def items(self, provider: str) -> list[tuple[int, OutputItem]]:
        """The message, and what signs its parts. An empty part at its end is left out: its signature's number tells of it."""
        parts = [OutputText(clean_text("".join(part))) if isinstance(part, list) else part for part in self.parts]
        while isinstance(last := parts[-1], OutputText) and not last.text:
            parts.pop()
        only = parts[0]
        content = only.text if len(parts) == 1 and isinstance(only, OutputText) else tuple(parts)
        signed = [
            (index, Reasoning(id=f"part:{number}", signature=signature, provider=provider))
            for number, (signature, index) in self.signed.items()
        ]
        return [(self.index, Message("assistant", content)), *signed]
