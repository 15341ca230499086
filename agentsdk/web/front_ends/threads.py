"""`Threads`: conversations by an id that the front end has chosen; each is a chain of runs in the store.

What was said is in the store, and only there: a run begins with the transcript of the one before it. A client's own copy of the
conversation is never read but for what its user has just written, and for what it says of calls that wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentsdk.core.keys import approval_key, digest
from agentsdk.core.next_step import PendingCall, ToolAnswerItem, ToolApprovalItem, interruptions
from agentsdk.core.state import State, new_state, transcript
from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.stored import load_run, store_of
from agentsdk.runner import Runner, submit_with
from agentsdk.types.errors import RunConflictError, UserError
from agentsdk.types.events import ApprovalDecided, RunStarted, unnested
from agentsdk.types.items import Item, Message
from agentsdk.types.signals import Decision
from agentsdk.types.summary import RunQuery, RunSummary, check_run_id
from agentsdk.web.caller import Caller
from agentsdk.web.front_ends.client_tools import offer_of
from agentsdk.web.front_ends.follow import Going
from agentsdk.web.front_ends.narrator import Narrator
from agentsdk.web.front_ends.told import public_id
from agentsdk.web.guard import require_may_decide

THREAD, MESSAGE = "web.thread", "web.message"
"""Where a run's metadata has its thread, and the client's id of the message that it answers."""

_OVER = ("finished", "failed", "cancelled")


@dataclass(frozen=True)
class Said:
    """What a user has just written, and the client's id of the last message of it.

    `again`: in the place of what was said under that id, and of all that followed.
    """

    messages: Sequence[Message]
    id: str
    again: bool = False


@dataclass(frozen=True)
class Offer:
    """What a front end brings along: tools of its own (names, descriptions, schemas), and its state as JSON text.

    None for the state where it is not shared, `""` where the client has none.
    """

    tools: Sequence[tuple[str, str, object]] = ()
    state: str | None = None


NOTHING = Offer()


class Thread:
    """A conversation of somebody, as it stands: `run` is its latest run, None where there is none yet."""

    def __init__(self, id: str, caller: Caller | None, run: RunSummary | None, state: State) -> None:
        self.id = id
        self.caller = caller
        self.run = run
        self.state = state

    @property
    def is_open(self) -> bool:
        """Whether its latest run goes on, or waits."""
        return self.run is not None and self.run.status not in _OVER

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait."""
        return interruptions(self.state) if self.is_open else ()

    @property
    def by(self) -> str:
        """Who speaks."""
        return "" if self.caller is None else self.caller.user

    def has(self, said: Said) -> bool:
        """Whether the latest run answers that already."""
        return self.run is not None and self.run.metadata.get(MESSAGE) == said.id

    def key(self, item: PendingCall) -> str:
        """What a word on a call that waits is bound to: the run, the call, its tool and its arguments."""
        if isinstance(item, ToolApprovalItem):
            return approval_key(_scheme(self.state), self.state.run_id, item.path, item.call)
        kind = "answer" if isinstance(item, ToolAnswerItem) else "outcome"
        return digest("front end " + kind, self.state.run_id, *item.path, item.call_id, item.tool_name, item.arguments)

    def waiting_by_key(self) -> Mapping[str, PendingCall]:
        """The calls that wait, by their keys."""
        return {self.key(item): item for item in self.pending}

    def waiting_by_id(self) -> Mapping[str, PendingCall]:
        """Those that wait for an answer, by their public ids; not those of which two have one."""
        items = [item for item in self.pending if isinstance(item, ToolAnswerItem)]
        ids = [public_id(item.path, item.call_id) for item in items]
        return {id: item for id, item in zip(ids, items, strict=True) if ids.count(id) == 1}

    def was_decided(self, key: str, *, approved: bool) -> bool:
        """Whether the approval of this key was given already, so."""
        events = [unnested(event)[1] for event in self.state.log]
        return any(isinstance(one, ApprovalDecided) and one.digest == key and one.approved is approved for one in events)


class Threads:
    """The threads of a store's runs."""

    def __init__(self, config: RunConfig) -> None:
        assert config.store is not None
        self._config = config
        self._store = config.store

    async def find(self, id: str, caller: Caller | None) -> Thread:
        """The thread of an id, which is the caller's tenant's alone. Raises `UserError` for an id that is none."""
        check_id("the thread", id)
        run = await self._latest(id, caller, {})
        if run is None:
            return Thread(id, caller, None, new_state())
        state = await load_run(store_of(self._config), run.run_id)
        return Thread(id, caller, await self._store.summary(run.run_id) or run, state)

    async def begin(self, thread: Thread, agent: Agent[Any, Any], said: Said, offer: Offer = NOTHING) -> Going:
        """Begin a run that answers what was said.

        Raises `RunConflictError` where the thread has gone on meanwhile, and where its latest run is not over; `UserError` for
        an offer that cannot be taken.
        """
        if thread.is_open:
            assert thread.run is not None
            raise RunConflictError(
                f"the thread's run is {thread.run.status}, expected one that is over before the next message; "
                + ("decide on the calls that wait" if thread.pending else "wait for its end")
            )
        for message in said.messages:
            check_id("the message", message.id)
        latest = "" if thread.run is None else thread.run.run_id
        seen_by = () if thread.caller is None else thread.caller.sees.values()
        run_id = digest("web thread", *seen_by, thread.id, latest)
        whose: Mapping[str, str] = {} if thread.caller is None else thread.caller.metadata
        metadata = {**(self._config.metadata or {}), **whose, THREAD: thread.id, MESSAGE: said.id}
        await submit_with(
            agent,
            list(said.messages),
            offer_of(agent, self._config, offer.tools),
            run_config=replace(self._config, run_id=run_id, metadata=metadata),
            history=tuple(await self._history(thread, said)),
            context=self._context(thread, offer.state),
        )
        return Going(run_id, self._narrator(new_state()))

    def _context(self, thread: Thread, state: str | None) -> object:
        """The context that a new run begins with: the client's `state`, or else what the latest run left of its own."""
        codec = self._config.context_codec
        if codec is None or state is None:
            return None
        try:
            return codec.decode(state or thread.state.context or "{}")
        except Exception as error:  # of the program's codec, about what a client has sent
            raise UserError("the state does not fit, expected what the agent's context takes; send that") from error

    async def decide(self, thread: Thread, decisions: Sequence[Decision]) -> Going:
        """Post decisions on calls that wait. Raises `RunConflictError`, and `UserError` for one that does not fit its call.

        Raises `ProblemError` where the caller may not decide.
        """
        require_may_decide(thread.caller, decisions)
        for decision in decisions:
            await Runner.decide(thread.state.run_id, decision, run_config=self._config)
        return Going(thread.state.run_id, self._narrator(thread.state))

    def going(self, thread: Thread, *, replay: bool = False) -> Going:
        """The latest run as it goes on; with `replay` from its beginning."""
        return Going(thread.state.run_id, self._narrator(new_state() if replay else thread.state))

    def _narrator(self, state: State) -> Narrator:
        return Narrator(state, hold_text=self._config.buffer_output)

    async def _history(self, thread: Thread, said: Said) -> Sequence[Item]:
        """What was said before that."""
        instead_of = said.id if said.again else None
        if thread.run is None:
            return ()
        state = thread.state
        anew = thread.run.reason == "InputGuardrailTripwireTriggered"  # what a guardrail refused is not said again
        if instead_of is not None and thread.run.metadata.get(MESSAGE) != instead_of:
            run = await self._latest(thread.id, thread.caller, {MESSAGE: instead_of})
            if run is not None:
                state, anew = await load_run(store_of(self._config), run.run_id), True
        elif instead_of is not None:
            anew = True
        started = state.log[0]
        assert isinstance(started, RunStarted)
        return started.input[: started.history] if anew else transcript(state)

    async def _latest(self, id: str, caller: Caller | None, more: Mapping[str, str]) -> RunSummary | None:
        whose: Mapping[str, str] = {} if caller is None else caller.sees
        runs = await self._store.list(RunQuery(metadata={THREAD: id, **whose, **more}, limit=1))
        return runs[0] if runs else None


def check_id(of: str, id: str) -> None:
    """Raises `UserError` for an id that no store can keep."""
    try:
        check_run_id(id)
    except UserError as error:
        raise UserError(str(error).replace("run_id", f"the id of {of}", 1)) from None


def _scheme(state: State) -> int:
    started = state.log[0]
    assert isinstance(started, RunStarted)
    return started.keys
