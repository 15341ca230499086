"""Calls of hosted tools in a reply that nobody here can answer: those that the client is to run, or to approve."""

from __future__ import annotations

from collections.abc import Sequence

from agentsdk.types.errors import UnsupportedCallError


def refuse_unanswered(kinds: Sequence[str]) -> None:
    """Raise `UnsupportedCallError` for calls of these kinds, if there are any. `kinds` are the provider's words for them."""
    if kinds:
        raise UnsupportedCallError(
            f"the model made a call of kind {kinds[0][:100]!r}, which the client would have to answer and the SDK cannot; no "
            "call of the reply was run: leave that tool out of extra_body, or set it up so that the provider runs it by itself",
            kind=kinds[0],
        )
