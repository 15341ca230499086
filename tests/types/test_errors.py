"""The tree of errors, as its docstring draws it."""

from __future__ import annotations

import re
from inspect import isclass
from typing import Any

import pytest

import agentsdk
from agentsdk.types import errors
from agentsdk.types.errors import (
    AgentsException,
    IncompleteResponseError,
    InputGuardrailTripwireTriggered,
    InvalidArgumentsError,
    InvalidOutputError,
    ModelRefusalError,
    ProviderError,
    RateLimitError,
)

EVERY = {
    name: kind
    for name, kind in vars(errors).items()
    if isclass(kind) and issubclass(kind, Exception) and not name.startswith("_")
}


def drawn() -> dict[str, str]:
    """Each name of the drawing with the name it hangs from."""
    assert errors.__doc__ is not None
    drawing = errors.__doc__.split("```")[1]
    parents: dict[str, str] = {}
    branch: list[str] = []
    for line in drawing.strip().splitlines():
        match = re.match(r"^([│ ├└─]*)(\w+)", line)
        assert match is not None, line
        depth = len(match[1]) // 4
        branch[depth:] = [match[2]]
        if depth:
            assert match[2] not in parents, f"{match[2]} is drawn twice"
            parents[match[2]] = branch[depth - 1]
    return parents


def public_parent(kind: type) -> str:
    return next(base.__name__ for base in kind.__mro__[1:] if not base.__name__.startswith("_"))


def test_the_drawing_is_the_tree() -> None:
    assert drawn() == {name: public_parent(kind) for name, kind in EVERY.items() if kind is not AgentsException}


def test_every_error_is_an_agents_exception_without_a_state_at_first() -> None:
    for kind in EVERY.values():
        assert issubclass(kind, AgentsException)
        assert kind.state is None
        assert kind.__doc__


def test_every_error_is_public() -> None:
    assert {name for name in EVERY if name not in agentsdk.errors.__all__} == set()


@pytest.mark.parametrize(
    ("error", "carried"),
    [
        (IncompleteResponseError("m", partial="half"), {"partial": "half"}),
        (InvalidArgumentsError("why"), {"reason": "why"}),
        (InvalidOutputError("m", output="text"), {"output": "text"}),
        (ModelRefusalError("m", refusal="no"), {"refusal": "no"}),
        (
            RateLimitError("m", status=429, code="slow", request_id="r", retryable=True, retry_after=1.5),
            {"status": 429, "code": "slow", "request_id": "r", "retryable": True, "retry_after": 1.5},
        ),
        (
            ProviderError("m"),
            {"status": None, "code": "", "request_id": "", "retryable": False, "retry_after": None},
        ),
        (InputGuardrailTripwireTriggered("m", "verdict"), {"guardrail_result": "verdict"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_an_error_carries(error: AgentsException, carried: dict[str, Any]) -> None:
    assert {name: getattr(error, name) for name in carried} == carried
    assert str(error) == ("why" if isinstance(error, InvalidArgumentsError) else "m")
