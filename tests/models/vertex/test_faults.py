"""The wire breaks: the shared matrix over both protocols at Vertex AI, with tokens of a service that counts."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.models.google import GoogleModel
from agentsdk.models.vertex import VertexAnthropicModel, VertexGoogleModel
from agentsdk.testing import FakeServer
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.testing.google_dialect import FakeGoogleServer
from agentsdk.types.errors import ProviderError
from tests.models.anthropic.test_faults import TestFaults as AnthropicFaults
from tests.models.fault_matrix import BOTH, KEY
from tests.models.faults import STATUSES, WireFaults
from tests.models.vertex.server import claude_at, gemini_at


class Tokens:
    """A credential of google.auth whose token is the key of the matrix."""

    token = KEY
    expiry = None
    valid = True

    def refresh(self, transport: Any) -> None:
        """The same again."""


def auth() -> Any:
    from agentsdk.models.vertex.auth import GoogleAuth

    return GoogleAuth(Tokens())


class Renewed:
    """Cases that the credentials change."""

    @BOTH
    @pytest.mark.parametrize(("status", "error", "retryable"), [case for case in STATUSES if case[0] != 401])
    async def test_statuses(self, streamed: bool, status: int, error: type[ProviderError], retryable: bool) -> None:
        """Asked for anew after a 401: see `test_auth.py`."""
        await super().test_statuses(streamed, status, error, retryable)  # type: ignore[misc]


class TestGoogleFaults(Renewed, WireFaults):
    adapter = "VertexGoogleModel"
    sampled = True
    before_text = 0
    after_text = 0

    @pytest.fixture(autouse=True)
    @classmethod
    def _quick_end(cls, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(GoogleModel, "_end_grace", 0.2)

    def server(self, script: list[Any]) -> FakeServer:
        return FakeGoogleServer(script)

    def model(self, server: FakeServer, **options: Any) -> VertexGoogleModel:
        return gemini_at(server, auth=auth(), **options)


class TestAnthropicFaults(Renewed, AnthropicFaults):
    adapter = "VertexAnthropicModel"
    sampled = True

    def server(self, script: list[Any]) -> FakeServer:
        return FakeAnthropicServer(script)

    def model(self, server: FakeServer, **options: Any) -> VertexAnthropicModel:
        return claude_at(server, auth=auth(), **options)
