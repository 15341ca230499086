"""`run_loop`: the loop. Every turn resolves to one of four next steps, and each step is acted on here.

Fresh, streamed, resumed, nested and replayed runs are all driven by it.
"""

from __future__ import annotations

from typing import assert_never

from agentsdk.core.next_step import FinalOutput, Handoff, Interruption, RunAgain
from agentsdk.define.declaration import Declaration
from agentsdk.engine.final_output import final_value
from agentsdk.engine.handoffs import hand_over
from agentsdk.engine.run import Run
from agentsdk.engine.saved_context import save_context
from agentsdk.engine.turn import finish, may_go_on, run_again, run_single_turn
from agentsdk.engine.turn_scope import turn_scope


async def run_loop(run: Run) -> None:
    """Take turns until one gives the final output or waits for a person, or the run is paused or to stop after a turn."""
    ended = run.state.ended
    if ended is not None:
        run.final_output = final_value(run, Declaration.of(run.agent).output, ended.output, ended.is_json)
        return
    scope, keeps_context = turn_scope(run), run.deps.config.context_codec is not None
    while run.recorder is None or await may_go_on(run):
        goes_on = True
        if run.on_turn is not None:
            await run.on_turn(run)
        with scope:
            turn = await run_single_turn(run)
            match turn.next_step:
                case RunAgain():
                    await run_again(run, turn)
                case Handoff() as handoff:
                    await hand_over(run, turn.prepared, turn.processed, handoff)
                case Interruption():
                    goes_on = run.has_signals  # else a person decides on the open turn
                case FinalOutput() as final:
                    goes_on = not await finish(run, turn, final)
                case _:
                    assert_never(turn.next_step)
            if keeps_context:
                await save_context(run)
        if not goes_on or run.stop_requested:
            return
