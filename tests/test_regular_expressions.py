"""No regular expression of the package takes more than linear time, whatever text a model or a server sends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

TRY_ALL = """
import importlib, pkgutil, re, time
import agentsdk

SIZE = 30_000
LONGEST = 0.2  # seconds of processor time; a linear pass takes some milliseconds, a quadratic one seconds
PIECES = [" ", "\\t", "\\n", "\\r\\n", "a", "0", "-", "_", ".", "/", ":", "=", "<", "&", "`", "```", "```json", "\\"", "'",
          "\\\\", "{", "[", "(", "0x", "ab ", "a.", "a-", "1,", "sk-",
          "Bearer ", "://", "key=", "e+", "\\u00e9", "\\ud800", "<a", "{{"]
patterns = {}
for module in pkgutil.walk_packages(agentsdk.__path__, "agentsdk."):
    if module.name.endswith("__main__"):
        continue
    try:
        loaded = importlib.import_module(module.name)
    except ImportError:
        continue
    for name, value in vars(loaded).items():
        for one in value if isinstance(value, (tuple, list)) else value.values() if isinstance(value, dict) else (value,):
            if isinstance(one, re.Pattern):
                patterns[(one.pattern, one.flags)] = one
tried = 0
for (source, _), pattern in patterns.items():
    heads = ["", "```json\\n", "sk-", "0x", "a:", "\\""]
    for piece in PIECES:
        for head in heads:
            text = head + piece * (SIZE // len(piece)) + "!"
            if isinstance(source, bytes):
                text = text.encode("utf-8", "replace")
            print("trying", repr(source), repr(piece), repr(head), flush=True)
            began = time.process_time()
            pattern.search(text), pattern.match(text), pattern.fullmatch(text)
            if (took := time.process_time() - began) > LONGEST:
                raise SystemExit(f"{source!r} took {took:.1f} s for {head!r} and {piece!r} * {SIZE // len(piece)}")
            tried += 1
print(len(patterns), "patterns", tried, "texts")
"""


@pytest.mark.slow
def test_every_pattern_ends_on_hostile_text() -> None:
    try:
        done = subprocess.run([sys.executable, "-c", TRY_ALL], cwd=ROOT, capture_output=True, text=True, timeout=150)
    except subprocess.TimeoutExpired as hung:
        said = hung.stdout.decode() if isinstance(hung.stdout, bytes) else hung.stdout or ""
        pytest.fail(f"a pattern does not end: {said.splitlines()[-1]}", pytrace=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.splitlines()[-1].split()[0]) > 5
