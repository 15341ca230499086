"""`vote`: self-consistency. One agent answers a question several times, and the answer that came most often counts."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agentsdk.core.given_json import json_text
from agentsdk.define.agent import Agent
from agentsdk.patterns.agents import output_type_of
from agentsdk.types.declared import CALLABLE, Fields, a, a_name, optional, whole
from agentsdk.types.errors import StepFailedError
from agentsdk.workflow import Workflow, flow

T = TypeVar("T")


@dataclass(frozen=True)
class VoteCount(Generic[T]):
    """An answer, as it was first given, and how many samples gave it."""

    answer: T
    votes: int


@dataclass(frozen=True)
class Vote(Generic[T]):
    """What a `vote` came to.

    `answer` is the one with the most votes; where that `is_tie`, the one of them that came first. `counts` are all answers,
    the most votes first. `failed` samples came to no answer; `samples` were asked in all.
    """

    answer: T
    is_tie: bool
    counts: tuple[VoteCount[T], ...]
    failed: int
    samples: int


def canonical(answer: object) -> Hashable:
    """What two answers that mean the same have in common: a text without case, spacing and a stop at its end; else the JSON."""
    if isinstance(answer, str):
        return " ".join(answer.casefold().split()).rstrip(".!")
    return json_text("an answer", answer)


def vote(
    agent: Agent[Any, T], *, samples: int = 5, form: Callable[[T], Hashable] = canonical, name: str | None = None
) -> Workflow[str, Vote[T]]:
    """A workflow that asks `agent` the same question up to `samples` times, and gives the answer that came most often.

    So many are asked at once as could decide it, then more only where they have not: an answer that is ahead by more than what
    is left has won. Answers with the same `form` are one. A sample that fails for good counts for none; where all do, the
    workflow fails with the last one. It is named after the agent unless it is given a `name`.

    Raises `UserError` for what cannot be voted on.
    """
    _FIELDS.check_given("vote", agent=agent, samples=samples, form=form, name=name)

    async def sample(question: str) -> T | StepFailedError:
        try:
            return await flow.agent(agent, question)
        except StepFailedError as error:
            return error

    async def elect(question: str) -> Vote[T]:
        answers: list[T] = []
        failures: list[StepFailedError] = []
        left = samples
        while (needed := _could_decide(_leads(_counted(answers, form)), left)) > 0:
            left -= needed
            for given in await flow.each(sample, [question] * needed, limit=needed):
                if isinstance(given, StepFailedError):
                    failures.append(given)
                else:
                    answers.append(given)
        if not answers:
            raise failures[-1]
        counts = _counted(answers, form)
        return Vote(counts[0].answer, _leads(counts) == 0, tuple(counts), len(failures), samples - left)

    return Workflow(elect, f"{agent.name} vote" if name is None else name, {"T": output_type_of(agent)})


def _counted(answers: list[T], form: Callable[[T], Hashable]) -> list[VoteCount[T]]:
    """The answers by their votes, the first of several with as many first."""
    alike: dict[Hashable, list[T]] = {}
    for answer in answers:
        alike.setdefault(form(answer), []).append(answer)
    return sorted([VoteCount(same[0], len(same)) for same in alike.values()], key=lambda count: -count.votes)


def _leads(counts: list[VoteCount[T]]) -> int:
    """By how many votes the first is ahead of the second."""
    votes = [count.votes for count in counts[:2]]
    return votes[0] - sum(votes[1:]) if votes else 0


def _could_decide(lead: int, left: int) -> int:
    """The fewest of the samples that are left which can decide: all for the first, it has won. 0 where it has already."""
    return 0 if lead > left or not left else (left - lead) // 2 + 1


_FIELDS = Fields(
    "vote",
    agent=a(Agent, "an Agent; pass the one to ask"),
    samples=whole("a whole number, 1 or more; 5 suits most", 1),
    form=CALLABLE,
    name=optional(a_name("a name for the workflow")),
)
