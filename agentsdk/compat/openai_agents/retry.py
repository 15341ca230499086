"""Retries of failed model requests: settings, and policies that decide on each."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from agentsdk.compat.openai_agents._absent import names_absent_in


@dataclass
class ModelRetryBackoffSettings:
    """How long to wait before the next try, in seconds."""

    initial_delay: float | None = None
    max_delay: float | None = None
    multiplier: float | None = None
    jitter: bool | None = None

    def __post_init__(self) -> None:
        for name in ("initial_delay", "max_delay", "multiplier"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} is {value!r}, expected 0 or more")

    def to_json_dict(self) -> dict[str, Any]:
        """What is set, as a dict."""
        return {name: value for name, value in vars(self).items() if value is not None}


ModelRetryBackoffInput = ModelRetryBackoffSettings | dict[str, Any]


@dataclass
class ModelRetryNormalizedError:
    """What is known of an error of a model, whatever its class."""

    status_code: int | None = None
    error_code: str | None = None
    message: str | None = None
    request_id: str | None = None
    retry_after: float | None = None
    is_abort: bool = False
    is_network_error: bool = False
    is_timeout: bool = False


@dataclass
class ModelRetryAdvice:
    """What a model knows of whether a request may be sent again."""

    suggested: bool | None = None
    retry_after: float | None = None
    replay_safety: str | None = None
    reason: str | None = None
    normalized: ModelRetryNormalizedError | None = None
    response_started: bool = False


@dataclass
class ModelRetryAdviceRequest:
    """What a model is asked about."""

    error: Exception
    attempt: int
    stream: bool
    previous_response_id: str | None = None
    conversation_id: str | None = None


@dataclass
class RetryDecision:
    """Whether to try again, and after how many seconds."""

    retry: bool
    delay: float | None = None
    reason: str | None = None
    approve_unsafe_replay: bool = False


@dataclass
class RetryPolicyContext:
    """What a policy decides on."""

    error: Exception
    attempt: int
    max_retries: int
    stream: bool
    normalized: ModelRetryNormalizedError
    provider_advice: ModelRetryAdvice | None = None
    previous_response_id: str | None = None
    conversation_id: str | None = None


RetryPolicy = Callable[[RetryPolicyContext], "bool | RetryDecision | Awaitable[bool | RetryDecision]"]


@dataclass
class ModelRetrySettings:
    """How failed requests are repeated: up to `max_retries` times, as `policy` says."""

    max_retries: int | None = None
    backoff: ModelRetryBackoffInput | None = None
    policy: Callable[..., Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.backoff, Mapping):
            self.backoff = ModelRetryBackoffSettings(**self.backoff)

    def to_json_dict(self) -> dict[str, Any]:
        """What is set, as a dict."""
        backoff = None if self.backoff is None else cast(ModelRetryBackoffSettings, self.backoff).to_json_dict()
        return {"max_retries": self.max_retries, "backoff": backoff}


async def decided(policy: RetryPolicy, context: RetryPolicyContext) -> RetryDecision:
    """What a policy says."""
    given = policy(context)
    answer = await given if inspect.isawaitable(given) else given
    return answer if isinstance(answer, RetryDecision) else RetryDecision(bool(answer))


class _RetryPolicies:
    """Policies to choose from, and to put together."""

    def never(self) -> RetryPolicy:
        """Never try again."""
        return lambda context: False

    def provider_suggested(self) -> RetryPolicy:
        """As the model advises."""

        def policy(context: RetryPolicyContext) -> RetryDecision:
            advice = context.provider_advice
            if advice is None or advice.suggested is None:
                return RetryDecision(False)
            return RetryDecision(advice.suggested, advice.retry_after, advice.reason)

        return policy

    def network_error(self) -> RetryPolicy:
        """After errors of the connection, and timeouts."""
        return lambda context: context.normalized.is_network_error or context.normalized.is_timeout

    def retry_after(self) -> RetryPolicy:
        """Where the provider says after how long."""

        def policy(context: RetryPolicyContext) -> RetryDecision:
            advice = context.provider_advice
            seconds = context.normalized.retry_after
            seconds = advice.retry_after if seconds is None and advice is not None else seconds
            return RetryDecision(seconds is not None, seconds)

        return policy

    def http_status(self, statuses: Iterable[int]) -> RetryPolicy:
        """After answers of these HTTP statuses."""
        known = frozenset(statuses)
        return lambda context: context.normalized.status_code in known

    def all(self, *policies: RetryPolicy) -> RetryPolicy:
        """Where each of them says so."""

        async def policy(context: RetryPolicyContext) -> RetryDecision:
            merged = RetryDecision(bool(policies))
            for one in policies:
                answer = await decided(one, context)
                if not answer.retry:
                    return answer
                merged = _merged(merged, answer)
            return merged

        return policy

    def any(self, *policies: RetryPolicy) -> RetryPolicy:
        """Where one of them says so."""

        async def policy(context: RetryPolicyContext) -> RetryDecision:
            last = RetryDecision(False)
            found: RetryDecision | None = None
            for one in policies:
                answer = await decided(one, context)
                if answer.retry:
                    found = answer if found is None else _merged(found, answer)
                else:
                    last = answer
            return last if found is None else found

        return policy


def _merged(one: RetryDecision, other: RetryDecision) -> RetryDecision:
    delay = one.delay if other.delay is None else other.delay
    unsafe = one.approve_unsafe_replay or other.approve_unsafe_replay
    return RetryDecision(True, delay, other.reason or one.reason, unsafe)


retry_policies = _RetryPolicies()


def normalized_error(error: Exception) -> ModelRetryNormalizedError:
    """What is known of an error."""
    response = getattr(error, "response", None)
    headers: Any = getattr(response, "headers", None) or {}
    after: float | None = None
    try:
        after = float(headers.get("retry-after")) if headers.get("retry-after") else None
    except (TypeError, ValueError):
        after = None
    name = type(error).__name__
    return ModelRetryNormalizedError(
        status_code=getattr(error, "status_code", None),
        error_code=getattr(error, "code", None),
        message=str(error),
        request_id=getattr(error, "request_id", None),
        retry_after=after,
        is_network_error=isinstance(error, ConnectionError) or name in ("APIConnectionError", "ConnectError", "ReadError"),
        is_timeout=isinstance(error, TimeoutError) or "Timeout" in name,
    )


def wait_before(settings: ModelRetrySettings, attempt: int, chance: float) -> float:
    """Seconds to wait before try number `attempt` + 1, by the settings. `chance`, in [0, 1), is the jitter's."""
    backoff = cast("ModelRetryBackoffSettings | None", settings.backoff) or ModelRetryBackoffSettings()
    first = 0.25 if backoff.initial_delay is None else backoff.initial_delay
    growth = 2.0 if backoff.multiplier is None else backoff.multiplier
    most = 2.0 if backoff.max_delay is None else backoff.max_delay
    delay = min(most, first * growth ** (attempt - 1))
    return delay if backoff.jitter is False else delay * (0.875 + 0.25 * chance)


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
