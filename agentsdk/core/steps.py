"""The open steps of a program: a dict in pieces, so that of many steps beside each other none costs a copy of them all."""

from __future__ import annotations

from agentsdk.types.events import StepBegan

_PIECE = 64
"""How many steps a piece has at the most."""

CANCEL = "/cancel"
"""The key of what stands where a workflow was cancelled that undoes its steps then. No step of a program has it."""

Steps = tuple[dict[str, StepBegan], ...]
"""Steps by their keys, in the order in which they began."""


def step_of(steps: Steps, key: str) -> StepBegan | None:
    """The step of that key."""
    for piece in steps:
        if key in piece:
            return piece[key]
    return None


def with_step(steps: Steps, step: StepBegan) -> Steps:
    """The steps and one more."""
    if steps and len(steps[-1]) < _PIECE:
        return (*steps[:-1], {**steps[-1], step.call_id: step})
    return (*steps, {step.call_id: step})


def without_step(steps: Steps, key: str) -> Steps:
    """The steps without one of them."""
    pieces = [piece if key not in piece else {known: step for known, step in piece.items() if known != key} for piece in steps]
    return tuple([piece for piece in pieces if piece])
