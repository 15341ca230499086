"""`EntraAuth`: bearer tokens of Entra ID, for models at Azure (extra `azure`)."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable
from typing import Protocol

from agentsdk.models.auth import AuthRequest
from agentsdk.types.declared import Fields, a_name, having, optional
from agentsdk.types.errors import UserError

SCOPE = "https://cognitiveservices.azure.com/.default"
"""What models at Azure want tokens for."""
_EARLY = 300.0  # seconds before its end that a token is replaced: it must last for the request, and clocks differ


class AccessToken(Protocol):
    """A token, and the Unix timestamp at which it expires."""

    @property
    def token(self) -> str:
        """The token."""
        ...

    @property
    def expires_on(self) -> int:
        """When it expires."""
        ...


class TokenCredential(Protocol):
    """What gives tokens: a credential of `azure.identity` or of `azure.identity.aio`."""

    def get_token(self, *scopes: str) -> AccessToken | Awaitable[AccessToken]:
        """A token for the scopes."""
        ...


_FIELDS = Fields(
    "EntraAuth",
    credential=optional(having(("get_token",), "a credential of azure.identity; DefaultAzureCredential() suits most")),
    scope=a_name(f"the text of a scope; {SCOPE!r} suits models at Azure"),
)


class EntraAuth:
    """Bearer tokens of Entra ID: `OpenAIChatCompletionsModel("DEPLOYMENT", base_url=..., auth=EntraAuth())`.

    `credential` is one of `azure.identity` or `azure.identity.aio`; by default its `DefaultAzureCredential()`, which takes
    what it finds: the environment, a managed identity, who is logged in with `az`. A token is kept until 5 minutes before its
    end.

    Raises `UserError` where no credential is given and `azure-identity` is not installed.
    """

    def __init__(self, credential: TokenCredential | None = None, *, scope: str = SCOPE) -> None:
        _FIELDS.check_given(credential=credential, scope=scope)
        self._credential = _default_credential() if credential is None else credential
        self._scope = scope
        self._token: AccessToken | None = None

    async def __call__(self, request: AuthRequest) -> dict[str, str]:
        """The header for a request."""
        token = self._token
        if token is None or request.refresh or token.expires_on - _EARLY <= time.time():
            given = await asyncio.to_thread(self._credential.get_token, self._scope)  # most of them block
            token = self._token = await given if inspect.isawaitable(given) else given
        return {"authorization": f"Bearer {token.token}"}


def _default_credential() -> TokenCredential:
    try:
        from azure.identity import DefaultAzureCredential
    except ImportError:
        raise UserError(
            "EntraAuth() needs the package 'azure-identity'; pip install 'agentsdk[azure]', or give it a credential"
        ) from None
    return DefaultAzureCredential()
