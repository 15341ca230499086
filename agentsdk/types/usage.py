"""Usage: what a run has spent."""

from __future__ import annotations

from agentsdk.types.base import Compact


class Usage(Compact):
    """Requests and tokens. `input_tokens` includes the cached ones, `output_tokens` the reasoning ones.

    `known` is False once any provider left its usage out: the token counts are then a lower bound. `unsent` replies took no
    request: a `CachedModel` had them, or `wrap_model_call` gave them.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    known: bool = True
    unsent: int = 0

    @property
    def sent_requests(self) -> int:
        """The requests as limits count them: one at least, also of a model that does not count them, unless none was sent."""
        return self.requests or int(not self.unsent)

    @property
    def total_tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.known and other.known,
            self.unsent + other.unsent,
        )


NO_USAGE = Usage()
"""That of a reply which says nothing of it."""


class SpentAttempt(Compact):
    """What a request to a model cost that gave no reply to use. `model` is the name it was asked by, `""` where not told."""

    usage: Usage
    model: str = ""
