"""The part of a history that the server keeps: a request names the last reply in place of sending what led to it."""

from __future__ import annotations

from typing import cast

from agentsdk.ports.model import ModelRequest
from agentsdk.types.errors import ProviderError
from agentsdk.types.response import ModelResponse, OutputItem

_OWN = ("previous_response_id", "conversation")
_Replies = dict[int, tuple[str, tuple[OutputItem, ...]]]
"""By the number of items before it: the reply's id and its items."""


class ServerHistory:
    """The replies that the server keeps for one model.

    They are remembered with the tape that they follow, which no other history shares: a fork, a resumed run or an edited
    history begins without. A reply counts only if the tape continues with exactly its items.
    """

    def find(self, request: ModelRequest) -> tuple[str, int] | None:
        """The id of the last reply that the request continues, and how many items it covers; None to send all of them."""
        if chooses_itself(request):
            return None
        items = request.items
        for start, (response_id, output) in reversed(self._of(request).items()):
            end = start + len(output)
            if (end < len(items) or (end == len(items) and request.tail)) and items[start:end] == list(output):
                return response_id, end
        return None

    def remember(self, request: ModelRequest, response: ModelResponse) -> None:
        """The server keeps `response` and all that `request` sent."""
        whole = response.finish in ("stop", "tool_calls") and response.output and response.response_id
        if whole and not request.tail and not chooses_itself(request):
            replies = self._of(request)
            replies.pop(len(request.items), None)  # the newest goes last
            replies[len(request.items)] = (response.response_id, response.output)
            request.items.derived[self] = replies

    def forget(self, request: ModelRequest) -> bool:
        """Forget the replies of this history; whether the request continued one."""
        continued = self.find(request) is not None
        request.items.derived.pop(self, None)
        return continued

    def _of(self, request: ModelRequest) -> _Replies:
        return cast(_Replies, request.items.derived.get(self, {}))


def chooses_itself(request: ModelRequest) -> bool:
    """Whether the caller says what the server shall continue from: of the run, or in `extra_body`."""
    return request.conversation is not None or any(name in (request.settings.extra_body or ()) for name in _OWN)


def is_lost(error: ProviderError) -> bool:
    """Whether the server may have lost the reply that the request named."""
    return error.status == 404 or error.code == "previous_response_not_found"
