"""`TemporalRuns`: begins runs behind Temporal, and speaks to them, from any process. It needs no agent."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, cast

import msgspec
from msgspec import Struct
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import (
    Client,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, CancelledError, FailureError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from agentsdk.core.progress import RunProgress
from agentsdk.core.signals import checked_decision
from agentsdk.define.run_config import RunConfig
from agentsdk.durable.rest import Failure, Rest
from agentsdk.durable.temporal.payloads import given_json
from agentsdk.durable.temporal.workflow import DECIDE_AT_REST, NOT_AT_REST, WORKFLOW, run_job
from agentsdk.ports.run_store import RUN_STORE, RunStore
from agentsdk.runner import Runner
from agentsdk.types.declared import Fields, a, a_name, any_text, mapping_of, number, optional
from agentsdk.types.errors import (
    AgentsException,
    RunCancelledError,
    RunConflictError,
    RunNotFoundError,
    StoreUnavailableError,
    UserError,
)
from agentsdk.types.items import InputItem
from agentsdk.types.signals import CancelMode, Decision
from agentsdk.types.summary import check_run_id

_DIGEST, _METADATA = "agentsdk_input", "metadata"
_ARGUMENTS = Fields(
    "TemporalRuns",
    client=a(Client, "a temporalio Client; pass await Client.connect('localhost:7233')"),
    task_queue=a_name("the name of a task queue; the one that the workers have"),
    store=optional(RUN_STORE),
    heartbeat=number("finite seconds, 1 or more", least=1),
    search_attributes=mapping_of(
        any_text("a str"), "a dict of the names of search attributes by those of the metadata; write {'tenant': 'Tenant'}"
    ),
    agent=any_text("the name of an agent that the workers have"),
    at=optional(number("a finite Unix timestamp in seconds; write moment.timestamp()")),
    metadata=mapping_of(any_text("a str"), "a dict of texts; write {'user': 'ada'}"),
    run_id=any_text("a str"),
)
_NOTHING: Mapping[str, str] = {}


class Refusal(Struct, frozen=True):
    """What a run has refused: the `kind` of signal, and the `type` and `message` of the error."""

    kind: str
    type: str
    message: str


class TemporalStatus(Rest, frozen=True):
    """How a run stands at Temporal. `refused` are the latest signals that did nothing; `left_out`: what is too long to show
    (the output, or arguments of calls) is in the store only."""

    refused: tuple[Refusal, ...] = ()
    left_out: bool = False


class TemporalRuns:
    """The runs that the workers of `task_queue` drive: `TemporalRuns(client, task_queue="agents")`.

    A worker that is silent for `heartbeat` seconds is taken for dead, and another one goes on. Metadata of a run become its
    memo, and those named in `search_attributes` search attributes, of type Keyword, which the server must know. With a `store`
    results that are too large for Temporal are read from it.

    Every method raises `StoreUnavailableError` where the server cannot be reached, or no worker is there to answer, and
    `RunNotFoundError` for a run it does not have. Raises `UserError` naming the argument that is wrong.
    """

    def __init__(
        self,
        client: Client,
        *,
        task_queue: str,
        store: RunStore | None = None,
        heartbeat: float = 20.0,
        search_attributes: Mapping[str, str] = _NOTHING,
    ) -> None:
        _ARGUMENTS.check_given(
            client=client, task_queue=task_queue, store=store, heartbeat=heartbeat, search_attributes=search_attributes
        )
        self._client = client
        self._task_queue = task_queue
        self._store = store
        self._heartbeat = heartbeat
        self._search_attributes = dict(search_attributes)

    async def start(
        self,
        input: object,
        *,
        run_id: str,
        agent: str,
        at: float | None = None,
        metadata: Mapping[str, str] = _NOTHING,
    ) -> str:
        """Begin the run `run_id` of `agent`, now or `at` (a Unix timestamp in seconds); the id.

        `input` is a text or items; for a workflow of ours its argument, as it or as JSON. A second call with the same input
        changes nothing. Raises `RunConflictError` where the id is another run's, and `UserError` for what Temporal cannot take.
        """
        _ARGUMENTS.check_given("TemporalRuns.start", agent=agent, at=at, metadata=metadata)
        given = given_json(f"the input of run {run_id!r}", input)
        job = run_job(agent, given, metadata=dict(metadata), at=at or 0.0, heartbeat=self._heartbeat)
        digest = hashlib.sha256(msgspec.json.encode([agent, given], order="deterministic")).hexdigest()
        try:
            await self._start(run_id, job, digest, WorkflowIDReusePolicy.REJECT_DUPLICATE)
        except WorkflowAlreadyStartedError:
            with _typed_errors(run_id):
                memo = await (await self._handle(run_id).describe()).memo()
            if memo.get(_DIGEST) != digest:
                raise RunConflictError(
                    f"run {run_id!r} was begun with another input, expected the same at each call; choose another run_id"
                ) from None
        return run_id

    async def resume(self, run_id: str, *, agent: str = "") -> str:
        """Go on with a run of the store that has failed or was cancelled, or that nobody has given to Temporal yet; its id.

        Nothing changes where Temporal is at it.
        """
        job = run_job(agent, heartbeat=self._heartbeat)
        try:
            await self._start(run_id, job, "", WorkflowIDReusePolicy.ALLOW_DUPLICATE)
        except WorkflowAlreadyStartedError:
            pass
        return run_id

    async def status(self, run_id: str) -> TemporalStatus:
        """How the run stands: its status (`"running"` while it is in work), the calls that wait. A worker answers."""
        with _typed_errors(run_id):
            given: dict[str, Any] = await self._handle(run_id).query("status", result_type=dict)
        if given["status"] == "scheduled":
            given = {**given, "status": "ready"}
        return msgspec.convert(given, TemporalStatus)

    async def progress(self, run_id: str) -> RunProgress | None:
        """Where the run stands that a worker is at, by its last heartbeat; None where none is. The server answers."""
        with _typed_errors(run_id):
            description = await self._handle(run_id).describe()
        for one in description.raw_description.pending_activities:
            if one.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED and one.heartbeat_details.payloads:
                [beat] = await self._client.data_converter.decode(one.heartbeat_details.payloads, [dict])
                return msgspec.convert(beat, RunProgress) if beat else None
        return None

    async def result(self, run_id: str) -> Any:
        """The final output, once the run has finished: text, or the JSON of what the agent's output type is.

        Raises the error of a run that has failed, `RunCancelledError` for one that was cancelled, and `UserError` where the
        output is too large for Temporal and there is no store.
        """
        with _typed_errors(run_id):
            rest: dict[str, Any] = await self._handle(run_id, dict).result()
        if not rest.get("left_out") or rest["output"] is not None:
            return rest["output"]
        if self._store is None:
            raise UserError(
                f"the output of run {run_id!r} is too large for Temporal, expected the store that has it; pass "
                "TemporalRuns(store=...)"
            )
        ended = (await Runner.load(run_id, run_config=RunConfig(store=self._store))).value.ended
        assert ended is not None
        return msgspec.json.decode(ended.output) if ended.is_json else ended.output

    async def decide(self, run_id: str, decision: Decision, *, confirm: bool = True) -> int:
        """Decide on a call that waits; the decision's number in the run's mailbox.

        Without `confirm` it is a signal, which needs no worker to be sent and gives 0; what becomes of it is in `status`.

        Raises `RunConflictError` for a call that does not wait, or a run that is over, `UserError` for a decision of another
        kind than the call waits for.
        """
        given = msgspec.to_builtins(checked_decision(decision))
        is_plain = decision.action != "answer" and decision.arguments is None and decision.expires_at is None
        if confirm and is_plain:
            with _typed_errors(run_id):
                try:
                    return int(await cast(Any, self._handle(run_id)).execute_update(DECIDE_AT_REST, given, result_type=int))
                except WorkflowUpdateFailedError as error:
                    if not isinstance(error.cause, ApplicationError) or error.cause.type != NOT_AT_REST:
                        raise
        return await self._tell(run_id, "decide", given, confirm)

    async def answer(
        self, run_id: str, call_id: str, answer: object, *, path: Sequence[str] = (), by: str = "", confirm: bool = True
    ) -> int:
        """Answer a call that waits for an answer from outside. Gives and raises what `decide` does."""
        decision = Decision(call_id, "answer", tuple(path), answer=answer, by=by)
        return await self.decide(run_id, decision, confirm=confirm)

    async def send(
        self, run_id: str, message: str | InputItem, *, priority: int = 0, by: str = "", confirm: bool = True
    ) -> int:
        """Send the run a message, as `Runner.send`. Gives and raises what `decide` does."""
        given = {"message": message, "priority": priority, "by": by}
        return await self._tell(run_id, "send", given, confirm)

    async def signal(self, run_id: str, name: str, data: object = None, *, by: str = "", confirm: bool = True) -> int:
        """Give a workflow of ours data, as `Runner.signal`. Gives and raises what `decide` does."""
        return await self._tell(run_id, "signal", {"name": name, "data": data, "by": by}, confirm)

    async def pause(self, run_id: str, *, by: str = "", reason: str = "", confirm: bool = True) -> int:
        """Have the run go no further than its turn. Gives and raises what `decide` does."""
        return await self._tell(run_id, "pause", {"by": by, "reason": reason}, confirm)

    async def unpause(self, run_id: str, *, by: str = "", confirm: bool = True) -> int:
        """Let a paused run go on. Gives and raises what `decide` does."""
        return await self._tell(run_id, "unpause", {"by": by}, confirm)

    async def cancel(
        self, run_id: str, *, mode: CancelMode = "now", by: str = "", reason: str = "", confirm: bool = True
    ) -> int:
        """Stop the run for good, as `Runner.cancel`. Gives and raises what `decide` does."""
        return await self._tell(run_id, "cancel", {"mode": mode, "by": by, "reason": reason}, confirm)

    async def _tell(self, run_id: str, kind: str, given: dict[str, Any], confirm: bool) -> int:
        handle = self._handle(run_id)
        given = given_json(f"what is told run {run_id!r}", given)
        with _typed_errors(run_id):
            if confirm:
                return int(await cast(Any, handle).execute_update(kind, given, result_type=int))
            await handle.signal(kind, given)
        return 0

    async def _start(self, run_id: str, job: dict[str, Any], digest: str, reuse: WorkflowIDReusePolicy) -> None:
        metadata = job["metadata"]
        pairs = [
            SearchAttributePair(SearchAttributeKey.for_keyword(attribute), metadata[name])
            for name, attribute in self._search_attributes.items()
            if name in metadata
        ]
        with _typed_errors(run_id):
            await self._client.start_workflow(
                WORKFLOW,
                job,
                id=check_run_id(run_id),
                task_queue=self._task_queue,
                id_reuse_policy=reuse,
                memo={_METADATA: metadata, _DIGEST: digest},
                search_attributes=TypedSearchAttributes(pairs),
                task_timeout=timedelta(seconds=10),
                # A worker of the same client, where this process has one, begins at once: no round of the server's queues.
                request_eager_start=True,
            )

    def _handle(self, run_id: str, result_type: type | None = None) -> WorkflowHandle[Any, Any]:
        return self._client.get_workflow_handle(check_run_id(run_id), result_type=result_type)


def _ended(cause: BaseException, run_id: str) -> AgentsException:
    """Our error again, from how Temporal has it."""
    if isinstance(cause, ApplicationError):
        if cause.details and isinstance(cause.details[0], dict):
            return msgspec.convert(cause.details[0], Failure).error()
        return Failure(cause.type or "AgentsException", cause.message).error()
    if isinstance(cause, CancelledError):
        return RunCancelledError(f"run {run_id!r} was cancelled at Temporal", by="Temporal", reason="")
    message = cause.message if isinstance(cause, FailureError) else str(cause)
    return AgentsException(
        f"the workflow of run {run_id!r} ended otherwise ({message}), expected it to end as the run does; the store has the "
        "run: go on with TemporalRuns.resume"
    )


@contextmanager
def _typed_errors(run_id: str) -> Generator[None]:
    """Raises ours for the client's errors."""
    try:
        yield
    except (WorkflowFailureError, WorkflowUpdateFailedError) as error:
        raise _ended(error.cause, run_id) from error
    except RPCError as error:
        raise _typed(error, run_id) from error
    except WorkflowUpdateRPCTimeoutOrCancelledError as error:
        raise _away(run_id, "it took too long") from error
    except RuntimeError as error:  # what a lazy client raises that cannot connect
        if "client connect" not in str(error):
            raise
        raise _away(run_id, str(error)) from error


def _away(run_id: str, why: str) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"Temporal did not answer for run {run_id!r} ({why}), expected its server, and a worker where one has to answer; "
        "try again"
    )


def _typed(error: RPCError, run_id: str) -> AgentsException:
    """Our error for one of the server's."""
    what = f"Temporal refused what concerns run {run_id!r} ({error.message})"
    match error.status:
        case RPCStatusCode.NOT_FOUND if "already completed" in error.message:
            return RunConflictError(
                f"run {run_id!r} is over at Temporal, expected one that goes on; resume it, or begin another"
            )
        case RPCStatusCode.NOT_FOUND:
            return RunNotFoundError(f"Temporal has no run {run_id!r}, expected the id of one that was begun with start")
        case RPCStatusCode.INVALID_ARGUMENT if "search attribute" in error.message.lower():
            return UserError(
                f"{what}, expected search attributes that the server knows; register them: "
                "temporal operator search-attribute create --type Keyword --name ..."
            )
        case RPCStatusCode.FAILED_PRECONDITION if "no poller" in error.message:
            return _away(run_id, "no worker asks for its work")
        case RPCStatusCode.UNAVAILABLE | RPCStatusCode.DEADLINE_EXCEEDED | RPCStatusCode.CANCELLED:
            return _away(run_id, error.message)
        case _:
            return UserError(f"{what}, expected what it takes; see its message")
