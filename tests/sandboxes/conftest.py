"""What the tests of sandboxes stand on."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes.sandboxes import missing


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that every user of this machine may enter."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        path = Path(folder, "shared")
        path.mkdir()
        Path(folder).chmod(0o755)
        yield path


@pytest.fixture
def available(name: str) -> None:
    """Skips, with the reason, the tests of a sandbox that cannot be had here."""
    if reason := missing(name):
        pytest.skip(reason)
