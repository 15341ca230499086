"""A block on network requests, for test suites: no adapter and no web tool reaches a host outside this machine."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from agentsdk.models.network import lock_network, unlock_network


@contextmanager
def no_real_requests() -> Generator[None]:
    """While this is on, a request of an adapter or web tool to a host but loopback raises `UserError` before it connects.

    The lock is global (threads and event loops too) and may be taken several times. In pytest:

        @pytest.fixture(autouse=True, scope="session")
        def offline():
            with no_real_requests():
                yield
    """
    token = lock_network()
    try:
        yield
    finally:
        unlock_network(token)
