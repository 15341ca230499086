"""Where servers of ours listen: their connections send at once."""

from __future__ import annotations

import socket

import pytest

from agentsdk.web.listening import listening_socket


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_connections_wait_for_no_acknowledgement(host: str) -> None:
    try:
        listening = listening_socket(host, 0)
    except OSError as error:
        pytest.skip(f"this machine has no {host}: {error}")
    with listening, socket.create_connection(listening.getsockname()[:2]), listening.accept()[0] as taken:
        assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
