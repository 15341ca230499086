"""Programs that call tools: the turns of a nested run whose replies an interpreter gives.

Each step of the program is a reply: what it printed, and the calls it waits for. The snapshot from which it goes on is in the
same event, so a run that is cut anywhere stands at a call of the program, never between two records.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from agentsdk.core.overflow import output_text
from agentsdk.define.program_tool import ProgramInput
from agentsdk.engine.prepare import Prepared
from agentsdk.engine.run import Run
from agentsdk.ports.interpreter import ProgramStep
from agentsdk.types.events import ModelReplied, RunStarted, ToolFinished, milliseconds
from agentsdk.types.items import FunctionCallOutput, Message
from agentsdk.types.response import ModelResponse


async def take_step(run: Run, prepared: Prepared, program: ProgramInput[Any]) -> None:
    """Run the program of a nested run up to its next calls, or its end, and record that as the turn's reply."""
    asked_at, last, interpreter = run.deps.now(), last_reply(run), program.interpreter
    # Those too that may not be called now: that is for the call to find out, and recorded.
    functions = program.functions([*prepared.declared.tools.values()])
    if last is None:
        started = run.state.log[0]
        assert isinstance(started, RunStarted)
        (given,) = started.input
        assert isinstance(given, Message)
        step = await interpreter.begin(given.text, functions)
    else:
        step = await interpreter.go_on(last.snapshot, await _results(run), functions)
    run.call_ids.update(call.call_id for call in step.calls)
    reply, now = _reply(run, step), run.deps.stamp()
    await run.record(ModelReplied(reply, now, prepared.disabled, took_ms=milliseconds(asked_at, now), snapshot=step.snapshot))


def last_reply(run: Run) -> ModelReplied | None:
    """The last step of the run's program; None where it has not begun."""
    return next((event for event in reversed(run.state.log) if isinstance(event, ModelReplied)), None)


def _reply(run: Run, step: ProgramStep) -> ModelResponse:
    if step.calls:
        printed = (Message("assistant", step.text),) if step.text else ()
        return ModelResponse((*printed, *step.calls), finish="tool_calls")
    before = [item.text for item in run.state.transcript if isinstance(item, Message) and item.role == "assistant"]
    whole = Message("assistant", "".join([*before, step.text]))
    return ModelResponse((whole,), finish="error" if step.is_error else "stop")


async def _results(run: Run) -> list[FunctionCallOutput]:
    """The results of the last step's calls, those that were too long for a model in full."""
    results: list[FunctionCallOutput] = []
    whole: dict[str, ToolFinished] = {}
    for event in reversed(run.state.log):
        if isinstance(event, ModelReplied):
            break
        if isinstance(event, ToolFinished) and event.whole:
            whole[event.call_id] = event
    for item in reversed(run.state.transcript):
        if not isinstance(item, FunctionCallOutput):
            break
        cut = whole.get(item.call_id)
        if cut is not None and output_text(cut.output) == output_text(item.output):  # no guardrail has put another in its place
            text = await run.full_result(cut.whole)
            item = item if text is None else structs.replace(item, output=text)
        results.append(item)
    return results
