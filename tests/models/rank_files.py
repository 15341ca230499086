"""The real rank files, from the package that carries them, for the tests that need one."""

from __future__ import annotations

import functools
import gzip
import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import tiktoken

ENCODINGS = ["o200k_base", "cl100k_base"]

needs_rank_files = pytest.mark.skipif(
    find_spec("bpe_openai") is None, reason="needs the rank files: pip install 'agentsdk[tokens]'"
)


def packed(encoding: str) -> Path:
    spec = find_spec("bpe_openai")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "data" / f"{encoding}.tiktoken.gz"


def put_into_cache(folder: Path, encoding: str) -> Path:
    """Put the file where tiktoken would have kept it."""
    address = f"https://openaipublic.blob.core.windows.net/encodings/{encoding}.tiktoken"
    path = folder / hashlib.sha1(address.encode()).hexdigest()
    path.write_bytes(gzip.decompress(packed(encoding).read_bytes()))
    return path


@functools.cache
def tiktokens_own(encoding: str, folder: Path) -> tiktoken.Encoding:
    """The encoding as tiktoken itself builds it, which checks the file's hash and has no network here."""
    import tiktoken

    put_into_cache(folder, encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        return tiktoken.get_encoding(encoding)
