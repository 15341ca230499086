"""Typed as documented: both checkers read these files, nothing runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from agentsdk import Agent, HandoffInputData, RunContextWrapper, handoff
from agentsdk.handoffs import HandoffDeclaration


@dataclass
class User:
    name: str


@dataclass
class Case:
    reason: str


target = Agent[User, int](name="target", output_type=int)


def noticed(context: RunContextWrapper[User]) -> None:
    assert_type(context.context, User)


async def noted(context: RunContextWrapper[User], case: Case) -> None:
    assert_type(case.reason, str)


def cut(data: HandoffInputData) -> HandoffInputData:
    return data.clone(new_items=data.new_items[:1])


def enabled(context: RunContextWrapper[User], agent: Agent[User, Any]) -> bool:
    return context.context.name == agent.name


assert_type(handoff(target), HandoffDeclaration[User])
assert_type(handoff(target, on_handoff=noticed, input_filter=cut, is_enabled=enabled), HandoffDeclaration[User])
assert_type(handoff(target, on_handoff=noted, input_type=Case), HandoffDeclaration[User])

# An agent's handoffs share its context, whatever their outputs.
assert_type(Agent(name="source", handoffs=[target]), Agent[User, str])
assert_type(Agent(name="source", handoffs=[handoff(target)]), Agent[User, str])
Agent[User, str](name="source", handoffs=[target, handoff(target)])

# Each of these must be an error: an unused ignore is one for both checkers.
handoff(target, input_type=Case)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
handoff(target, on_handoff=noted, input_type=int)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
handoff(target, on_handoff=noted)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
Agent[int, str](name="x", handoffs=[handoff(target)])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
