"""Settings of a model request."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, structs

from agentsdk.types.base import JsonObject

ToolChoice = Literal["auto", "required", "none"] | str
"""`"auto"`, `"required"`, `"none"`, or the name of the one tool the model must call."""


class ModelRetrySettings(Struct, frozen=True, kw_only=True):
    """How failed requests are repeated: the only retry layer there is, so a request is sent at most `1 + max_retries` times.

    Wait number n lasts `min(max_delay, initial_delay * multiplier**n)` seconds, less up to `jitter` of it. A provider's
    Retry-After is kept (in [ra, 1.1 ra]) when it is at most `max_retry_after` seconds; a longer one is raised at once.

    With `heed_limits` a request waits before it is sent, for `max_retry_after` seconds at most, while the model's last answers
    said that nothing remains of a rate limit.
    """

    max_retries: int = 2
    initial_delay: float = 0.5
    multiplier: float = 2.0
    max_delay: float = 8.0
    jitter: float = 0.25
    max_retry_after: float = 60.0
    heed_limits: bool = False


class ModelSettings(Struct, frozen=True, kw_only=True):
    """What to ask of the model; `None` leaves the provider's default.

    `extra_body` is merged into the request as it stands, `extra_headers` likewise.
    """

    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    metadata: dict[str, str] | None = None
    extra_body: JsonObject | None = None
    extra_headers: dict[str, str] | None = None
    retry: ModelRetrySettings | None = None

    def resolve(self, override: ModelSettings | None) -> ModelSettings:
        """These settings with every value that `override` gives."""
        if override is None or override == _UNSET:
            return self
        given = {name: value for name, value in structs.asdict(override).items() if value is not None}
        return structs.replace(self, **given)


_UNSET = ModelSettings()
