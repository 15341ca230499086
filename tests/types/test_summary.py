"""`RunSummary`, `RunQuery` and the run ids that every store can keep."""

from __future__ import annotations

import pytest

from agentsdk import RunQuery, RunSummary, UserError
from agentsdk.types.summary import check_run_id


def summary(run_id: str = "r", **fields: object) -> RunSummary:
    given = {"rev": 1, "status": "running", "agent": "a", "started_at": 10.0, "updated_at": 11.0, **fields}
    return RunSummary(run_id=run_id, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("run_id", ["a", "../../x", "x" * 200, "run 1: {a}'\";--", "лодка 🛶", "\x1b[0m"])
def test_any_text_is_a_run_id(run_id: str) -> None:
    assert check_run_id(run_id) == run_id


@pytest.mark.parametrize("run_id", ["", "x" * 201, "a\0b", "\ud800", 7, None, b"run"])
def test_what_no_store_could_keep_is_refused(run_id: str) -> None:
    with pytest.raises(UserError, match=r"run_id is .*, expected"):
        check_run_id(run_id)


def test_a_run_is_refused_to_others_only_while_it_is_held() -> None:
    held = summary(owner="me", held_until=20.0)
    assert held.refuses("you", 19.9)
    assert not held.refuses("you", 20.0)
    assert not held.refuses("me", 0.0)


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        (RunQuery(), True),
        (RunQuery(status="running"), True),
        (RunQuery(status="waiting"), False),
        (RunQuery(agent="a"), True),
        (RunQuery(agent="b"), False),
        (RunQuery(started_after=10.0), True),
        (RunQuery(started_after=10.1), False),
        (RunQuery(started_before=10.1), True),
        (RunQuery(started_before=10.0), False),
        (RunQuery(min_tokens=7), True),
        (RunQuery(min_tokens=8), False),
        (RunQuery(abandoned_at=30.0), True),
        (RunQuery(abandoned_at=29.9), False),
        (RunQuery(after=summary("s")), True),
        (RunQuery(after=summary("r")), False),
        (RunQuery(after=summary("q")), False),
        (RunQuery(after=summary("a", started_at=10.5)), True),
    ],
)
def test_a_query_asks_for_all_it_names(query: RunQuery, fits: bool) -> None:
    assert query.fits(summary(input_tokens=4, output_tokens=3, held_until=30.0)) is fits


def test_a_run_that_waits_or_ended_is_never_abandoned() -> None:
    assert not RunQuery(abandoned_at=30.0).fits(summary(status="waiting"))


def test_a_page_holds_at_least_one_run() -> None:
    with pytest.raises(UserError, match=r"limit=0.*expected at least 1"):
        RunQuery(limit=0)
