"""Acting on a reply's calls: those without a recorded result are run concurrently, each result an event of its own.

A call takes the same steps in the same order whether the turn is new or re-entered:

1. its tool is granted to the run, where it has grants (`grants`);
2. its arguments are JSON (`FunctionTool.parse`);
3. they fit the tool's schema, the validators of its parameters' types included (`FunctionTool.bind`);
4. its business rules have nothing against it: the `check` callables (`tool_checks`);
5. its tool input guardrails let it pass;
6. it is approved, where its declaration or its rule says that it must be, or what the model has read (`core.taint`);
7. the intent is recorded;
8. the body runs, again where it failed with what may pass (`tool_attempts`), or the answer from outside comes
   (`external_calls`), and the result is recorded;
9. its tool output guardrails judge the recorded result.

What stops a call at one step is its result, and nobody is asked about it further down. A tool whose circuit is open is refused
between steps 3 and 4. No body of a reply begins before all its calls have come through the first six. `_admitted` is those,
`act` the seventh, `_answered` the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from msgspec import UNSET, structs

from agentsdk.core.call_order import held_calls
from agentsdk.core.overflow import cap_output
from agentsdk.core.process import ProcessedResponse
from agentsdk.core.state import OpenTurn
from agentsdk.define.agent import AgentTool
from agentsdk.define.answer_needed import AnswerNeededError
from agentsdk.define.tool_options import NO_CHECKS, default_tool_error_function
from agentsdk.define.tool_output import to_output
from agentsdk.engine import hooks
from agentsdk.engine.callbacks import call_user, yes_or_no
from agentsdk.engine.concurrency import gather_with_limit
from agentsdk.engine.handoffs import invalid_payloads
from agentsdk.engine.job import Job
from agentsdk.engine.limits.reservation import reserve_calls
from agentsdk.engine.measures import measured_tool, note_unrun
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.output_buffer import answer_buffer
from agentsdk.engine.prepare import Prepared
from agentsdk.engine.run import Run
from agentsdk.engine.spans import in_tool_span
from agentsdk.engine.tool_attempts import attempted, circuit_error, go_on_with_attempts
from agentsdk.engine.tool_checks import run_checks
from agentsdk.engine.tool_guardrails import (
    pending_tool_output_guardrails,
    raise_if_tool_tripped,
    run_tool_input_guardrails,
    run_tool_output_guardrails,
)
from agentsdk.types.errors import InvalidArgumentsError, StateMismatchError, StateTamperedError
from agentsdk.types.events import (
    ApprovalDecided,
    ApprovalJudged,
    ArgumentsRefused,
    CallRetried,
    CallsInDoubt,
    RunEvent,
    ToolFinished,
    ToolsIntended,
    milliseconds,
)
from agentsdk.types.items import FunctionCall

_NONE: Mapping[int, Sequence[int]] = {}

REJECTED = "The call was not approved, so it was not run."
REJECTED_BEGUN = "The call was begun and cut, and was not approved to go on: its outcome is unknown."


async def act(run: Run, prepared: Prepared, processed: ProcessedResponse) -> None:
    """Give every call of the reply its result, but for the first valid handoff and the calls that wait for a person."""
    raise_if_tool_tripped(run)
    before = open_turn(run)
    jobs = await _admitted(run, prepared, processed)
    if len(jobs) < len(processed.functions) + len(processed.unknown):
        note_unrun(run, processed, before, open_turn(run))
    unjudged = _unjudged(run, prepared, processed) if open_turn(run).results else []
    behind: Mapping[int, Sequence[int]] = _NONE
    groups: Sequence[str] = ()
    if jobs and (prepared.declared.is_ordered or open_turn(run).order is not None):
        from agentsdk.engine.tool_order import ordered_jobs, places_behind  # few tools are

        jobs = await ordered_jobs(run, prepared, processed, jobs, unjudged)
        behind, groups = places_behind(open_turn(run), [*jobs, *unjudged])
    if not (jobs or unjudged):
        return
    turn = open_turn(run)
    new = [job for job in jobs if job.call.call_id not in turn.intended]
    try:
        if new:
            first = [job for place, job in enumerate(jobs) if job in new and place not in behind] if behind else new
            if run.has_budget:
                await reserve_calls(run, [job.call.name for job in new], partial(_intend, run, first))
            else:
                await _intend(run, first)
        run_one = _run_late if behind else _run
        work = [(f"tool {job.tool.name}", run_one(run, job, job in new)) for job in jobs]
        if unjudged:
            work += [(f"guardrails of tool {job.tool.name}", _judge(run, job)) for job in unjudged]
        if groups:
            work += [(f"calls of tool {name}", _group()) for name in groups]
        config = run.deps.config
        await gather_with_limit(work, limit=config.max_tool_concurrency, grace=run.deps.grace, behind=behind)
    except BaseException as error:
        # A call whose body never began (its intent was not recorded, it was queued, or its start hook raised) is not in doubt.
        turn = open_turn(run)
        unbegun = [
            CallRetried(call_id)
            for job in jobs
            if job.started_at is None
            and (call_id := job.call.call_id) in turn.intended
            and call_id not in turn.results
            and call_id not in turn.outside.awaited
        ]
        if unbegun:
            await run.record_beside(error, *unbegun)
        raise


async def _intend(run: Run, jobs: Sequence[Job]) -> None:
    """Record that calls are about to run."""
    await run.record(ToolsIntended(tuple([job.call.call_id for job in jobs]), run.deps.stamp()))
    recorder = run.root.recorder
    if recorder is not None and not run.is_left:
        await recorder.before_calls(have_effect=any(job.tool.effect != "none" for job in jobs))


async def _admitted(run: Run, prepared: Prepared, processed: ProcessedResponse) -> list[Job]:
    """The calls that may run now. What the others get instead is recorded: an error, a refusal, or that they wait."""
    if prepared.grants is not None:
        from agentsdk.engine.grants import refuse_calls  # most runs may call everything

        await refuse_calls(run, prepared.grants, prepared.declared, processed)
    turn = open_turn(run)
    events: list[RunEvent] = [*_refused_unknown(run, prepared, turn, processed.unknown)] if processed.unknown else []
    if processed.handoffs:
        events += invalid_payloads(run, prepared, processed)
    jobs: list[Job] = []
    is_guarded = is_checked = False
    for asked, spec in processed.functions:
        if asked.call_id in turn.results or asked.call_id in turn.in_doubt:
            continue
        call = turn.as_run(asked) if turn.outside.edited else asked
        tool = prepared.declared.tools[spec.name]
        try:
            job = Job(run, call, tool, tool.parse(call.arguments), is_edited=call is not asked)
        except InvalidArgumentsError as error:
            events.append(ToolFinished(call.call_id, f"Error: {error.reason}", True))
            continue
        is_begun = call.call_id in turn.intended and call.call_id not in turn.outside.awaited
        if is_begun and spec.effect == "once" and not (tool.external or isinstance(tool, AgentTool)):
            events.append(await _reconciled(job))
            continue
        try:
            job.bound = tool.bind(job.arguments)
        except Exception as error:
            events.append(await _misfit(turn, job, error))
            continue
        if run.state.failures and call.call_id not in turn.intended and (refused := circuit_error(run, tool)) is not None:
            events.append(await _held_off(run, job, refused))
            continue
        is_checked = is_checked or tool.check is not NO_CHECKS
        is_guarded = is_guarded or bool(tool.tool_input_guardrails)
        jobs.append(job)
    if is_checked:
        jobs = await run_checks(run, jobs)
    if is_guarded:
        jobs = await run_tool_input_guardrails(run, jobs)
    admitted: list[Job] = []
    for job in jobs:
        if (gate := await _approval(run, turn, job)) is not None:
            events += gate
        else:
            admitted.append(job)
    if events:
        await run.record(*events)
    return admitted


def _refused_unknown(run: Run, prepared: Prepared, turn: OpenTurn, calls: Sequence[FunctionCall]) -> Iterable[RunEvent]:
    """What calls of tools that there are not come to. Raises `StateMismatchError` for one that there was."""
    for call in calls:
        result = turn.results.get(call.call_id)
        began = call.call_id in turn.intended or call.call_id in turn.asked
        if result.is_withheld if result is not None else began or _redefined(run):
            raise StateMismatchError(
                f"call {call.call_id!r} of this state is to tool {call.name!r}, which agent {prepared.agent.name!r} no longer "
                "has, expected the tools the run was started with; give the agent that tool again"
            )
        if result is None:
            yield ToolFinished(call.call_id, _unknown(prepared, call), True)


async def _misfit(turn: OpenTurn, job: Job, error: Exception) -> RunEvent:
    """What becomes of arguments that the tool cannot take. They are the model's slip, or a person's: they never end the run."""
    call_id = job.call.call_id
    if call_id in turn.outside.edited and call_id not in turn.intended:
        from agentsdk.engine.decisions import misfit_of

        return ArgumentsRefused(call_id, misfit_of(turn.outside.edited[call_id], error))
    if isinstance(error, InvalidArgumentsError) and job.tool.failure_error_function is None:
        return ToolFinished(call_id, default_tool_error_function(job.context, error), True)
    return ToolFinished(call_id, await job.tool.error_text(job.context, error), True)


async def _held_off(run: Run, job: Job, error: Exception) -> RunEvent:
    """The result of a call that is not made as those before it failed."""
    text = await job.tool.error_text(job.context, error)
    return ToolFinished(job.call.call_id, text, True, at=run.deps.stamp(), failure="circuit")


def _unjudged(run: Run, prepared: Prepared, processed: ProcessedResponse) -> list[Job]:
    """The calls whose recorded results their output guardrails have yet to judge."""
    turn = open_turn(run)
    jobs: list[Job] = []
    for call, spec in processed.functions:
        result = turn.results.get(call.call_id)
        if result is None or call.call_id not in turn.intended:
            continue
        tool = prepared.declared.tools[spec.name]
        if pending_tool_output_guardrails(turn, call.call_id, tool):
            jobs.append(Job(run, turn.as_run(call), tool, {}, is_edited=call.call_id in turn.outside.edited))
        elif result.is_withheld and not run.deps.config.without_guards:  # else it stays withheld
            raise StateMismatchError(
                f"the result of call {call.call_id!r} waits for the output guardrails of tool {call.name!r}, which has none "
                "now, expected those the run was started with; give the tool its guardrails again"
            )
    return jobs


async def _approval(run: Run, turn: OpenTurn, job: Job) -> Iterable[RunEvent] | None:
    """None if the call may run; else the events that say why not, none if it goes on waiting.

    A call that has begun goes on under the approval it began with, for as long as that is of this run and this tool.
    """
    call, rule = job.call, job.tool.needs_approval
    begun = call.call_id in turn.intended
    asked = turn.asked.get(call.call_id)
    reason = _reason_to_ask(run, job) if run.state.taint is not None else ""
    if asked is None and rule is False and not reason:
        return None
    fingerprint = job.tool.fingerprint
    if asked is not None and not _applies(asked.fingerprint, fingerprint):
        asked = None  # another tool than the one the person was shown
    decided = None if asked is None else turn.decisions.get(call.call_id)
    if decided is not None and not begun and _expired(run, decided):
        return (ApprovalJudged(call.call_id, True, fingerprint, reason=reason),)
    if decided is None:
        if asked is not None and not asked.needed:
            return None
        decided = _always_decision(run, call, fingerprint, begun, after_untrusted=bool(reason))
        if decided is None:
            return () if asked is not None else await _ask_whether(run, job, rule, fingerprint, begun, reason)
    elif decided.tool != call.name or decided.digest != run.approval_key(call):
        raise StateTamperedError(
            f"the approval of call {call.call_id!r} is not for tool {call.name!r} with these arguments in this run, expected "
            "the call that was shown to the person; refuse this state"
        )
    return None if decided.approved else (_rejected(call, decided, begun),)


def _reason_to_ask(run: Run, job: Job) -> str:
    """Why a call waits for a person whatever its tool's rule says, `""` where it does not: its run is tainted."""
    tool, taint = job.tool, run.taint
    if taint is None or run.deps.config.after_untrusted == "allow" or tool.allowed_after_untrusted or tool.level == "read":
        return ""
    return taint.reason


async def _ask_whether(
    run: Run, job: Job, rule: object, fingerprint: str, begun: bool, reason: str
) -> Iterable[RunEvent] | None:
    """Put the tool's own question, unless there is another `reason` to ask: does this call need a person?"""
    call = job.call
    needed = rule if not reason else True
    if not isinstance(needed, bool):
        arguments = job.tool.parse(call.arguments)
        what = f"needs_approval of tool {call.name!r}"
        needed = await yes_or_no(what, cast(Any, rule), run.context, arguments, call.call_id)
    judged = ApprovalJudged(call.call_id, bool(needed), fingerprint, begun, reason)
    if needed:
        return (judged,)
    await run.record(judged)
    return None


def _always_decision(
    run: Run, call: FunctionCall, fingerprint: str, begun: bool, *, after_untrusted: bool
) -> ApprovalDecided | None:
    """The latest decision that covers every call of this tool by this agent. In a tainted run an approval covers them only if
    whoever gave it knew that."""
    for given in reversed(run.root.state.always):
        if after_untrusted and given.approved and not given.after_untrusted:
            continue
        if given.tool == call.name and given.agent == run.agent.name and _applies(given.fingerprint, fingerprint):
            return None if _expired(run, given) and not begun else given
    return None


def _applies(recorded: str, fingerprint: str) -> bool:
    """Whether what was recorded of a tool still holds for it. A state of before fingerprints were kept says nothing."""
    return recorded in ("", fingerprint)


def _expired(run: Run, decided: ApprovalDecided) -> bool:
    return decided.expires_at is not None and run.deps.now() >= decided.expires_at


def _rejected(call: FunctionCall, decided: ApprovalDecided, begun: bool) -> ToolFinished:
    text = REJECTED_BEGUN if begun else REJECTED
    told = decided.message or (f"{text} Reason: {decided.reason}" if decided.reason else text)
    return ToolFinished(call.call_id, told, True)


async def _reconciled(job: Job) -> RunEvent:
    """What is known of a call that began once and has no result: its tool's word, or that it is in doubt."""
    if job.tool.reconcile is None:
        return CallsInDoubt((job.call.call_id,))
    what = f"reconcile of tool {job.tool.name!r}"
    known = cast(object, await call_user(what, cast(Any, job.tool.reconcile), job.context, job.arguments))
    if known is UNSET:
        return CallsInDoubt((job.call.call_id,))
    is_withheld, untrusted = bool(job.tool.tool_output_guardrails), job.tool.untrusted
    return ToolFinished(job.call.call_id, to_output(known), is_withheld=is_withheld, untrusted=untrusted)


async def _run(run: Run, job: Job, is_new: bool) -> None:
    """Run one call's body and record its result. The start hook is called once, not for a call that goes on where it stood."""
    if is_new:
        await hooks.tool_started(run, job.context, job.tool)
    recorder = run.root.recorder
    if recorder is not None:
        await recorder.hold()
    job.began = job.started_at = run.deps.now()
    if job.tool.external:
        from agentsdk.engine.external_calls import has_come

        if not await has_come(run, job):
            return
    elif not is_new and job.call.call_id in open_turn(run).outside.awaited:
        from agentsdk.engine.asking_calls import answer_to

        answer = await answer_to(run, job)
        if answer is None:
            return
        await _intend(run, [job])
        job.context.answer = answer
    elif not is_new:
        await go_on_with_attempts(run, job)
    if run.channel is not None and job.tool.tool_output_guardrails and isinstance(job.tool, AgentTool):
        with answer_buffer(run, job):
            result = await _answered(run, job)
    else:
        result = await _answered(run, job)
    if result is not None:
        await hooks.tool_ended(run, job.context, job.tool, result.output)


async def _run_late(run: Run, job: Job, is_new: bool) -> None:
    """The same of calls in order: one that others come before begins only now, unless one of them has come to a stop."""
    call_id, turn = job.call.call_id, open_turn(run)
    if call_id not in turn.intended:
        if call_id in held_calls(turn):
            return
        await _intend(run, [job])
    await _run(run, job, is_new)


async def _group() -> None:
    """The place of several calls that others wait for as one."""


async def _judge(run: Run, job: Job) -> None:
    """Ask the output guardrails of a call whose result was recorded before the run was left."""
    result = await run_tool_output_guardrails(run, job)
    await hooks.tool_ended(run, job.context, job.tool, result.output)


@measured_tool
@in_tool_span
async def _answered(run: Run, job: Job) -> ToolFinished | None:
    """What the model gets of a call: its result, recorded and then judged; None while a nested run waits for a person."""
    raised: Exception | None = None
    try:
        result = await _result(run, job)
        if result is None:
            return None
    except Exception as error:
        if isinstance(job.tool, AgentTool) or job.is_waiting:
            raise  # it goes on where it stood
        # The call is answered before its error ends the run, so that resuming never runs it again.
        raised = error
        result = ToolFinished(job.call.call_id, f"Error while running the tool: {type(error).__name__}", True)
    result = _timed(run, job, result)
    await run.record(result)
    if result.is_withheld and raised is None:
        return await run_tool_output_guardrails(run, job)
    if raised is not None:
        raise raised
    return result


async def _result(run: Run, job: Job) -> ToolFinished | None:
    """The body's value, or what its error tells the model, as the call's result; None while a nested run waits for a person."""
    if isinstance(job.tool, AgentTool):
        from agentsdk.engine.nested import run_agent_tool

        return await run_agent_tool(run, job, job.tool)
    call_id, tool, wrap = job.call.call_id, job.tool, run.deps.config.wrap_tool_call
    try:
        if tool.external:
            from agentsdk.engine.external_calls import answered

            value, error = answered(run, job)
        elif wrap is None:
            value, error = await attempted(run, job)
        else:
            from agentsdk.engine.wrap_tool import wrapped_result

            value, error = await wrapped_result(wrap, run, job)
        if isinstance(error, AnswerNeededError):
            from agentsdk.engine.asking_calls import asks

            await asks(run, job, error)
            return None
        if error is not None:
            job.error = error
            return ToolFinished(call_id, await tool.error_text(job.context, error), True)
    finally:
        job.context.close()
    if isinstance(value, ToolFinished):  # a recorded result stands as it is
        return ToolFinished(call_id, value.output, value.is_error, value.whole)
    output, overflow = cap_output(to_output(value), run.deps.config.max_tool_result_chars)
    if overflow is None:
        return ToolFinished(call_id, output)
    finished = ToolFinished(call_id, output, whole=overflow.id)
    try:
        await run.keep(overflow)
    except asyncio.CancelledError:
        await run.record(_timed(run, job, finished))
        raise
    return finished


def _timed(run: Run, job: Job, result: ToolFinished) -> ToolFinished:
    """A result as it is recorded: when it came, whether it is to be trusted, and that nobody is shown it before its guardrails
    have let it pass."""
    tool = job.tool
    failure, at = ("transient", run.deps.now()) if job.failed else ("", run.deps.stamp())  # a circuit counts from a failure
    untrusted = tool.untrusted or (isinstance(tool, AgentTool) and _has_read_untrusted(run, job.call))
    return structs.replace(
        result,
        is_withheld=bool(tool.tool_output_guardrails),
        took_ms=milliseconds(job.started_at or 0.0, at),
        at=at,
        failure=failure,
        untrusted=untrusted,
    )


def _has_read_untrusted(run: Run, call: FunctionCall) -> bool:
    """Whether the nested run of a call is tainted."""
    child = open_turn(run).children.get(call.call_id)
    return child is not None and child.taint is not None


def _redefined(run: Run) -> bool:
    """Whether the agents of a stored run have changed since it was last gone on with."""
    recorder = run.root.recorder
    return recorder is not None and recorder.redefined


def _unknown(prepared: Prepared, call: FunctionCall) -> str:
    known = [name for name, tool in prepared.spec.tools.items() if tool.kind != "mcp_approval"]
    names = ", ".join([*known, *prepared.spec.handoffs]) or "none"
    called = f"{call.namespace}.{call.name}" if call.namespace else call.name
    return f"Error: there is no tool named {called[:100]!r}. Tools there are: {names}."
