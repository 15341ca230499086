"""The guards of the suite itself can fail."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests import offline
from tests.conftest import LONG

pytest_plugins = ["pytester"]


@pytest.mark.parametrize("target", ["192.0.2.1", "2001:db8::1"])
def test_connecting_elsewhere_is_refused(target: str) -> None:
    family = socket.AF_INET6 if ":" in target else socket.AF_INET
    with socket.socket(family) as connection, pytest.raises(offline.RealNetworkError):
        connection.connect((target, 80))
    assert offline.attempts == [f"{target}:80"]
    offline.attempts.clear()


def test_looking_up_a_name_is_refused() -> None:
    with pytest.raises(offline.RealNetworkError):
        socket.getaddrinfo("example.com", 443)
    offline.attempts.clear()


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass


def test_a_leftover_task_or_a_swallowed_attempt_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text(encoding="utf-8"))
    pytester.makeini(f"[pytest]\nmarkers = leaves_tasks\npythonpath = {Path(__file__).parents[1]}\n")
    pytester.makepyfile("""
        import asyncio, socket
        import pytest

        async def leave():
            asyncio.create_task(asyncio.sleep(3600))

        def test_run():
            asyncio.run(leave())

        @pytest.mark.anyio
        async def test_anyio():
            await leave()

        @pytest.mark.leaves_tasks
        def test_on_purpose():
            asyncio.run(leave())

        def test_swallowed():
            try:
                socket.create_connection(("192.0.2.1", 80))
            except AssertionError:
                pass

        @pytest.mark.anyio
        async def test_clean():
            await asyncio.sleep(0)
    """)
    outcome = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=5, errors=3)


def test_a_leftover_thread_fails_the_test_that_began_it(pytester: pytest.Pytester) -> None:
    conftest = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    assert conftest.count("thread.join(5)") == 1
    pytester.makeconftest(conftest.replace("thread.join(5)", "thread.join(0.1)"))  # it waits in vain here
    pytester.makeini(f"[pytest]\nmarkers = leaves_tasks\npythonpath = {Path(__file__).parents[1]}\n")
    pytester.makepyfile("""
        import threading
        import pytest

        def begun(run):
            threading.Thread(target=run, name="forgotten", daemon=True).start()

        @pytest.fixture(scope="session")
        def server():
            stop = threading.Event()
            begun(stop.wait)
            yield
            stop.set()

        def test_that_leaves_one():
            begun(threading.Event().wait)

        def test_that_needs_a_server(server):
            pass

        def test_whose_thread_ends():
            begun(lambda: None)
    """)
    outcome = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=3, errors=1)
    assert "the test left threads running: ['forgotten']" in outcome.stdout.str()


def test_files_are_shuffled_by_the_seed_and_stay_whole(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text(encoding="utf-8"))
    pytester.makeini(f"[pytest]\nmarkers = leaves_tasks\npythonpath = {Path(__file__).parents[1]}\n")
    pytester.makepyfile(**{f"test_{letter}": "def test_one(): pass\ndef test_two(): pass\n" for letter in "abcdef"})

    def order(*options: str) -> list[str]:
        outcome = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--collect-only", "-q", *options)
        return [line for line in outcome.outlines if "::" in line]

    by_name = order()
    assert by_name == sorted(by_name)
    shuffled = order("--order-seed=7")
    assert shuffled == order("--order-seed=7") != by_name and sorted(shuffled) == by_name
    assert [line.endswith("one") for line in shuffled] == [True, False] * 6


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_what_a_passing_test_counted_is_printed(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text(encoding="utf-8"))
    pytester.makeini(f"[pytest]\nmarkers = leaves_tasks\npythonpath = {Path(__file__).parents[1]}\n")
    pytester.makepyfile("""
        from tests.shown import show

        def test_one(pytestconfig):
            show(pytestconfig, ["twelve cases"])
    """)
    outcome = pytester.runpytest_subprocess("-p", "no:cacheprovider", *workers)
    outcome.assert_outcomes(passed=1)
    assert outcome.outlines.count("twelve cases") == 1


def test_every_file_that_begins_first_is_there() -> None:
    folder = Path(__file__).parent
    assert [name for name in LONG if not (folder / name).is_file()] == []
