"""A test kit for agents: scripted models, cassettes, a fake provider on a real socket, a store that fails,
and a lock on real requests."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
    from agentsdk.testing.cassette import (
        CassetteCorruptError,
        CassetteError,
        CassetteExhaustedError,
        CassetteMismatchError,
        CassetteVersionError,
        RecordingModel,
        ReplayModel,
    )
    from agentsdk.testing.faulty_store import FaultyStore
    from agentsdk.testing.google_dialect import FakeGoogleServer
    from agentsdk.testing.no_requests import no_real_requests
    from agentsdk.testing.responses_dialect import FakeResponsesServer
    from agentsdk.testing.scripted import ScriptedModel, call
    from agentsdk.testing.server import CapturedRequest, FakeOpenAIServer, FakeServer, ServerReply

_HOMES = {
    "CapturedRequest": "server",
    "CassetteCorruptError": "cassette",
    "CassetteError": "cassette",
    "CassetteExhaustedError": "cassette",
    "CassetteMismatchError": "cassette",
    "CassetteVersionError": "cassette",
    "FakeAnthropicServer": "anthropic_dialect",
    "FakeGoogleServer": "google_dialect",
    "FakeOpenAIServer": "server",
    "FakeResponsesServer": "responses_dialect",
    "FakeServer": "server",
    "FaultyStore": "faulty_store",
    "RecordingModel": "cassette",
    "ReplayModel": "cassette",
    "ScriptedModel": "scripted",
    "ServerReply": "server",
    "call": "scripted",
    "no_real_requests": "no_requests",
}

__all__ = [
    "CapturedRequest",
    "CassetteCorruptError",
    "CassetteError",
    "CassetteExhaustedError",
    "CassetteMismatchError",
    "CassetteVersionError",
    "FakeAnthropicServer",
    "FakeGoogleServer",
    "FakeOpenAIServer",
    "FakeResponsesServer",
    "FakeServer",
    "FaultyStore",
    "RecordingModel",
    "ReplayModel",
    "ScriptedModel",
    "ServerReply",
    "call",
    "no_real_requests",
]


if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
