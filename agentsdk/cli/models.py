"""`agentsdk models`: which names of models there are, and which have a key here."""

from __future__ import annotations

import os
from typing import Any

from agentsdk.cli.codes import OK, WRONG
from agentsdk.cli.shown import console, plain, print_json, say
from agentsdk.models.known import KEYS, OTHER_KEYS
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError

MOST = 40
"""Models that are listed without `--json`."""


def providers() -> list[JsonObject]:
    """The first parts of names, and whether their key is set."""
    from agentsdk.models.known import PROFILES

    known: list[JsonObject] = []
    for name, key in KEYS.items():
        found = next((one for one in (key, OTHER_KEYS.get(name, key)) if os.environ.get(one)), None)
        known.append({"provider": name, "key": found or key, "is_set": found is not None})
    for name, profile in PROFILES.items():
        key = "" if profile.is_key_optional else profile.key_variable
        known.append({"provider": name, "key": key or None, "is_set": not key or bool(os.environ.get(key))})
    return [*known, {"provider": "local", "key": None, "is_set": True}]


def list_models(part: str, json: bool) -> int:
    """Print providers, or the models whose name has `part`."""
    if not part:
        known = providers()
        if json:
            print_json({"providers": known})
            return OK
        for one in known:
            key = one["key"]
            state = "no key needed" if key is None else f"{key} is {'set' if one['is_set'] else 'not set'}"
            say(f"{one['provider']}:NAME".ljust(26) + state)
        say("\nagentsdk models NAME lists models with their windows and prices.")
        return OK
    found = _known(part.rpartition(":")[2].lower())
    if json:
        print_json({"models": found})
    for one in () if json else found[:MOST]:
        window = f"{one['window']:,} tokens" if one["window"] else "window not known"
        say(f"{plain(str(one['model']))}".ljust(46) + f"{window}, {one['price'] or 'price not known'}")
    if not found and not json:
        console(stderr=True).print(
            f"no model with {plain(part)!r} in its name is known; any name works that its provider takes"
        )
    elif len(found) > MOST and not json:
        console(stderr=True).print(f"{len(found) - MOST} more; write more of the name")
    return OK if found else WRONG


def _known(part: str) -> list[JsonObject]:
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        raise UserError(
            "windows and prices need genai-prices, which is not installed; pip install 'agentsdk[prices]'"
        ) from None
    models: list[JsonObject] = [
        {"model": f"{provider.id}:{model.id}", "window": model.context_window, "price": _price(model.prices)}
        for provider in get_snapshot().providers
        for model in provider.models
        if part in model.id.lower()
    ]
    return sorted(models, key=lambda one: str(one["model"]))


def _price(prices: Any) -> str | None:
    """The latest price; of one that grows with the tokens, the first."""
    latest: Any = prices
    if isinstance(prices, list) and prices:
        latest = prices[-1].prices  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    given = [getattr(latest, name, None) for name in ("input_mtok", "output_mtok")]  # pyright: ignore[reportUnknownArgumentType]
    shown = [getattr(one, "base", one) for one in given]
    return None if None in shown else f"${shown[0]} in, ${shown[1]} out of a million"
