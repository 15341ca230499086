"""`EntraAuth`: bearer tokens of Entra ID, for models at Azure (extra `azure`)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Protocol

from agentsdk.models.auth import AuthRequest
from agentsdk.models.renewed import Bearer, Bearers, typed_by
from agentsdk.types.declared import Fields, a_name, having, optional
from agentsdk.types.errors import AuthenticationError, ModelConnectionError, UserError

SCOPE = "https://cognitiveservices.azure.com/.default"
"""What models at Azure want tokens for."""


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
        self._is_default = credential is None
        self._credential = _default_credential() if credential is None else credential
        self._scope = scope
        self._bearers = Bearers(self._asked)

    async def __call__(self, request: AuthRequest) -> dict[str, str]:
        """The headers for a request."""
        with typed_by(self._typed):
            return await self._bearers.headers(request)

    def _asked(self) -> Bearer | Awaitable[Bearer]:
        """A token. Most credentials block, those of `azure.identity.aio` are awaited."""
        given = self._credential.get_token(self._scope)
        return _awaited(given) if inspect.isawaitable(given) else _bearer(given)

    def _typed(self, error: Exception) -> Exception:
        """`error` as this package has it. What answers for tokens may repeat secrets: its text is in the cause only."""
        kinds = {kind.__name__ for kind in type(error).__mro__}
        kind = type(error).__name__
        if kinds & {"ServiceRequestError", "ServiceResponseError"}:
            return ModelConnectionError(f"EntraAuth cannot reach what gives tokens ({kind})", retryable=True)
        login = "run 'az login', or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
        remedy = login if self._is_default or "CredentialUnavailableError" in kinds else "check the credential"
        return AuthenticationError(f"EntraAuth was given no token ({kind}), the cause says why; {remedy}")


async def _awaited(given: Awaitable[AccessToken]) -> Bearer:
    return _bearer(await given)


def _bearer(token: AccessToken) -> Bearer:
    return Bearer(token.token, token.expires_on)


def _default_credential() -> TokenCredential:
    try:
        from azure.identity import DefaultAzureCredential
    except ImportError:
        raise UserError(
            "EntraAuth() needs the package 'azure-identity'; pip install 'agentsdk[azure]', or give it a credential"
        ) from None
    return DefaultAzureCredential()
