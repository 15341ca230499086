"""`RunState`: a snapshot of a run. It is saved and loaded, a person decides on it, and `Runner.run` resumes it.

The module is long because it is one class: whatever can be done with a run that does not go on.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from copy import copy
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import msgspec
from msgspec import structs

from agentsdk.core import codec
from agentsdk.core.arguments import canonical_arguments
from agentsdk.core.codec import StateKey
from agentsdk.core.keys import approval_key
from agentsdk.core.limits.run_limits import allowed_number
from agentsdk.core.limits.totals import Price, follow, followed
from agentsdk.core.next_step import PendingCall, ToolAnswerItem, ToolApprovalItem, ToolInDoubtItem, interruptions
from agentsdk.core.pairing import joined
from agentsdk.core.state import OpenTurn, State, apply, fold, transcript
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import (
    ANYTHING,
    FLAG,
    Expected,
    Fields,
    any_text,
    having,
    is_real,
    is_whole,
    mapping_of,
    number,
    optional,
)
from agentsdk.types.errors import LimitKind, Number, StateCorruptError, StateMismatchError, UserError
from agentsdk.types.events import (
    ApprovalDecided,
    ArgumentsEdited,
    CallAnswered,
    CallRetried,
    InputAdded,
    InputReplaced,
    LimitRaised,
    LimitReachedEvent,
    Nested,
    RunEvent,
    RunPaused,
    RunStarted,
    ToolFinished,
    ViewRestored,
    unnested,
)
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputItem,
    Item,
    Message,
    item_to_dict,
    items_from_input,
    messages_from_input,
)
from agentsdk.types.text import clean_text, shortened
from agentsdk.types.usage import Usage

if TYPE_CHECKING:
    from agentsdk.core.refused_calls import RefusedCall
    from agentsdk.core.taint import Taint

SEAL = ("state_key",)
"""How a run's start says that its states are sealed."""


_MOST_DIGITS = 100
_ARGUMENTS = Fields(
    "RunState",
    always_approve=FLAG,
    always_reject=FLAG,
    arguments=optional(mapping_of(ANYTHING, "a dict of the arguments by name; give all that the call is to have")),
    reason=any_text("a str; say why"),
    by=any_text("a str; say who decided"),
    message=any_text("a str; write what the model is told"),
    expires_at=optional(number("a finite Unix timestamp in seconds; write moment.timestamp()")),
    result=any_text("a str; write what the call returned as text, with json.dumps say"),
    allowed=optional(
        Expected(
            "a number, or a text that is one; give 40, or '2.50'",
            lambda value: (
                is_whole(value)
                or is_real(value)
                or isinstance(value, Decimal)
                or (isinstance(value, str) and len(value) <= _MOST_DIGITS)
            ),
        )
    ),
    agent=having((), "the Agent that the run was begun with", texts=("name",)),
    run_id=optional(any_text("a str; give the run's id")),
)

_WAITS: dict[type[PendingCall], tuple[str, str]] = {
    ToolApprovalItem: ("waits for approval", "approve or reject"),
    ToolInDoubtItem: ("is in doubt", "provide_result, retry or mark_failed"),
    ToolAnswerItem: ("waits for an answer", "answer or mark_failed"),
}
"""How a pending call stands, and what is decided on it, by the kind of its item."""


class Named(Protocol):
    """An agent, as far as a saved run knows it."""

    name: str


class Kept(NamedTuple):
    """What a process knows of how its run is kept, beyond the state: never saved with it.

    The store has the first `rev` events. `owner` is who still holds the run there although its store failed: who goes on with
    the state goes on as the same. `attachments` are texts that the store could not take, by name.
    """

    rev: int
    owner: str = ""
    attachments: Mapping[str, str] = MappingProxyType({})


def check_first_agent(state: State, agent: Named) -> None:
    """Raises `StateMismatchError` where another agent than `agent` began the run."""
    if state.first_agent != agent.name:
        raise StateMismatchError(
            f"the run was begun by agent {shortened(state.first_agent, 80)!r}, expected to go on with that one and got "
            f"{agent.name!r}; pass the agent it was started with"
        )


class RunState:
    """A snapshot of a run.

    What a person decides here waits as events of its own and becomes the first thing the resumed run records. Reading and
    deciding never changes the run it came from, so one state can be resumed more than once.

    `RunState.from_string` trusts its text like code unless a `state_key` seals it: the one given there, or in the `RunConfig`
    of the run, which `to_string` and `to_json` then use by themselves. In the process of the run it also holds the run's
    context object, and knows the prices. None of them, nor the key, is ever written: not in text, not in a pickle.
    """

    __slots__ = ("_context", "_decisions", "_is_verified", "_key", "_price", "_state", "kept")

    def __init__(
        self,
        state: State,
        decisions: Iterable[RunEvent] = (),
        state_key: StateKey | None = None,
        *,
        context: object = None,
        is_verified: bool = True,
        kept: Kept | None = None,
        price: Price | None = None,
    ) -> None:
        self._state = state
        self._decisions = list(decisions)
        self._key = state_key
        self._context = context
        self._is_verified = is_verified
        self._price = price
        self.kept = kept

    def __reduce__(self) -> tuple[object, ...]:
        return RunState, (self._state, self._decisions), (None, {"_is_verified": self._is_verified})

    def __copy__(self) -> RunState:
        return RunState(
            self._state,
            self._decisions,
            self._key,
            context=self._context,
            is_verified=self._is_verified,
            kept=self.kept,
            price=self._price,
        )

    def __deepcopy__(self, _: object) -> RunState:
        return self.__copy__()

    def __await__(self) -> Generator[None, None, RunState]:
        """Itself: `await RunState.from_string(...)`, as openai-agents has it, works here too."""
        yield from ()
        return self

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._state.run_id

    @property
    def current_agent(self) -> str:
        """The name of the agent that goes on."""
        return self._state.agent

    @property
    def turns(self) -> int:
        """Model replies so far."""
        return self._state.turns

    @property
    def usage(self) -> Usage:
        """What the run has spent, nested runs included."""
        return self._state.usage

    @property
    def cost(self) -> Decimal | None:
        """What the run has cost in US dollars, nested runs included; None where that is not known: of one that was loaded."""
        log = self._state.log
        return followed(log) if self._price is None else follow(log, self._price).total

    @property
    def is_finished(self) -> bool:
        """Whether the run has its final output."""
        return self._state.ended is not None

    @property
    def interruptions(self) -> list[PendingCall]:
        """The calls that wait: `ToolApprovalItem`s, `ToolInDoubtItem`s and `ToolAnswerItem`s."""
        return list(interruptions(self.value))

    @property
    def paused(self) -> RunPaused | None:
        """Who paused the run, when and why; None where nobody has."""
        return self.value.paused

    @property
    def limit_reached(self) -> LimitReachedEvent | None:
        """The limit that the run stopped at: of what kind it is, how much is used, and of how much."""
        return self.value.limit

    @property
    def taint(self) -> Taint | None:
        """What the run was tainted by first; None where its model has read nothing untrusted."""
        return self.value.taint

    @property
    def refused_calls(self) -> list[RefusedCall]:
        """The calls that were refused as no grant covered them, nested runs included: who wanted what, and when."""
        from agentsdk.core.refused_calls import refused_calls  # few runs have grants

        return refused_calls(self.value.log)

    @property
    def value(self) -> State:
        """The state with the decisions made here. What was added to the input has yet to enter."""
        state = self._state
        for event in self.pieces()[1]:
            state = apply(state, event)
        return state

    @property
    def added_input(self) -> tuple[Message, ...]:
        """The messages that `add_input` was given and that have not entered yet."""
        added = [item for event in self._decisions if isinstance(event, InputAdded) for item in event.items]
        return cast("tuple[Message, ...]", tuple(added))

    @property
    def context(self) -> object:
        """The context object of the run, in the process that gave it one; None elsewhere."""
        return self._context

    @property
    def state_key(self) -> StateKey | None:
        """What seals this state."""
        return self._key

    @property
    def is_verified(self) -> bool:
        """Whether something vouches for it: it comes from its run, from a store, or from text that was sealed."""
        return self._is_verified

    def pieces(self) -> tuple[State, tuple[RunEvent, ...]]:
        """The state as it was saved, and the decisions to record first when it is resumed."""
        return self._state, tuple([event for event in self._decisions if not isinstance(event, InputAdded)])

    def without(self, path: tuple[str, ...], call_id: str) -> RunState:
        """The same, without what was decided here on one call: of the run that the calls in `path` lead to."""

        def is_of_call(event: RunEvent) -> bool:
            place, decision = unnested(event)
            return place == path and getattr(decision, "call_id", None) == call_id

        rest = copy(self)
        rest._decisions = [event for event in self._decisions if not is_of_call(event)]
        return rest

    def approve(
        self,
        item: PendingCall,
        always_approve: bool = False,
        *,
        arguments: Mapping[str, object] | None = None,
        reason: str = "",
        by: str = "",
        expires_at: float | None = None,
    ) -> None:
        """Let a call run; with `always_approve` also every later call of its tool.

        With `arguments` it runs with these in place of the model's, all of them given; the model is told. Those that do not fit
        the tool are refused when the run goes on, or here if a toolset offered it, as its schema is recorded. `by` says who
        decided. A call that has not begun at `expires_at` (a Unix timestamp) waits again. Raises `UserError` if the call does
        not wait, for arguments that do not fit, and for those of one that has begun, or together with `always_approve`.
        """
        _ARGUMENTS.check_given(
            "RunState.approve",
            always_approve=always_approve,
            arguments=arguments,
            reason=reason,
            by=by,
            expires_at=expires_at,
        )
        turn = self._require(item, ToolApprovalItem)
        call = item.call if arguments is None else self._edit(item, turn, arguments, always_approve, by)
        self._decide(item, turn, call, True, always_approve, reason, by, expires_at)

    def reject(
        self, item: PendingCall, always_reject: bool = False, *, reason: str = "", by: str = "", message: str = ""
    ) -> None:
        """Keep a call from running; the model is told so, and the `reason`. With a `message` it is told that alone, and the
        reason is for the record.

        Raises `UserError` if it does not wait.
        """
        _ARGUMENTS.check_given("RunState.reject", always_reject=always_reject, reason=reason, by=by, message=message)
        turn = self._require(item, ToolApprovalItem)
        self._decide(item, turn, item.call, False, always_reject, reason, by, None, message)

    def answer(self, item: PendingCall, value: object, *, by: str = "") -> None:
        """Answer a call of an external tool: `value`, anything that has a JSON form, is its result. `by` says who answers.

        Raises `UserError` if the call waits for no answer, and for a value that is not one of `item.choices` or does not fit
        `item.answer_schema`. What the tool's result type says beyond that is checked when the run goes on.
        """
        _ARGUMENTS.check_given("RunState.answer", by=by)
        self._require(item, ToolAnswerItem)
        assert isinstance(item, ToolAnswerItem)
        from agentsdk.core.given_json import answer_text  # few runs are answered

        self._append(item.path, CallAnswered(item.call_id, answer_text(item, value), clean_text(by)))

    def provide_result(self, item: PendingCall, *, result: str) -> None:
        """Say what a call in doubt returned. Raises `UserError` if it is not in doubt."""
        _ARGUMENTS.check_given("RunState.provide_result", result=result)
        self._require(item, ToolInDoubtItem)
        self._append(item.path, ToolFinished(item.call_id, clean_text(result)))

    def retry(self, item: PendingCall) -> None:
        """Run a call in doubt again. Raises `UserError` if it is not in doubt."""
        self._require(item, ToolInDoubtItem)
        self._append(item.path, CallRetried(item.call_id))

    def mark_failed(self, item: PendingCall, reason: str) -> None:
        """Say that a call in doubt failed, or that no answer will come to one that waits for it; the model is told `reason`.

        Raises `UserError` if the call is neither.
        """
        _ARGUMENTS.check_given("RunState.mark_failed", reason=reason)
        self._require(item, ToolInDoubtItem, ToolAnswerItem)
        self._append(item.path, ToolFinished(item.call_id, clean_text(reason), True))

    def raise_limit(self, kind: LimitKind, allowed: Number | str | None) -> None:
        """Let the run go on beyond a limit: up to `allowed` in all, what it has used included; None for no limit of this kind.

        It counts in the run's `RunLimits` from now on, where it is higher. Raises `UserError` for a kind that is none, or that
        is not a number.
        """
        _ARGUMENTS.check_given("RunState.raise_limit", allowed=allowed)
        number = allowed_number(kind, None if allowed is None else str(allowed))
        self._decisions.append(LimitRaised(kind, None if number is None else str(number)))

    def restore_view(self) -> None:
        """Take the last compaction back: the model sees again what it saw before it, and all that has come since.

        The view is then left as it is for as long as it fits into the model's window, less the reserve, at all. Again called,
        the compaction before that is taken back. Raises `UserError` where there is none.
        """
        if self.value.compacted is None:
            raise UserError(
                f"run {self.run_id!r} has no compaction to take back, expected its view to have been compacted; the whole "
                "conversation is in state.items()"
            )
        self._decisions.append(ViewRestored())

    def replace_input(self, new_input: str | Iterable[InputItem]) -> None:
        """Begin again with another input: what a run stopped by an input guardrail needs.

        Raises `UserError` for what is none.
        """
        state = self.value
        history, since = state.transcript[: state.history], state.transcript[state.history :]
        called = {item.call_id for item in history if isinstance(item, FunctionCall)}
        # A call of the history that the input so far has answered stays answered.
        answers = [item for item in since if isinstance(item, FunctionCallOutput) and item.call_id in called]
        items, known = joined((*history, *answers), items_from_input(new_input))
        self._decisions.append(InputReplaced((*answers, *items[known:])))

    def add_input(self, new_input: str | Iterable[InputItem]) -> None:
        """Give the run more input: a user's text, or messages of any role but the assistant's.

        They enter at its next turn once it is resumed, and the run does not end before. Its input guardrails judge each of them
        first: one that is refused raises `InputGuardrailTripwireTriggered` and is left out. Raises `UserError` for what is no
        message, and for a run that has ended.
        """
        if self.value.ended is not None:
            raise UserError(
                f"run {self.run_id!r} has ended, expected one that goes on; begin another run with state.to_input_list() and "
                "the new input"
            )
        self._decisions.append(InputAdded(messages_from_input(new_input, "RunState.add_input")))

    def to_input_list(self) -> list[JsonObject]:
        """The whole conversation as plain dicts, valid as the input of another run."""
        return [item_to_dict(item) for item in self.items()]

    def items(self) -> tuple[Item, ...]:
        """The whole conversation, each call followed by its one result."""
        return transcript(self.value)

    def to_string(self, *, state_key: StateKey | None = None) -> str:
        """The state as JSON text; sealed against tampering when there is a `state_key`.

        Raises `UserError` without a key for a run that was begun with one.
        """
        return self._encoded(state_key).decode()

    def to_json(self, *, state_key: StateKey | None = None) -> JsonObject:
        """The state as a plain dict, ready for `json.dumps`. Raises like `to_string`."""
        return codec.to_json(self._encoded(state_key))

    @classmethod
    def from_string(
        cls, agent: Named, text: str | bytes, *, state_key: StateKey | None = None, run_id: str | None = None
    ) -> RunState:
        """Load a state of a run that `agent` began: of the run `run_id`, where that is given.

        Of several keys any may have sealed it; the first seals it from now on. Raises `StateCorruptError`, `StateVersionError`,
        `StateMismatchError` for another agent's or run's, and `StateTamperedError` where the seal does not fit, or only one of
        key and seal is there.
        """
        _ARGUMENTS.check_given("RunState.from_string", agent=agent, run_id=run_id)
        saved = codec.decode(text, state_key)
        if not saved.log:
            raise StateCorruptError("the saved run holds no event, expected at least its start; load an untouched copy")
        try:
            state = fold(saved.log)
            loaded = cls(state, saved.decisions, state_key, is_verified=state_key is not None)
            loaded.value  # noqa: B018 - decisions that contradict the log are corruption too
        except (StateCorruptError, RecursionError) as error:
            raise StateCorruptError(
                "the saved run's events contradict each other, expected what RunState.to_string() wrote; load an untouched copy"
            ) from error
        check_first_agent(state, agent)
        if run_id is not None and state.run_id != run_id:
            raise StateMismatchError(
                f"the saved run is another one than {run_id!r}, expected that one's state; look up the state of run {run_id!r}"
            )
        return loaded

    @classmethod
    def from_json(
        cls, agent: Named, data: Mapping[str, object], *, state_key: StateKey | None = None, run_id: str | None = None
    ) -> RunState:
        """Load a state from the dict that `to_json` gave. Raises like `from_string`."""
        try:
            text = msgspec.json.encode(data)
        except (TypeError, ValueError, RecursionError):
            raise StateCorruptError(
                "not a saved run, expected the dict that RunState.to_json() gave; load an untouched copy"
            ) from None
        return cls.from_string(agent, text, state_key=state_key, run_id=run_id)

    def _encoded(self, state_key: StateKey | None) -> bytes:
        key = self._key if state_key is None else state_key
        if key is None and SEAL in self._started.guards:
            raise UserError(
                f"run {self.run_id!r} was begun with a state_key and its state here has none, expected the key to seal it; "
                "pass state_key=..."
            )
        return codec.encode(tuple(self._state.log), tuple(self._decisions), key)

    @property
    def _started(self) -> RunStarted:
        started = self._state.log[0]
        assert isinstance(started, RunStarted)
        return started

    def _decide(
        self,
        item: PendingCall,
        turn: OpenTurn,
        call: FunctionCall,
        approved: bool,
        always: bool,
        reason: str,
        by: str,
        expires_at: float | None,
        message: str = "",
    ) -> None:
        asked = turn.asked[item.call_id]
        digest = approval_key(self._started.keys, self._state.run_id, item.path, call)
        event = ApprovalDecided(
            call.call_id,
            call.name,
            digest,
            approved,
            clean_text(reason),
            always,
            item.agent,
            clean_text(by),
            expires_at,
            asked.fingerprint,
            bool(asked.reason),
            clean_text(message),
        )
        self._append(item.path, event)

    def _edit(self, item: PendingCall, turn: OpenTurn, arguments: Mapping[str, object], always: bool, by: str) -> FunctionCall:
        """The call with other arguments."""
        from agentsdk.core.given_json import arguments_text  # few approvals change anything

        text = arguments_text(self._state, item, arguments)
        if canonical_arguments(text) == canonical_arguments(item.arguments):
            return item.call
        if always or item.call_id in turn.intended:
            why = "its tool's later calls are to run as they come" if always else "it has begun with the arguments it has"
            raise UserError(
                f"call {item.call_id!r} was given other arguments although {why}, expected one decision on one call that has "
                "not begun; approve it without arguments, or reject it"
            )
        self._append(item.path, ArgumentsEdited(item.call_id, text, clean_text(by)))
        return structs.replace(item.call, arguments=text)

    def _require(self, item: PendingCall, *kinds: type[PendingCall]) -> OpenTurn:
        """The open turn of a pending call of one of `kinds`. Only one this very run waits for, as it stands, is decided."""
        state = self.value
        if not isinstance(cast(object, item), PendingCall) or item not in interruptions(state):
            kind = type(item).__name__
            what = f"call {item.call_id!r} of tool {item.tool_name!r}" if isinstance(item, PendingCall) else f"a {kind!r}"
            raise UserError(f"{what} does not wait in this state, expected an item of state.interruptions; take it from there")
        if not isinstance(item, kinds):
            stands, remedy = _WAITS[type(item)]
            wanted = " or ".join([_WAITS[kind][0] for kind in kinds])
            raise UserError(f"call {item.call_id!r} {stands}, expected one that {wanted}; use {remedy}")
        turn = state.turn
        for call_id in item.path:
            assert turn is not None
            turn = turn.children[call_id].turn
        assert turn is not None
        return turn

    def _append(self, path: tuple[str, ...], event: RunEvent) -> None:
        for call_id in reversed(path):
            event = Nested(call_id, event)
        self._decisions.append(event)
