"""Spans of a run that somebody listens to: agent, turn and model call. A run nobody traces never comes here."""

from __future__ import annotations

from agentsdk.core.next_step import NextStep, RunAgain
from agentsdk.engine.run import Run
from agentsdk.engine.turn import run_single_turn
from agentsdk.ports.tracer import Span, Tracer


class TracedTurns:
    """Turns inside spans: one for each turn, in one for each stretch of an agent's turns."""

    def __init__(self, run: Run, tracer: Tracer) -> None:
        self._tracer = tracer
        self._outer = run.span
        self._agent: Span | None = None

    async def take(self, run: Run) -> NextStep:
        """Take one turn inside its span. The agent's span ends with the turn that does not simply run again."""
        if self._agent is None:
            name = run.agent.name
            place = "/".join((run.root_id, *run.path))
            self._agent = self._tracer.start("agent", name, self._outer, {"agent": name, "run_id": place})
        number = run.state.turns + (run.state.turn is None)
        run.span = span = self._tracer.start("turn", str(number), self._agent, {"turn": number, "agent": run.agent.name})
        failure: BaseException | None = None
        goes_on = False
        try:
            step = await run_single_turn(run)
            goes_on = isinstance(step, RunAgain) and not run.stop_requested
            return step
        except BaseException as error:
            failure = error
            raise
        finally:
            run.span = self._outer
            span.end(failure)
            if not goes_on:
                self._agent.end(failure)
                self._agent = None
