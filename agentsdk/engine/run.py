"""`Run`: one run in motion. Its state, what it depends on (`RunDeps`), and `record`, the only way its state changes."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from agentsdk.core.keys import approval_key, call_key, request_id, request_prefix
from agentsdk.core.limits.budget import Budget
from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.core.limits.totals import Price, follow
from agentsdk.core.overflow import Overflow, output_text
from agentsdk.core.overflow import result_id as overflow_id
from agentsdk.core.run_state import Kept, RunState
from agentsdk.core.state import State, apply, new_state, transcript
from agentsdk.core.window.calibration import Calibration
from agentsdk.define.agent import Agent
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.hooks import RunHooks
from agentsdk.define.prices import Prices
from agentsdk.define.run_config import RunConfig
from agentsdk.define.stream_events import StreamEvent
from agentsdk.engine.channel import Channel
from agentsdk.engine.grace import THREADS, Grace
from agentsdk.engine.limits.limiter import Limiter
from agentsdk.ports.model import MODEL as A_MODEL
from agentsdk.ports.model import Model, ModelProvider
from agentsdk.ports.token_counter import TokenCounter
from agentsdk.ports.tracer import Span, Tracer
from agentsdk.types.errors import AgentsException, CallbackError, UserError
from agentsdk.types.events import InputReplaced, ModelReplied, Nested, RunEvent, RunStarted
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item

_RESULT_ID = re.compile("[0-9a-f]{16}")

NO_LIMITS = RunLimits(turns=None)
"""A nested run's own limits, unless its tool sets some: those of the root hold for it anyway."""

if TYPE_CHECKING:
    from agentsdk.core.window.compaction_price import TokenPrices
    from agentsdk.engine.recorder import Recorder


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


Drive = Callable[["Run"], Awaitable[None]]
"""The loop: how a run, and an agent used as a tool, is driven until it ends or waits."""


class ModelCatalog(Struct, frozen=True):
    """What is known of models by their names: the models, their prices beside those given, what counts their tokens, and how
    large their windows are, in tokens."""

    find: Callable[[str | Model | None, ModelProvider | None], Model]
    price_with: Callable[[Prices | None], Price]
    read_price_lists: Callable[[], Awaitable[None]]
    counter_of: Callable[[str], TokenCounter]
    context_window_of: Callable[[str], int | None]


class LookedUp(Struct, frozen=True):
    """The sizes of models' windows, what their tokens cost and what counts them: looked up once a run."""

    context_windows: dict[str, int | None]
    token_prices: dict[str, TokenPrices | None]
    token_counters: dict[str, TokenCounter]


class RunDeps:
    """What runs of one tree share: everything that is not state."""

    __slots__ = (
        "_grace",
        "_looked_up",
        "_models",
        "_price",
        "config",
        "drive",
        "facts",
        "full_results",
        "hooks",
        "keeps_back",
        "now",
        "scope",
        "tracer",
    )

    def __init__(
        self,
        config: RunConfig,
        drive: Drive,
        facts: ModelCatalog,
        now: Callable[[], float],
        hooks: RunHooks[Any] | None,
        tracer: Tracer | None,
        scope: Budget | None,
    ) -> None:
        self.config = config
        self.drive = drive
        self.facts = facts
        self._models: dict[str | None, Model] = {}
        self.now = now
        self.hooks = hooks
        self.tracer = tracer
        self._price: Price | None = None
        self._looked_up: LookedUp | None = None
        self.scope = scope
        """The budget of the `shared_limits` block that the run began in."""
        self.keeps_back = type(config.on_limit) is not str or config.on_limit == "finalize"
        """Whether what a last answer takes is kept out of all other requests. A callable may ask for one: of its answer the
        tokens are kept back, while its turn and its request come on top."""
        self.full_results: dict[str, str] = {}
        """Results that were too long for the model, whole, by the id their marker names: those of this process."""
        self._grace: Grace | None = None

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        """What a pickle of a result has of it: not the key that seals the run's states."""
        kept = {name: getattr(self, name) for name in self.__slots__}
        return None, {**kept, "config": dataclasses.replace(self.config, state_key=None)}

    @property
    def grace(self) -> Grace:
        """The time that the runs have to wind down once they are cancelled."""
        if self._grace is None:
            self._grace = Grace(self.config.cancel_grace)
        return self._grace

    @property
    def looked_up(self) -> LookedUp:
        """What was looked up of models, by their names."""
        if self._looked_up is None:
            self._looked_up = LookedUp({}, {}, {})
        return self._looked_up

    @property
    def price(self) -> Price:
        """What a reply cost, by its model's name: at the prices given, or those of the price lists."""
        if self._price is None:
            self._price = self.facts.price_with(self.config.prices)
        return self._price

    def model_of(self, agent: Agent[Any, Any]) -> Model:
        """The agent's model. Raises `UserError` where there is none."""
        given = agent.model if self.config.model is None else self.config.model
        return given if given is not None and not isinstance(given, str) else self.model(given)

    def model(self, given: str | Model | None) -> Model:
        """The model that is meant; a name is looked up once a run. Raises `UserError` where there is none."""
        if given is not None and not isinstance(given, str):
            return given
        model = self._models.get(given)
        if model is None:
            try:
                model = self.facts.find(given, self.config.model_provider)
            except AgentsException:
                raise
            except Exception as error:
                raise CallbackError(f"the model_provider raised {type(error).__name__}, expected a model; fix it") from error
            if not A_MODEL.fits(model):
                raise UserError(f"the model_provider gave a {type(model).__name__!r}, expected {A_MODEL.text}; return one")
            self._models[given] = model
        return model


_NOTHING_LEARNED: tuple[int, Calibration] = (0, Calibration())


class Run:
    """One run in motion.

    `state` is always the latest value. A nested run (an agent as tool) records through its parent, so that there is one log.
    """

    __slots__ = (
        "_request_prefix",
        "agent",
        "agents",
        "asking",
        "calibration",
        "call_id",
        "call_ids",
        "channel",
        "context",
        "counted",
        "deps",
        "final_output",
        "has_budget",
        "instructions",
        "is_at_limit",
        "is_over",
        "kept",
        "limiter",
        "limits",
        "parent",
        "publish",
        "recorder",
        "span",
        "state",
        "stop_requested",
    )

    def __init__(
        self,
        agent: Agent[Any, Any],
        context: RunContextWrapper[Any],
        deps: RunDeps,
        state: State,
        parent: Run | None = None,
        call_id: str = "",
    ) -> None:
        self.agent = agent
        self.agents: dict[str, Agent[Any, Any]] = {agent.name: agent}
        self.context = context
        self.deps = deps
        self.state = state
        self.parent = parent
        self.call_id = call_id
        self._request_prefix = ""
        self.channel: Channel[StreamEvent] | None = None
        self.publish: Callable[[Run, RunEvent], None] | None = None
        self.recorder: Recorder | None = None
        """What makes the events of a stored run durable; the root's."""
        self.kept: Kept | None = None
        """What the process knew of how the run is kept when it went on with it; the root's."""
        self.span: Span | None = None
        self.final_output: object = None
        self.limits = deps.config.limits if parent is None else NO_LIMITS
        self.limiter: Limiter | None = None
        self.has_budget: bool = parent is not None and parent.has_budget
        """Whether requests and calls are reserved before they are made: the same for all runs of a tree."""
        self.is_at_limit = False
        """Whether it was stopped by one of its own limits, not by those around it."""
        self.instructions: tuple[int, str] | None = None
        """The agent's instructions where a callable gives them, and after how many turns it did."""
        self.counted = 0
        """The tokens counted for the next request; 0 where nothing needs them."""
        self.calibration = _NOTHING_LEARNED
        """How much of the log was read to learn what the model bills for a counted token, and that."""
        self.stop_requested = False
        self.asking = 0
        """Replies reserved of the limit on turns, by this run and those nested in it: at the root, if no budget does that."""
        self.is_over = False
        """Whether its caller has it back: a tool left behind by a cancellation changes it no more."""
        self.call_ids: set[str] = set()
        """The ids of the calls so far, so that a provider's repeated id is noticed in O(1)."""

    async def record(self, *events: RunEvent) -> None:
        """Make `events` the run's next ones, in one append: durable first, then applied, then published."""
        if self.is_over:
            return
        if self.recorder is not None:
            await self.recorder.write(events)
        elif self.parent is None:
            before = state = self.state
            for event in events:
                state = apply(state, event)
            if self.asking:  # as in `advance`, without the call
                self.asking -= state.all_turns - before.all_turns
            self.state = state
            self.context.usage = state.usage
        else:
            try:
                await self.parent.record(*[Nested(self.call_id, event) for event in events])
            finally:  # where the store failed the state has them all the same
                turn = self.parent.state.turn
                assert turn is not None
                self.state = turn.children.get(self.call_id, self.state)
                self.context.usage = self.parent.context.usage
        if self.publish is not None:
            for event in events:
                self.publish(self, event)

    async def record_beside(self, error: BaseException, *events: RunEvent) -> None:
        """`record` while `error` is on its way: a store that fails too is added to its notes."""
        try:
            await self.record(*events)
        except AgentsException as failure:
            if failure is not error:
                error.add_note(str(failure))

    def advance(self, state: State) -> None:
        """Take the root of a stored run to its next state. A reply takes its reservation along: who asked goes on later."""
        if self.asking:
            self.asking -= state.all_turns - self.state.all_turns
        self.state = state
        self.context.usage = state.usage

    async def keep(self, overflow: Overflow) -> None:
        """Keep a result that is too long for the model, whole, where the run is kept."""
        self.deps.full_results[overflow.id] = overflow.text
        root = self.root
        if root.recorder is not None:
            await root.recorder.attach(overflow.id, overflow.text)

    def thread_patience(self) -> float | None:
        """Seconds for which the thread of a sync tool is waited for in a cancelled run; None where it is not cancelled."""
        return self.deps.grace.left(THREADS)

    @property
    def cost(self) -> Decimal | None:
        """What the run has cost in US dollars, nested runs included; None where that is not known. O(events since last asked).

        The first price that the lists give takes 0.4 s, in which they are read.
        """
        return follow(self.state.log, self.deps.price).total

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

    def snapshot(self, unrecorded: tuple[RunEvent, ...] = ()) -> RunState:
        """The run as it stands, to be saved, decided on and resumed; with decisions that could not be recorded."""
        kept = self.kept if self.recorder is None else self.recorder.kept
        return RunState(self.state, unrecorded, self.deps.config.state_key, context=self.context.context, kept=kept)

    @property
    def is_ahead(self) -> bool:
        """Whether the run went on with a state that its store could not be given whole."""
        kept = self.kept
        return kept is not None and (kept.rev < len(self.state.log) or bool(kept.attachments))

    @property
    def root(self) -> Run:
        """The outermost run."""
        run = self
        while run.parent is not None:
            run = run.parent
        return run

    @property
    def recorded(self) -> State:
        """The run's state as the root has it: where a nested run was cancelled while it recorded, a step ahead of `state`."""
        if self.parent is None:
            return self.state
        turn = self.parent.recorded.turn
        return self.state if turn is None else turn.children.get(self.call_id, self.state)

    @property
    def path(self) -> tuple[str, ...]:
        """The calls that lead to the run, outermost first."""
        return () if self.parent is None else (*self.parent.path, self.call_id)

    @property
    def root_id(self) -> str:
        """The id of the outermost run."""
        return self.state.run_id if self.parent is None else self.root.state.run_id

    def call_key(self, call_id: str) -> str:
        """The idempotency key of one of its calls."""
        return call_key(self._key_scheme, self.root_id, self.path, call_id)

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

    @property
    def depth(self) -> int:
        """How many runs this one is nested in."""
        return 0 if self.parent is None else self.parent.depth + 1

    def child(self, call_id: str, agent: Agent[Any, Any]) -> Run:
        """The nested run of a call: new, or where it stood."""
        turn = self.state.turn
        assert turn is not None
        state = turn.children.get(call_id) or new_state()
        context = RunContextWrapper(self.context.context, self.context.usage)
        run = Run(agent, context, self.deps, state, self, call_id)
        run.call_ids = call_ids(state)
        return run
