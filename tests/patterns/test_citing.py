"""A quote counts if it is in the source that it names, word for word; what is wrong with the others is said."""

from __future__ import annotations

import msgspec
import pytest

from agentsdk import Agent, RunConfig, Runner, UserError
from agentsdk.errors import InvalidOutputError
from agentsdk.patterns import Citation, CitedAnswer, citation_problems, cited_from
from agentsdk.testing import ScriptedModel

pytestmark = pytest.mark.anyio

TEXTS = {"oslo": "Oslo was founded\n  around 1040.", "rome": "Rome was founded in 753 BC."}


def answer(*citations: tuple[str, str], not_found: str = "") -> CitedAnswer:
    return CitedAnswer("Rome.", [Citation(source, quote) for source, quote in citations], not_found)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (answer(("rome", "founded in 753 BC")), ""),
        (answer(("oslo", '"Oslo was founded around 1040."')), ""),
        (answer(not_found="When Lima was founded."), ""),
        (answer(("rome", "founded in 754 BC")), "'rome' does not say 'founded in 754 BC'"),
        (answer(("rome", "Oslo was founded")), "'rome' does not say"),
        (answer(("lima", "by the sea")), "no source 'lima'"),
        (answer(("rome", "Rome")), "too short"),
        (answer(("rome", "'  '")), "too short"),
        (answer(), "Nothing is cited"),
        (answer(("rome", "x\n" * 5_000)), "'rome' does not say"),
    ],
)
def test_a_quote_is_in_its_source_word_for_word(given: CitedAnswer, problem: str) -> None:
    problems = citation_problems(given, TEXTS)
    assert len(problems) == (1 if problem else 0)
    assert problem in "".join(problems)
    assert len("".join(problems)) < 250


async def test_an_answer_is_sent_back_until_its_quotes_are_right() -> None:
    wrong, right = answer(("rome", "in 754 BC it was"), ("x", "a b c")), answer(("rome", "founded in 753 BC"))
    model = ScriptedModel([msgspec.json.encode(given).decode() for given in (wrong, right)])
    clerk = Agent[None, CitedAnswer](name="Clerk", model=model, output_type=CitedAnswer, output_validators=[cited_from(TEXTS)])
    result = await Runner.run(clerk, "When was Rome founded?")
    assert result.final_output == right
    feedback = str(model.requests[1].items[-1])
    assert "'rome' does not say" in feedback
    assert "no source 'x'" in feedback


async def test_an_answer_that_stays_wrong_is_none() -> None:
    model = ScriptedModel([msgspec.json.encode(answer(("x", "a b c"))).decode()] * 2)
    clerk = Agent[None, CitedAnswer](name="Clerk", model=model, output_type=CitedAnswer, output_validators=[cited_from(TEXTS)])
    with pytest.raises(InvalidOutputError):
        await Runner.run(clerk, "When?", run_config=RunConfig(max_output_retries=1))


def test_what_are_no_texts_is_refused() -> None:
    with pytest.raises(UserError, match="min_words=0"):
        cited_from(TEXTS, min_words=0)
