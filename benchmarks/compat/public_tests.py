"""openai-agents' own tests, run with `agents` meaning `agentsdk.compat.openai_agents`.

A test is *public* when neither it nor a helper or fixture that it uses takes a name of `agents` that is private, as `privacy`
has it: also by its path in a string, as `monkeypatch` takes it. Of a module that has other tests too, those are taken away
before it is run. Left out are tests of what is another service's or no run of turns (voice, realtime, sandboxes, databases, the
adapters of LiteLLM and any-llm), and of the repository itself.

Each module is run by a pytest of its own, in an environment of its own, so that one that hangs costs only itself.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compat.causes import cause_of
from benchmarks.compat.privacy import public_part
from benchmarks.envs import ensure

OTHER = "sandbox|voice|realtime|release|example|script|docs/|codex|hosted_multi_agent|dapr|mongodb|redis|any_llm|litellm"
SECONDS_OF_A_TEST = 8
SECONDS_OF_A_MODULE = 180


@dataclass(frozen=True)
class Outcome:
    """What became of one test, or of a module that could not be imported."""

    module: str
    test: str
    outcome: str
    kind: str
    text: str

    @property
    def cause(self) -> str:
        """Why it did not pass, in a few words."""
        return cause_of(self.module, self.kind, self.text)


def write_public_parts(root: Path) -> list[Path]:
    """Leave of the test modules, and of their helpers, what takes no private name: the modules that have tests left."""
    found: list[Path] = []
    seen: dict[Path, set[str]] = {}
    parts: dict[Path, str] = {}
    for path in sorted((root / "tests").rglob("*.py")):
        if re.search(OTHER, str(path.relative_to(root))):
            continue
        is_tests = path.name.startswith("test_")
        if is_tests and not re.search(r"^\s*(from|import) agents", path.read_text(encoding="utf-8"), re.MULTILINE):
            continue
        parts[path], tests = public_part(root, path, seen)
        if is_tests and tests:
            found.append(path)
    for path, source in parts.items():
        path.write_text(source, encoding="utf-8")
    return found


# Their own conftest.py takes private names; of its fixtures, those that public tests lean on.
_CONFTEST = """
import pytest
from agents.run import set_default_agent_runner
from agents.tracing import set_trace_processors
from .testing_processor import SPAN_PROCESSOR_TESTING

@pytest.fixture(scope="session", autouse=True)
def _one_processor():
    set_trace_processors([SPAN_PROCESSOR_TESTING])

@pytest.fixture(autouse=True)
def _as_new():
    set_default_agent_runner(None)
    SPAN_PROCESSOR_TESTING.clear()
"""
_OPTIONS = f"""[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = session
timeout = {SECONDS_OF_A_TEST}
filterwarnings = ignore
"""


def run_tests(root: Path, env: dict[str, str], *, show: bool) -> None:
    """Run the public tests, and print how many pass, and why the others do not."""
    python = ensure("openai-agents-tests").python
    modules = write_public_parts(root)
    (root / "tests" / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    (root / "pytest.ini").write_text(_OPTIONS, encoding="utf-8")
    found: list[Outcome] = []
    print(f"{len(modules)} modules of tests, two at a time: ", end="", flush=True)
    with ThreadPoolExecutor(2) as pool:
        for some in pool.map(lambda path: _run_module(python, root, path, env), modules):
            found += some
            print(".", end="", flush=True)
    print()
    _report(found, len(modules), show)


def _run_module(python: Path, root: Path, path: Path, env: dict[str, str]) -> list[Outcome]:
    """What became of the tests of a module."""
    name = str(path.relative_to(root))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "outcomes"
        command = [str(python), "-m", "pytest", "-q", "--tb=no", "-p", "outcomes_plugin", "-p", "no:cacheprovider", name]
        said = "did not end"
        try:
            done = subprocess.run(
                command,
                cwd=root,
                env={**env, "COMPAT_OUTCOMES": str(place)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS_OF_A_MODULE,
                check=False,
            )
            said = (done.stdout + done.stderr).strip()[-500:]
        except subprocess.TimeoutExpired:
            pass
        lines = place.read_text(encoding="utf-8").splitlines() if place.exists() else []
    return _outcomes(name, [json.loads(line) for line in lines], said)


def _outcomes(module: str, lines: list[dict[str, str]], said: str) -> list[Outcome]:
    """One outcome for each test: an error of its teardown counts before that it passed, and one without any did not end."""
    by_test: dict[str, Outcome] = {}
    expected = 0
    for line in lines:
        if line["outcome"] == "collected":
            expected = int(line["text"])
            continue
        test = line.pop("id")
        known = by_test.get(test)
        if known is None or known.outcome == "passed":
            by_test[test] = Outcome(module, test, **line)
    missing = expected - len(by_test) if lines else 1
    return [*by_test.values(), *[Outcome(module, "", "failed", "TimeoutError", said)] * missing]


def _report(found: list[Outcome], modules: int, show: bool) -> None:
    counts = Counter(one.outcome for one in found)
    ran = [one for one in found if one.outcome not in ("skipped", "unimported")]
    rest = (
        f"{counts['failed']} failed, {counts['error']} errors, {counts['skipped']} skipped, {counts['unimported']} not imported"
    )
    print(f"tests: {counts['passed']} of {len(ran)} in {modules} modules pass; {rest}")
    causes = Counter(one.cause for one in found if one.outcome not in ("passed", "skipped"))
    for cause, number in causes.most_common():
        print(f"  {number:4} {cause}")
    if show:
        for one in found:
            if one.outcome not in ("passed", "skipped"):
                line = one.text.strip().splitlines() or [""]
                print(f"{one.outcome} {one.test or one.module} [{one.cause}] {one.kind}: {line[0][:200]}")
