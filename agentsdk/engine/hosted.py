"""What the provider keeps and a request only names: the agent's prompt, and the conversation that the run is part of.

What that conversation holds already is not sent again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from msgspec import structs

from agentsdk.core.state import State
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.run import Run
from agentsdk.ports.model import ModelRequest
from agentsdk.types.errors import UserError
from agentsdk.types.events import InputReplaced, ModelReplied
from agentsdk.types.hosted import Prompt, ServerConversation
from agentsdk.types.response import ModelResponse


async def with_hosted(run: Run, request: ModelRequest) -> ModelRequest:
    """The request with the prompt and the conversation that the provider keeps."""
    prompt = None if run.agent.prompt is None else await _prompt(run)
    conversation = None if run.conversation is None else _conversation(run, run.conversation)
    return structs.replace(request, prompt=prompt, conversation=conversation)


async def _prompt(run: Run) -> Prompt:
    """The agent's prompt, asked for once a turn where a callable gives it."""
    given = run.agent.prompt
    if isinstance(given, Prompt):
        return given
    if run.prompt is None or run.prompt[0] != run.state.turns:
        what = f"prompt of agent {run.agent.name!r}"
        prompt = await call_user(what, cast("Callable[..., object]", given), run.context, run.agent)
        if not isinstance(prompt, Prompt):
            raise UserError(f"{what} returned {type(prompt).__name__!r}, expected a Prompt; return Prompt('pmpt_...')")
        run.prompt = (run.state.turns, prompt)
    return run.prompt[1]


def _conversation(run: Run, begun_in: ServerConversation) -> ServerConversation:
    """What the run's next request goes on from; it was begun in `begun_in`. O(what was added since it was last asked)."""
    state = run.state
    if state.view is not state.transcript:
        raise UserError(
            f"the history of run {run.root_id!r} was changed, expected it as the provider keeps it; leave out what changes it, "
            "such as a handoff's input_filter, or the conversation_id or previous_response_id"
        )
    reply = _last_reply(state, needs_id=not begun_in.conversation_id)
    if reply is None:
        return begun_in
    output, items = list(reply.output), state.transcript
    end = next(end for end in range(len(items), 0, -1) if items[max(0, end - len(output)) : end] == output)
    if begun_in.conversation_id:
        return ServerConversation(begun_in.conversation_id, held=end)
    return ServerConversation(previous_response_id=reply.response_id, held=end)


def _last_reply(state: State, *, needs_id: bool) -> ModelResponse | None:
    """The last reply to the run's input, one with an id if it `needs_id`; None where there is none yet."""
    log = state.log
    known = cast("tuple[int, ModelResponse | None] | None", log.derived.get(_last_reply))
    read, last = known if known is not None and known[0] <= len(log) else (0, None)
    for event in log.since(read):
        if type(event) is ModelReplied and (event.response.response_id or not needs_id):
            last = event.response
        elif type(event) is InputReplaced:
            last = None
    log.derived[_last_reply] = (len(log), last)
    return last
