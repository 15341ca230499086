"""What a person decided on a run that goes on: checked against its tools before it is recorded, and dated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import structs

from agentsdk.core.arguments import parse_arguments
from agentsdk.core.json_schema import problems_with
from agentsdk.core.problems import list_problems
from agentsdk.core.run_state import RunState
from agentsdk.core.state import State
from agentsdk.define.agent import Agent
from agentsdk.define.answer_type import WrongAnswer
from agentsdk.define.declaration import Declaration
from agentsdk.engine.log_positions import nested_agent
from agentsdk.engine.prepare import find_agent
from agentsdk.types.errors import InvalidArgumentsError, UserError
from agentsdk.types.events import AnswerRefused, ArgumentsEdited, ArgumentsRefused, CallAnswered, Nested, RunEvent, unnested
from agentsdk.types.spec import handler_of


def accepted(first: Agent[Any, Any], decided: RunState, now: float) -> tuple[RunEvent, ...]:
    """What was decided on the run that `first` began, as it is to be recorded.

    Raises `UserError` for an answer, and for edited arguments, that do not fit their tool; its state is the run without them.
    """
    state, decisions = decided.pieces()
    refused = refusal(find_agent(first, state.agent), state, decisions)
    if refused is not None:
        path, decision = unnested(refused)
        assert isinstance(decision, AnswerRefused | ArgumentsRefused)
        error = UserError(
            f"call {decision.call_id!r} still waits: {decision.reason}\nexpected what its tool declares; decide again on "
            "error.state"
        )
        error.state = decided.without(path, decision.call_id)
        raise error
    return dated(decisions, now)


def refusal(agent: Agent[Any, Any] | None, state: State, decisions: Iterable[RunEvent]) -> RunEvent | None:
    """What says that the first answer, or the first edited arguments, that do not fit their tool do not count; None if all fit.

    `agent` is whose turn it is in `state`.
    """
    for event in decisions:
        if isinstance(event, Nested):
            child, turn = nested_agent(state, agent, event.call_id), state.turn
            assert turn is not None, "a call that waits is of an open turn"
            inner = refusal(child, turn.children[event.call_id], (event.event,))
            if inner is not None:
                return Nested(event.call_id, inner)
        elif isinstance(event, ArgumentsEdited | CallAnswered) and (why := _misfit(agent, state, event)):
            kind = AnswerRefused if isinstance(event, CallAnswered) else ArgumentsRefused
            return kind(event.call_id, why)
    return None


def dated(decisions: Iterable[RunEvent], now: float) -> tuple[RunEvent, ...]:
    """The decisions, where they do not say when they were made, as of `now`."""
    return tuple([_dated(event, now) for event in decisions])


def _dated(event: RunEvent, now: float) -> RunEvent:
    if isinstance(event, Nested):
        return Nested(event.call_id, _dated(event.event, now))
    if isinstance(event, ArgumentsEdited | CallAnswered) and not event.at:
        return structs.replace(event, at=now)
    return event


def _misfit(agent: Agent[Any, Any] | None, state: State, decision: ArgumentsEdited | CallAnswered) -> str:
    """What does not fit the call's tool; `""` where all does, and where the tool is gone, which the loop says."""
    calls = () if state.turn is None else state.turn.calls
    call = next((call for call in calls if call.call_id == decision.call_id), None)
    tool = None if agent is None or call is None else handler_of(call, Declaration.of(agent).tools)
    if isinstance(decision, CallAnswered) and not (tool is not None and tool.external):
        assert state.turn is not None
        return misfit_of_schema(state.turn.outside.awaited[decision.call_id].schema, decision.answer)
    if tool is None:
        return ""
    if tool.kind == "mcp_approval":
        return "the edited arguments do not fit:\nthe provider runs the call with its own; reject it, and say in reason why"
    try:
        if isinstance(decision, CallAnswered):
            tool.answer_type.read(decision.answer)
        else:
            tool.bind(parse_arguments(decision.arguments))
    except Exception as error:
        return misfit_of(decision, error)
    return ""


def misfit_of_schema(schema: str, answer: str) -> str:
    """What a person is told whose answer does not fit the recorded schema of a call that has asked; `""` where it does."""
    if not schema or not (problems := problems_with(msgspec.json.decode(schema), msgspec.json.decode(answer))):
        return ""
    return f"the answer does not fit:\n{list_problems(problems)}"


def misfit_of(decision: ArgumentsEdited | CallAnswered, error: Exception) -> str:
    """What a person is told who gave an answer, or arguments, that raised `error` when they were checked."""
    what = "the answer does" if isinstance(decision, CallAnswered) else "the edited arguments do"
    if isinstance(error, InvalidArgumentsError):
        why = error.reason
    else:
        why = str(error) if isinstance(error, WrongAnswer) else f"a validator raised {type(error).__name__}"
    return f"{what} not fit:\n{why}"
