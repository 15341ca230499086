"""An `OpenAIResponsesModel` on a fake server."""

from __future__ import annotations

from typing import Any

from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.testing import FakeServer
from tests.models.wire import FakeClock


def model_at(server: FakeServer, **options: Any) -> OpenAIResponsesModel:
    """A model served by `server` that waits for nothing."""
    options.setdefault("clock", FakeClock())
    options.setdefault("api_key", "sk-canary-0123456789")
    return OpenAIResponsesModel("gpt-test", base_url=server.base_url, **options)
