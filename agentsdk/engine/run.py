"""`Run`: one run in motion. Its journal, the agent whose turn it is, and what it counts against its limits."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from agentsdk.core.keys import approval_key, call_key, request_id, request_prefix
from agentsdk.core.limits.run_limits import DEFAULT_LIMITS, RunLimits
from agentsdk.core.limits.totals import follow
from agentsdk.core.overflow import Overflow, output_text
from agentsdk.core.overflow import result_id as overflow_id
from agentsdk.core.state import Offered, State, new_state, transcript
from agentsdk.core.taint import Taint
from agentsdk.core.window.calibration import Calibration
from agentsdk.define.agent import Agent, RunHooks
from agentsdk.define.context import RunContextWrapper, TurnContext
from agentsdk.define.declaration import Declaration
from agentsdk.define.inbox import Inbox
from agentsdk.define.stream_events import RawResponsesStreamEvent, StreamEvent, ToolProgressStreamEvent
from agentsdk.define.tool import FunctionTool
from agentsdk.engine.channel import Channel, NestedChannel
from agentsdk.engine.grace import THREADS
from agentsdk.engine.journal import Journal
from agentsdk.engine.limits.limiter import Limiter
from agentsdk.engine.watchers import Watchers, watched
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.ports.tracer import Span
from agentsdk.types.errors import UserError
from agentsdk.types.events import InputReplaced, ModelReplied, RunStarted, ToolCheckpointed
from agentsdk.types.hosted import Prompt, ServerConversation
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item
from agentsdk.types.response import ModelResponse

if TYPE_CHECKING:
    from agentsdk.define.grants import Grant
    from agentsdk.define.output_validator import OutputValidator
    from agentsdk.define.program_tool import ProgramInput

_RESULT_ID = re.compile("[0-9a-f]{16}")

NO_LIMITS = RunLimits(turns=None)
"""A nested run's own limits, unless its tool sets some: those of the root hold for it anyway."""


def require_asyncio() -> None:
    """Raises `UserError` where no asyncio event loop runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise UserError(
            "Runner needs a running asyncio event loop, expected to be awaited under asyncio (not trio); use asyncio.run(...)"
        ) from None


def call_ids(state: State) -> set[str]:
    """The ids of all calls a run ever saw: those of its input, of its view and of turns that were taken back included."""
    replies = [event.response.output for event in state.log if isinstance(event, ModelReplied)]
    return {item.call_id for items in (state.transcript, state.view, *replies) for item in items if type(item) is FunctionCall}


def drive_of(
    agent: Agent[Any, Any], state: State, otherwise: Callable[[Run], Awaitable[None]]
) -> Callable[[Run], Awaitable[None]]:
    """What drives a run of `agent` as it stands. Raises `StateMismatchError` where it knows nothing of that run's version."""
    driver = agent.driver
    if driver is None:
        return otherwise
    started = state.log[0] if state.log else None
    return driver.at(started.version if isinstance(started, RunStarted) else driver.version)


def version_of(agent: Agent[Any, Any]) -> str:
    """The version that a new run of `agent` is of."""
    driver = agent.driver
    return "" if driver is None else driver.version


def input_of(state: State) -> tuple[Item, ...]:
    """What a run was last given as input, without what came from a session. O(events since it was last asked for)."""
    log = state.log
    known = cast("tuple[int, tuple[Item, ...]] | None", log.derived.get(input_of))
    read, given = known if known is not None and known[0] <= len(log) else (0, ())
    for event in log.since(read):
        if type(event) is InputReplaced:
            given = event.input
        elif type(event) is RunStarted:
            given = event.input[event.history :]
    log.derived[input_of] = (len(log), given)
    return given


StreamChannel = Channel[StreamEvent] | NestedChannel[StreamEvent]

_NOTHING_LEARNED: tuple[int, Mapping[str, Calibration]] = (0, {})


class ChosenModel(Struct, frozen=True):
    """The model that a callable has chosen for the turn after `turns` others. `name` is what it gave, `""` for a model."""

    model: Model
    turns: int
    name: str


class ExtendedDeclaration(Struct, frozen=True):
    """What an agent declares, what it is offered besides, by whom, and all of it as one declaration."""

    declared: Declaration
    offers: Mapping[str, Sequence[FunctionTool[Any]]]
    extended: Declaration


class NotOffered(Struct, frozen=True):
    """What of a declaration no grant covers."""

    declared: Declaration
    grants: tuple[Grant, ...]
    names: tuple[str, ...]


class ToolsetAnswer(Struct, frozen=True):
    """What a toolset gave last, what is recorded of that, and the tools in the order that the model sees them."""

    given: Sequence[FunctionTool[Any]]
    offered: Offered
    tools: Sequence[FunctionTool[Any]]


class Run(Journal, eq=False, kw_only=True):
    """One run in motion.

    `agent` is the one whose turn it is, `agents` all that have had one, by name. `drive` is the loop, which a nested run is
    driven by too, `ask_for_call` what asks its turn's model something for the body of a call. `call_ids` are those of the
    calls so far, so that a provider's repeated id is noticed in O(1).

    `inboxes` hold what enters at its next turn: the root's `added`, and that of its config. `channel` is where its stream
    events go, None where nobody reads them. `shown`, the root's: how many events of each nested run, by its path, are behind
    the reader.

    Limits: `limits` are its own; `limiter` what it has used of them. With `has_budget`, the same for all runs of a tree,
    requests and calls are reserved before they are made. `is_at_limit`: it was stopped by one of its own limits, not by those
    around it.

    Of the open turn: `instructions` and `prompt` are the agent's where a callable gives them, and after how many turns it did;
    `chosen` is its model where a callable has chosen one; `counted` the tokens of the next request, 0 where nothing needs them.
    `stop_requested`: the run stops after this turn. `cancelled_by`: who has cancelled it in this process. `calibrations` are
    how much of the log was read to learn what models bill for a counted token, and that, by the models' names.

    `extended` is what the agent declares with what toolsets offer, `answered` what these have given, by agent and toolset.
    `not_offered` is what of that its grants leave out.
    `is_replayed`: everything is recorded, and nobody is asked.

    `conversation`: the one that the provider keeps, as the run found it; None where it keeps none.
    `on_reply` is told of each reply before it is recorded, and of what it answers; `on_output` of a final output before it is
    judged; `on_turn` before each turn, and when the input guardrails have let it go on. What they raise ends the run.
    `began`: since when this process has gone on with it, None where the state has that time. `hooks` are told of it, those of
    the run that it is nested in first. `program` gives the replies, None where a model does. `validators` judge its final
    output, whichever agent gives it, after that agent's own.
    """

    agent: Agent[Any, Any]
    drive: Callable[[Run], Awaitable[None]]
    ask_for_call: Callable[[Run, str, ModelRequest, Callable[[ModelResponse], str] | None], Awaitable[ModelResponse]]
    limits: RunLimits = DEFAULT_LIMITS
    agents: dict[str, Agent[Any, Any]] = {}  # noqa: RUF012 - a Struct gives each run one of its own
    call_ids: set[str] = set()  # noqa: RUF012
    inboxes: tuple[Inbox, ...] = ()
    channel: StreamChannel | None = None
    shown: dict[tuple[str, ...], int] | None = None
    span: Span | None = None
    final_output: object = None
    limiter: Limiter | None = None
    has_budget: bool = False
    is_at_limit: bool = False
    instructions: tuple[int, str] | None = None
    chosen: ChosenModel | None = None
    prompt: tuple[int, Prompt] | None = None
    counted: int = 0
    calibrations: tuple[int, Mapping[str, Calibration]] = _NOTHING_LEARNED
    extended: ExtendedDeclaration | None = None
    not_offered: NotOffered | None = None
    answered: dict[tuple[str, str], ToolsetAnswer] = {}  # noqa: RUF012
    is_replayed: bool = False
    stop_requested: bool = False
    cancelled_by: str = ""
    conversation: ServerConversation | None = None
    on_reply: Callable[[Run, ModelRequest, ModelResponse], None] | None = None
    on_output: Callable[[Run, object], Awaitable[None]] | None = None
    on_turn: Callable[[Run], Awaitable[None]] | None = None
    began: float | None = None
    hooks: tuple[RunHooks[Any], ...] = ()
    program: ProgramInput[Any] | None = None
    validators: tuple[OutputValidator[Any, Any], ...] = ()
    _request_prefix: str = ""

    @property
    def is_validated(self) -> bool:
        """Whether output validators judge its final output."""
        return bool(self.agent.output_validators or self.validators)

    @property
    def model(self) -> Model:
        """The model of its turn. Where a callable chooses it, it has."""
        model = self.deps.model_of(self.agent)
        if model is None:
            assert self.chosen is not None, "the model is chosen before anything is asked of it"
            return self.chosen.model
        return model

    @property
    def chosen_name(self) -> str:
        """The name that a callable has chosen for its turn, `""` where none did."""
        chosen = self.chosen
        return chosen.name if chosen is not None and chosen.turns == self.state.turns else ""

    @property
    def turn_number(self) -> int:
        """The number of its turn, from 1: of the open one, or of the one that begins."""
        turn = self.state.turn
        return self.state.turns + (turn is None or turn.response is None)

    def turn_context(self) -> TurnContext[Any]:
        """The run as its turn sees it, when that begins and when it is entered again."""
        context, state = self.context, self.state
        return TurnContext(
            context.context, context.usage, turn=self.turn_number, items=state.view, run_id=self.root_id, path=self.path
        )

    async def keep(self, overflow: Overflow) -> None:
        """Keep a result that is too long for the model, whole, where the run is kept."""
        self.deps.full_results[overflow.id] = overflow.text
        root = self.root
        if root.recorder is not None:
            await root.recorder.attach(overflow.id, overflow.text)

    def checkpoint(self, call_id: str) -> str:
        """What one of its calls has saved last; `""` where it has saved nothing."""
        turn = self.state.turn
        return turn.checkpoints.get(call_id, "") if turn is not None else ""

    async def save_checkpoint(self, call_id: str, data: str) -> None:
        """Record how far one of its calls has come, durably."""
        await self.record(ToolCheckpointed(call_id, data))
        recorder = self.root.recorder
        if recorder is not None:
            await recorder.flush()

    async def ask_model(
        self, call_id: str, request: ModelRequest, checkpoint: Callable[[ModelResponse], str] | None
    ) -> ModelResponse:
        """The reply of its turn's model to what one of its calls asks."""
        return await self.ask_for_call(self, call_id, request, checkpoint)

    def emit(self, data: object, tool_name: str, call_id: str, is_over: Callable[[], bool]) -> None:
        """Show progress of one of its calls to the reader of the stream, from whatever thread."""
        channel = self.channel
        if channel is None and self.watchers is None:
            return
        event = ToolProgressStreamEvent(data, tool_name, call_id, self.agent, self.path)

        def show() -> None:
            if not (is_over() or self.is_left):
                if channel is not None:
                    channel.put_nowait(event)
                self.show_watchers(event)

        if channel is None:
            show()
        else:
            channel.call(show)

    @property
    def declared(self) -> Declaration:
        """What the agent whose turn it is declares, with the tools of toolsets where it was prepared with some."""
        return self.declared_by(self.agent)

    def declared_by(self, agent: Agent[Any, Any]) -> Declaration:
        """The same of another agent: the one whose turn it was, say."""
        declared, extended = Declaration.of(agent), self.extended
        return declared if extended is None or extended.declared is not declared else extended.extended

    @property
    def taint(self) -> Taint | None:
        """What made the run untrusted: of one nested in a tainted run, what tainted that."""
        taint = self.state.taint
        if taint is not None and self.parent is not None:
            return self.parent.taint or taint
        return taint

    @property
    def watchers(self) -> Watchers | None:
        """Who watches the run in this process and may see its deltas; None where nobody does."""
        config = self.deps.config
        if not watched or config.buffer_output:
            return None
        return watched.get((id(config.store), self.root_id))

    def show_watchers(self, delta: RawResponsesStreamEvent | ToolProgressStreamEvent) -> None:
        """Offer a delta to who watches the run in this process."""
        watchers, recorder = self.watchers, self.root.recorder
        if watchers is not None and recorder is not None:
            watchers.put_nowait(recorder.revision, delta)

    def thread_patience(self) -> float | None:
        """Seconds for which the thread of a sync tool is waited for in a cancelled run; None where it is not cancelled."""
        return self.deps.grace.left(THREADS)

    @property
    def has_signals(self) -> bool:
        """Whether something waits in its mailbox, as far as is known. A nested run has none of its own."""
        recorder, state = self.recorder, self.state
        return recorder is not None and recorder.signals > state.taken and state.ended is None

    @property
    def cost(self) -> Decimal | None:
        """What the run has cost in US dollars, nested runs included; None where that is not known. O(events since last asked).

        The first price that the lists give takes 0.4 s, in which they are read.
        """
        return follow(self.state.log, self.deps.price).total

    @property
    def duration(self) -> float:
        """Seconds that it has gone on so far."""
        here = 0.0 if self.began is None else self.deps.now() - self.began
        return self.state.elapsed + here

    def stop_clock(self) -> float:
        """It goes on no longer here, as is recorded next: the seconds that it has gone on."""
        elapsed, self.began = self.duration, None
        return elapsed

    @property
    def max_result_chars(self) -> int:
        """The most characters of a result that are not cut."""
        return self.deps.config.max_tool_result_chars

    async def full_result(self, result_id: str) -> str | None:
        """The whole text of a result that was cut, from wherever it is kept. Raises `StoreError`."""
        if not _RESULT_ID.fullmatch(result_id):
            return None
        kept = self.deps.full_results
        store = self.deps.config.store
        if result_id not in kept and store is not None:
            from agentsdk.engine.checked_store import CheckedStore

            started = self.root.state.log[0]
            origin = started.forked_from if isinstance(started, RunStarted) else ""
            for run_id in filter(None, (self.root.state.run_id, origin)):
                data = await CheckedStore(store).attachment(run_id, result_id)
                if data is not None:
                    kept[result_id] = data.decode()
                    break
        if result_id not in kept:  # a state without a store still has what the window cut
            for item in transcript(self.state):
                text = output_text(item.output) if isinstance(item, FunctionCallOutput) else ""
                if text and overflow_id(text) == result_id:
                    kept[result_id] = text
                    break
        return kept.get(result_id)

    def call_key(self, call_id: str, edited: str | None = None) -> str:
        """The idempotency key of one of its calls. `edited` are its arguments where a person changed them."""
        return call_key(self._key_scheme, self.root_id, self.path, call_id, edited)

    def approval_key(self, call: FunctionCall) -> str:
        """What an approval of one of its calls is bound to."""
        return approval_key(self._key_scheme, self.root_id, self.path, call)

    @property
    def _key_scheme(self) -> int:
        started = self.root.state.log[0]
        return started.keys if isinstance(started, RunStarted) else 0

    def request_id(self, summary: int = 0) -> str:
        """The id of the next model request, or of a summary asked for ahead of it: the same when asked again after a crash."""
        if not self._request_prefix:
            run_id, path = (self.state.run_id, ()) if self.parent is None else (self.root_id, self.path)
            self._request_prefix = request_prefix(run_id, path)
        turn, number = self.state.turn, self.state.turns + 1
        if turn is None and not summary:
            return request_id(self._request_prefix, number)
        attempt = 0 if turn is None else turn.continuations + turn.empty_replies
        return request_id(self._request_prefix, number, attempt, summary)

    def child(self, call_id: str, agent: Agent[Any, Any]) -> Run:
        """The nested run of a call: new, or where it stood."""
        turn = self.state.turn
        assert turn is not None
        state = turn.children.get(call_id) or new_state()
        return Run(
            agent=agent,
            agents={agent.name: agent},
            drive=drive_of(agent, state, self.drive),
            ask_for_call=self.ask_for_call,
            deps=self.deps,
            context=RunContextWrapper(self.context.context, self.context.usage),
            state=state,
            parent=self,
            call_id=call_id,
            call_ids=call_ids(state),
            limits=NO_LIMITS,
            has_budget=self.has_budget,
            is_replayed=self.is_replayed,
            hooks=self.hooks,
        )
