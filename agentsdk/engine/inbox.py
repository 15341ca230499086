"""What is added to the input of a run: messages enter between two turns, once the input guardrails have let them pass."""

from __future__ import annotations

from agentsdk.engine.guardrails import result, run_guardrails_on_added_input
from agentsdk.engine.run import Run
from agentsdk.types.errors import InputGuardrailTripwireTriggered
from agentsdk.types.events import InputAdded
from agentsdk.types.items import Message


async def take_messages(run: Run) -> None:
    """Record what is due as the run's input, in one append.

    A message leaves its inbox once it is recorded, or refused. Raises `InputGuardrailTripwireTriggered` for one that was
    refused: it does not enter, the others stay in the inbox, and the run goes on from the error's state without it.
    """
    arrived = tuple([message for inbox in run.inboxes for message in inbox.due()])
    if not arrived:
        return
    judged = await run_guardrails_on_added_input(run, arrived)
    for message, verdicts in zip(arrived, judged, strict=True):
        refused = next((verdict for verdict in verdicts if verdict.behavior != "allow"), None)
        if refused is not None:
            await run.record(*verdicts)
            _taken(run, (message,))
            raise InputGuardrailTripwireTriggered(
                f"input guardrail {refused.guardrail!r} refused a message that arrived during the run of agent "
                f"{run.agent.name!r}; it did not enter: resume error.state to go on without it",
                result(refused),
            )
    known = len(run.state.log)
    try:
        await run.record(*[verdict for verdicts in judged for verdict in verdicts], InputAdded(arrived))
    finally:
        if run.added is not None and len(run.state.log) > known:
            run.added.taken(arrived)  # also where the store failed: the state has them
    _taken(run, arrived)


def _taken(run: Run, messages: tuple[Message, ...]) -> None:
    for inbox in run.inboxes:
        inbox.taken(messages)
