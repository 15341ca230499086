"""`Runner`: runs agents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents._bridge.run import new_call, running_loop
from agentsdk.compat.openai_agents.result import RunResult, RunResultStreaming
from agentsdk.compat.openai_agents.run_config import DEFAULT_MAX_TURNS as DEFAULT_MAX_TURNS
from agentsdk.compat.openai_agents.run_config import CallModelData as CallModelData
from agentsdk.compat.openai_agents.run_config import CallModelInputFilter as CallModelInputFilter
from agentsdk.compat.openai_agents.run_config import ModelInputData as ModelInputData
from agentsdk.compat.openai_agents.run_config import OutputGuardrailBlockedMessageArgs as OutputGuardrailBlockedMessageArgs
from agentsdk.compat.openai_agents.run_config import (
    OutputGuardrailBlockedMessageFormatter as OutputGuardrailBlockedMessageFormatter,
)
from agentsdk.compat.openai_agents.run_config import ReasoningItemIdPolicy as ReasoningItemIdPolicy
from agentsdk.compat.openai_agents.run_config import RunConfig as RunConfig
from agentsdk.compat.openai_agents.run_config import RunOptions as RunOptions
from agentsdk.compat.openai_agents.run_config import ToolErrorFormatter as ToolErrorFormatter
from agentsdk.compat.openai_agents.run_config import ToolErrorFormatterArgs as ToolErrorFormatterArgs
from agentsdk.compat.openai_agents.run_config import ToolExecutionConfig as ToolExecutionConfig
from agentsdk.compat.openai_agents.run_config import ToolNameCollisionPolicy as ToolNameCollisionPolicy
from agentsdk.compat.openai_agents.run_config import ToolNotFoundBehavior as ToolNotFoundBehavior
from agentsdk.compat.openai_agents.run_context import RunContextWrapper as RunContextWrapper
from agentsdk.compat.openai_agents.run_context import TContext
from agentsdk.compat.openai_agents.run_state import RunState

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.lifecycle import RunHooks
    from agentsdk.compat.openai_agents.memory import Session
    from agentsdk.compat.openai_agents.run_error_handlers import RunErrorHandlers


class Runner:
    """Runs agents: each way to run one is the run of agentsdk beneath."""

    @classmethod
    async def run(
        cls,
        starting_agent: Agent[TContext],
        input: str | list[Any] | RunState[TContext],
        *,
        context: TContext | None = None,
        max_turns: int | None = DEFAULT_MAX_TURNS,
        hooks: RunHooks[TContext] | None = None,
        run_config: RunConfig | dict[str, Any] | None = None,
        error_handlers: RunErrorHandlers[TContext] | None = None,
        previous_response_id: str | None = None,
        auto_previous_response_id: bool = False,
        conversation_id: str | None = None,
        session: Session | None = None,
    ) -> RunResult:
        """Run `starting_agent` on `input` until it has its final output or waits for a person.

        Raises `MaxTurnsExceeded`, the tripwire errors of guardrails, and what callables of the program raise.
        """
        call = new_call(
            starting_agent,
            input,
            context=context,
            max_turns=max_turns,
            hooks=hooks,
            run_config=run_config,
            error_handlers=error_handlers,
            previous_response_id=previous_response_id,
            auto_previous_response_id=auto_previous_response_id,
            conversation_id=conversation_id,
            session=session,
        )
        return RunResult.of(call.scope, await call.run(), max_turns)

    @classmethod
    def run_sync(
        cls,
        starting_agent: Agent[TContext],
        input: str | list[Any] | RunState[TContext],
        *,
        context: TContext | None = None,
        max_turns: int | None = DEFAULT_MAX_TURNS,
        hooks: RunHooks[TContext] | None = None,
        run_config: RunConfig | dict[str, Any] | None = None,
        error_handlers: RunErrorHandlers[TContext] | None = None,
        previous_response_id: str | None = None,
        auto_previous_response_id: bool = False,
        conversation_id: str | None = None,
        session: Session | None = None,
    ) -> RunResult:
        """`run` for code without an event loop. Raises `RuntimeError` where one is running."""
        if running_loop() is not None:
            raise RuntimeError(
                "Runner.run_sync() cannot be called when an event loop is already running; use 'await Runner.run(...)'"
            )
        loop = _loop()
        return loop.run_until_complete(
            cls.run(
                starting_agent,
                input,
                context=context,
                max_turns=max_turns,
                hooks=hooks,
                run_config=run_config,
                error_handlers=error_handlers,
                previous_response_id=previous_response_id,
                auto_previous_response_id=auto_previous_response_id,
                conversation_id=conversation_id,
                session=session,
            )
        )

    @classmethod
    def run_streamed(
        cls,
        starting_agent: Agent[TContext],
        input: str | list[Any] | RunState[TContext],
        context: TContext | None = None,
        max_turns: int | None = DEFAULT_MAX_TURNS,
        hooks: RunHooks[TContext] | None = None,
        run_config: RunConfig | dict[str, Any] | None = None,
        previous_response_id: str | None = None,
        auto_previous_response_id: bool = False,
        conversation_id: str | None = None,
        session: Session | None = None,
        *,
        error_handlers: RunErrorHandlers[TContext] | None = None,
    ) -> RunResultStreaming:
        """`run`, which begins at once and is read while it goes: `async for event in result.stream_events()`."""
        call = new_call(
            starting_agent,
            input,
            context=context,
            max_turns=max_turns,
            hooks=hooks,
            run_config=run_config,
            error_handlers=error_handlers,
            previous_response_id=previous_response_id,
            auto_previous_response_id=auto_previous_response_id,
            conversation_id=conversation_id,
            session=session,
        )
        call.scope.is_streamed = True
        result = RunResultStreaming(call.scope, max_turns, None if call.state is None else call.state.agent_at_work)
        task = asyncio.get_running_loop().create_task(result.drive(call.run), name="agentsdk compat run")
        result.attach(task)
        return result


_own_loop: asyncio.AbstractEventLoop | None = None


def _loop() -> asyncio.AbstractEventLoop:
    """The loop of `run_sync`: one for the process, so that what a run leaves open (a client, a session) serves the next."""
    global _own_loop
    if _own_loop is None or _own_loop.is_closed():
        _own_loop = asyncio.new_event_loop()
        import atexit

        atexit.register(_own_loop.close)
    return _own_loop


AgentRunner = Runner
_default: Any = Runner


def set_default_agent_runner(runner: Any | None) -> None:
    """Keep a runner of the program's own for `get_default_agent_runner`."""
    global _default
    _default = runner or Runner


def get_default_agent_runner() -> Any:
    """The runner that was set last."""
    return _default
