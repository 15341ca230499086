"""Figures that tests have counted, printed at the end of the session although the tests pass."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

SHOWN = pytest.StashKey[list[str]]()


def show(config: pytest.Config, lines: Iterable[str]) -> None:
    """Print `lines` at the end of the session."""
    config.stash.setdefault(SHOWN, []).extend(lines)
