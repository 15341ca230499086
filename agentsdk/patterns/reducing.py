"""`map_reduce`: one agent reads documents part by part, many at once; another makes one answer of what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agentsdk.define.agent import Agent
from agentsdk.models.token_estimate import estimate_tokens
from agentsdk.patterns.agents import as_text, output_type_of
from agentsdk.types.declared import SYNC, Fields, a, a_name, optional, whole
from agentsdk.types.errors import StepFailedError, UserError
from agentsdk.workflow import Workflow, flow

T = TypeVar("T")

CountTokens = Callable[[str], int]
"""How many tokens a text has. It must be quick, and give the same each time."""

MAP = "{task}Document {name}, part {number} of {parts}:\n\n{text}"
REDUCE = "{task}Make one of what was found in several documents.{missing}\n\n{findings}"
MISSING = " There is nothing of: {}."

_SEPARATORS = ("\n\n", "\n", " ")


@dataclass(frozen=True)
class Documents:
    """What `map_reduce` reads: texts by their names, and a `task` that stands before each of them."""

    texts: dict[str, str]
    task: str = ""


@dataclass(frozen=True)
class FailedPart:
    """A part of a document, numbered from 1, that nothing was found in as its run failed: `error` is the type of its error."""

    document: str
    part: int
    error: str


@dataclass(frozen=True)
class Reduced(Generic[T]):
    """What a `map_reduce` came to: the reducer's `answer`, of so many `parts`, in so many `levels`, and what `failed`.

    `shortened` findings were longer than half of what the reducer is shown at once, and were cut to that.
    """

    answer: T
    parts: int
    levels: int
    failed: tuple[FailedPart, ...]
    shortened: int


def map_reduce(
    mapper: Agent[Any, Any],
    reducer: Agent[Any, T],
    *,
    part_tokens: int = 2_000,
    reduce_tokens: int = 8_000,
    limit: int = 8,
    count_tokens: CountTokens = estimate_tokens,
    name: str | None = None,
) -> Workflow[Documents, Reduced[T]]:
    """A workflow in which `mapper` reads each part of each document, `limit` at once, and `reducer` makes one answer of it all.

    Parts have `part_tokens` at most, and are cut between paragraphs, else lines, else words. The reducer is shown
    `reduce_tokens` of findings at once: where there are more, it makes one of each few, then one of these, as often as it
    takes; so its output must be something that it can read again. A part whose run fails is left out, and said to the reducer
    and in the result; where all fail, the workflow does. It is named after the reducer unless it is given a `name`.

    Raises `UserError` for what cannot be, and when run for no documents.
    """
    _FIELDS.check_given(
        "map_reduce",
        mapper=mapper,
        reducer=reducer,
        part_tokens=part_tokens,
        reduce_tokens=reduce_tokens,
        limit=limit,
        count_tokens=count_tokens,
        name=name,
    )
    reading = _Reading(mapper, reducer, part_tokens, reduce_tokens, limit, count_tokens)
    scope = {"T": output_type_of(reducer)}
    return Workflow(reading.read_all, f"{reducer.name} map reduce" if name is None else name, scope)


@dataclass(frozen=True)
class _Reading(Generic[T]):
    mapper: Agent[Any, Any]
    reducer: Agent[Any, T]
    part_tokens: int
    reduce_tokens: int
    limit: int
    count: CountTokens

    async def read_all(self, given: Documents) -> Reduced[T]:
        """The program."""
        task = f"{given.task}\n\n" if given.task else ""
        parts = [(name, number, prompt) for name in given.texts for number, prompt in self._prompts(given, name, task)]
        if not parts:
            raise UserError("map_reduce was given no text, expected one document at least; pass Documents({'a': '...'})")
        findings: list[str] = []
        failures: list[StepFailedError] = []
        failed: list[FailedPart] = []
        outcomes = await flow.each(self._read, [prompt for _, _, prompt in parts], limit=self.limit)
        for (name, number, _), outcome in zip(parts, outcomes, strict=True):
            if isinstance(outcome, str):
                findings.append(f"{name}: {outcome}")
            else:
                failures.append(outcome)
                failed.append(FailedPart(name, number, outcome.error_type))
        if not findings:
            raise failures[0]
        missing = MISSING.format(", ".join([f"{part.document}, part {part.part}" for part in failed])) if failed else ""
        answer, levels, shortened = await self._reduced(findings, task, missing)
        return Reduced(answer, len(parts), levels, tuple(failed), shortened)

    def _prompts(self, given: Documents, name: str, task: str) -> list[tuple[int, str]]:
        """What the mapper is asked about each part of a document."""
        texts = list(_cut(given.texts[name], self.part_tokens, self.count))
        return [
            (number, MAP.format(task=task, name=name, number=number, parts=len(texts), text=text))
            for number, text in enumerate(texts, 1)
        ]

    async def _read(self, prompt: str) -> str | StepFailedError:
        try:
            return as_text(await flow.agent(self.mapper, prompt))
        except StepFailedError as error:
            return error

    async def _reduced(self, findings: list[str], task: str, missing: str) -> tuple[T, int, int]:
        """The answer, in how many levels it was made, and how many findings were shortened for it."""

        async def reduce(group: list[str]) -> T:
            return await flow.agent(self.reducer, REDUCE.format(task=task, missing=missing, findings="\n\n".join(group)))

        async def reduce_further(group: list[str]) -> str:
            return as_text(await reduce(group)) if len(group) > 1 else group[0]

        levels, shortened = 0, 0
        while True:
            levels += 1
            shares = [next(_cut(finding, self.reduce_tokens // 2, self.count)) for finding in findings]
            shortened += sum(share != finding for share, finding in zip(shares, findings, strict=True))
            groups = list(_packed(shares, self.reduce_tokens, self.count, least=2))  # so that there are fewer each time
            if len(groups) == 1:
                return await reduce(shares), levels, shortened
            findings = await flow.each(reduce_further, groups, limit=self.limit)


def _cut(text: str, most: int, count: CountTokens, separators: tuple[str, ...] = _SEPARATORS) -> Iterator[str]:
    """`text` in pieces of `most` tokens at most."""
    if count(text) <= most:
        if text.strip():
            yield text
    elif not separators:
        size = max(1, len(text) * most // (2 * count(text)))
        yield from (text[start : start + size] for start in range(0, len(text), size))
    else:
        pieces = text.split(separators[0])
        for group in _packed(pieces, most, count, between=0 if separators[0] == " " else 1):
            yield from _cut(separators[0].join(group), most, count, separators[1:])


def _packed(texts: Iterable[str], most: int, count: CountTokens, *, between: int = 1, least: int = 1) -> Iterator[list[str]]:
    """The texts in groups that have `most` tokens at most, or `least` members. So many tokens stand between two of them."""
    group: list[str] = []
    tokens = 0
    for text in texts:
        added = count(text) + between
        if group and tokens + added > most and len(group) >= least:
            yield group
            group, tokens = [], 0
        group.append(text)
        tokens += added
    if group:
        yield group


_FIELDS = Fields(
    "map_reduce",
    mapper=a(Agent, "an Agent; pass the one that reads a part"),
    reducer=a(Agent, "an Agent; pass the one that makes one of several findings"),
    part_tokens=whole("a whole number of tokens, 10 or more; 2_000 suits most", 10),
    reduce_tokens=whole("a whole number of tokens, 10 or more; 8_000 suits most", 10),
    limit=whole("a whole number, 1 or more; 8 suits most", 1),
    count_tokens=SYNC,
    name=optional(a_name("a name for the workflow")),
)
