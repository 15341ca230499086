"""Background responses: the server goes on with the reply when the connection breaks, and its stream is resumed.

The events of a background reply are numbered, so `GET .../responses/{id}?stream=true&starting_after={number}` gives those that
follow. An event that an earlier connection brought is skipped by its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import msgspec
from msgspec import Struct

from agentsdk.models.errors import ErrorInReply
from agentsdk.models.openai_responses.reply import ResponseAssembler
from agentsdk.models.sse import ServerSentEvent
from agentsdk.types.deltas import ModelStreamEvent
from agentsdk.types.errors import IncompleteResponseError, ModelError, ProviderError


class _Named(Struct):
    id: str = ""


class _Numbered(Struct):
    sequence_number: int | None = None
    response: _Named | None = None


_NUMBERED = msgspec.json.Decoder(_Numbered)


class BackgroundAssembler(ResponseAssembler):
    """Puts a reply together over any number of connections."""

    response_id = ""
    number: int | None = None
    """The number of the last event."""
    failed = False
    """Whether the server reported that there will be no reply."""

    @property
    def running(self) -> bool:
        """Whether the server may still be at work on the reply."""
        return bool(self.response_id) and not (self.complete or self.failed)

    def add_event(self, event: ServerSentEvent) -> Sequence[ModelStreamEvent] | None:
        """Take an event, unless an earlier connection brought it. What it is numbered counts once it is taken."""
        try:
            wire = _NUMBERED.decode(event.data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            wire = _Numbered()
        number = wire.sequence_number
        if number is not None and self.number is not None and number <= self.number:
            return ()
        try:
            deltas = super().add_event(event)
        except ErrorInReply:
            self.failed = True
            raise
        if number is not None:
            self.number = number
        if wire.response is not None:
            self.response_id = self.response_id or wire.response.id
        return deltas

    def can_resume(self, error: ModelError) -> bool:
        """Whether the stream may be resumed after `error`."""
        broken = isinstance(error, IncompleteResponseError) or (isinstance(error, ProviderError) and error.retryable)
        return broken and self.running and self.number is not None

    def resume_url(self, base_url: str) -> str:
        """The address that the stream is resumed from."""
        return f"{reply_url(base_url, self.response_id)}?stream=true&starting_after={self.number}"


def reply_url(base_url: str, response_id: str) -> str:
    """The address of the reply."""
    return f"{base_url}/responses/{quote(response_id, safe='')}"
