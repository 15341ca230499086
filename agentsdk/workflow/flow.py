"""`flow`: what a workflow's program can do besides calling steps. All of it is recorded."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Sequence
from functools import cache
from typing import Any, TypeVar, cast, overload

from agentsdk.core.given_json import json_text
from agentsdk.define.agent import Agent
from agentsdk.define.tool import FunctionTool
from agentsdk.types.declared import CALLABLE, Fields, a, any_text, number, optional, sequence_of, whole
from agentsdk.types.errors import UserError
from agentsdk.workflow.agent_step import AgentCall
from agentsdk.workflow.answer_step import AnswerCall, ValueCall
from agentsdk.workflow.codec import Codec
from agentsdk.workflow.rule import Judgement
from agentsdk.workflow.scope import PLACE, Body, Scope, current_scope
from agentsdk.workflow.tool_step import call_of_tool

T = TypeVar("T")
R = TypeVar("R")

_FIELDS = Fields(
    "flow",
    agent=a(Agent, "an Agent"),
    check=optional(CALLABLE),
    tool=a(FunctionTool, "a tool; pass what @function_tool made"),
    max_turns=optional(whole("a whole number, 1 or more", 1)),
    question=any_text("a str; say what a person is asked"),
    choices=sequence_of(any_text("a str"), "a list of the answers there are"),
    timeout=optional(number("seconds above 0, or None for none", above=0)),
    limit=whole("a whole number, 1 or more", 1),
    seconds=number("seconds, 0 or more", least=0),
    at=number("a Unix timestamp in seconds"),
    name=any_text("a str; name the signal"),
)


class Flow:
    """What a workflow's program can do besides calling steps: `from agentsdk.workflow import flow`.

    Raises `UserError` outside of a workflow, but for `each`, `now`, `random` and `new_id`, which need none.
    """

    def agent(
        self,
        agent: Agent[Any, T],
        input: object,
        *,
        max_turns: int | None = 20,
        check: Callable[[T], Judgement] | None = None,
    ) -> Coroutine[None, None, T]:
        """Run an agent on `input`, a text or anything that has a JSON form: its final output, of its output type. Of a workflow
        `input` is the argument, and this is a call of it.

        Its run is part of the workflow's: one log, one set of limits, and its approvals are the workflow's interruptions.
        `check`, sync or async, is called with the output, and raises where that is not to be: the agent is told why, and
        answers again, `max_output_retries` times.
        Raises `StepFailedError` where it refuses, is stopped by a guardrail or by `max_turns`, or has no output that fits
        and passes `check`.
        """
        _FIELDS.check_given("flow.agent", agent=agent, max_turns=max_turns, check=check)
        scope = _scope("agent")
        if agent.driver is not None:  # it is a workflow
            if check is not None:
                raise UserError(
                    f"flow.agent was given check= for the workflow {agent.name!r}, expected it for agents that models drive; "
                    "look at the result in the program"
                )
            return cast("Callable[[object], Coroutine[None, None, T]]", agent)(input)
        text = input if isinstance(input, str) else json_text(f"the input of agent {agent.name!r}", input)
        program = scope.program
        return program.perform(AgentCall(scope.key(agent.name), program.run, agent, text, max_turns, check=check))

    @overload
    def tool(self, tool: FunctionTool[Any], /, **arguments: object) -> Coroutine[None, None, str]: ...
    @overload
    def tool(self, tool: FunctionTool[Any], kind: type[T], /, **arguments: object) -> Coroutine[None, None, T]: ...
    def tool(self, tool: FunctionTool[Any], kind: Any = str, /, **arguments: object) -> Coroutine[None, None, Any]:
        """Call a tool, as an agent would: its result as a text, or of type `kind`, as which its JSON is read.

        Its effect, timeout, retries, guardrails and approval are as it declares them; a call that waits for a person is an
        interruption of the workflow. Raises `StepFailedError` where it fails, or is refused.
        """
        _FIELDS.check_given("flow.tool", tool=tool)
        scope = _scope("tool")
        given = json_text(f"the arguments of tool {tool.name!r}", arguments)
        return scope.program.perform(call_of_tool(scope.key(tool.name), scope.program.run, tool, given, _codec(kind)))

    @overload
    def ask(self, question: str, about: object = ..., *, timeout: float | None = ...) -> Coroutine[None, None, bool]: ...
    @overload
    def ask(
        self,
        question: str,
        about: object = ...,
        *,
        answer: type[T],
        choices: Sequence[str] = ...,
        timeout: float | None = ...,
    ) -> Coroutine[None, None, T]: ...
    def ask(
        self,
        question: str,
        about: object = None,
        *,
        answer: Any = bool,
        choices: Sequence[str] = (),
        timeout: float | None = None,
    ) -> Coroutine[None, None, Any]:
        """Ask a person, and wait for an answer of type `answer`; `about` is shown with the question, as JSON.

        The run waits with a `ToolAnswerItem`: `state.answer(item, True)`, or a `Decision`. After `timeout` seconds without an
        answer the step fails with `TimeoutError`.
        """
        _FIELDS.check_given("flow.ask", question=question, choices=choices, timeout=timeout)
        scope = _scope("ask")
        arguments = json_text("what a person is asked about", {"question": question, "about": about})
        call = AnswerCall(
            scope.key("ask"), "ask", arguments, _codec(answer), question=question, choices=tuple(choices), seconds=timeout
        )
        return scope.program.perform(call)

    def wait_for(self, name: str, kind: type[T], *, timeout: float | None = None) -> Coroutine[None, None, T]:
        """Wait for the signal `name`, whose data is of type `kind`: `Runner.signal(run_id, name, data, run_config=...)`.

        One that was given before is taken at once; of several the first that has not been taken.
        After `timeout` seconds the step fails with `TimeoutError`.
        """
        _FIELDS.check_given("flow.wait_for", name=name, timeout=timeout)
        scope = _scope("wait_for")
        return scope.program.perform(AnswerCall(scope.key(name), name, "{}", _codec(kind), seconds=timeout, signal=name))

    def sleep(self, seconds: float) -> Coroutine[None, None, None]:
        """Wait so many seconds. A stored run is left meanwhile, where that is long, and taken up by a `Worker`."""
        _FIELDS.check_given("flow.sleep", seconds=seconds)
        scope = _scope("sleep")
        arguments = json_text("seconds", {"seconds": seconds})
        call = AnswerCall(scope.key("sleep"), "sleep", arguments, _codec(type(None)), seconds=seconds, default="null")
        return scope.program.perform(call)

    def until(self, at: float) -> Coroutine[None, None, None]:
        """Wait until `at`, a Unix timestamp in seconds, as `sleep` does."""
        _FIELDS.check_given("flow.until", at=at)
        scope = _scope("until")
        arguments = json_text("a time", {"at": at})
        call = AnswerCall(scope.key("until"), "until", arguments, _codec(type(None)), until=at, default="null")
        return scope.program.perform(call)

    def each(
        self, function: Callable[[T], Awaitable[R]], items: Iterable[T], *, limit: int = 16
    ) -> Coroutine[None, None, list[R]]:
        """What `function`, a step or an async function that calls some, gives for each item, in order; at most `limit` at once.

        Where one raises, those that have begun come to their end, no more begin, and that error is raised.
        """
        _FIELDS.check_given("flow.each", limit=limit)
        scope = current_scope()
        return _each(function, list(items), limit, None if scope is None else (scope, scope.key("each")))

    def now(self) -> Coroutine[None, None, float]:
        """The time, a Unix timestamp in seconds."""
        scope = current_scope()
        if scope is None:
            import time

            return _plain(time.time())
        return scope.program.perform(ValueCall(scope.key("now"), "now", _codec(float), scope.program.run.deps.now()))

    def random(self) -> Coroutine[None, None, float]:
        """A number at random from 0 to 1, without 1."""
        return _made("random", float, random.random())

    def new_id(self) -> Coroutine[None, None, str]:
        """An id at random, of 32 hex digits."""
        return _made("new_id", str, os.urandom(16).hex())

    def idempotency_key(self) -> str:
        """In the body of a step: a key that is the same whenever this step of this run is tried again, and of no other."""
        place = PLACE.get()
        if type(place) is Body:
            return place.idempotency_key
        raise UserError("flow.idempotency_key() was called outside the body of a workflow's step, expected within one; move it")


flow = Flow()
"""What a workflow's program can do besides calling steps."""


def _scope(what: str) -> Scope:
    scope = current_scope()
    if scope is None:
        raise UserError(
            f"flow.{what} was called outside of a workflow's program, expected within one; call it in a function that is a "
            "@workflow, not in the body of a step"
        )
    return scope


def _made(name: str, kind: type[T], value: T) -> Coroutine[None, None, T]:
    scope = current_scope()
    if scope is None:
        return _plain(value)
    return scope.program.perform(ValueCall(scope.key(name), name, _codec(kind), value))


async def _plain(value: T) -> T:
    return value


def _codec(kind: object) -> Codec:
    try:
        return _cached(kind)
    except TypeError:  # of a type with an annotation that cannot be hashed
        return Codec(kind, "the answer")


@cache
def _cached(kind: Hashable) -> Codec:
    return Codec(kind, "the answer")


async def _each(
    function: Callable[[T], Awaitable[R]], items: Sequence[T], limit: int, place: tuple[Scope, str] | None
) -> list[R]:
    results: list[R] = [cast(R, None)] * len(items)
    waiting = iter(enumerate(items))
    failures: list[Exception] = []

    async def work() -> None:
        for index, item in waiting:
            if failures:
                return
            if place is not None:
                scope, key = place
                PLACE.set(Scope(scope.program, f"{key}/{index}/", asyncio.current_task()))
            try:
                results[index] = await function(item)
            except Exception as error:
                failures.append(error)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(limit, len(items))):
            group.create_task(work())
    if failures:
        raise failures[0]
    return results
