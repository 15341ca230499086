"""Which encoding a model has, and where its rank file comes from."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import tiktoken.model

from agentsdk.models import encodings
from agentsdk.models.encodings import ENCODINGS_URL, KNOWN, can_load, encoding_of, known_encoding, loaded
from agentsdk.testing import no_real_requests
from agentsdk.types.errors import UserError
from tests.models.rank_files import ENCODINGS, needs_rank_files, packed, put_into_cache, tiktokens_own

SMALL = KNOWN["cl100k_base"]
CARRIERS = encodings._CARRIERS


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No rank file anywhere, and nothing loaded. The folder is tiktoken's cache."""
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    monkeypatch.delenv("AGENTSDK_ENCODINGS_URL", raising=False)
    monkeypatch.setattr(encodings, "_CARRIERS", ())
    monkeypatch.setattr(encodings, "_loads", {})
    return folder


OWN_TABLE = {
    **tiktoken.model.MODEL_TO_ENCODING,
    **{
        f"{prefix}:x" if "ft:" in prefix else f"{prefix}x": name
        for prefix, name in tiktoken.model.MODEL_PREFIX_TO_ENCODING.items()
    },
}
NO_AGENTS = ("embedding", "davinci", "babbage", "ada", "curie", "code-", "text-", "cushman", "gpt2", "gpt-2")


@pytest.mark.parametrize("model", [name for name in OWN_TABLE if not any(part in name for part in NO_AGENTS)])
def test_models_are_as_in_tiktokens_table(model: str) -> None:
    assert encoding_of(model) == OWN_TABLE[model].replace("o200k_harmony", "o200k_base")


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("openai:gpt-5", "o200k_base"),
        ("openai-chat:gpt-4", "cl100k_base"),
        ("openrouter:openai/gpt-4o-mini", "o200k_base"),
        ("ft:gpt-4.1-mini-2025-04-14:us::abc", "o200k_base"),
        ("gpt-5.5", "o200k_base"),
        ("gpt-40", None),
        ("o1x", None),
        ("claude-sonnet-4-5", None),
        ("anthropic:claude-sonnet-4-5", None),
        ("groq:gpt-4o-like", None),
        ("my-gpt-4o", None),
        ("", None),
    ],
)
def test_names_as_model_providers_take_them(model: str, encoding: str | None) -> None:
    assert encoding_of(model) == encoding


@needs_rank_files
@pytest.mark.parametrize("name", ENCODINGS)
def test_what_is_known_of_an_encoding_is_what_tiktoken_has(
    name: str, tmp_path_factory: pytest.TempPathFactory, bare_machine: Path
) -> None:
    own = tiktokens_own(name, tmp_path_factory.getbasetemp())
    known = KNOWN[name]
    assert (known.pattern, known.special) == (own._pat_str, own._special_tokens)
    put_into_cache(bare_machine, name)
    assert loaded(known).result()._mergeable_ranks == own._mergeable_ranks


def test_an_unknown_encoding() -> None:
    with pytest.raises(UserError, match=r"no encoding is called 'p50k_base'; expected 'o200k_base' or 'cl100k_base'"):
        known_encoding("p50k_base")


def test_without_a_file_the_error_says_what_to_install() -> None:
    assert not can_load(SMALL)
    with pytest.raises(UserError, match=r"'cl100k_base' has no rank file .* pip install 'agentsdk\[tokens\]', or set"):
        loaded(SMALL).result()


@needs_rank_files
@pytest.mark.parametrize("variables", [["TIKTOKEN_CACHE_DIR"], ["DATA_GYM_CACHE_DIR"], []])
def test_tiktokens_cache(variables: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data-gym-cache"
    folder.mkdir()
    put_into_cache(folder, SMALL.name)
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for variable in variables:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
        monkeypatch.setenv(variable, str(folder))
    assert can_load(SMALL)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert not can_load(SMALL), "tiktoken's cache is switched off"


@needs_rank_files
@pytest.mark.parametrize("package", ["bpe_openai", "litellm", "llama_index"])
def test_a_package_that_carries_the_file(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [(name, folder)] = [carrier for carrier in CARRIERS if carrier[0] == package]
    carried = tmp_path / "site" / f"{package}_here" / folder
    carried.mkdir(parents=True)
    (tmp_path / "site" / f"{package}_here" / "__init__.py").write_text("raise ImportError('not to be imported')")
    if package == "bpe_openai":
        (carried / f"{SMALL.name}.tiktoken.gz").write_bytes(packed(SMALL.name).read_bytes())
    else:
        put_into_cache(carried, SMALL.name)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr(encodings, "_CARRIERS", ((f"{name}_here", folder),))
    assert can_load(SMALL)
    assert not can_load(KNOWN["o200k_base"])
    assert encodings._is_whole(encodings._ranks(SMALL, ""), SMALL)
    assert f"{package}_here" not in sys.modules


@needs_rank_files
@pytest.mark.parametrize("damage", ["changed", "cut", "no gzip"])
def test_a_damaged_file_is_passed_over_then_named(
    damage: str, bare_machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried = tmp_path / "carrier_here"
    carried.mkdir()
    file = carried / f"{SMALL.name}.tiktoken.gz"
    whole = packed(SMALL.name).read_bytes()
    bad = {"changed": whole[:5000] + b"\0" + whole[5001:], "cut": whole[:5000], "no gzip": b"<html>"}[damage]
    cached = put_into_cache(bare_machine, SMALL.name)
    cached.write_bytes(cached.read_bytes()[:-1])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(encodings, "_CARRIERS", (("carrier_here", "."),))
    file.write_bytes(whole)
    assert encodings._is_whole(encodings._ranks(SMALL, ""), SMALL)
    file.write_bytes(bad)
    with pytest.raises(
        UserError, match=r"rank file of encoding 'cl100k_base' is damaged \(.*, .*\), expected sha256 2239"
    ) as caught:
        loaded(SMALL).result()
    assert str(cached) in str(caught.value) and str(file) in str(caught.value)
    file.write_bytes(whole)
    assert loaded(SMALL).result().name == SMALL.name, "a load that failed is tried again"


@contextmanager
def serving(body: bytes, status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """A web server's address, and the paths it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mirror", asked
        finally:
            server.shutdown()
            thread.join()


@needs_rank_files
@pytest.mark.parametrize("way", ["parameter", "variable"])
def test_a_download_that_was_asked_for_is_kept(way: str, bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put_into_cache(bare_machine, SMALL.name)
    body = file.read_bytes()
    file.unlink()
    with serving(body) as (url, asked):
        if way == "variable":
            monkeypatch.setenv("AGENTSDK_ENCODINGS_URL", url + "/")
        given = url if way == "parameter" else ""
        assert can_load(SMALL, given)
        assert encodings._is_whole(encodings._ranks(SMALL, given or url), SMALL)
        assert loaded(SMALL, given).result().name == SMALL.name
    assert asked == ["/mirror/cl100k_base.tiktoken"], "the second found the file in the cache"
    assert [path.name for path in bare_machine.iterdir()] == [file.name]


@needs_rank_files
@pytest.mark.parametrize("cache", ["", "a file"])
def test_a_download_needs_no_cache(cache: str, tmp_path: Path, bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = put_into_cache(bare_machine, SMALL.name).read_bytes()
    (tmp_path / "a file").touch()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / cache / "folder") if cache else "")
    with serving(body) as (url, asked):
        assert encodings._is_whole(encodings._ranks(SMALL, url), SMALL)
    assert len(asked) == 1


@pytest.mark.parametrize(("body", "status"), [(b"<html>", 200), (b"", 404), (b"", 500)])
def test_a_download_that_brings_no_rank_file(body: bytes, status: int, bare_machine: Path) -> None:
    with serving(body, status) as (url, asked):
        with pytest.raises(UserError, match=r"downloaded"):
            loaded(SMALL, url).result()
        assert len(asked) == 1
    assert list(bare_machine.iterdir()) == []


def test_a_download_that_finds_nobody() -> None:
    with serving(b"") as (url, _):
        pass
    with pytest.raises(UserError, match=r"could not be downloaded \(URLError\); check AGENTSDK_ENCODINGS_URL"):
        loaded(SMALL, url).result()
    with pytest.raises(UserError, match=r"could not be downloaded \(ValueError\)"):
        loaded(SMALL, "http://[x").result()


@pytest.mark.parametrize("url", ["file:///etc", "ftp://x", "openai"])
def test_a_download_comes_over_http(url: str) -> None:
    with pytest.raises(UserError, match=r"does not begin with https://; set AGENTSDK_ENCODINGS_URL="):
        loaded(SMALL, url).result()


def test_a_download_keeps_to_the_lock_of_test_suites() -> None:
    with no_real_requests(), pytest.raises(UserError, match=r"no_real_requests\(\) is on"):
        loaded(SMALL, ENCODINGS_URL).result()


@needs_rank_files
def test_one_load_for_all_threads_and_loops(bare_machine: Path) -> None:
    put_into_cache(bare_machine, SMALL.name)
    together = threading.Barrier(8)

    async def wait() -> tiktoken.Encoding:
        together.wait()
        return await asyncio.wrap_future(loaded(SMALL))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: asyncio.run(wait()), range(8)))
    assert len(set(map(id, found))) == 1


@needs_rank_files
@pytest.mark.anyio
async def test_a_cancelled_waiter_leaves_the_load_to_the_others(bare_machine: Path) -> None:
    put_into_cache(bare_machine, SMALL.name)
    first, second = (asyncio.wrap_future(loaded(SMALL)) for _ in range(2))
    first.cancel()
    assert (await second).name == SMALL.name


FORK = """
import os
from agentsdk.models.encodings import KNOWN, loaded
known = KNOWN["cl100k_base"]
begun = loaded(known)
child = os.fork()
if child == 0:
    os._exit(0 if loaded(known).result(60).encode_ordinary("a b") else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert begun.result(60) is loaded(known).result()
child = os.fork()
if child == 0:
    os._exit(0 if loaded(known) is begun else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@needs_rank_files
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_in_the_middle_of_a_load() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
