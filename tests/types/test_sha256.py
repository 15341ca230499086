"""Our `sha256` is that of hashlib, whichever implementation there is."""

from __future__ import annotations

import hashlib
import importlib
import sys

import pytest

from agentsdk.types import sha256 as module


@pytest.mark.parametrize("missing", [(), ("_sha2", "_sha256")], ids=["as it is", "without the interpreter's own"])
def test_it_is_that_of_hashlib(missing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    try:
        importlib.reload(module)
        assert module.sha256(b"abc").hexdigest() == hashlib.sha256(b"abc").hexdigest()
    finally:
        monkeypatch.undo()
        importlib.reload(module)
