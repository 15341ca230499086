"""The log of turns: a line for each, at level DEBUG of the logger `agentsdk.turns`.

It has names and numbers only: no text, argument or result. A name that the model made up is not shown.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from contextlib import AbstractContextManager
from types import TracebackType

from agentsdk.engine.run import Run
from agentsdk.ports.tracer import OTHER_TOOL
from agentsdk.types.events import ModelReplied
from agentsdk.types.items import FunctionCall
from agentsdk.types.usage import Usage

logger = logging.getLogger("agentsdk.turns")


def logs_turns() -> bool:
    """Whether anybody wants to see them."""
    return logger.isEnabledFor(logging.DEBUG)


class TurnLog(AbstractContextManager[None]):
    """A block of one turn, to be entered anew for each."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._entered = run.agent
        self._known = 0
        self._number = 0
        self._began = 0.0

    def __enter__(self) -> None:
        run = self._run
        self._entered, self._known = run.agent, len(run.state.log)
        self._number = run.state.turns + (run.state.turn is None)
        self._began = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        run, agent = self._run, self._entered
        milliseconds = (time.perf_counter() - self._began) * 1e3
        replies = [event for event in run.state.log.since(self._known) if isinstance(event, ModelReplied)]
        model = ", ".join([reply.asked or reply.response.model for reply in replies]) or "no request"
        usage = sum((reply.response.usage for reply in replies), Usage())
        tools = run.declared_by(agent).tools
        calls = [item.name for reply in replies for item in reply.response.output if isinstance(item, FunctionCall)]
        counted = Counter([name if name in tools else OTHER_TOOL for name in calls])
        called = ", ".join([name if count == 1 else f"{name} x{count}" for name, count in counted.items()]) or "none"
        line = (
            f"{agent.name} turn {self._number}: {model}, {usage.input_tokens}+{usage.output_tokens} tokens, "
            f"{milliseconds:.0f} ms, calls: {called}, next: {self._next_step(error)} [run {'/'.join((run.root_id, *run.path))}]"
        )
        logger.debug("%s", "".join([char if char.isprintable() else "?" for char in line]))

    def _next_step(self, error: BaseException | None) -> str:
        state = self._run.state
        if error is not None:
            return f"none, {type(error).__name__}"
        if state.ended is not None:
            return "final output"
        if state.turn is not None:
            return "interruption"
        return "run again" if self._run.agent is self._entered else f"handoff to {self._run.agent.name}"
