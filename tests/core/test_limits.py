"""The turn limit: what it counts, and when it is reached."""

from __future__ import annotations

import pytest

from agentsdk.core.limits import RunLimits, reached
from agentsdk.core.state import State, fold
from agentsdk.types.errors import MaxTurnsExceeded, UserError
from agentsdk.types.events import AttemptSpent, ModelReplied, Nested, RunEvent, RunStarted, TurnEnded
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

STARTED = RunStarted("run", "first", (), 0, 1.0)


def after(turns: int, nested: int = 0) -> State:
    """A run after some turns, and some more of a nested run."""
    reply = ModelReplied(ModelResponse((Message("assistant", "x"),)), 2.0)
    log: list[RunEvent] = [STARTED, AttemptSpent(Usage(1))]
    if nested:
        turns -= 1
        log += [ModelReplied(ModelResponse((FunctionCall("a", "agent", "{}"),)), 2.0), Nested("a", STARTED)]
        log += [Nested("a", event) for _ in range(nested) for event in (reply, TurnEnded())]
        log.append(TurnEnded())
    return fold([*log, *(event for _ in range(turns) for event in (reply, TurnEnded()))])


@pytest.mark.parametrize(("turns", "nested"), [(1, 0), (2, 0), (5, 0), (1, 1), (2, 3)])
def test_reached_exactly_when_the_turns_are_spent(turns: int, nested: int) -> None:
    state = after(turns, nested)
    assert reached(RunLimits(turns=turns + nested + 1), state) is None
    assert reached(RunLimits(turns=None), state) is None
    for limit in {1, turns + nested}:
        error = reached(RunLimits(turns=limit), state)
        assert isinstance(error, MaxTurnsExceeded)
        assert f"'first' took {turns + nested} turns" in str(error)
        assert f"at most {limit}" in str(error)


def test_an_attempt_that_gave_no_reply_is_no_turn() -> None:
    assert reached(RunLimits(turns=1), fold([STARTED, AttemptSpent(Usage(1)), AttemptSpent(Usage(1), "cut")])) is None


def test_twenty_turns_by_default() -> None:
    assert RunLimits() == RunLimits(turns=20)


@pytest.mark.parametrize("turns", [0, -1])
def test_a_run_has_at_least_one_turn(turns: int) -> None:
    with pytest.raises(UserError, match=rf"RunLimits\(turns={turns}\), expected at least 1 or None"):
        RunLimits(turns=turns)
