"""The wire breaks: the shared matrix over the Responses protocol."""

from __future__ import annotations

from typing import Any

from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.testing import FakeServer
from agentsdk.testing.responses_dialect import FakeResponsesServer
from tests.models.faults import WireFaults
from tests.models.openai_responses.server import model_at


class TestFaults(WireFaults):
    adapter = "OpenAIResponsesModel"
    before_text = 4  # created, in_progress, output_item.added, content_part.added
    after_text = 0

    def server(self, script: list[Any]) -> FakeServer:
        return FakeResponsesServer(script)

    def model(self, server: FakeServer, **options: Any) -> OpenAIResponsesModel:
        return model_at(server, **options)
