"""`Usage`: what a run has spent, as openai-agents counts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.types.usage import Usage as SpentUsage


class _Details:
    """Equal to whatever has the same counts."""

    def __eq__(self, other: object) -> bool:
        return all(value == (getattr(other, name, 0) or 0) for name, value in vars(self).items())

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def model_dump(self, **_: Any) -> dict[str, int]:
        """The counts as a dict."""
        return dict(vars(self))


@dataclass(eq=False)
class InputTokensDetails(_Details):
    """Of the input tokens, those that were read from and written to the provider's cache."""

    cached_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(eq=False)
class OutputTokensDetails(_Details):
    """Of the output tokens, those of reasoning."""

    reasoning_tokens: int = 0


def _field(given: Any, name: str) -> Any:
    return cast("Mapping[str, Any]", given).get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _count(given: Any, name: str) -> int:
    return _field(given, name) or 0


def _input_details(given: Any) -> InputTokensDetails:
    if isinstance(given, InputTokensDetails):
        return given
    return InputTokensDetails(_count(given, "cached_tokens"), _count(given, "cache_write_tokens"))


def _output_details(given: Any) -> OutputTokensDetails:
    if isinstance(given, OutputTokensDetails):
        return given
    return OutputTokensDetails(_count(given, "reasoning_tokens"))


@dataclass
class RequestUsage:
    """What one request has spent."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: Any = field(default_factory=InputTokensDetails)
    output_tokens_details: Any = field(default_factory=OutputTokensDetails)


@dataclass
class Usage:
    """Requests and tokens of a run, and those of each request."""

    requests: int = 0
    input_tokens: int = 0
    input_tokens_details: Any = field(default_factory=InputTokensDetails)
    output_tokens: int = 0
    output_tokens_details: Any = field(default_factory=OutputTokensDetails)
    total_tokens: int = 0
    request_usage_entries: list[RequestUsage] = field(default_factory=list[RequestUsage])

    def __post_init__(self) -> None:
        self.input_tokens_details = _input_details(self.input_tokens_details)
        self.output_tokens_details = _output_details(self.output_tokens_details)

    def add(self, other: Usage) -> None:
        """Count `other` too."""
        self.requests += other.requests or 0
        self.input_tokens += other.input_tokens or 0
        self.output_tokens += other.output_tokens or 0
        self.total_tokens += other.total_tokens or 0
        ours, theirs = self.input_tokens_details, _input_details(other.input_tokens_details)
        if theirs.cached_tokens or theirs.cache_write_tokens:
            self.input_tokens_details = InputTokensDetails(
                ours.cached_tokens + theirs.cached_tokens, ours.cache_write_tokens + theirs.cache_write_tokens
            )
        made, more = self.output_tokens_details, _output_details(other.output_tokens_details)
        if more.reasoning_tokens:
            self.output_tokens_details = OutputTokensDetails(made.reasoning_tokens + more.reasoning_tokens)
        if other.request_usage_entries:
            self.request_usage_entries.extend(other.request_usage_entries)
        elif other.requests == 1 and other.total_tokens > 0:
            self.request_usage_entries.append(
                RequestUsage(other.input_tokens, other.output_tokens, other.total_tokens, theirs, more)
            )


def usage_from(reply: Any) -> Usage:
    """The tokens of one request, as openai's reply has them."""
    return Usage(
        requests=1,
        input_tokens=_count(reply, "input_tokens"),
        output_tokens=_count(reply, "output_tokens"),
        total_tokens=_count(reply, "total_tokens"),
        input_tokens_details=_field(reply, "input_tokens_details") or {},
        output_tokens_details=_field(reply, "output_tokens_details") or {},
    )


class _Late:
    """A field of the usage of a run, made of what its replies have spent (`_spent`) when it is first looked at, and plain from
    then on."""

    def __init__(self, name: str, make: Callable[[tuple[SpentUsage, ...]], Any]) -> None:
        self._name = name
        self._make = make

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        fields: dict[str, Any] = {} if instance is None else instance.__dict__
        if "_spent" not in fields:
            raise AttributeError(self._name)
        made = fields[self._name] = self._make(fields["_spent"])
        return made


def _input_details_of(spent: tuple[SpentUsage, ...]) -> InputTokensDetails:
    return InputTokensDetails(sum([one.cached_tokens for one in spent]), sum([one.cache_write_tokens for one in spent]))


def _output_details_of(spent: tuple[SpentUsage, ...]) -> OutputTokensDetails:
    return OutputTokensDetails(sum([one.reasoning_tokens for one in spent]))


def _entries_of(spent: tuple[SpentUsage, ...]) -> list[RequestUsage]:
    return [_entry(one) for one in spent if _has_entry(one)]


def _has_entry(spent: SpentUsage) -> bool:
    return spent.requests == 1 and bool(spent.input_tokens or spent.output_tokens)


def _entry(spent: SpentUsage) -> RequestUsage:
    total, alone = spent.input_tokens + spent.output_tokens, (spent,)
    return RequestUsage(spent.input_tokens, spent.output_tokens, total, _input_details_of(alone), _output_details_of(alone))


for _name, _make in {
    "input_tokens_details": _input_details_of,
    "output_tokens_details": _output_details_of,
    "request_usage_entries": _entries_of,
}.items():
    setattr(Usage, _name, _Late(_name, _make))


def usage_of(spent: SpentUsage) -> Usage:
    """What a model's reply, or a run, of agentsdk has spent."""
    made = _counted((spent,))
    made.request_usage_entries = []
    return made


def _counted(spent: tuple[SpentUsage, ...]) -> Usage:
    """The usage of these replies, each with an entry of its own."""
    made = object.__new__(Usage)
    requests = input_tokens = output_tokens = 0
    for one in spent:
        requests += one.requests
        input_tokens += one.input_tokens
        output_tokens += one.output_tokens
    made.requests, made.input_tokens, made.output_tokens = requests, input_tokens, output_tokens
    made.total_tokens = input_tokens + output_tokens
    made.__dict__["_spent"] = spent
    return made


class Spending:
    """What a run has spent. Its `Usage` is made when it is first looked at, and counts along from then on: until then replies
    only wait to be counted."""

    __slots__ = ("_usage", "_waiting")

    def __init__(self, usage: Usage | None = None) -> None:
        self._usage = usage
        self._waiting: list[SpentUsage] = []

    def add(self, spent: SpentUsage) -> None:
        """Count a reply, now or once it is asked for."""
        if self._usage is None:
            self._waiting.append(spent)
        else:
            count(self._usage, spent)

    def usage(self) -> Usage:
        """The same object each time."""
        if self._usage is None:
            self._usage = _counted(tuple(self._waiting))
            self._waiting.clear()
        return self._usage


def count(usage: Usage, spent: SpentUsage) -> None:
    """Count what a reply of agentsdk has spent: `usage.add(usage_of(spent))`, in a part of its time."""
    usage.requests += spent.requests
    usage.input_tokens += spent.input_tokens
    usage.output_tokens += spent.output_tokens
    usage.total_tokens += spent.input_tokens + spent.output_tokens
    if spent.cached_tokens or spent.cache_write_tokens:
        given = usage.input_tokens_details
        usage.input_tokens_details = InputTokensDetails(
            given.cached_tokens + spent.cached_tokens, given.cache_write_tokens + spent.cache_write_tokens
        )
    if spent.reasoning_tokens:
        usage.output_tokens_details = OutputTokensDetails(usage.output_tokens_details.reasoning_tokens + spent.reasoning_tokens)
    if _has_entry(spent):
        usage.request_usage_entries.append(_entry(spent))


def spent_of(usage: Usage) -> SpentUsage:
    """The same for agentsdk."""
    given, made = _input_details(usage.input_tokens_details), _output_details(usage.output_tokens_details)
    return SpentUsage(
        requests=usage.requests,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=given.cached_tokens,
        cache_write_tokens=given.cache_write_tokens,
        reasoning_tokens=made.reasoning_tokens,
    )


def serialize_usage(usage: Usage) -> dict[str, Any]:
    """The usage as a plain dict."""
    given, made = _input_details(usage.input_tokens_details), _output_details(usage.output_tokens_details)
    return {
        "requests": usage.requests,
        "input_tokens": usage.input_tokens,
        "input_tokens_details": [given.model_dump()],
        "output_tokens": usage.output_tokens,
        "output_tokens_details": [made.model_dump()],
        "total_tokens": usage.total_tokens,
        "request_usage_entries": [
            {
                "input_tokens": entry.input_tokens,
                "output_tokens": entry.output_tokens,
                "total_tokens": entry.total_tokens,
                "input_tokens_details": _input_details(entry.input_tokens_details).model_dump(),
                "output_tokens_details": _output_details(entry.output_tokens_details).model_dump(),
            }
            for entry in usage.request_usage_entries
        ],
    }


def deserialize_usage(usage_data: Mapping[str, Any]) -> Usage:
    """The usage that `serialize_usage` gave as a dict."""

    def first(value: Any) -> Any:
        listed = cast("list[Any]", value) if isinstance(value, list) else [value]
        return (listed[0] if listed else None) or {}

    return Usage(
        requests=usage_data.get("requests", 0),
        input_tokens=usage_data.get("input_tokens", 0),
        input_tokens_details=_input_details(first(usage_data.get("input_tokens_details"))),
        output_tokens=usage_data.get("output_tokens", 0),
        output_tokens_details=_output_details(first(usage_data.get("output_tokens_details"))),
        total_tokens=usage_data.get("total_tokens", 0),
        request_usage_entries=[
            RequestUsage(
                entry.get("input_tokens", 0),
                entry.get("output_tokens", 0),
                entry.get("total_tokens", 0),
                _input_details(first(entry.get("input_tokens_details"))),
                _output_details(first(entry.get("output_tokens_details"))),
            )
            for entry in usage_data.get("request_usage_entries", [])
        ],
    )


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
