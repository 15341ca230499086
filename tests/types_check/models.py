"""The adapters' options, written once: each is known by name and type, and an unknown one is refused."""

from __future__ import annotations

from agentsdk import AnthropicModel, GoogleModel, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agentsdk.models import ModelTimeouts


def adapters() -> None:
    timeouts = ModelTimeouts(total=60)
    AnthropicModel("m", base_url="https://host", api_key="k", timeouts=timeouts, cache="5m", provider=None)
    GoogleModel("m", headers={"a": "b"}, include_thoughts=True)
    OpenAIChatCompletionsModel("m", random=lambda: 0.5)
    OpenAIResponsesModel("m", store=True)

    AnthropicModel("m", base_url=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    GoogleModel("m", api_kee="k")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    GoogleModel("m", headers="a: b")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    OpenAIResponsesModel("m", cache="5m")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
