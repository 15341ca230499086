"""`ModelSettings`: what to ask of the model, None leaving the provider's default."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, cast

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents._changes import Noticed

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.retry import ModelRetrySettings


@dataclass
class MCPToolChoice:
    """The one tool of an MCP server that the model must call."""

    server_label: str
    name: str


ToolChoice = Literal["auto", "required", "none"] | str | MCPToolChoice | None


@dataclass
class ModelSettings(Noticed):
    """What to ask of the model. `extra_args` go into the request as they stand, `extra_body` too."""

    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    tool_choice: ToolChoice = None
    parallel_tool_calls: bool | None = None
    truncation: Literal["auto", "disabled"] | None = None
    max_tokens: int | None = None
    reasoning: Any | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    prompt_cache_retention: Literal["in_memory", "24h"] | None = None
    include_usage: bool | None = None
    response_include: list[str] | None = None
    top_logprobs: int | None = None
    extra_query: Any | None = None
    extra_body: Any | None = None
    extra_headers: Any | None = None
    extra_args: dict[str, Any] | None = None
    retry: ModelRetrySettings | None = None
    context_management: list[Any] | None = None
    prompt_cache_options: Any | None = None
    preserve_raw_usage: bool | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        seconds: Any = self.timeout
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if seconds is not None and not (is_number and 0 < seconds < math.inf):
            raise ValueError(f"timeout is {seconds!r}, expected finite seconds above 0")
        reasoning: Any = self.reasoning
        if isinstance(reasoning, Mapping):
            from agentsdk.compat.openai_agents._bridge.openai_types import built

            self.reasoning = built("Reasoning", dict(cast("Mapping[str, Any]", reasoning)))

    def resolve(self, override: ModelSettings | dict[str, Any] | None) -> ModelSettings:
        """These settings with every value that `override` gives. `extra_args` and retry settings are merged by name."""
        if override is None:
            return self
        given = coerce_settings(override)
        changes = {name: value for one in fields(given) if (value := getattr(given, name := one.name)) is not None}
        if self.extra_args or given.extra_args:
            changes["extra_args"] = {**(self.extra_args or {}), **(given.extra_args or {})}
        if self.retry is not None and given.retry is not None:
            changes["retry"] = _merged_retry(self.retry, given.retry)
        return dataclasses.replace(self, **changes)

    def to_json_dict(self) -> dict[str, Any]:
        """The settings as a dict that JSON can hold."""
        return {one.name: _json(getattr(self, one.name)) for one in fields(self)}


def _merged_retry(ours: Any, theirs: Any) -> Any:
    changes = {name: value for one in fields(theirs) if (value := getattr(theirs, name := one.name)) is not None}
    if changes.get("backoff") is not None and ours.backoff is not None:
        old, new = ours.backoff, changes["backoff"]
        merged: dict[str, Any] = {**_given(old), **_given(new)}
        changes["backoff"] = merged if isinstance(new, Mapping) else type(new)(**merged)
    return dataclasses.replace(ours, **changes)


def _given(backoff: Any) -> dict[str, Any]:
    named: dict[str, Any] = {}
    named.update(backoff if isinstance(backoff, Mapping) else vars(backoff))  # pyright: ignore[reportUnknownArgumentType]
    return {name: value for name, value in named.items() if value is not None}


def _json(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    to_json = getattr(value, "to_json_dict", None)
    if to_json is not None:
        return to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: _json(getattr(value, one.name)) for one in fields(value) if one.name != "policy"}
    return value


def _require_known(given: Mapping[str, Any], kind: Any, place: str) -> None:
    unknown = ", ".join(sorted(given.keys() - {one.name for one in fields(kind)}))
    if unknown:
        where = f" in {place}" if place else ""
        raise TypeError(f"Unknown model settings{where}: {unknown}; put what is the provider's into extra_args")


def coerce_settings(given: ModelSettings | dict[str, Any]) -> ModelSettings:
    """Settings that may be given as a dict. Raises `TypeError` for a name there is not."""
    if isinstance(given, ModelSettings):
        return given
    from agentsdk.compat.openai_agents.exceptions import UserError

    if not isinstance(cast(object, given), Mapping):
        raise UserError(f"model_settings is {type(given).__name__!r}, expected ModelSettings or a dict")
    _require_known(given, ModelSettings, "")
    values = dict(given)
    if isinstance(values.get("retry"), Mapping):
        from agentsdk.compat.openai_agents.retry import ModelRetryBackoffSettings, ModelRetrySettings

        _require_known(values["retry"], ModelRetrySettings, "retry")
        if isinstance(values["retry"].get("backoff"), Mapping):
            _require_known(values["retry"]["backoff"], ModelRetryBackoffSettings, "retry.backoff")
        values["retry"] = ModelRetrySettings(**values["retry"])
    return ModelSettings(**values)


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
