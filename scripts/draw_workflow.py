"""Draw a run of `examples/refund.py` that is undone: `python scripts/draw_workflow.py > docs/refund.svg`.

It is a real one: a letter cannot be sent, so the payment is taken back. Each step takes the time that is written here.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from agentsdk import ModelRequest, RunConfig
from agentsdk.errors import WorkflowFailedError
from agentsdk.testing import ScriptedModel

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import refund as example

SECONDS = {"fetch": 0.4, "damage": 0.9, "pay": 1.2, "send": 0.3, "undo pay": 0.8}
ASKING = 2.5


class Clock:
    """A clock that goes on as far as it is told."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def time(self) -> float:
        """The time, a Unix timestamp."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self.now += seconds


def slow(
    clock: Clock, body: Callable[..., Coroutine[Any, Any, Any]], seconds: float
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A step's body that takes so long."""

    @functools.wraps(body)
    async def taking(*args: Any) -> Any:
        clock.now += seconds
        return await body(*args)

    return taking


async def draw() -> str:
    """The picture, as SVG."""
    clock = Clock()
    for step in (example.fetch, example.damage, example.pay, example.send, example.take_back):
        step.function = slow(clock, step.function, SECONDS[step.name])

    def says(text: str) -> Callable[[ModelRequest], str]:
        def reply(request: ModelRequest) -> str:
            clock.now += ASKING
            return text

        return reply

    example.analyst.model = ScriptedModel([says('{"score": 1, "why": "a small sum"}')])
    example.writer.model = ScriptedModel([says("Sorry for the dents!")])
    try:
        with contextlib.redirect_stdout(None):
            await example.refund.run("o-2", run_config=RunConfig(clock=clock))
    except WorkflowFailedError as error:
        return example.refund.draw(error.state, format="svg")
    raise AssertionError("the letter was sent")


if __name__ == "__main__":
    print(asyncio.run(draw()), end="")
