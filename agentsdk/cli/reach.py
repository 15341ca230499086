"""`agentsdk doctor --reach`: which providers of models can be reached from here, and take the key that is set.

Each is asked for its list of models, which costs nothing. A server on this machine that needs no key is asked too.
"""

from __future__ import annotations

import asyncio
import os
from urllib.parse import urlsplit

from agentsdk.cli.findings import Finding
from agentsdk.cli.models import providers
from agentsdk.models.endpoint import HttpEndpoint
from agentsdk.models.provider import DEFAULT_PROVIDER
from agentsdk.models.shared_client import aclose
from agentsdk.types.errors import AuthenticationError, ModelTimeoutError, ProviderError, UserError

CLOUDS = {
    "azure": ("AZURE_OPENAI_BASE_URL",),
    "bedrock": ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK"),
    "vertex": ("GOOGLE_CLOUD_PROJECT",),
}
"""Those whose credentials need not stand in a variable, and the variables that say that they are meant."""
SECONDS = 10.0
"""How long an answer may take."""


async def reached() -> list[Finding]:
    """What each answers whose key or cloud is set, or that needs none."""
    known = {str(one["provider"]): one["key"] is not None for one in providers() if one["is_set"]}
    known |= {name: True for name, variables in CLOUDS.items() if any(map(os.environ.get, variables))}
    known.pop("openai-chat", None)  # the same server, by its other API
    try:
        found = await asyncio.gather(*[_reached(name, needs_key=needs_key) for name, needs_key in known.items()])
    finally:
        await aclose()
    return [one for one in found if one is not None]


async def _reached(provider: str, *, needs_key: bool) -> Finding | None:
    about = f"reach {provider}"
    try:
        model = DEFAULT_PROVIDER.get_model(f"{provider}:any")
        return await _asked(about, model, needs_key=needs_key) if isinstance(model, HttpEndpoint) else None
    except UserError as error:  # nothing says where it is, it has no list, or there are no credentials
        return Finding(about, "missing", str(error)) if provider in CLOUDS else None


async def _asked(about: str, model: HttpEndpoint, *, needs_key: bool) -> Finding:
    where = urlsplit(model.base_url).hostname
    try:
        async with asyncio.timeout(SECONDS):
            await model.ask_for_models()
    except AuthenticationError as error:
        if error.status is None:  # what should have given credentials gave none
            return Finding(about, "fails", str(error))
        return Finding(about, "fails", f"{where} refuses the key ({error.status})")
    except (ProviderError, ModelTimeoutError, TimeoutError) as error:
        status = error.status if isinstance(error, ProviderError) else None
        if status is None:
            says = f"{where} does not answer ({type(error.__cause__ or error).__name__})"
            return Finding(about, "fails" if needs_key else "missing", says)
        return Finding(about, "ok", f"{where} answers, with {status}: it may list no models")
    return Finding(about, "ok", f"{where} answers{' and takes the key' if needs_key else ''}")
