"""`AgentRun`: the Temporal workflow of a run. It drives the run to where it rests, waits for what it rests for, and so on.

It imports the standard library and `temporalio` only: for each run of a workflow of yours that imports it Temporal's sandbox
loads it anew. What is passed in and out is plain JSON. Nothing of a run's loop happens here, so nothing of it has to be
deterministic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

WORKFLOW = "AgentRun"
DRIVE = "agentsdk.drive"
POST = "agentsdk.post"
DECIDE_AT_REST = "decide_at_rest"
"""Their names at the server."""

NOT_AT_REST = "NotAtRest"
"""The type of the error of a decision that an activity has to post."""

_RETRIES = RetryPolicy(initial_interval=timedelta(seconds=1), backoff_coefficient=2, maximum_interval=timedelta(minutes=1))
_ONE_POST = timedelta(seconds=20)
_LONGEST_DRIVE = timedelta(days=3650)
_SHORTEST_WAIT = 1.0
"""Seconds for which a run rests at least where it goes on by itself: the clocks of worker and server may differ."""

_SURE: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("approval", "approve"): ("always",),
    ("approval", "reject"): ("always",),
    ("outcome", "provide_result"): ("result",),
    ("outcome", "retry"): (),
    ("outcome", "fail"): (),
}
"""What a call waits for, and the decisions that it is sure to take, with what they may say beyond what each says."""

_SAID = ("type", "call_id", "action", "path", "reason", "by")

_MOST_REFUSED = 20
"""Refusals that are told, the latest."""

Json = dict[str, Any]


def run_job(
    agent: str = "",
    input: object = None,
    *,
    metadata: dict[str, str] | None = None,
    at: float = 0.0,
    heartbeat: float = 20.0,
) -> Json:
    """The argument of `AgentRun`, to begin a run as a child of a workflow of yours, say:
    `await workflow.execute_child_workflow("AgentRun", run_job("Clerk", "Pay Ada."), id="invoice-7")`.

    `agent` is the name of the one it begins with, `input` a text, or items as dicts; None goes on with the run that the store
    has. It begins at `at`, a Unix timestamp in seconds. A worker that is silent for `heartbeat` seconds is taken for dead.
    """
    return {"agent": agent, "input": input, "metadata": metadata or {}, "at": at, "heartbeat": heartbeat}


# Outside of the sandbox: what it guards against is code that is not deterministic, which this is; and it would load this module
# anew for each run, which takes as long as all else that a worker does of its workflow.
@workflow.defn(name=WORKFLOW, sandboxed=False)
class AgentRun:
    """One run, by the workflow's id. Its argument is what `run_job` gives.

    Signals and updates `decide`, `send`, `signal`, `pause`, `unpause`, `cancel` take one object each, with the arguments of the
    methods of `TemporalRuns`. An update gives the signal's number in the run's mailbox, or fails with our error. The update
    `decide_at_rest` is `decide` with fewer events, for what a run that rests is sure to take; all else it refuses. The query
    `status` says how the run stands. The result is the run's rest: its `output`, `turns`, `tokens`.
    """

    @workflow.init
    def __init__(self, job: Json) -> None:
        carried: Json = job.get("carried") or {}
        self._job = job
        self._rest: Json = {"status": "scheduled", "taken": 0, "calls": []}
        self._posted: int = carried.get("posted", 0)
        self._refused: list[Json] = carried.get("refused", [])
        self._is_driving = False
        self._has_begun = False
        self._decisions: list[Json] = carried.get("decisions", [])
        self._posting = asyncio.Lock()

    @workflow.run
    async def run(self, job: Json) -> Json:
        working = asyncio.create_task(self._work())
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            if not self._has_begun:
                working.cancel()
                raise
            await self._post("cancel", {"by": "Temporal", "reason": "the workflow was cancelled"})
            try:
                return await working  # it had finished just then
            except ApplicationError as error:
                if error.type != "RunCancelledError":
                    raise
            raise

    async def _work(self) -> Json:
        at = self._job.get("at") or 0.0
        if at > workflow.time():
            await self._wait(lambda: False, at - workflow.time())
        self._has_begun = True
        while True:
            rest = await self._drive()
            if rest["status"] in ("finished", "failed", "cancelled"):
                await workflow.wait_condition(workflow.all_handlers_finished)
                if (failure := rest.get("failure")) is not None:
                    raise _error(failure)
                return rest
            if rest["status"] in ("ready", "running"):
                continue
            due_at = rest.get("due_at") or 0.0
            timeout = max(due_at - workflow.time(), _SHORTEST_WAIT) if due_at else None
            await self._wait(lambda: bool(self._decisions) or self._posted > self._rest["taken"], timeout)
            if workflow.info().is_continue_as_new_suggested():
                await workflow.wait_condition(workflow.all_handlers_finished)
                carried = {"posted": self._posted, "refused": self._refused, "decisions": self._decisions}
                workflow.continue_as_new({**self._job, "input": None, "at": 0.0, "carried": carried})

    async def _drive(self) -> Json:
        """Have a worker take the run to where it rests. Workers that die, or cannot, are followed by others."""
        decisions, self._decisions = self._decisions, []
        self._is_driving = True
        try:
            rest: Json = await workflow.execute_activity(
                DRIVE,
                {"run_id": workflow.info().workflow_id, **self._job, "decisions": decisions, "after": self._posted},
                result_type=dict,
                start_to_close_timeout=_LONGEST_DRIVE,
                heartbeat_timeout=timedelta(seconds=self._job["heartbeat"]),
                retry_policy=_RETRIES,
            )
        except ActivityError as error:
            raise error.cause or error from None
        finally:
            self._is_driving = False
        for answer in rest.pop("answers"):
            self._note("decide", answer)
        self._rest = rest
        return rest

    async def _wait(self, condition: Callable[[], bool], timeout: float | None) -> None:
        try:
            await workflow.wait_condition(condition, timeout=timeout)
        except TimeoutError:
            pass

    async def _post(self, kind: str, given: Json) -> Json:
        """Post to the run's mailbox, in order and once: `{"number": ...}`, or `{"failure": ...}` where the run refuses it."""
        await workflow.wait_condition(lambda: self._has_begun)
        async with self._posting:
            post = {"run_id": workflow.info().workflow_id, "kind": kind, "given": given, "after": self._posted}
            answer: Json = await workflow.execute_activity(
                POST, post, result_type=dict, start_to_close_timeout=_ONE_POST, retry_policy=_RETRIES
            )
            self._note(kind, answer)
            return answer

    def _note(self, kind: str, answer: Json) -> None:
        """Keep what became of a post."""
        self._posted = max(self._posted, answer.get("number", 0))
        if (failure := answer.get("failure")) is not None:
            refused = {"kind": kind, "type": failure["type"], "message": failure["message"]}
            self._refused = [*self._refused, refused][-_MOST_REFUSED:]
            workflow.logger.warning("run %r refused %s: %s", workflow.info().workflow_id, kind, failure["message"])

    async def _answered(self, kind: str, given: Json) -> int:
        answer = await self._post(kind, given)
        if (failure := answer.get("failure")) is not None:
            raise _error(failure)
        return int(answer["number"])

    @workflow.query
    def status(self) -> Json:
        """How the run stands: `status`, the `calls` that wait, `turns`, `tokens`, and what was `refused` lately."""
        rest = {**self._rest, "status": "running"} if self._is_driving else self._rest
        return {**rest, "refused": self._refused}

    @workflow.signal
    async def decide(self, given: Json) -> None:
        if self._has_begun:
            # The next drive posts it, which spares an activity. Whether one is going must not matter: a replay may handle the
            # signal before the end of a drive that it came after.
            self._decisions.append(given)
        else:
            await self._post("decide", given)

    @workflow.signal
    async def send(self, given: Json) -> None:
        await self._post("send", given)

    @workflow.signal
    async def signal(self, given: Json) -> None:
        await self._post("signal", given)

    @workflow.signal
    async def pause(self, given: Json) -> None:
        await self._post("pause", given)

    @workflow.signal
    async def unpause(self, given: Json) -> None:
        await self._post("unpause", given)

    @workflow.signal
    async def cancel(self, given: Json) -> None:
        await self._post("cancel", given)

    @workflow.update(name="decide")
    async def decided(self, given: Json) -> int:
        return await self._answered("decide", given)

    @decided.validator
    def _check_decision(self, given: Json) -> None:
        call_id = given.get("call_id")
        if self._is_driving or not self._has_begun or any(call["call_id"] == call_id for call in self._rest["calls"]):
            return
        raise ApplicationError(
            f"call {call_id!r} of run {workflow.info().workflow_id!r} does not wait, expected one that does; see its status",
            type="RunConflictError",
            non_retryable=True,
        )

    @workflow.update(name=DECIDE_AT_REST)
    async def decided_at_rest(self, given: Json) -> int:
        # Not if or else here: a replay may handle it before the end of the drive that it came after. No replay asks validators.
        self._decisions.append(given)
        return int(max(self._posted, self._rest["taken"])) + len(self._decisions)

    @decided_at_rest.validator
    def _check_decision_at_rest(self, given: Json) -> None:
        self._check_decision(given)
        place = _place(given)
        waits = {_place(call): call["waits_for"] for call in self._rest["calls"]}
        is_decided = place in [_place(one) for one in self._decisions]
        is_busy = self._is_driving or not self._has_begun or self._posting.locked() or is_decided
        if is_busy or not _is_sure(waits.get(place, ""), given):
            raise ApplicationError("an activity has to post the decision; send decide", type=NOT_AT_REST, non_retryable=True)

    @workflow.update(name="send")
    async def sent(self, given: Json) -> int:
        return await self._answered("send", given)

    @workflow.update(name="signal")
    async def signalled(self, given: Json) -> int:
        return await self._answered("signal", given)

    @workflow.update(name="pause")
    async def paused(self, given: Json) -> int:
        return await self._answered("pause", given)

    @workflow.update(name="unpause")
    async def unpaused(self, given: Json) -> int:
        return await self._answered("unpause", given)

    @workflow.update(name="cancel")
    async def cancelled(self, given: Json) -> int:
        return await self._answered("cancel", given)


def _place(call: Json) -> tuple[str, ...]:
    """Where a call is, or that of a decision."""
    return (*(call.get("path") or ()), call.get("call_id") or "")


def _is_sure(waits_for: str, decision: Json) -> bool:
    """Whether a call that waits for that takes the decision, by what it says."""
    also = _SURE.get((waits_for, str(decision.get("action"))))
    if also is None or not decision.keys() <= {*_SAID, *also}:
        return False
    kinds = {"path": list, "always": bool}
    return all(isinstance(value, kinds.get(name, str)) for name, value in decision.items())


def _error(failure: Json) -> ApplicationError:
    """Our error as Temporal shows it: its type is the name of our class."""
    return ApplicationError(failure["message"], failure, type=failure["type"], non_retryable=True)
