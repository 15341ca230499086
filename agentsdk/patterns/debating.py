"""`debate`: agents answer a question, read each other's answers and answer anew; a judge has the last word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agentsdk.define.agent import Agent
from agentsdk.patterns.agents import as_text, by_name, output_type_of
from agentsdk.patterns.voting import canonical
from agentsdk.types.declared import Fields, a, a_name, optional, sequence_of, whole
from agentsdk.types.errors import StepFailedError
from agentsdk.types.text import shortened
from agentsdk.workflow import Workflow, flow

T = TypeVar("T")

ANEW = (
    "{question}\n\nYou have said:\n{own}\n\nOthers have said:\n{others}\n\nSay what is wrong with that, take over what is "
    "right, and answer the question anew."
)
JUDGE = "{question}\n\nOthers have discussed this. What each has said in the end:\n{statements}\n\nGive the answer."


@dataclass(frozen=True)
class Statement:
    """What an agent said last."""

    agent: str
    text: str


@dataclass(frozen=True)
class Debate(Generic[T]):
    """What a `debate` came to: the judge's `answer`, what each debater said last, and after how many `rounds`.

    `absent` are the debaters who failed in the last round, and so had no say in it.
    """

    answer: T
    statements: tuple[Statement, ...]
    rounds: int
    absent: tuple[str, ...]


def debate(
    debaters: Sequence[Agent[Any, Any]],
    judge: Agent[Any, T],
    *,
    rounds: int = 2,
    max_chars: int = 4_000,
    name: str | None = None,
) -> Workflow[str, Debate[T]]:
    """A workflow in which all `debaters` answer a question at once; in each further round they read what the others have said
    last, and answer anew. It ends once they agree, or after so many `rounds`. The judge reads what was said last, and answers.

    What is shown of a statement are `max_chars` characters at most, so no request grows with the rounds. Where nobody has
    anything to say in a round, or the judge fails, the workflow does. It is named after the judge unless it is given a `name`.

    Raises `UserError` for what is no debate.
    """
    _FIELDS.check_given("debate", debaters=debaters, judge=judge, rounds=rounds, max_chars=max_chars, name=name)
    named = by_name("debate", debaters)

    async def speak(asked: tuple[str, str]) -> Statement | StepFailedError:
        speaker, prompt = asked
        try:
            said = await flow.agent(named[speaker], prompt)
        except StepFailedError as error:
            return error
        return Statement(speaker, shortened(as_text(said), max_chars))

    async def hold(question: str) -> Debate[T]:
        said: list[Statement] = []
        number = 0
        while number < rounds and not _agree(said):
            number += 1
            asked = [(speaker, _prompt(question, speaker, said)) for speaker in named]
            outcomes = await flow.each(speak, asked, limit=len(asked))
            said = [one for one in outcomes if isinstance(one, Statement)]
            if not said:
                raise next(one for one in outcomes if isinstance(one, StepFailedError))
        answer = await flow.agent(judge, JUDGE.format(question=question, statements=_listed(said)))
        present = {one.agent for one in said}
        return Debate(answer, tuple(said), number, tuple([speaker for speaker in named if speaker not in present]))

    return Workflow(hold, f"{judge.name} debate" if name is None else name, {"T": output_type_of(judge)})


def _agree(said: list[Statement]) -> bool:
    return len(said) > 1 and len({canonical(one.text) for one in said}) == 1


def _prompt(question: str, speaker: str, said: list[Statement]) -> str:
    """What `speaker` is asked once these things have been said."""
    own = [one.text for one in said if one.agent == speaker]
    others = [one for one in said if one.agent != speaker]
    if not said:
        return question
    return ANEW.format(question=question, own=own[0] if own else "nothing", others=_listed(others) or "nothing")


def _listed(said: list[Statement]) -> str:
    return "\n\n".join([f"{one.agent}: {one.text}" for one in said])


_FIELDS = Fields(
    "debate",
    debaters=sequence_of(a(Agent, "an Agent"), "a list of Agents; pass two or more"),
    judge=a(Agent, "an Agent; pass the one that gives the answer"),
    rounds=whole("a whole number, 1 or more; 2 suits most", 1),
    max_chars=whole("a whole number of characters, 100 or more", 100),
    name=optional(a_name("a name for the workflow")),
)
