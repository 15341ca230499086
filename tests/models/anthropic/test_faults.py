"""The wire breaks: the shared matrix over the Anthropic protocol."""

from __future__ import annotations

from typing import Any

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.testing import FakeServer
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from tests.models.anthropic.server import model_at
from tests.models.faults import WireFaults


class TestFaults(WireFaults):
    before_text = 3  # message_start, ping, content_block_start
    after_text = 1  # message_stop

    def server(self, script: list[Any]) -> FakeServer:
        return FakeAnthropicServer(script)

    def model(self, server: FakeServer, **options: Any) -> AnthropicModel:
        return model_at(server, **options)
