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
