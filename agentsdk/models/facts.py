"""Known facts of models, by name: how its tokens are counted, and how large its context window is.

Every run can ask, few do: what answers is imported then.
"""

from __future__ import annotations

import re
from functools import cache

from agentsdk.ports.token_counter import TokenCounter

BEDROCK_NAME = re.compile(r"\A(bedrock:)?(?P<id>([a-z-]+\.)?[a-z0-9]+\.[a-z][\w.-]*(:\d+)?)")
"""What models are called at Bedrock: `us.anthropic.claude-sonnet-4-5-20250929-v1:0`. The price lists have them under `aws`."""

_counters: dict[str, TokenCounter] = {}


def counter_of(model_name: str) -> TokenCounter:
    """The counter for a model: one for all runs and all models of an encoding, which loads from now on, on a thread.

    Asked again, it may be another one: a rank file that was missing may be there by then.
    """
    from agentsdk.models.encodings import can_load, encoding_of, known_encoding, loaded
    from agentsdk.models.token_counter import TiktokenCounter

    name = encoding_of(model_name)
    if name is None:
        return _estimating()
    if name not in _counters:
        if not can_load(known_encoding(name)):
            return _estimating()
        loaded(known_encoding(name))
        _counters[name] = TiktokenCounter(name)
    return _counters[name]


@cache
def _estimating() -> TokenCounter:
    """The one counter for all models of no known encoding: what it has counted of a conversation need not be counted again."""
    from agentsdk.models.token_counter import EstimatingCounter

    return EstimatingCounter()


def context_window_of(model_name: str) -> int | None:
    """The model's context window in tokens, as `genai-prices` has it; None where that is not known, or not installed.

    The first call reads the lists: 0.4 s.
    """
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    bedrock = BEDROCK_NAME.fullmatch(model_name)
    name, provider = (bedrock["id"], "aws") if bedrock else (model_name.rpartition(":")[2], None)
    try:
        _, model = get_snapshot().find_provider_model(name, None, provider, None)
    except LookupError:
        return None
    return model.context_window
