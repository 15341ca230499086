"""Settings of a model request."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from agentsdk.types.base import JsonObject
from agentsdk.types.declared import (
    FLAG,
    SECONDS,
    Fields,
    a,
    a_name,
    any_text,
    either,
    json_object,
    mapping_of,
    number,
    one_of,
    optional,
    secret,
    sequence_of,
    whole,
)
from agentsdk.types.errors import UserError
from agentsdk.types.misnamed import meant_for_settings, says_what_is_meant

ThinkingEffort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]
Verbosity = Literal["low", "medium", "high"]
Truncation = Literal["auto", "disabled"]
CacheRetention = Literal["in_memory", "24h", "5m", "1h"]
"""How long a provider keeps a prompt's prefix: the first two are OpenAI's words, the others Anthropic's."""

ToolChoice = Literal["auto", "required", "none"] | str
"""`"auto"`, `"required"`, `"none"`, or the name of the one tool the model must call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRetrySettings:
    """How failed requests are repeated: the only retry layer there is, so a request is sent at most `1 + max_retries` times.

    Wait number n lasts `min(max_delay, initial_delay * multiplier**n)` seconds, less up to `jitter` of it. A provider's
    Retry-After is kept (in [ra, 1.1 ra]) when it is at most `max_retry_after` seconds; a longer one is raised at once.

    With `respect_rate_limits` a request waits before it is sent, for `max_retry_after` seconds at most, while the model's last
    answers said that nothing remains of a rate limit. Raises `UserError` for a field that is out of range.
    """

    max_retries: int = 2
    initial_delay: float = 0.5
    multiplier: float = 2.0
    max_delay: float = 8.0
    jitter: float = 0.25
    max_retry_after: float = 60.0
    respect_rate_limits: bool = False

    def __post_init__(self) -> None:
        _RETRY.check(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRetrySettings:
    """How the calls of a tool are tried again after an error that may pass, while its `effect` is `"none"` or `"idempotent"`.

    A body runs at most `1 + max_retries` times. Wait number n lasts `min(max_delay, initial_delay * multiplier**n)` seconds,
    less up to `jitter` of it, or the `retry_after` of a `TransientToolError`, where that is at most `max_retry_after` seconds.
    `deadline`: seconds that a call has in all, its attempts and waits (None: as long as they take).

    After `circuit_failures` calls running that ended with such an error the tool's circuit is open (None: never): further calls
    are refused. Once `circuit_reset` seconds have passed a call runs again, once: it closes the circuit, or opens it anew.
    Raises `UserError` for a field that is out of range.
    """

    max_retries: int = 2
    initial_delay: float = 0.5
    multiplier: float = 2.0
    max_delay: float = 8.0
    jitter: float = 0.25
    max_retry_after: float = 60.0
    deadline: float | None = None
    circuit_failures: int | None = 5
    circuit_reset: float = 60.0

    def __post_init__(self) -> None:
        _TOOL_RETRY.check(self)


def backoff(settings: ModelRetrySettings | ToolRetrySettings, failures: int, chance: float) -> float:
    """Seconds to wait after `failures` earlier waits; `chance`, in [0, 1), says how much of the jitter is taken off."""
    try:
        delay = settings.initial_delay * settings.multiplier**failures
    except OverflowError:
        delay = settings.max_delay
    return min(settings.max_delay, delay) * (1 - settings.jitter * chance)


_WAIT = number("finite seconds, 0 or more; 8 suits most", least=0)
_BACKOFF = {
    "max_retries": whole("a whole number, 0 or more; 0 for no retries", 0),
    "initial_delay": _WAIT,
    "multiplier": number("a finite number, 1 or more; 2 doubles each wait", least=1),
    "max_delay": _WAIT,
    "jitter": number("a fraction from 0 to 1; 0.25 suits most", least=0, most=1),
    "max_retry_after": _WAIT,
}
_RETRY = Fields("ModelRetrySettings", **_BACKOFF, respect_rate_limits=FLAG)
_TOOL_RETRY = Fields(
    "ToolRetrySettings",
    **_BACKOFF,
    deadline=optional(SECONDS),
    circuit_failures=optional(whole("a whole number above 0; 5 suits most", 1)),
    circuit_reset=_WAIT,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Thinking:
    """That the model thinks before it answers, and how much: an `effort`, a `budget` in tokens, or as the model sees fit.

    `summary` is whether it tells what it thought; of the providers only OpenAI tells `"concise"` from `"detailed"`. None leaves
    that to the provider. Raises `UserError` for a wrong field, and for both an effort and a budget.
    """

    effort: ThinkingEffort | None = None
    budget: int | None = None
    summary: bool | Literal["concise", "detailed"] | None = None

    def __post_init__(self) -> None:
        _THINKING.check(self)
        if self.effort is not None and self.budget is not None:
            raise UserError("Thinking was given an effort and a budget, expected one of them; leave the other out")


_EFFORT = one_of(f"one of {get_args(ThinkingEffort)}", get_args(ThinkingEffort))
_THINKING = Fields(
    "Thinking",
    effort=optional(_EFFORT),
    budget=optional(whole("a whole number of tokens above 0; thinking=False switches it off", 1)),
    summary=optional(either(FLAG, one_of("", ("concise", "detailed")), what="True, False, 'concise' or 'detailed'")),
)


@says_what_is_meant(meant_for_settings)
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ModelSettings:
    """What to ask of the model; `None` leaves the provider's default.

    What a provider does not have is a `UserError` before any request; `docs/providers.md` says which has what. `thinking` is
    False for none, True for as much as the model sees fit, an effort, or a `Thinking`; `reasoning_effort` is instead the
    provider's own word, sent as it stands. `service_tier` is a word of the provider's too. `store` lets OpenAI keep the reply.
    `top_logprobs`, how many likely tokens are told beside each one, implies `logprobs`. `logit_bias` is by the token's id.

    `extra_body` is merged into the request as it stands, `extra_headers` likewise. Raises `UserError` for a wrong field.
    """

    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    max_tokens: int | None = None
    stop: Sequence[str] | None = None
    seed: int | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    thinking: Thinking | ThinkingEffort | bool | None = None
    verbosity: Verbosity | None = None
    top_k: int | None = None
    logit_bias: dict[str, int] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    service_tier: str | None = None
    store: bool | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: CacheRetention | None = None
    truncation: Truncation | None = None
    metadata: dict[str, str] | None = None
    extra_body: JsonObject | None = None
    extra_headers: dict[str, str] | None = None
    retry: ModelRetrySettings | None = None

    def __post_init__(self) -> None:
        _SETTINGS.check(self)
        if self.thinking is not None and self.reasoning_effort is not None:
            raise UserError("ModelSettings was given thinking and reasoning_effort, expected one of them; leave the other out")

    def __repr__(self) -> str:
        return f"ModelSettings({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """What is set, without the values of the headers: they may be keys."""
        given = self.given()
        if self.extra_headers is not None:
            given["extra_headers"] = dict.fromkeys(self.extra_headers, "***")
        return list(given.items())

    def resolve(self, override: ModelSettings | None) -> ModelSettings:
        """These settings with every value that `override` gives."""
        if override is None or override == _UNSET:
            return self
        given = override.given()
        if "thinking" in given or "reasoning_effort" in given:
            given = {"thinking": None, "reasoning_effort": None, **given}
        return dataclasses.replace(self, **given)

    def given(self) -> dict[str, Any]:
        """What is set, by the field's name."""
        values = ((name, getattr(self, name)) for name in self.__slots__)
        return {name: value for name, value in values if value is not None}


_PENALTY = optional(number("a finite number; most providers take -2 to 2"))
_SETTINGS = Fields(
    "ModelSettings",
    temperature=optional(number("a finite number, 0 or more; most providers take 0 to 2", least=0)),
    top_p=optional(number("a fraction from 0 to 1; give the share of probability to choose from", least=0, most=1)),
    frequency_penalty=_PENALTY,
    presence_penalty=_PENALTY,
    max_tokens=optional(whole("a whole number of tokens above 0; it caps the reply", 1)),
    stop=optional(sequence_of(a_name("a text that is not empty"), "a list or tuple of texts; write stop=('END',)")),
    seed=optional(whole("a whole number")),
    tool_choice=optional(a_name("'auto', 'required', 'none' or the name of a tool; pass a str")),
    parallel_tool_calls=optional(FLAG),
    reasoning_effort=optional(a_name("a word of the provider's; write 'low', say")),
    thinking=optional(
        either(FLAG, _EFFORT, a(Thinking, ""), what=f"True, False, one of {get_args(ThinkingEffort)}, or Thinking(...)")
    ),
    verbosity=optional(one_of(f"one of {get_args(Verbosity)}", get_args(Verbosity))),
    top_k=optional(whole("a whole number of tokens above 0; give how many the next one is chosen from", 1)),
    logit_bias=optional(mapping_of(whole(""), "a dict of whole numbers by token id; write {'50256': -100}")),
    logprobs=optional(FLAG),
    top_logprobs=optional(whole("a whole number of tokens, 0 or more", 0)),
    service_tier=optional(a_name("a word of the provider's; write 'flex', say")),
    store=optional(FLAG),
    prompt_cache_key=optional(a_name("a text that is not empty; give one to all requests that begin alike")),
    prompt_cache_retention=optional(one_of(f"one of {get_args(CacheRetention)}", get_args(CacheRetention))),
    truncation=optional(one_of(f"one of {get_args(Truncation)}", get_args(Truncation))),
    metadata=optional(mapping_of(any_text("a str"), "a dict of texts; write {'key': 'value'}")),
    extra_body=optional(json_object("a dict that is a JSON object; write {'verbosity': 'low'}, say")),
    extra_headers=optional(secret(mapping_of(any_text("a str"), "a dict of header names and values, both texts"))),
    retry=optional(a(ModelRetrySettings, "ModelRetrySettings; pass ModelRetrySettings(...)")),
)
_UNSET = ModelSettings()
