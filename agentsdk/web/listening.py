"""`listening_socket`: where a server of ours takes connections."""

from __future__ import annotations

import socket


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at `host` and `port` (0: a free one), whose connections send at once. Raises `OSError`.

    asyncio sets TCP_NODELAY on sockets of its own making only; without it an answer of two writes waits for the other side's
    delayed acknowledgement, 40 ms.
    """
    listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
    return listening
