"""Documents are read in parts, and what was found is made one in as many levels as it takes."""

from __future__ import annotations

import asyncio
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk import Agent, ModelRequest, RunConfig, UserError
from agentsdk.errors import WorkflowFailedError
from agentsdk.models.token_estimate import estimate_tokens
from agentsdk.patterns import Documents, FailedPart, Reduced, map_reduce
from agentsdk.testing import ScriptedModel, workflow_check

pytestmark = pytest.mark.anyio

ONE_TRY = RunConfig(max_output_retries=0)


def said(request: ModelRequest) -> str:
    return str(getattr(request.items[-1], "content", ""))


def numbers_in(request: ModelRequest) -> str:
    """The sum of the numbers that are findings, as a typed answer."""
    return f'{{"response": {sum(map(int, re.findall(r"(?:^|: )([0-9]+)$", said(request), re.MULTILINE)))}}}'


def counter(times: int = 50) -> tuple[Agent[None, int], ScriptedModel]:
    """Says how many words the last line of a part has; fails at "broken"."""

    def count(request: ModelRequest) -> str:
        text = said(request).partition(":\n\n")[2]
        return "x" if "broken" in text else f'{{"response": {len(text.split())}}}'

    model = ScriptedModel([count] * times)
    return Agent(name="Counter", output_type=int, model=model), model


def adder(times: int = 50) -> tuple[Agent[None, int], ScriptedModel]:
    model = ScriptedModel([numbers_in] * times)
    return Agent(name="Adder", output_type=int, model=model), model


async def test_each_part_of_each_document_is_read_and_one_answer_is_made() -> None:
    (mapper, read), (reducer, reduced) = counter(), adder()
    given = Documents({"a": "one two\n\nthree four five", "b": "six"}, task="Count words.")
    words = map_reduce(mapper, reducer, part_tokens=10, count_tokens=lambda text: 3 * len(text.split()))
    result = await words.run(given)
    assert result.final_output == Reduced(6, 3, 1, (), 0)
    assert sorted(map(said, read.requests))[0] == "Count words.\n\nDocument a, part 1 of 2:\n\none two"
    assert "a: 2\n\na: 3\n\nb: 1" in said(reduced.requests[0])
    assert result.usage.requests == 4


async def test_more_than_the_reducer_is_shown_at_once_is_made_one_in_levels() -> None:
    (mapper, _), (reducer, reduced) = counter(), adder()
    given = Documents({f"document-{number}": "word " * number for number in range(1, 31)})
    result = await map_reduce(mapper, reducer, reduce_tokens=20).run(given)
    assert result.final_output == Reduced(465, 30, result.final_output.levels, (), 0)
    assert result.final_output.levels > 2
    for request in reduced.requests:
        findings = said(request).partition("\n\n")[2]
        assert estimate_tokens(findings) <= 20


async def test_a_document_that_fails_is_left_out_and_said() -> None:
    (mapper, _), (reducer, reduced) = counter(), adder()
    given = Documents({"a": "one two", "b": "broken", "c": "three"})
    result = await map_reduce(mapper, reducer).run(given, run_config=ONE_TRY)
    assert result.final_output == Reduced(3, 3, 1, (FailedPart("b", 1, "InvalidOutputError"),), 0)
    assert "There is nothing of: b, part 1." in said(reduced.requests[0])


async def test_where_all_documents_fail_it_fails() -> None:
    with pytest.raises(WorkflowFailedError, match="InvalidOutputError"):
        await map_reduce(counter()[0], adder()[0]).run(Documents({"a": "broken", "b": "broken"}), run_config=ONE_TRY)


async def test_a_finding_that_is_too_long_is_shortened_and_that_is_said() -> None:
    talker = Agent[None, str](name="Talker", model=ScriptedModel(["and so on " * 100] * 3))
    shown = ScriptedModel(["short"] * 9)
    given = Documents({"a": "x", "b": "y", "c": "z"})
    result = await map_reduce(talker, Agent[None, str](name="Editor", model=shown), reduce_tokens=40).run(given)
    assert result.final_output == Reduced("short", 3, 2, (), 3)
    assert all(estimate_tokens(said(request)) < 80 for request in shown.requests)
    assert len(shown.requests) == 2  # what is alone in its group is not reduced


@pytest.mark.parametrize(("between", "most", "fit"), [("\n\n", 26, 2), ("\n", 26, 2), (" ", 24, 2), ("\n\n", 24, 1)])
async def test_parts_are_cut_between_paragraphs_lines_or_words(between: str, most: int, fit: int) -> None:
    mapper, read = counter()
    pieces = ["one two three four five six seven eight nine ten eleven twelve"] * 8
    await map_reduce(mapper, adder()[0], part_tokens=most).run(Documents({"a": between.join(pieces)}))
    parts = [said(request).partition(":\n\n")[2] for request in read.requests]
    assert parts == [between.join(pieces[:fit])] * (8 // fit)


@pytest.mark.parametrize("texts", [{}, {"a": ""}, {"a": " \n\n "}])
async def test_no_text_is_refused(texts: dict[str, str]) -> None:
    with pytest.raises(UserError, match="one document at least"):
        await map_reduce(counter()[0], adder()[0]).run(Documents(texts))


async def test_it_is_deterministic() -> None:
    given = Documents({f"document-{number}": "broken" if number == 2 else "word" for number in range(6)})
    words = map_reduce(counter()[0], adder()[0], reduce_tokens=20, limit=3)
    assert (await workflow_check(words, given, orders=2, run_config=ONE_TRY)).steps > 6


@settings(max_examples=30, deadline=None)
@given(st.text(alphabet="ab \n", min_size=1, max_size=200).filter(str.strip), st.integers(10, 40))
def test_parts_lose_nothing_but_spaces_and_are_small(text: str, most: int) -> None:
    mapper, read = counter(100)
    asyncio.run(map_reduce(mapper, adder()[0], part_tokens=most, limit=1).run(Documents({"a": text})))
    parts = [said(request).partition(":\n\n")[2] for request in read.requests]
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(0 < estimate_tokens(part) <= most for part in parts)
