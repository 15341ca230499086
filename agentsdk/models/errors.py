"""Typed errors of provider responses, their keys and secrets redacted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from agentsdk.models.loose import as_list, as_object, as_text
from agentsdk.types.errors import (
    AuthenticationError,
    BadRequestError,
    ContextTooLongError,
    NotFoundError,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
)
from agentsdk.types.text import clean_text, escaped

_MAX_MESSAGE = 500
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?")
_TOO_LONG_CODES = ("context_length_exceeded", "exceed_context_size_error", "model_max_prompt_tokens_exceeded")
# OpenAI and those compatible with it; Anthropic; Google; llama.cpp; Bedrock.
_TOO_LONG = re.compile(
    r"maximum context length|prompt is too long|exceeds? (?:the )?(?:model's )?context (?:limit|length|window)"
    r"|token count .{0,40}exceeds the maximum|exceeds? the available context size|input is too long for"
    r"|input \(\d+ tokens\) is too large to process",
    re.IGNORECASE,
)
# AWS, where the time of a signature is not the server's.
_WRONG_CLOCK = re.compile(r"signature (?:expired|not yet current)|requesttimetooskewed|requestexpired", re.IGNORECASE)
# Bedrock and Vertex AI, where a region does not have the model, or has it by an inference profile only.
_NOT_THERE = re.compile(
    r"model identifier is invalid|on-demand throughput isn.t supported|could not resolve the foundation model"
    r"|publisher model\b.{0,300} (?:not found|not supported|not servable)",
    re.IGNORECASE,
)
_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid")
_MESSAGES = ("message", "detail", "Message")  # the last: AWS
_SPENT = ("insufficient_quota", "billing_hard_limit_reached")
_CLASSES: dict[int, type[ProviderError]] = {
    401: AuthenticationError,
    403: AuthenticationError,
    404: NotFoundError,
    408: ProviderUnavailableError,
    409: ProviderUnavailableError,
    424: ProviderUnavailableError,  # Bedrock: the model failed, not the request
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
    "invalid_prompt": 400,
    "invalid_image": 400,
    "invalid_image_format": 400,
    "invalid_image_mode": 400,
    "invalid_image_url": 400,
    "invalid_base64_image": 400,
    "image_too_large": 400,
    "image_too_small": 400,
    "image_file_too_large": 400,
    "image_parse_error": 400,
    "image_content_policy_violation": 400,
    "unsupported_image_media_type": 400,
    "empty_image_file": 400,
    "image_file_not_found": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "billing_error": 402,
    "request_too_large": 413,
    "timeout_error": 504,
    "not_found_error": 404,
    "previous_response_not_found": 404,
    "timeout": 408,
    "overloaded_error": 503,
    "server_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "api_error": 500,
    # Bedrock's exceptions
    "accessdeniedexception": 403,
    "expiredtokenexception": 403,
    "internalserverexception": 500,
    "modelerrorexception": 424,
    "modelnotreadyexception": 429,
    "modelstreamerrorexception": 424,
    "modeltimeoutexception": 408,
    "resourcenotfoundexception": 404,
    "servicequotaexceededexception": 400,
    "serviceunavailableexception": 503,
    "throttlingexception": 429,
    "validationexception": 400,
}


def error_from_response(
    who: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    secrets: Sequence[str] = (),
    retry_after: float | None = None,
) -> ProviderError:
    """The error for a response with an error status. `secrets` are redacted from whatever the provider wrote."""
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
        request_id=next((headers[name] for name in _REQUEST_IDS if headers.get(name)), ""),
        kind=headers.get("x-amzn-errortype", "").partition(":")[0],
        retry_after=retry_after,
        retry={"true": True, "false": False}.get(wanted),
        secrets=secrets,
    )


class ErrorInReply(Exception):  # noqa: N818 - turned into a typed error by the caller
    """The provider reports an error inside a response with status 200: `data` is its `error`, or the JSON text of it."""

    def __init__(self, data: object) -> None:
        super().__init__("the provider reported an error")
        self.data = data


def error_from_object(who: str, data: object, *, secrets: Sequence[str] = ()) -> ProviderError:
    """The error for what an `ErrorInReply` carries."""
    if isinstance(data, str | bytes):
        try:
            decoded: object = msgspec.json.decode(data)
            data = as_object(decoded).get("error") or decoded
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            data = data if isinstance(data, str) else ""
    return _error(who, data, status=_status_inside(data), secrets=secrets)


def _error(
    who: str,
    data: object,
    *,
    status: int | None,
    request_id: str = "",
    kind: str = "",
    retry_after: float | None = None,
    retry: bool | None = None,
    secrets: Sequence[str] = (),
) -> ProviderError:
    code, message = _redacted(_code(data) or kind, secrets, 100), _redacted(_message(data), secrets, _MAX_MESSAGE)
    error = _class(status)
    if any(as_object(detail).get("reason") == "API_KEY_INVALID" for detail in _details(data)):
        error = AuthenticationError  # Google refuses a wrong key with status 400
    if error in (BadRequestError, ProviderUnavailableError) and (code in _TOO_LONG_CODES or _TOO_LONG.search(message)):
        error = ContextTooLongError
    is_elsewhere = error in (BadRequestError, NotFoundError) and _NOT_THERE.search(message) is not None
    if is_elsewhere:
        error = NotFoundError
    retryable = error in (RateLimitError, ProviderUnavailableError) and code not in _SPENT
    reason = f": {message}" if message else ""
    remedy = _NO_CREDIT if code in _SPENT else _ELSEWHERE if is_elsewhere else _REMEDIES.get(error, "")
    if error is AuthenticationError and _WRONG_CLOCK.search(f"{code} {message}"):
        remedy = WRONG_CLOCK
    about = ", ".join(part for part in ("" if status is None else f"status {status}", code) if part)
    return error(
        f"{who} answered with an error{f' ({about})' if about else ''}{reason}{remedy}",
        status=status,
        code=code,
        request_id=_redacted(request_id, secrets, 200),
        retryable=retryable if retry is None else retry,
        retry_after=_retry_delay(data) if retry_after is None else retry_after,
    )


_REMEDIES: dict[type[ProviderError], str] = {
    ContextTooLongError: "; give the run a RunConfig(window=ContextWindow(size=...)), or send less",
    AuthenticationError: "; check api_key (or auth) and what it may do",
    NotFoundError: "; check the model's name and base_url",
    RateLimitError: "; ask less often, or raise the account's limits",
}
_NO_CREDIT = "; the account has no credit left: add some, or use another key"
_ELSEWHERE = "; check the model's name, and whether its region has it"
WRONG_CLOCK = "; the clock of this machine is not the server's: set it ('timedatectl set-ntp true', say) and ask again"
"""What to do about signatures of another time."""


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
    value = fields.get("code") or fields.get("type") or as_text(fields.get("__type")).rpartition("#")[2]
    if isinstance(value, int) and as_text(fields.get("status")).isidentifier():
        value = as_text(fields.get("status"))  # Google's `code` repeats the HTTP status; its `status` says more
    return str(value) if isinstance(value, str | int) else ""


def _details(data: object) -> list[object]:
    return as_list(as_object(data).get("details"))


def _retry_delay(data: object) -> float | None:
    """The seconds that Google's RetryInfo asks for: `"retryDelay": "34.5s"`."""
    for detail in _details(data):
        delay = as_text(as_object(detail).get("retryDelay")).removesuffix("s")
        if _SECONDS.fullmatch(delay):
            return float(delay)
    return None


def _message(data: object) -> str:
    fields = as_object(data)
    return as_text(data) or next(filter(None, (as_text(fields.get(name)) for name in _MESSAGES)), "")


def _redacted(text: str, secrets: Sequence[str], most: int) -> str:
    """What a provider wrote, as an error may repeat it: `secrets` redacted, truncated, on one line."""
    text = clean_text(text)
    for secret in secrets:  # before truncating, which would leave a part of one
        text = text.replace(secret, "***")
    return escaped(text[:most])
