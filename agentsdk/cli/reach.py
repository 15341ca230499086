"""`agentsdk doctor --reach`: which providers of models can be reached from here, and take the key that is set.

Each is asked for its list of models, which costs nothing. A server on this machine that needs no key is asked too.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import httpx
from msgspec import Struct

from agentsdk.cli.findings import Finding

SECONDS = 10.0
"""How long an answer may take."""


class Listing(Struct, frozen=True):
    """Where a provider lists its models, and the headers that say who asks. Without `needs_key` nobody needs to be there."""

    provider: str
    url: str
    headers: dict[str, str]
    needs_key: bool = True


def listings() -> Iterator[Listing]:
    """Of the providers whose key is set, and of those on this machine."""
    from agentsdk.models.profiles import PROFILES

    if key := os.environ.get("OPENAI_API_KEY"):
        base = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        yield Listing("openai", f"{base.rstrip('/')}/models", {"authorization": f"Bearer {key}"})
    if key := os.environ.get("ANTHROPIC_API_KEY"):
        base = os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        yield Listing("anthropic", f"{base.rstrip('/')}/v1/models", {"x-api-key": key, "anthropic-version": "2023-06-01"})
    if key := os.environ.get("GEMINI_API_KEY"):
        base = os.environ.get("GOOGLE_BASE_URL") or "https://generativelanguage.googleapis.com"
        yield Listing("google", f"{base.rstrip('/')}/v1beta/models", {"x-goog-api-key": key})
    for name, profile in PROFILES.items():
        base = os.environ.get(profile.base_url_variable, "") if profile.base_url_variable else ""
        key = os.environ.get(profile.key_variable, "") if profile.key_variable else ""
        base = base or profile.base_url
        if base and (key or not profile.key_variable):
            named = {profile.key_header: key} if profile.key_header else {"authorization": f"Bearer {key}"}
            yield Listing(name, f"{base.rstrip('/')}/models", named if key else {}, bool(key))


async def reached() -> list[Finding]:
    """What each of them answers."""
    async with httpx.AsyncClient(timeout=SECONDS) as client:
        return await asyncio.gather(*[_reached(client, one) for one in listings()])


async def _reached(client: httpx.AsyncClient, listing: Listing) -> Finding:
    about, where = f"reach {listing.provider}", httpx.URL(listing.url).host
    try:
        answer = await client.get(listing.url, headers=listing.headers)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        says = f"{where} does not answer ({type(error).__name__})"
        return Finding(about, "fails" if listing.needs_key else "missing", says)
    if answer.is_success:
        return Finding(about, "ok", f"{where} answers{' and takes the key' if listing.needs_key else ''}")
    if answer.status_code in (401, 403):
        return Finding(about, "fails", f"{where} refuses the key ({answer.status_code})")
    return Finding(about, "ok", f"{where} answers, with {answer.status_code}: it may list no models")
