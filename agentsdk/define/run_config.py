"""`RunConfig`: settings of one run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, Literal, get_args

from msgspec import Struct, structs

from agentsdk.core.context_window import ContextWindow
from agentsdk.core.limits import RunLimits
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.guardrail import InputGuardrail, OutputGuardrail
from agentsdk.define.handoff import HandoffInputFilter
from agentsdk.define.inbox import Inbox
from agentsdk.define.prices import Prices
from agentsdk.ports.clock import Clock
from agentsdk.ports.model import Model, ModelProvider, ModelRequest
from agentsdk.ports.run_store import RunStore
from agentsdk.ports.token_counter import TokenCounter
from agentsdk.ports.tracer import Tracer
from agentsdk.types.errors import AgentsException, LimitReached, UserError
from agentsdk.types.generics import TContext
from agentsdk.types.settings import ModelSettings
from agentsdk.types.summary import check_run_id


class RunErrorHandlerInput(Struct, frozen=True):
    """What an error handler is given. `error.state` is where the run stood."""

    error: AgentsException
    context: RunContextWrapper[Any]


class RunErrorHandlerResult(Struct, frozen=True):
    """What an error handler gives: the run's final output in place of the error."""

    final_output: Any


ErrorKind = Literal[
    "max_turns",
    "max_requests",
    "max_tokens",
    "max_cost",
    "deadline",
    "max_tool_calls",
    "consecutive_errors",
    "repeated_calls",
    "no_progress",
    "model_refusal",
    "invalid_final_output",
]

RunErrorHandler = Callable[
    [RunErrorHandlerInput], "RunErrorHandlerResult | Awaitable[RunErrorHandlerResult | None] | None"
]
"""Gives the final output, or None to let the error be raised."""

RunErrorHandlers = Mapping[ErrorKind, RunErrorHandler]

AtLimit = Literal["raise", "finalize", "pause"]
"""What becomes of a run that has reached a limit: it raises `LimitReached`; it is asked for a last answer, without tools, from
what was kept back for that; or it pauses until a person raises the limit."""

OnLimit = AtLimit | Callable[["LimitReached", RunContextWrapper[Any]], "AtLimit | RunLimits | Awaitable[AtLimit | RunLimits]"]
"""One of these, or what chooses one; it may also give the limits to go on with."""

CallModelInputFilter = Callable[[ModelRequest], "ModelRequest | Awaitable[ModelRequest]"]
"""Changes what one model call sends; the run's history stays as it is."""


Durability = Literal["sync", "batch", "exit"]
"""When a stored run's events are durable: before the run goes on, a moment behind it, or when it comes to rest."""


class ContextCodec(Struct, Generic[TContext], frozen=True):
    """How the context object is kept with a run that is to bring it back: as the text that `encode` gives and `decode` reads.

    Without one a run's context is never saved. The text lands in the state and the store: keep secrets out of it.
    """

    encode: Callable[[TContext], str]
    decode: Callable[[str], TContext]


class RunConfig(Struct, frozen=True, kw_only=True):
    """Settings of one run; every field has a default that suits production.

    `workflow_name` goes into the run's span. `max_tool_concurrency`: tools at once. `max_output_retries`: feedback turns for a
    final output that does not fit its type. `max_continuations`: how often text cut at its length is continued. `cancel_grace`:
    seconds a cancelled tool has to end. `max_tool_result_chars`: a longer result is cut. `max_depth`: agents as tools within
    agents as tools. `state_key` seals the states of this run, 32 random bytes or more.

    `on_limit` says what happens at a limit that no error handler takes. `prices` are by the model's name, and come before those
    of the extra `prices`.

    `window` keeps what the model is sent inside its context window. `token_counter` counts tokens for it and for the limits
    (None: by the model's encoding where that is known, else an estimate).

    With a `store` the run is durable: see `durability`, and `Runner.resume`. `lease`: seconds for which a process that has
    fallen silent keeps others from going on with its run. `context_codec` saves the context object with the run.
    `inbox`: messages put there enter at the next turn.
    """

    model: str | Model | None = None
    model_provider: ModelProvider | None = None
    model_settings: ModelSettings | None = None
    limits: RunLimits = RunLimits()
    on_limit: OnLimit = "raise"
    prices: Prices | None = None
    window: ContextWindow | None = None
    token_counter: TokenCounter | None = None
    input_guardrails: Sequence[InputGuardrail[Any]] = ()
    output_guardrails: Sequence[OutputGuardrail[Any]] = ()
    handoff_input_filter: HandoffInputFilter | None = None
    call_model_input_filter: CallModelInputFilter | None = None
    workflow_name: str = ""
    run_id: str | None = None
    tracing_disabled: bool = False
    tracer: Tracer | None = None
    clock: Clock | None = None
    max_tool_concurrency: int = 16
    max_tool_result_chars: int = 100_000
    max_output_retries: int = 1
    max_continuations: int = 3
    max_depth: int = 8
    cancel_grace: float = 5.0
    state_key: bytes | None = None
    store: RunStore | None = None
    durability: Durability = "sync"
    lease: float = 30.0
    context_codec: ContextCodec[Any] | None = None
    inbox: Inbox | None = None

    def __post_init__(self) -> None:
        if self.run_id is not None:
            check_run_id(self.run_id)
        if not callable(self.on_limit) and self.on_limit not in get_args(AtLimit):
            raise UserError(f"RunConfig(on_limit={self.on_limit!r}), expected one of {get_args(AtLimit)}, or a callable")
        if self.durability not in get_args(Durability):
            raise UserError(f"RunConfig(durability={self.durability!r}), expected one of {get_args(Durability)}")
        if not self.lease > 0:
            raise UserError(f"RunConfig(lease={self.lease!r}), expected seconds above 0; 30 suits most")

    def __repr__(self) -> str:
        values = structs.asdict(self)
        del values["state_key"]
        given = {name: value for name, value in values.items() if value != getattr(_DEFAULT, name)}
        return f"RunConfig({', '.join(f'{name}={value!r}' for name, value in given.items())})"


_DEFAULT = RunConfig()
