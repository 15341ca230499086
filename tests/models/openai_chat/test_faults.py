"""The wire breaks: the shared matrix over the chat completions protocol."""

from __future__ import annotations

from typing import Any

from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.testing import FakeOpenAIServer, FakeServer
from tests.models.faults import WireFaults
from tests.models.wire import model_at


class TestFaults(WireFaults):
    adapter = "OpenAIChatCompletionsModel"
    before_text = 1  # the role
    after_text = 2  # usage, [DONE]

    def server(self, script: list[Any]) -> FakeServer:
        return FakeOpenAIServer(script)

    def model(self, server: FakeServer, **options: Any) -> OpenAIChatCompletionsModel:
        return model_at(server, **options)
