"""The wire breaks: the shared matrix over the Anthropic protocol."""

from __future__ import annotations

from typing import Any

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.ports.model import ModelRequest
from agentsdk.testing import FakeServer
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.types.items import Message
from tests.models.anthropic.server import model_at
from tests.models.faults import WireFaults
from tests.models.wire import calls_of


class TestFaults(WireFaults):
    adapter = "AnthropicModel"
    before_text = 3  # message_start, ping, content_block_start
    after_text = 1  # message_stop

    def server(self, script: list[Any]) -> FakeServer:
        return FakeAnthropicServer(script)

    def model(self, server: FakeServer, **options: Any) -> AnthropicModel:
        return model_at(server, **options)

    async def filtered(self, model: Any, asked: ModelRequest) -> None:
        """A refusal, told as one; what was called before it is not run."""
        response = await self.tally.ask(model, asked)
        assert isinstance(last := response.output[-1], Message)
        assert last.refusal
        assert not calls_of(response)
