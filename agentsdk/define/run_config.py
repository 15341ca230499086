"""`RunConfig`: settings of one run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, cast, get_args

from agentsdk.core.codec import StateKey, checked_keys
from agentsdk.core.limits.run_limits import DEFAULT_LIMITS, RunLimits
from agentsdk.define.agent import (
    INPUT_GUARDRAILS,
    MODEL_CHOICE,
    OUTPUT_GUARDRAILS,
    SETTINGS,
    TOOLS,
    TOOLSETS,
    Agent,
    InputGuardrail,
    ModelSelector,
    OutputGuardrail,
)
from agentsdk.define.context import RunContextWrapper, ToolContext, TurnContext
from agentsdk.define.handoff_filter import HandoffInputFilter
from agentsdk.define.inbox import Inbox
from agentsdk.define.misnamed import meant_for_config
from agentsdk.define.prices import ModelPrice, Prices
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import TIMEOUT, TOOL_RETRY
from agentsdk.ports.clock import CLOCK, Clock
from agentsdk.ports.meter import METER, Meter
from agentsdk.ports.model import MODEL_PROVIDER, Model, ModelProvider, ModelRequest
from agentsdk.ports.run_store import RUN_STORE, RunStore
from agentsdk.ports.token_counter import TOKEN_COUNTER, TokenCounter
from agentsdk.ports.tracer import TRACER, Tracer
from agentsdk.types.declared import (
    CALLABLE,
    FLAG,
    SECONDS,
    SYNC,
    Expected,
    Fields,
    a,
    a_name,
    any_text,
    either,
    mapping_of,
    number,
    one_of,
    optional,
    sequence_of,
    whole,
)
from agentsdk.types.errors import AgentsException, LimitExceededError, UserError
from agentsdk.types.generics import TContext
from agentsdk.types.items import InputItem, Item
from agentsdk.types.misnamed import says_what_is_meant
from agentsdk.types.owner import RunOwner
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelSettings, ToolRetrySettings
from agentsdk.types.summary import check_run_id
from agentsdk.types.text import storable_text

if TYPE_CHECKING:  # most runs have no window: the strategies are imported by those that do
    from agentsdk.core.window.context_window import ContextWindow
    from agentsdk.define.grants import Grants
    from agentsdk.define.toolset import Toolset


@dataclass(frozen=True, slots=True)
class RunErrorHandlerInput:
    """What an error handler is given. `error.state` is where the run stood."""

    error: AgentsException
    context: RunContextWrapper[Any]


@dataclass(frozen=True, slots=True)
class RunErrorHandlerResult:
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
    "model_error",
]
"""What an error handler is for; `"model_error"` for whatever the model or its provider is to blame for and no other took."""

RunErrorHandler = Callable[[RunErrorHandlerInput], "RunErrorHandlerResult | Awaitable[RunErrorHandlerResult | None] | None"]
"""Gives the final output, or None to let the error be raised."""

RunErrorHandlers = Mapping[ErrorKind, RunErrorHandler]

AtLimit = Literal["raise", "finalize", "pause"]
"""What becomes of a run that has reached a limit: it raises `LimitExceededError`; it is asked for a last answer, without tools,
from what was kept back for that; or it pauses until a person raises the limit."""

OnLimit = (
    AtLimit | Callable[["LimitExceededError", RunContextWrapper[Any]], "AtLimit | RunLimits | Awaitable[AtLimit | RunLimits]"]
)
"""One of these, or what chooses one; it may also give the limits to go on with."""

CallModelInputFilter = Callable[[ModelRequest], "ModelRequest | Awaitable[ModelRequest]"]
"""Changes what one model call sends; the run's history stays as it is."""

ModelHandler = Callable[[ModelRequest], Awaitable[ModelResponse]]
"""Sends a request to the model; its reply."""

WrapModelCall = Callable[
    [TurnContext[Any], Agent[Any, Any], ModelRequest, ModelHandler], "ModelResponse | Awaitable[ModelResponse]"
]
"""Called in place of each request for a turn's reply, with what sends it: the reply that is recorded. Sync or async."""

ToolHandler = Callable[[dict[str, Any]], Awaitable[Any]]
"""Runs the tool's body on these arguments; what it returns."""

WrapToolCall = Callable[[ToolContext[Any], dict[str, Any], ToolHandler], Any]
"""Called in place of a tool's body, with the arguments and with what runs it: the result that is recorded. Sync or async."""

SessionInputCallback = Callable[[list[Item], list[Item]], "Sequence[InputItem] | Awaitable[Sequence[InputItem]]"]
"""Given a session's history and a run's new items, gives what the run begins with: what it likes, and then the new items."""

DurabilityLevel = Literal["sync", "batch", "steps", "exit"]
"""When a stored run's events are durable: before the run goes on, a moment behind it, before a call with an effect begins, or
when the run ends or pauses."""

Durability = DurabilityLevel | float
"""A level; or seconds: as `"steps"`, and no event waits longer than so many to be written."""


DEFAULT_TOOL_RETRY = ToolRetrySettings()


@dataclass(frozen=True)
class ContextCodec(Generic[TContext]):
    """How the context object is kept with a run that is to bring it back: as the text that `encode` gives and `decode` reads.

    Without one a run's context is never saved. The text lands in the state and the store: keep secrets out of it.
    """

    encode: Callable[[TContext], str]
    decode: Callable[[str], TContext]

    def __post_init__(self) -> None:
        _CODEC.check(self)


_CODEC = Fields("ContextCodec", encode=SYNC, decode=SYNC)


@says_what_is_meant(meant_for_config)
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class RunConfig:
    """Settings of one run; every field has a default that suits production.

    `model` and `model_settings` stand in place of those of all agents (of the settings, only what is given); `model_provider`
    finds models by name. `handoff_input_filter` is for handoffs without one of their own. `call_model_input_filter` changes
    what one model call sends. `wrap_model_call` and `wrap_tool_call` stand around each request for a reply and each body of a
    tool: what they return is recorded, and asked for once. `run_id` names the run, at random unless given. `tracer` gets its
    spans and `meter` what it measures (None: OpenTelemetry, where the process has set it up). `clock` gives time and waits.

    `workflow_name` goes into the run's span. `max_tool_concurrency`: tools at once. `max_output_retries`: feedback turns for a
    final output that does not fit its type or that a validator does not accept, in a row. `max_continuations`: how often text
    cut at its length is continued. `accept_empty_replies`: a reply of nothing is the final output `""`, where that is text;
    without it the model is asked again. `cancel_grace`: seconds a cancelled run has to wind down in all, its tools four fifths
    of them. `max_tool_result_chars`: a longer result is cut. `max_depth`: agents as tools within agents as tools.
    `max_calls_per_reply`: a reply with more calls is an error, and none of them is run. `state_key` seals the states of this
    run, 32 random bytes or more; of several the first seals, and all are tried on a state that is loaded with them.

    `buffer_output`: a stream shows what may be the final output only once its output validators and guardrails have let it
    pass, and of what was sent back nothing; without it the reader sees the text as it comes.

    `without_guards`: names of guardrails that a run was begun under and may go on without, "grants", "context" or "state_key"
    among them.

    `on_limit` says what happens at a limit that no error handler takes. `prices` are by the model's name, and come before those
    of the extra `prices`.

    `window` keeps what the model is sent inside its context window. `token_counter` counts tokens for it and for the limits
    (None: by the model's encoding where that is known, else an estimate).

    Of a `session` a run reads no more than the latest `session_limit` items (None: all), and of those only whole turns.
    `session_input_callback` is given the history that was read and the new items, and gives both as the model is to see them: a
    list whose end are the new items as they are. The session keeps all either way, and gets what is new.

    `run_id` names a new run, by default at random: in its states, spans, requests and the idempotency keys of its tools. A run
    that goes on keeps its own. Without a `store` nothing is kept under it.

    With a `store` the run is durable: see `durability`, and `Runner.resume`. `lease`: seconds for which a process that has
    fallen silent keeps others from going on with its run. `owner`: the attempt of an engine that drives the run. It takes the
    run from an earlier attempt at once, and is refused where a later one has had it. `store_timeout`: seconds for which a write
    is tried again while the store is busy or cannot be reached, never longer than the lease. `context_codec` saves the context
    object with the run. `inbox`: messages put there enter at the next turn.

    `metadata` are texts of yours by name (a user, a tenant), kept with a new run; `RunQuery(metadata=...)` finds it by them. Of
    the runs that are due, workers take those of the highest `priority` first.

    `tools`, `toolsets` and `instructions` are for this run: each of its agents has them beside its own, those used as tools do
    not. A run that goes on must be given them again. `toolset_timeout`: seconds that a toolset has to answer.
    `conversation_id` or `previous_response_id`: OpenAI's Responses API keeps the conversation that a new run goes on with,
    under that id or as it was after that reply. Only what it does not hold yet is sent, now and wherever the run goes on. No
    `session` or `window` goes with it.

    `grants` are what the run may call: a `Grant`, several, or a callable that is asked each time a turn is entered (None:
    everything). A tool that none of them covers is not offered, and refused when it is called all the same.

    `after_untrusted`: what becomes of calls that change something once the model has read what strangers wrote. `"approve"`:
    they wait for a person, but for those of tools that are `allowed_after_untrusted`. `"allow"`: they run.

    `tool_timeout`, in seconds, and `tool_retry` are for tools without their own whose agents have none either; agents as tools
    have no timeout but their own.

    Raises `UserError` naming the field that is wrong.
    """

    model: str | Model | ModelSelector[Any] | None = None
    model_provider: ModelProvider | None = None
    model_settings: ModelSettings | None = None
    limits: RunLimits = DEFAULT_LIMITS
    on_limit: OnLimit = "raise"
    prices: Prices | None = None
    window: ContextWindow | None = None
    token_counter: TokenCounter | None = None
    input_guardrails: Sequence[InputGuardrail[Any]] = ()
    output_guardrails: Sequence[OutputGuardrail[Any]] = ()
    buffer_output: bool = False
    handoff_input_filter: HandoffInputFilter | None = None
    call_model_input_filter: CallModelInputFilter | None = None
    wrap_model_call: WrapModelCall | None = None
    wrap_tool_call: WrapToolCall | None = None
    session_limit: int | None = None
    session_input_callback: SessionInputCallback | None = None
    workflow_name: str = ""
    run_id: str | None = None
    tracing_disabled: bool = False
    tracer: Tracer | None = None
    meter: Meter | None = None
    clock: Clock | None = None
    max_tool_concurrency: int = 16
    max_tool_result_chars: int = 100_000
    max_output_retries: int = 1
    max_continuations: int = 3
    accept_empty_replies: bool = False
    max_depth: int = 8
    max_calls_per_reply: int = 1_000
    cancel_grace: float = 5.0
    state_key: StateKey | None = None
    without_guards: Sequence[str] = ()
    store: RunStore | None = None
    durability: Durability = "sync"
    lease: float = 30.0
    owner: RunOwner | None = None
    store_timeout: float = 20.0
    context_codec: ContextCodec[Any] | None = None
    inbox: Inbox | None = None
    metadata: Mapping[str, str] | None = None
    priority: int = 0
    tools: Sequence[FunctionTool[Any]] = ()
    toolsets: Sequence[Toolset[Any]] = ()
    instructions: str = ""
    toolset_timeout: float = 30.0
    tool_timeout: float | None = None
    tool_retry: ToolRetrySettings = DEFAULT_TOOL_RETRY
    conversation_id: str | None = None
    previous_response_id: str | None = None
    grants: Grants | None = None
    after_untrusted: Literal["approve", "allow"] = "approve"

    def __post_init__(self) -> None:
        if self.run_id is not None:
            check_run_id(self.run_id)
        _FIELDS.check(self)
        if self.is_hosted:
            self._check_hosted()
        _ = checked_keys(self.state_key)

    @property
    def is_hosted(self) -> bool:
        """Whether the provider keeps the conversation that a new run goes on with."""
        return self.conversation_id is not None or self.previous_response_id is not None

    def _check_hosted(self) -> None:
        if self.conversation_id is not None and self.previous_response_id is not None:
            raise UserError(
                "RunConfig was given a conversation_id and a previous_response_id, expected one of them; leave the other out"
            )
        if self.window is not None:
            raise UserError(
                "RunConfig was given a window for a conversation that the provider keeps, where nothing can be left out, "
                "expected one of them; leave the window out, or the conversation_id or previous_response_id"
            )

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in self.__slots__ if name != "state_key"}
        given = {name: value for name, value in values.items() if value is not getattr(_DEFAULT, name)}
        return f"RunConfig({', '.join(f'{name}={value!r}' for name, value in given.items())})"


ERROR_HANDLERS = mapping_of(
    CALLABLE, f"a dict of callables, its keys some of {', '.join(get_args(ErrorKind))}", keys=get_args(ErrorKind)
)


def _is_window(value: object) -> bool:
    from agentsdk.core.window.context_window import ContextWindow

    return isinstance(value, ContextWindow)


def _are_grants(value: object) -> bool:
    from agentsdk.define.grants import GRANTS  # most runs have none

    return GRANTS.fits(value)


def _is_metadata(value: object) -> bool:
    pairs = cast("Mapping[object, object]", value).items() if isinstance(value, Mapping) else ((None, None),)
    return all(isinstance(text, str) and storable_text(text) == text for pair in pairs for text in pair)


_COUNT = whole("a whole number, 0 or more", 0)
_AT_LEAST_ONE = whole("a whole number, 1 or more", 1)

_FIELDS = Fields(
    "RunConfig",
    model=MODEL_CHOICE,
    model_provider=optional(MODEL_PROVIDER),
    model_settings=optional(SETTINGS),
    limits=a(RunLimits, "RunLimits; pass RunLimits(turns=40), say"),
    on_limit=either(one_of("", get_args(AtLimit)), CALLABLE, what=f"one of {get_args(AtLimit)}, or a callable"),
    prices=optional(mapping_of(a(ModelPrice, ""), "a dict of ModelPrices by the model's name; write {'gpt': ModelPrice(...)}")),
    window=optional(Expected("a ContextWindow; pass ContextWindow()", _is_window)),
    token_counter=optional(TOKEN_COUNTER),
    input_guardrails=INPUT_GUARDRAILS,
    output_guardrails=OUTPUT_GUARDRAILS,
    buffer_output=FLAG,
    handoff_input_filter=optional(CALLABLE),
    call_model_input_filter=optional(CALLABLE),
    wrap_model_call=optional(CALLABLE),
    wrap_tool_call=optional(CALLABLE),
    session_limit=optional(_COUNT),
    session_input_callback=optional(CALLABLE),
    workflow_name=any_text("a str; name the workflow"),
    tracing_disabled=FLAG,
    tracer=optional(TRACER),
    meter=optional(METER),
    clock=optional(CLOCK),
    max_tool_concurrency=_AT_LEAST_ONE,
    max_tool_result_chars=_COUNT,
    max_output_retries=_COUNT,
    max_continuations=_COUNT,
    accept_empty_replies=FLAG,
    max_depth=_COUNT,
    max_calls_per_reply=_AT_LEAST_ONE,
    cancel_grace=number("finite seconds, 0 or more; 5 suits most", least=0),
    without_guards=sequence_of(a_name("the name of a guardrail"), "a list or tuple of guardrails' names; write ['name']"),
    store=optional(RUN_STORE),
    durability=either(
        one_of("", get_args(DurabilityLevel)), SECONDS, what=f"one of {get_args(DurabilityLevel)}, or finite seconds above 0"
    ),
    lease=SECONDS,
    owner=optional(a(RunOwner, "a RunOwner; pass RunOwner('engine/job-7', attempt=2)")),
    store_timeout=number("finite seconds, 0 or more; 20 suits most", least=0),
    context_codec=optional(a(ContextCodec, "a ContextCodec; pass ContextCodec(encode=..., decode=...)")),
    inbox=optional(a(Inbox, "an Inbox; pass Inbox()")),
    metadata=optional(Expected("a dict of texts without NUL and lone surrogates; write {'user': 'ada'}", _is_metadata)),
    priority=whole("a whole number; the highest is taken first"),
    tools=TOOLS,
    toolsets=TOOLSETS,
    instructions=any_text("a str; it follows the instructions of each agent of the run"),
    toolset_timeout=SECONDS,
    tool_timeout=optional(TIMEOUT),
    tool_retry=TOOL_RETRY,
    conversation_id=optional(a_name("the id of a conversation; write 'conv_...'")),
    previous_response_id=optional(a_name("the id of a reply; pass result.last_response_id")),
    grants=optional(Expected("a Grant, a list of them, or a callable that gives them; pass [Grant('read')]", _are_grants)),
    after_untrusted=one_of("'approve' or 'allow'", ("approve", "allow")),
)
_DEFAULT = RunConfig()
