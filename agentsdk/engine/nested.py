"""Nested runs, of an agent used as a tool: a run of its own inside the call, its events in its parent's log."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, cast

from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.core.overflow import cap_output
from agentsdk.core.pairing import joined
from agentsdk.core.taint import as_untrusted
from agentsdk.define.agent import Agent, AgentTool
from agentsdk.define.guardrail_output import GuardrailResult
from agentsdk.define.program_tool import ProgramTool
from agentsdk.define.stream_events import StreamEvent
from agentsdk.define.tool_options import default_tool_error_function
from agentsdk.define.tool_output import to_output
from agentsdk.define.tool_timeout import within_timeout
from agentsdk.engine import hooks
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.channel import STREAM_BUFFER, Channel, NestedChannel
from agentsdk.engine.concurrency import gather_with_limit
from agentsdk.engine.job import Job
from agentsdk.engine.prepare import find_agent, find_agents
from agentsdk.engine.programs import last_reply
from agentsdk.engine.run import Run, version_of
from agentsdk.engine.session import load_history, save_session, unrecorded_save
from agentsdk.engine.streaming import stream_nested_to
from agentsdk.ports.session import SESSION, Session
from agentsdk.types.errors import (
    AgentsException,
    CallbackError,
    ContentFilterError,
    ContextTooLongError,
    InputGuardrailTripwireTriggered,
    InvalidOutputError,
    LimitExceededError,
    ModelError,
    ModelRefusalError,
    OutputGuardrailTripwireTriggered,
    ProviderError,
    StateMismatchError,
    ToolError,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
    ToolTimeoutError,
    UserError,
)
from agentsdk.types.events import RunStarted, ToolFinished
from agentsdk.types.items import FunctionCall, Item, items_from_input

_TRIPS = (
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
)

_STUCK = {
    "repeated_rounds": "it made the same calls with the same results {} times running",
    "consecutive_errors": "in {} turns running every call of it failed",
    "no_progress": "{} turns running brought nothing new",
}


async def run_agent_tool(run: Run, job: Job, tool: AgentTool[Any]) -> ToolFinished | None:
    """The nested run's final output as the call's result, or None while it waits for a person.

    What went wrong with the nested agent's model, what one of its guardrails stopped, and its own limits and timeout are told
    to the calling model. A limit of the whole run, and whatever is the caller's fault (a guardrail that raises too), ends the
    whole run. The nested run's spans hang under the call's own, and who reads the stream of the whole run sees it too.
    """
    call = job.call
    config = run.deps.config
    if run.depth + 1 > config.max_depth:
        return ToolFinished(call.call_id, f"Error: agents may call agents at most {config.max_depth} deep.", True)
    child = run.child(call.call_id, tool.agent)
    child.span = job.span
    if isinstance(tool, ProgramTool):
        child.program = tool.program
    if tool.hooks is not None:
        child.hooks = (*child.hooks, tool.hooks)
    listener: Channel[StreamEvent] | None = None
    if tool.on_stream is not None:
        listener = Channel(STREAM_BUFFER)
        listener.open()
    readers = [reader for reader in (job.channel, listener) if reader is not None]
    channel = NestedChannel(*readers) if readers else None
    session = None if tool.session is None else await _session(job, tool)
    try:
        if channel is not None:
            find_agents(child, tool.agent)
            stream_nested_to(child, channel)
        await _begin(child, job, tool, session)
        await _driven(child, tool, listener)
        if session is not None:
            await save_session(child, session)
    except (ModelError, ToolTimeoutError, *_TRIPS) as error:
        if isinstance(error, ToolTimeoutError) and not child.is_over:
            raise
        return await _failed(child, job, tool, session, error)
    except LimitExceededError as error:
        if not child.is_at_limit:
            raise
        return await _failed(child, job, tool, session, error)
    finally:
        if channel is not None:
            channel.close()
    return None if child.state.ended is None else await _result(child, job, tool)


async def _result(child: Run, job: Job, tool: AgentTool[Any]) -> ToolFinished:
    """The call's result, where its run has ended."""
    value = child.final_output
    if tool.custom_output_extractor is not None:
        value = await call_user(f"custom_output_extractor of tool {tool.name!r}", tool.custom_output_extractor, value)
    most, is_error = child.deps.config.max_tool_result_chars, False
    if isinstance(tool, ProgramTool):
        last = last_reply(child)
        most, is_error = min(most, tool.max_output_chars), last is not None and last.response.finish == "error"
    output, overflow = cap_output(to_output(value), most)
    if overflow is not None:
        await child.keep(overflow)
    return ToolFinished(job.call.call_id, output, is_error, whole="" if overflow is None else overflow.id)


async def _session(job: Job, tool: AgentTool[Any]) -> Session | None:
    """The session that the nested run goes on with."""
    given = cast(object, tool.session)
    if SESSION.fits(given):
        return cast(Session, given)
    what = f"session of tool {tool.name!r}"
    session = await call_user(what, cast("Callable[..., object]", given), job.context)
    if session is not None and not SESSION.fits(session):
        raise CallbackError(f"{what} returned {type(session).__name__!r}, expected {SESSION.text}; or return None")
    return cast("Session | None", session)


async def _input(job: Job, tool: AgentTool[Any]) -> tuple[Item, ...]:
    """What the nested run is given for the arguments of its call."""
    (value,), build = job.bound[0], tool.input.builder
    if build is None:
        return items_from_input(tool.input.text_of(value))
    what = f"input_builder of tool {tool.name!r}"
    given = cast(str, await call_user(what, build, job.context, value))
    try:
        items = items_from_input(given)
    except UserError as error:
        raise CallbackError(f"{what} returned what is no input: {error}") from error
    if not items:
        raise CallbackError(f"{what} returned no items, expected the input of the agent's run; return a text, say")
    return items


async def _begin(child: Run, job: Job, tool: AgentTool[Any], session: Session | None) -> None:
    """Let a nested run begin, or find the agent that it has come to."""
    if child.state.log and session is not None:
        for event in await unrecorded_save(child.state, session):
            await child.record(event)
    if not child.state.log:
        given = await _input(job, tool)
        if child.parent is not None and child.parent.state.taint is not None:  # who wrote it has read what strangers wrote
            given = as_untrusted(given)
        items, known = joined(() if session is None else await load_history(session), given)
        child.call_ids = {item.call_id for item in items if type(item) is FunctionCall}
        await child.record(RunStarted("", tool.agent.name, items, known, child.deps.stamp(), version=version_of(tool.agent)))
        await hooks.agent_started(child)
    else:
        find_current_agent(child, tool.agent, f"tool {tool.name!r}")
    if tool.max_turns is not None:
        child.limits = RunLimits(turns=tool.max_turns)


def find_current_agent(child: Run, first: Agent[Any, Any], what: str) -> None:
    """Find the agent that a nested run, which `first` began, has come to."""
    if child.state.agent == child.agent.name:
        return
    current = find_agent(first, child.state.agent)
    if current is None:
        raise StateMismatchError(
            f"the nested run of {what} is at agent {child.state.agent!r}, expected an agent that {first.name!r} can reach by "
            "handoffs; resume with the agents it was started with"
        )
    child.agent = current


async def _driven(child: Run, tool: AgentTool[Any], listener: Channel[StreamEvent] | None) -> None:
    if tool.timeout is None or tool.timeout == inf:
        await _run_with_listener(child, tool, listener)
        return

    async def drive() -> ToolTimeoutError | None:
        try:
            await _run_with_listener(child, tool, listener)
        except ToolTimeoutError as error:
            return error  # of one of its own tools: no word on this one's time
        return None

    is_cancelled = child.deps.grace.left() is not None
    try:
        inner = await within_timeout(tool.name, tool.timeout, drive())
    except ToolTimeoutError:
        if not is_cancelled:
            child.deps.grace.reset()  # only this run was
        child.is_over = True  # whatever ignores its cancellation changes the run no more
        raise
    if isinstance(inner, ToolTimeoutError):
        raise inner


async def _run_with_listener(child: Run, tool: AgentTool[Any], listener: Channel[StreamEvent] | None) -> None:
    """Drive the nested run while `on_stream` is told of it. Where that raises, the run stops after its turn: nothing that has
    begun is cut for its sake."""
    on_stream = tool.on_stream
    if listener is None or on_stream is None:
        await child.drive(child)
        return
    what = f"on_stream of tool {tool.name!r}"

    async def drive() -> None:
        try:
            await child.drive(child)
        finally:
            listener.close()

    async def notify() -> None:
        failure: AgentsException | None = None
        while True:
            try:
                event = await listener.get()
            except StopAsyncIteration:
                break
            if failure is None:
                try:
                    await call_user(what, on_stream, event)
                except AgentsException as error:
                    failure, child.stop_requested = error, True
        if failure is not None:
            raise failure

    await gather_with_limit([(what, notify()), (f"run of tool {tool.name}", drive())], limit=2, grace=child.deps.grace)


async def _failed(child: Run, job: Job, tool: AgentTool[Any], session: Session | None, error: AgentsException) -> ToolFinished:
    """What the calling model is told of an error that ended the nested run, unless the tool has it end the whole run."""
    job.error = error
    if session is not None:
        await save_session(child, session)
    if tool.failure_error_function is default_tool_error_function:
        error = ToolError(in_words(child.agent.name, error))
    return ToolFinished(job.call.call_id, await tool.error_text(job.context, error), True)


def in_words(agent: str, error: AgentsException) -> str:
    """What ended the run of a nested agent, in words for the model that asked it: it can neither resume nor fix anything."""
    match error:
        case InputGuardrailTripwireTriggered(guardrail_result=GuardrailResult(guardrail=name)):
            return f"the agent {agent!r} does not take this input: its guardrail {name!r} stopped it."
        case OutputGuardrailTripwireTriggered(guardrail_result=GuardrailResult(guardrail=name)):
            return f"the answer of agent {agent!r} was withheld by its guardrail {name!r}."
        case (
            ToolInputGuardrailTripwireTriggered(guardrail_result=GuardrailResult(guardrail=name))
            | ToolOutputGuardrailTripwireTriggered(guardrail_result=GuardrailResult(guardrail=name))
        ):
            return f"the agent {agent!r} was stopped by the guardrail {name!r} of one of its tools."
        case LimitExceededError():
            at = f"it reached its limit of {error.kind.replace('_', ' ')} ({error.used} of {error.limit})"
            why = _STUCK.get(error.kind, at).format(error.used)
            return f"the agent {agent!r} was stopped before it had an answer: {why}."
        case ToolTimeoutError():
            return f"the agent {agent!r} had no answer in time, and was stopped."
        case ModelRefusalError():
            return f"the agent {agent!r} refused: {error.refusal}"
        case ContentFilterError():
            return f"the answer of agent {agent!r} was stopped by a content filter."
        case InvalidOutputError():
            return f"the agent {agent!r} gave no answer in the form that is required of it."
        case ContextTooLongError():
            return f"the agent {agent!r} gave no answer: what it had to read became too long for its model."
        case ProviderError():
            again = "; it may answer later" if error.retryable else ""
            return f"the model of agent {agent!r} could not be asked ({type(error).__name__}){again}."
        case _:
            return f"the agent {agent!r} gave no answer that can be used ({type(error).__name__})."
