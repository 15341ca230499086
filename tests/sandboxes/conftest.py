"""What the tests of sandboxes stand on."""

from __future__ import annotations

import pytest

from tests.sandboxes.sandboxes import missing


@pytest.fixture
def available(name: str) -> None:
    """Skips, with the reason, the tests of a sandbox that cannot be had here."""
    if reason := missing(name):
        pytest.skip(reason)
