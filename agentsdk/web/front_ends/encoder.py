"""`Encoder`: gives what a front end is told the form of a protocol."""

from __future__ import annotations

from typing import Protocol

from agentsdk.web.front_ends.told import Told


class Encoder(Protocol):
    """Of one answer."""

    def encode(self, told: Told) -> bytes:
        """What was told, as server-sent events."""
        ...
