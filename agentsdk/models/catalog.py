"""`KnownModels`: the model catalog that runs are given: the models that names stand for, their prices, counters and windows."""

from __future__ import annotations

from agentsdk.models.facts import context_window_of, counter_of
from agentsdk.models.prices import price_with, read_price_lists
from agentsdk.models.provider import find_model


class KnownModels:
    """What this package knows of models by their names."""

    find = staticmethod(find_model)
    price_with = staticmethod(price_with)
    read_price_lists = staticmethod(read_price_lists)
    counter_of = staticmethod(counter_of)
    context_window_of = staticmethod(context_window_of)
