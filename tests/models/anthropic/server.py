"""An `AnthropicModel` on a fake server."""

from __future__ import annotations

from typing import Any

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.testing import FakeServer
from tests.models.wire import FakeClock


def model_at(server: FakeServer, **options: Any) -> AnthropicModel:
    """A model served by `server` that waits for nothing."""
    options.setdefault("clock", FakeClock())
    options.setdefault("api_key", "sk-canary-0123456789")
    return AnthropicModel("claude-test", base_url=server.url, **options)
