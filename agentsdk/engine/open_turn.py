"""`open_turn`: the turn that a run is in, for the stages that work in one."""

from __future__ import annotations

from agentsdk.core.state import OpenTurn
from agentsdk.engine.run import Run


def open_turn(run: Run) -> OpenTurn:
    """What is known of the turn that has begun and not ended. Stages are entered with one only."""
    turn = run.state.turn
    assert turn is not None, "a stage was entered outside a turn"
    return turn
