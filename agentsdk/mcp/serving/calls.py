"""`Calls`: the runs behind the calls of clients.

A call is a run of a store: the one that was given, or else one in memory that forgets a run with its answer. The id of the run
is worked out from the server's name, who asks, and the `run_id` that the client chose (or was given): no client reaches another
user's run, or one that did not begin here. Called again with the same, the run is gone on with, or its result is given.

The run goes in a task of its own, apart from the request: who asks for the same run meanwhile waits for the same task, and a
request that is cancelled cancels the run once, waits until it has wound down, and only then is done.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio
import mcp_types as wire
import msgspec

from agentsdk.core.next_step import pending_calls
from agentsdk.core.run_state import RunState
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.begin import clock_of
from agentsdk.engine.callbacks import call_user
from agentsdk.mcp.serving.answers import RUN_ID, answer_of, error_of, failed
from agentsdk.mcp.serving.asking import decide, questions, told
from agentsdk.mcp.serving.caller import Caller
from agentsdk.mcp.serving.offer import Served
from agentsdk.mcp.serving.options import MCPRequest, Settings
from agentsdk.mcp.serving.progress import Progress
from agentsdk.models.shield import wait_until_done
from agentsdk.result import RunResult
from agentsdk.runner import Runner
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.types.errors import AgentsException, RunConflictError, RunNotFoundError, ToolError, UserError
from agentsdk.types.summary import RunSummary
from agentsdk.types.text import storable_text

logger = logging.getLogger("agentsdk")

MAX_PAUSED = 1_000
"""How many runs without a store may wait for an answer at once; of more, the oldest are forgotten."""

MAX_RUN_ID = 200
"""How many characters a client's `run_id` may have."""

MAX_ROUNDS = 100
"""How often the person at a client is asked in one request."""

_LOOK = 0.25
"""Seconds after which a run that another process holds is looked at again."""


@dataclass
class _Going:
    """A run in work, what it was given, and how many requests wait for it."""

    given: str
    task: asyncio.Task[RunResult[Any]]
    waiting: int = 0


class Calls:
    """Runs what clients call, `settings.max_calls` at a time."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.is_durable = settings.store is not None
        self._name = name
        self._settings = settings
        self._store = settings.store or MemoryRunStore()
        self._config = replace(settings.config or RunConfig(), store=self._store)
        self._going: dict[str, _Going] = {}
        self._paused: dict[str, None] = {}
        self._free = asyncio.Semaphore(settings.max_calls)
        self._is_closed = False

    @property
    def at_work(self) -> int:
        """How many runs are in work, or wait for that."""
        return len(self._going)

    async def call(
        self, served: Served, arguments: Mapping[str, Any], run_id: str, answers: Mapping[str, Any], caller: Caller
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        """The result of a call, or what its person is asked first. Never raises an `AgentsException`."""
        given = run_id or os.urandom(16).hex()
        request = caller.describe(served.name, given)
        stored_id = self._stored_id(request.principal, given)
        if self.is_durable and not run_id:
            await caller.tell(f"run_id {given}")  # for a client that loses its connection before the answer
        keep = False
        answer: wire.CallToolResult | wire.InputRequiredResult
        try:
            answer = await self._answered(served, arguments, stored_id, answers, caller, request)
            keep = isinstance(answer, wire.InputRequiredResult)
        except AgentsException as error:
            logger.info("a call of %s as run %s failed: %s", served.name, stored_id, type(error).__name__)
            answer = error_of(error)
        finally:
            if not self.is_durable:
                await self._forget(stored_id, keep=keep)
        if isinstance(answer, wire.CallToolResult) and self.is_durable:
            answer.meta = {**(answer.meta or {}), RUN_ID: given}
        return answer

    async def context_of(self, request: MCPRequest) -> Any:
        """The context object for who asks. Raises `CallbackError` where the callable raises."""
        give = self._settings.context
        return None if give is None else await call_user("the context callable of the MCP server", give, request)

    async def look(self, run_id: str, request: MCPRequest) -> tuple[RunSummary, RunState]:
        """How a run stands that the caller began as `run_id`. Raises `RunNotFoundError`."""
        stored_id = self._stored_id(request.principal, run_id)
        summary = await self._store.summary(stored_id)
        if summary is None:
            raise RunNotFoundError(f"there is no run {run_id!r}, expected the run_id of a call; call the tool to begin it")
        return summary, await Runner.load(stored_id, run_config=self._config)

    async def aclose(self) -> None:
        """Cancel what is in work, and wait until it has wound down."""
        self._is_closed = True
        tasks = [going.task for going in self._going.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if not self.is_durable:
            await self._store.aclose()

    def _stored_id(self, principal: str, run_id: str) -> str:
        named = msgspec.json.encode((self._name, principal, run_id))
        return "mcp-" + hashlib.sha256(named).hexdigest()[:32]

    async def _answered(
        self,
        served: Served,
        arguments: Mapping[str, Any],
        stored_id: str,
        answers: Mapping[str, Any],
        caller: Caller,
        request: MCPRequest,
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        given = served.input_of(arguments)
        rounds = 0
        while True:
            result = await self._run(served, given, stored_id, caller, request)
            if result.is_finished:
                return answer_of(served, result)
            state = result.to_state()
            may_ask = self._settings.ask_client and (caller.can_be_asked or len(answers) > 0)
            asked = questions(state.interruptions) if may_ask else {}
            if not asked or rounds == MAX_ROUNDS:
                return self._waits(state, request)
            if not answers and caller.repeats:
                return wire.InputRequiredResult(input_requests=dict(asked), request_state=request.run_id)
            if not answers:
                answers = await caller.ask(asked, self._settings.ask_timeout)
            forms = {key: answer for key, answer in answers.items() if isinstance(answer, wire.ElicitResult)}
            is_dismissed = any(answer.action == "cancel" for answer in forms.values())
            if not decide(state, forms, request.principal or request.client) and (is_dismissed or not caller.repeats):
                return self._waits(state, request)
            await self._keep_decisions(state)
            answers = {}
            rounds += 1

    async def _keep_decisions(self, state: RunState) -> None:
        try:
            _ = await Runner.decide(state, run_config=self._config)
        except RunConflictError:  # somebody else has decided: what the run waits for now is asked for next
            pass

    def _waits(self, state: RunState, request: MCPRequest) -> wire.CallToolResult:
        """The result that says what the run waits for, and how it can go on."""
        pending = pending_calls(state.value)
        if not pending:
            limit = state.limit_reached
            why = "it was paused" if limit is None else f"it reached its limit of {limit.limit}"
        else:
            why = "; ".join(told(item) for item in pending)
        if pending and not state.interruptions:
            remedy = f"Call again then, with the run_id {request.run_id!r} and the same arguments."
        elif self.is_durable:
            remedy = (
                f"A person may decide on run {state.run_id!r} in the server's store; then call again with the run_id "
                f"{request.run_id!r} and the same arguments. Or call from a client that can be asked (elicitation)."
            )
        else:
            remedy = "Call it from a client that can be asked (elicitation), or give the server a store."
        return failed("ApprovalRequired" if state.interruptions else "RunPaused", f"the run has stopped: {why}\n{remedy}")

    async def _run(self, served: Served, given: str, stored_id: str, caller: Caller, request: MCPRequest) -> RunResult[Any]:
        """Go on with the run until it ends or waits; the request's cancellation is the run's, if no other request wants it."""
        async with Progress(self._config, stored_id, served, caller):
            while not self._is_closed:
                going = self._going.get(stored_id) or self._begin(served, given, stored_id, request)
                if going.given != given:
                    raise RunConflictError(
                        f"the run of run_id {request.run_id!r} was begun with other arguments, expected the same at each call; "
                        "choose another run_id"
                    )
                await self._wait(going, self._settings.goes_on_without_client and caller.may_have_left)
                if not going.task.cancelled():
                    return going.task.result()
        raise ToolError("the server is ending, expected it to go on; call again when it is up")

    def _begin(self, served: Served, given: str, stored_id: str, request: MCPRequest) -> _Going:
        if self.at_work >= self._settings.max_calls + self._settings.max_waiting_calls:
            raise ToolError(f"the server has {self.at_work} calls at work, expected fewer; call again later")
        task = asyncio.create_task(self._driven(served, given, stored_id, request), name=f"mcp call {stored_id}")
        going = self._going[stored_id] = _Going(given, task)
        task.add_done_callback(lambda _: self._ended(stored_id, task))
        return going

    def _ended(self, stored_id: str, task: asyncio.Task[RunResult[Any]]) -> None:
        del self._going[stored_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.info("run %s behind an MCP call ended with %s", stored_id, type(error).__name__)

    async def _wait(self, going: _Going, goes_on: bool) -> None:
        """Wait until a run has ended or waits. If nobody does any more it is cancelled, unless it `goes_on`."""
        going.waiting += 1
        try:
            await asyncio.wait((going.task,))
        except asyncio.CancelledError:
            if going.waiting == 1 and not goes_on:
                going.task.cancel()
                # The scope of the request cancels again at each step of the loop for as long as it is not left.
                with anyio.CancelScope(shield=True):
                    await wait_until_done(going.task)
            raise
        finally:
            going.waiting -= 1

    async def _driven(self, served: Served, given: str, stored_id: str, request: MCPRequest) -> RunResult[Any]:
        metadata = {**(self._config.metadata or {}), "mcp.tool": served.name, "mcp.run_id": request.run_id}
        if request.principal:
            metadata["mcp.principal"] = request.principal
        config = replace(self._config, metadata=metadata)
        if served.is_one_call:  # no model is asked
            config = replace(
                config, model=None, window=None, call_model_input_filter=None, wrap_model_call=None, tools=(), toolsets=()
            )
        async with self._free:
            context = await self.context_of(request)
            while True:
                try:
                    return await Runner.drive(served.agent, stored_id, given, run_config=config, context=context)
                except RunConflictError:
                    if not await self._waited_for_others(stored_id):
                        raise

    async def _waited_for_others(self, stored_id: str) -> bool:
        """Whether another process had the run; it was waited for. A dead one has it until its lease is over."""
        waited = False
        while (summary := await self._store.summary(stored_id)) is not None:
            left = summary.held_until - clock_of(self._config)()
            if left <= 0:
                break
            await asyncio.sleep(min(left, _LOOK))
            waited = True
        return waited

    async def _forget(self, stored_id: str, *, keep: bool) -> None:
        """Of a run without a store: keep it only while it waits for the answer to a question."""
        self._paused.pop(stored_id, None)
        forgotten = [stored_id]
        if keep:
            self._paused[stored_id] = None
            forgotten = list(self._paused)[:-MAX_PAUSED]
        for one in forgotten:
            self._paused.pop(one, None)
            going = self._going.get(one)
            if going is None or going.task.done():
                await self._store.delete(one)
        if keep and forgotten:
            logger.warning("%d runs behind MCP calls waited too long for an answer and were forgotten", len(forgotten))


def require_run_id(given: object) -> str:
    """The `run_id` that a client chose; `""` for none. Raises `UserError`."""
    if given is None:
        return ""
    if not isinstance(given, str) or not 0 < len(given) <= MAX_RUN_ID or storable_text(given) != given:
        raise UserError(
            f"the run_id of a call is no text of 1 to {MAX_RUN_ID} characters without NUL, expected one; choose another, or "
            "leave it out"
        )
    return given
