"""From a provider's answer to the typed error it means."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agentsdk.models.loose import as_list, as_object, as_text
from agentsdk.types.errors import (
    AuthenticationError,
    BadRequestError,
    NotFoundError,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
)
from agentsdk.types.text import clean_text

_MAX_MESSAGE = 500
_SPENT = ("insufficient_quota", "billing_hard_limit_reached")
_CLASSES: dict[int, type[ProviderError]] = {
    401: AuthenticationError,
    403: AuthenticationError,
    404: NotFoundError,
    408: ProviderUnavailableError,
    409: ProviderUnavailableError,
    429: RateLimitError,
}
_STATUS_OF_KIND = {
    "rate_limit": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "too_many_requests": 429,
    "insufficient_quota": 429,
    "invalid_request_error": 400,
    "badrequesterror": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "timeout": 408,
    "overloaded_error": 503,
    "server_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "api_error": 500,
}


def error_from_response(
    who: str, status: int, headers: Mapping[str, str], body: bytes, *, secret: str = "", retry_after: float | None = None
) -> ProviderError:
    """The error for an answer with an error status. `secret` is blotted out of whatever the provider wrote."""
    try:
        data: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        data = None
    for entry in as_list(data)[:1]:
        data = entry
    data = as_object(data).get("error", data)
    wanted = headers.get("x-should-retry", "")
    return _error(
        who,
        data,
        status=status,
        request_id=headers.get("x-request-id", "")[:200],
        retry_after=retry_after,
        retry={"true": True, "false": False}.get(wanted),
        secret=secret,
    )


def error_from_object(who: str, data: object, *, secret: str = "") -> ProviderError:
    """The error for an `error` object that came inside an answer with status 200."""
    return _error(who, data, status=_status_inside(data), secret=secret)


def _error(
    who: str,
    data: object,
    *,
    status: int | None,
    request_id: str = "",
    retry_after: float | None = None,
    retry: bool | None = None,
    secret: str = "",
) -> ProviderError:
    code, message = _code(data), _message(data)
    if secret:
        code, message = code.replace(secret, "***"), message.replace(secret, "***")
    kind = _class(status)
    retryable = kind in (RateLimitError, ProviderUnavailableError) and code not in _SPENT
    said = f": {message}" if message else ""
    about = ", ".join(part for part in ("" if status is None else f"status {status}", code) if part)
    return kind(
        f"{who} answered with an error{f' ({about})' if about else ''}{said}{_REMEDIES.get(kind, '')}",
        status=status,
        code=code,
        request_id=request_id,
        retryable=retryable if retry is None else retry,
        retry_after=retry_after,
    )


_REMEDIES: dict[type[ProviderError], str] = {
    AuthenticationError: "; check api_key and what it may do",
    NotFoundError: "; check the model's name and base_url",
    RateLimitError: "; ask less often, or raise the account's limits",
}


def _class(status: int | None) -> type[ProviderError]:
    if status is None or status >= 500:
        return ProviderUnavailableError
    if 300 <= status < 400:
        return ProviderError
    return _CLASSES.get(status, BadRequestError)


def _status_inside(data: object) -> int | None:
    fields = as_object(data)
    for name in ("status_code", "status", "code"):
        value = fields.get(name)
        if isinstance(value, str) and value.isdecimal():
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    kinds = (as_text(fields.get(name)).lower() for name in ("code", "type"))
    return next((_STATUS_OF_KIND[kind] for kind in kinds if kind in _STATUS_OF_KIND), None)


def _code(data: object) -> str:
    fields = as_object(data)
    value = fields.get("code") or fields.get("type") or ""
    return clean_text(str(value))[:100] if isinstance(value, str | int) else ""


def _message(data: object) -> str:
    fields = as_object(data)
    return clean_text(as_text(data) or as_text(fields.get("message")) or as_text(fields.get("detail")))[:_MAX_MESSAGE]
