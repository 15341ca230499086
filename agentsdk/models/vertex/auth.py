"""`GoogleAuth`: access tokens of Google Cloud, with the credentials that `google-auth` finds (extra `vertex`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC
from importlib import import_module
from math import inf
from typing import Any, NamedTuple, cast

from agentsdk.models.auth import AuthRequest
from agentsdk.models.errors import WRONG_CLOCK
from agentsdk.models.network import refuse_real_request
from agentsdk.models.renewed import Bearer, Bearers, typed_by
from agentsdk.types.declared import Fields, a, having, optional
from agentsdk.types.errors import AuthenticationError, ModelConnectionError, UserError

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
"""What access tokens are asked for."""
_SECONDS = 20.0  # that one request for a token may take; google-auth would wait for 120
_LOGIN = "run 'gcloud auth application-default login', or set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account"
_FIELDS = Fields(
    "GoogleAuth",
    credentials=optional(having(("refresh",), "credentials of google.auth; leave them out for the default ones")),
    service_account=optional(a((str, os.PathLike), "the path of a file; pass the key of a service account")),
)


class GoogleAuth:
    """Access tokens of Google Cloud: `OpenAIChatCompletionsModel("meta/llama", base_url=..., auth=GoogleAuth())`.

    `credentials` are those of `google.auth`, or `service_account` is the file of a service account. By default they are the
    application default credentials: the file in GOOGLE_APPLICATION_CREDENTIALS, who is logged in with `gcloud auth
    application-default login`, the account of the machine. A token is kept until 5 minutes before its end. They are found and
    renewed on a thread, once for all requests that wait.

    Raises `UserError` for both at once, and where `google-auth` is not installed; asked for a token, where there are none.
    """

    def __init__(self, credentials: object = None, *, service_account: str | os.PathLike[str] | None = None) -> None:
        _FIELDS.check_given(credentials=credentials, service_account=service_account)
        if credentials is not None and service_account is not None:
            raise UserError(
                "GoogleAuth(credentials=..., service_account=...) has two credentials, expected one; leave one of them out"
            )
        self._auth, self._errors = _imported("google.auth"), _imported("google.auth.exceptions")
        self._file = None if service_account is None else os.fspath(service_account)
        self._credentials: Any = None if credentials is None else self._scoped(credentials)
        self._last: str | None = None
        self._bearers = Bearers(self._asked)

    async def __call__(self, request: AuthRequest) -> dict[str, str]:
        """The headers for a request."""
        with typed_by(self._typed):
            return await self._bearers.headers(request)

    def _asked(self) -> Bearer:
        """A token that was not given before. It blocks."""
        if self._credentials is None:
            self._credentials = self._found()
        credentials = self._credentials
        if not credentials.valid or credentials.token == self._last:
            credentials.refresh(_requests)
        self._last = credentials.token
        expiry = credentials.expiry
        project = getattr(credentials, "quota_project_id", None)
        beside = (("x-goog-user-project", str(project)),) if project else ()
        return Bearer(credentials.token, inf if expiry is None else expiry.replace(tzinfo=UTC).timestamp(), beside)

    def _found(self) -> Any:
        if self._file is None:
            return self._auth.default(scopes=SCOPES, request=_requests)[0]
        try:
            return _imported("google.oauth2.service_account").Credentials.from_service_account_file(self._file, scopes=SCOPES)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{self._file!r} is not the file of a service account ({type(error).__name__}); give GoogleAuth one, or "
                "run 'gcloud auth application-default login' and leave service_account= out"
            ) from error

    def _scoped(self, credentials: object) -> Any:
        return _imported("google.auth.credentials").with_scopes_if_required(credentials, SCOPES)

    def _typed(self, error: Exception) -> Exception:
        """`error` as this package has it. What answers for tokens may repeat secrets: its text is in the cause only."""
        if isinstance(error, self._errors.DefaultCredentialsError):
            return UserError(f"no Google credentials that can be used were found: {str(error)[:300]}; {_LOGIN}")
        kind = type(error).__name__
        if isinstance(error, self._errors.TransportError):
            return ModelConnectionError(f"GoogleAuth cannot reach what gives tokens ({kind})", retryable=True)
        remedy = WRONG_CLOCK if "iat and exp" in str(error) else f"; {_LOGIN}"
        return AuthenticationError(
            f"GoogleAuth was given no token ({kind}), the cause says why{remedy}",
            retryable=bool(getattr(error, "retryable", False)),
        )


class _Answer(NamedTuple):
    """An answer in the form that `google-auth` reads."""

    status: int
    headers: Mapping[str, str]
    data: bytes


def _requests(
    url: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float | None = None,
    **_: object,
) -> _Answer:
    """A request of `google-auth`: what it calls a transport."""
    import httpx

    refuse_real_request(url)
    try:
        answer = httpx.request(method, url, content=body, headers=headers, timeout=min(timeout or _SECONDS, _SECONDS))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _imported("google.auth.exceptions").TransportError(error) from error
    return _Answer(answer.status_code, answer.headers, answer.content)


def _imported(name: str) -> Any:
    try:
        return cast(Any, import_module(name))
    except ImportError:
        raise UserError(
            "tokens of Google Cloud need the package 'google-auth', which is not installed; pip install 'agentsdk[vertex]'"
        ) from None
