"""OpenAI's Responses API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.models._native import NativeModel
from agentsdk.ports.model import Model as OwnModel


@dataclass
class OpenAIResponsesWebSocketOptions:
    """Options of a transport that agentsdk has not: they change nothing."""

    ping_interval: float | None = 20.0
    ping_timeout: float | None = 20.0
    max_size: int | None = None


class OpenAIResponsesModel(NativeModel):
    """A model that is asked by the Responses API, at the address of `openai_client`."""

    def __init__(self, model: Any, openai_client: Any = None, **_: Any) -> None:
        super().__init__(model, openai_client)

    def _make(self, options: dict[str, Any]) -> OwnModel:
        from agentsdk.models.openai_responses import OpenAIResponsesModel as Own

        return Own(self.model, **options)


class OpenAIResponsesWSModel(OpenAIResponsesModel):
    """The same over HTTP: agentsdk has no websocket transport."""


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
