"""What the release script looks at; `python scripts/release.py` builds and tries it all."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from scripts.release import EXTRAS, NEEDED, problems, strangers

ROOT = Path(__file__).parents[1]
WHEEL = [(name.replace("/licenses", "agentsdk-1.dist-info/licenses"), 1) for name in NEEDED]


def test_every_extra_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"])


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (WHEEL, []),
        (WHEEL[1:], ["lacks agentsdk/py.typed"]),
        ([*WHEEL, ("tests/test_x.py", 1)], ["has tests/test_x.py"]),
        ([*WHEEL, ("agentsdk/x.pyc", 1)], ["has agentsdk/x.pyc"]),
        ([*WHEEL, ("agentsdk/weights.gguf", 98_000_000)], ["has 98,000,004 bytes"]),
    ],
    ids=["whole", "untyped", "tests", "compiled", "large"],
)
def test_what_is_wrong_with_a_wheel_is_found(files: list[tuple[str, int]], found: list[str]) -> None:
    assert list(problems(files)) == found


def test_an_sdist_has_but_what_git_knows() -> None:
    files = ["a-1/PKG-INFO", "a-1/agentsdk/py.typed", "a-1/benchmarks/.envs/peers/pyvenv.cfg"]
    assert list(strangers(files, ["agentsdk/py.typed"])) == ["has benchmarks/.envs/peers/pyvenv.cfg, which git does not know"]
