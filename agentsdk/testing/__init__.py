"""A test kit for agents: scripted models, a fake provider on a real socket, and a lock on real requests."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentsdk.testing.no_requests import no_real_requests
    from agentsdk.testing.scripted import ScriptedModel, call
    from agentsdk.testing.server import CapturedRequest, FakeOpenAIServer, FakeServer, ServerReply

_HOMES = {
    "CapturedRequest": "server",
    "FakeOpenAIServer": "server",
    "FakeServer": "server",
    "ScriptedModel": "scripted",
    "ServerReply": "server",
    "call": "scripted",
    "no_real_requests": "no_requests",
}

__all__ = [
    "CapturedRequest",
    "FakeOpenAIServer",
    "FakeServer",
    "ScriptedModel",
    "ServerReply",
    "call",
    "no_real_requests",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
