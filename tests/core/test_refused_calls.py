"""The audit of refused calls, read from a log: of nested runs too, each with the call that the model made."""

from __future__ import annotations

from msgspec.structs import replace

from agentsdk.core.refused_calls import RefusedCall
from agentsdk.core.run_state import RunState
from agentsdk.core.state import fold
from agentsdk.types.events import (
    ModelReplied,
    Nested,
    NotGranted,
    RunEvent,
    RunStarted,
    ToolFinished,
    ToolsIntended,
)
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

PAY, READ = FunctionCall("a", "pay", '{"to": "Ada"}'), FunctionCall("b", "read", "{}")
INNER = replace(PAY, arguments='{"to": "Bob"}')
WHY = NotGranted("pay", "write", ("money",), "clerk", ("readers",))


def replied(*calls: FunctionCall) -> ModelReplied:
    return ModelReplied(ModelResponse(calls, Usage(1, 2, 3)), 2.0)


def test_each_refused_call_is_there_once_with_why() -> None:
    log: list[RunEvent] = [
        RunStarted("run-1", "clerk", (Message("user", "hi"),), 0, 1.0),
        replied(PAY, READ, FunctionCall("c", "ask_inner", "{}")),
        ToolFinished("a", "not granted", True, at=5.0, not_granted=WHY),
        ToolsIntended(("b", "c")),
        *(Nested("c", event) for event in (RunStarted("", "inner", (), 0, 1.0), replied(INNER))),
        Nested("c", ToolFinished("a", "not granted", True, at=6.0, not_granted=WHY)),
        ToolFinished("b", "read", at=7.0),
    ]
    state = RunState(fold(log))
    assert state.refused_calls == [RefusedCall(PAY, 5.0, WHY), RefusedCall(INNER, 6.0, WHY, ("c",))]


def test_without_grants_there_are_none() -> None:
    assert RunState(fold([RunStarted("run-1", "clerk", (Message("user", "hi"),), 0, 1.0)])).refused_calls == []
