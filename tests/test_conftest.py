"""The guards of the suite itself can fail."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests import offline

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
