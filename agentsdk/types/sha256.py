"""SHA-256 for short texts, without OpenSSL.

`hashlib` loads its library, 2.4 ms and 0.7 MiB that every program would pay; the interpreter has an implementation of its own,
which `random` of the standard library uses for the same reason. For long texts `hashlib` is several times faster.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashlib import sha256 as sha256
else:

    def _find() -> Any:
        for module in ("_sha2", "_sha256"):  # of CPython from 3.12 on, and of 3.11
            try:
                return import_module(module).sha256
            except ImportError:
                pass
        return import_module("hashlib").sha256

    sha256 = _find()
