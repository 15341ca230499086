"""Secrets in what a run has recorded are masked before they are shown: what looks like a key, and fields named so."""

from __future__ import annotations

import re

MASK = "•••"

_NAME = re.compile(r"(^|[_-])(api[_-]?key|authorization|password|passwd|secret|token|cookie|credentials?)$", re.IGNORECASE)
_SECRET = re.compile(
    r"\b(sk-[A-Za-z0-9_-]{12}|gh[pousr]_[A-Za-z0-9]{16}|xox[abprs]-[A-Za-z0-9-]{10}|AKIA[A-Z0-9]{12}|AIza[A-Za-z0-9_-]{20})"
    r"[A-Za-z0-9_-]*|\b(?<=Bearer )[A-Za-z0-9._~+/-]{12,2000}"
)


def masked(text: str) -> str:
    """A text without what looks like a key."""
    return _SECRET.sub(MASK, text)


def names_secret(name: str) -> bool:
    """Whether a field of that name holds a secret."""
    return _NAME.search(name) is not None


_PREFIXES = ("sk-", *(f"gh{kind}_" for kind in "opurs"), *(f"xox{kind}-" for kind in "abprs"), "AKIA", "AIza", "Bearer ")
_KEY_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~+/-"
_WORD_BEGINS = re.compile(r"\b\w")
_MOST_HELD = 2_000


class MaskedPieces:
    """A text that comes in pieces, masked: what may be the beginning of a key is held back until more of it is known."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        text = self._held + piece
        shown = text[: _held_from(text)]
        self._held = text[len(shown) :]
        return masked(shown)


def _held_from(text: str) -> int:
    """Where that begins which may become a key."""
    end = max(len(text.rstrip(_KEY_CHARS)), len(text) - _MOST_HELD)
    if text.endswith("Bearer ", 0, end):
        return end - len("Bearer ")
    for begins in _WORD_BEGINS.finditer(text, end):
        word = text[begins.start() :]
        if any(word.startswith(prefix) or prefix.startswith(word) for prefix in _PREFIXES):
            return begins.start()
    return len(text)
