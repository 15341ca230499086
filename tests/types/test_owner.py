"""`RunOwner`: an attempt, and how a store keeps it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk import UserError
from agentsdk.engine.claim import owner_text
from agentsdk.runs import RunOwner

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(NAMES, st.integers(0, 10**18 - 1))
def test_what_a_store_keeps_is_read_as_the_same_attempt(name: str, attempt: int) -> None:
    owner = RunOwner(name, attempt)
    assert RunOwner.read(owner_text(owner)) == owner
    assert owner_text(owner) != owner_text(owner)  # one process is told from another


@pytest.mark.parametrize("text", ["", "me", "0123456789abcdef", "a#1", "a#1#b", "#1#0123456789abcdef", "a#-1#0123456789abcdef"])
def test_the_owner_of_a_run_without_one_is_none(text: str) -> None:
    assert RunOwner.read(text) is None
    assert RunOwner.read(owner_text(None)) is None


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", 7, None])
def test_a_name_that_no_store_could_keep_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=r"RunOwner\(name=.*\), expected a name for all attempts at one run"):
        RunOwner(name, 1)


@pytest.mark.parametrize("attempt", [-1, 10**18, 1.5, True, "1", None])
def test_an_attempt_is_a_whole_number(attempt: int) -> None:
    with pytest.raises(UserError, match=r"RunOwner\(attempt=.*\), expected a whole number, 0 or more"):
        RunOwner("engine/r", attempt)
