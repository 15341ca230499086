"""The child process: started once, stopped always."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import httpx
import psutil
import pytest

from agentsdk.models.local.server import LocalServer, ServerOptions, shared_server
from agentsdk.models.local.weights import find_weights
from agentsdk.types.errors import UserError

try:
    WEIGHTS = str(find_weights("smollm2"))
except UserError as missing:
    pytest.skip(str(missing), allow_module_level=True)
if find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed", allow_module_level=True)

OPTIONS = ServerOptions(WEIGHTS, context=256, parallel=1, threads=1)


@pytest.fixture
def server() -> Iterator[LocalServer]:
    server = LocalServer(OPTIONS)
    yield server
    server.stop()


def children() -> list[int]:
    return [child.pid for child in psutil.Process().children()]


def test_starts_once_asks_for_its_key_and_stops(server: LocalServer) -> None:
    before, said = children(), list[str]()
    address = server.start(60, said.append)
    assert server.start(60, said.append) == address == server.address
    assert "loading SmolLM2-135M-Instruct.Q4_1.gguf (98 MB)" in said[0] and "loaded in" in said[1] and len(said) == 2
    assert address.base_url.startswith("http://127.0.0.1:") and len(address.key) > 30
    assert address.key not in " ".join(psutil.Process(server.pid).cmdline())
    models = f"{address.base_url}/v1/models"
    assert httpx.get(models).status_code == 401
    assert httpx.get(models, headers={"Authorization": f"Bearer {address.key}"}).status_code == 200
    server.stop()
    assert children() == before and server.pid is None and server.address is None
    server.stop()


def test_the_child_gets_no_secrets_and_nothing_shows_its_key(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "DATABASE_URL", "LLAMA_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "sk-TOPSECRET")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    address = server.start(60, print)
    environment = psutil.Process(server.pid).environ()
    assert "sk-TOPSECRET" not in environment.values()
    assert (environment["CUDA_VISIBLE_DEVICES"], environment["PATH"]) == ("0", os.environ["PATH"])
    assert address.key not in f"{address!r}{address}{server!r}"


def test_a_server_that_died_is_started_again(server: LocalServer) -> None:
    first = server.start(60, print)
    assert server.pid is not None
    process = psutil.Process(server.pid)
    process.kill()
    process.wait(10)
    assert server.address is None
    assert server.start(60, print) != first


def test_equal_options_share_one_server() -> None:
    assert shared_server(OPTIONS) is shared_server(OPTIONS)
    assert shared_server(OPTIONS) is not shared_server(ServerOptions(WEIGHTS, 512, 1, 1))


@pytest.mark.parametrize("size", [64, 30_000, 5_000_000])
def test_corrupt_weights_give_a_typed_error_with_the_last_words(tmp_path: Path, size: int) -> None:
    spoilt = tmp_path / "spoilt.gguf"
    with open(WEIGHTS, "rb") as whole:
        spoilt.write_bytes(whole.read(size))
    before, server = children(), LocalServer(ServerOptions(str(spoilt), 256, 1, 1))
    with pytest.raises(UserError, match=r"could not load '.*spoilt.gguf' \(exit status 1\)(.|\n)*failed to load model"):
        server.start(60, print)
    assert children() == before


def test_a_load_that_takes_too_long_is_ended(server: LocalServer) -> None:
    before = children()
    with pytest.raises(UserError, match=r"within start_timeout=0.01 seconds"):
        server.start(0.01, print)
    assert children() == before


BEGIN = f"""
import os, sys
from agentsdk.models.local.server import ServerOptions, shared_server
server = shared_server(ServerOptions({WEIGHTS!r}, 256, 1, 1))
address = server.start(60, lambda line: None)
print(server.pid, flush=True)
"""


def run(script: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", BEGIN + script]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_killed_parent_leaves_no_orphan() -> None:
    with run("sys.stdin.read()") as parent:
        assert parent.stdout is not None
        orphan = psutil.Process(int(parent.stdout.readline()))
        os.kill(parent.pid, signal.SIGKILL)
        orphan.wait(10)


def test_a_parent_that_just_ends_leaves_no_child_and_no_warning() -> None:
    with run("") as parent:
        pid, errors = parent.communicate(timeout=60)
    assert errors == "" and parent.returncode == 0
    assert not psutil.pid_exists(int(pid))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_fork_that_ends_leaves_the_parents_server_alone() -> None:
    script = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork
import httpx
child = os.fork()
if child == 0:
    assert server.pid is None
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
assert httpx.get(address.base_url + "/health").status_code == 200
"""
    with run(script) as parent:
        _, errors = parent.communicate(timeout=60)
    assert errors == "" and parent.returncode == 0


def test_a_library_that_llama_cpp_lacks_is_named(server: LocalServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty Debian has no libgomp."""
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('libgomp.so.1: cannot open shared object file')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    monkeypatch.setattr("agentsdk.models.local.server._environment", lambda: environment)
    with pytest.raises(UserError, match=r"cannot start: libgomp\.so\.1.*apt install libgomp1"):
        server.start(60, lambda _: None)
