"""`agentsdk chat`: a conversation in the terminal.

Each answer is a run of its own in one event loop, driven by `asyncio.Runner`: a Ctrl-C cancels the run, which keeps what it has
done in the session, and the conversation goes on. At the prompt a Ctrl-C or a Ctrl-D ends it.
"""

from __future__ import annotations

import asyncio
import json
import select
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentsdk.cli.codes import OK
from agentsdk.cli.driving import load_agent, opened, output_text, told
from agentsdk.cli.shown import one_line, plain, spent, took
from agentsdk.core.next_step import ToolAnswerItem, ToolApprovalItem
from agentsdk.runner import Runner  # what an answer needs is there before it is asked for
from agentsdk.types.errors import AgentsException, UserError

if TYPE_CHECKING:
    from agentsdk.core.run_state import RunState
    from agentsdk.define.agent import Agent
    from agentsdk.define.run_config import RunConfig
    from agentsdk.ports.session import Session
    from agentsdk.result import RunResultStreaming

_APPROVE = "approve? [y]es, [n]o, [e]dit arguments: "


def chat(agent: str, session: str, sessions: str, store: str, config: str, model: str, max_turns: int) -> int:
    """Talk until the input ends; the exit code. Raises `UserError` for arguments that fit nothing."""
    loaded = load_agent(agent)
    with asyncio.Runner() as loop:
        stack = AsyncExitStack()
        made = loop.run(stack.enter_async_context(opened(store, config, model)))
        if max_turns:
            made = replace(made, limits=replace(made.limits, turns=max_turns))
        try:
            talk = _Talk(loop, loaded, made, _session(session, sessions))
            while (line := _asked(f"{plain(loaded.name)}> ")) is not None:
                if line.strip():
                    talk.say(line)
        finally:
            loop.run(stack.aclose())
    return OK


class _Talk:
    """One conversation."""

    def __init__(self, loop: asyncio.Runner, agent: Agent[Any, Any], config: RunConfig, session: Session) -> None:
        self._loop = loop
        self._agent = agent
        self._config = config
        self._session = session

    def say(self, line: str) -> None:
        """Have a line answered, and whoever waits for a person asked."""
        given: str | RunState | None = line
        while given is not None:
            try:
                stream = self._loop.run(self._answered(given))
            except KeyboardInterrupt:
                _say("\n[stopped]\n")
                return
            except AgentsException as error:
                _say(f"\n[{type(error).__name__}: {plain(str(error))}]\n")
                return
            given = self._decided(stream)

    async def _answered(self, given: str | RunState) -> RunResultStreaming[Any]:
        stream = Runner.run_streamed(self._agent, given, session=self._session, run_config=self._config)
        await told(stream, _say)
        if stream.is_finished and not isinstance(output := stream.final_output, str):
            _say(f"{plain(output_text(output))}\n")
        _say(f"[{spent(stream.usage.total_tokens, stream.cost)}, {took(stream.duration)}]\n")
        return stream

    def _decided(self, stream: RunResultStreaming[Any]) -> RunState | None:
        """The state to go on with, once a person has said a word on each call that waits; None where nothing goes on."""
        if not stream.interruptions:
            return None
        state = stream.to_state()
        for item in stream.interruptions:
            _say(f"{plain(item.tool_name)} {one_line(item.arguments, 2_000)} ")
            if isinstance(item, ToolApprovalItem):
                is_said = _approved(state, item)
            elif isinstance(item, ToolAnswerItem):
                is_said = _answered(state, item)
            else:
                is_said = _settled(state, item)
            if not is_said:
                _say("[it waits on]\n")
                return None
        return state


def _approved(state: RunState, item: Any) -> bool:
    while (word := _asked(_APPROVE)) is not None:
        match word.strip().lower()[:1]:
            case "y":
                state.approve(item)
            case "n":
                state.reject(item, reason=_asked("why: ") or "")
            case "e":
                try:
                    state.approve(item, arguments=json.loads(_asked("arguments, as JSON: ") or ""))
                except (ValueError, UserError) as error:
                    _say(f"[{plain(str(error))}]\n")
                    continue
            case _:
                continue
        return True
    return False


def _answered(state: RunState, item: Any) -> bool:
    question = plain(item.question or "its answer")
    choices = f" ({', '.join(map(plain, item.choices))})" if item.choices else ""
    while (word := _asked(f"{question}{choices}: ")) is not None:
        problem = ""
        for value in (word, _parsed(word)):
            try:
                state.answer(item, value)
            except UserError as error:
                problem = str(error)
            else:
                return True
        _say(f"[{plain(problem)}]\n")
    return False


def _settled(state: RunState, item: Any) -> bool:
    while (word := _asked("it began, and what came of it is not known: [d]one, [f]ailed, [r]un it again: ")) is not None:
        match word.strip().lower()[:1]:
            case "d":
                state.provide_result(item, result=_asked("what came of it: ") or "done")
            case "f":
                state.mark_failed(item, reason=_asked("why: ") or "it failed")
            case "r":
                state.retry(item)
            case _:
                continue
        return True
    return False


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _session(name: str, path: str) -> Session:
    from agentsdk.sessions import MemorySession, SQLiteSession

    return SQLiteSession(name, path) if name else MemorySession("chat")


def _asked(prompt: str) -> str | None:
    """A line of the terminal; None where there is no more, or a Ctrl-C said so."""
    try:
        _say(prompt)
        while sys.stdin.isatty() and not select.select([sys.stdin], [], [], 0.2)[0]:
            pass  # a Ctrl-C that comes just before a read would wait for the next line; here it is seen in time
        return input()
    except (EOFError, KeyboardInterrupt):
        _say("\n")
        return None


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
