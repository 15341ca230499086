"""What a model's name tells: how its tokens are counted, and how large its context window is.

Every run can ask, few do: what answers is imported then.
"""

from __future__ import annotations

from agentsdk.ports.token_counter import TokenCounter

_counters: dict[str, TokenCounter] = {}


def counter_of(model_name: str) -> TokenCounter:
    """The counter for a model, one for all runs. Its encoding is loading from now on, on a thread."""
    counter = _counters.get(model_name)
    if counter is None:
        from agentsdk.models.encodings import encoding_of, known_encoding, loaded
        from agentsdk.models.token_counter import EstimatingCounter, token_counter_for

        counter = token_counter_for(model_name)
        if isinstance(counter, EstimatingCounter):
            return counter  # the rank file may come later
        _counters[model_name] = counter
        name = encoding_of(model_name)
        assert name is not None, "it is counted by its encoding"
        loaded(known_encoding(name))
    return counter


def context_window_of(model_name: str) -> int | None:
    """The model's context window in tokens, as `genai-prices` has it; None where that is not known, or not installed.

    The first call reads the lists: 0.4 s.
    """
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    try:
        _, model = get_snapshot().find_provider_model(model_name.rpartition(":")[2], None, None, None)
    except LookupError:
        return None
    return model.context_window
