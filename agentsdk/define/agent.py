"""`Agent`: what a user declares. One agent serves any number of runs at once: a run never changes it.

The hooks, guardrails and handoffs that an agent declares, and the tool it can be, are given the agent in turn. Their types name
each other, so they stand here together; the functions that make them are in `guardrail.py` and `handoff.py`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar, Unpack, cast

from agentsdk.define.agent_input import AgentInput, AgentInputBuilder
from agentsdk.define.context import RunContextWrapper, ToolContext, TurnContext
from agentsdk.define.guardrail_output import GuardrailFunctionOutput
from agentsdk.define.handoff_filter import HandoffInputFilter
from agentsdk.define.misnamed import METHODS, meant_for_agent
from agentsdk.define.output import AgentOutputSchema
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_guardrail import guardrail_fields, guardrails_of
from agentsdk.define.tool_options import TIMEOUT, TOOL_RETRY, CallOptions, ToolChanges, shows_tool_options
from agentsdk.define.tool_use import StopAtTools, ToolUseBehavior
from agentsdk.ports.model import MODEL as A_MODEL
from agentsdk.ports.model import Model
from agentsdk.ports.session import SESSION, Session
from agentsdk.types.declared import (
    CALLABLE,
    FLAG,
    RULE,
    Expected,
    Fields,
    a,
    a_name,
    any_text,
    either,
    one_of,
    optional,
    sequence_of,
    whole,
)
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext, TInput, TOutput
from agentsdk.types.hosted import PROMPT, Prompt
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.items import Item
from agentsdk.types.misnamed import says_where_it_is, unexpected
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelSettings, ToolRetrySettings
from agentsdk.types.signature import named_only
from agentsdk.types.spec import HandoffSpec
from agentsdk.types.text import require_text

if TYPE_CHECKING:
    from agentsdk.core.state import State
    from agentsdk.define.output_validator import OutputValidatorFunction  # few agents have one
    from agentsdk.define.toolset import Toolset


_T = TypeVar("_T")


class Driver(Protocol):
    """Drives the runs of an agent in place of the loop over turns. New ones are recorded as of `version`."""

    @property
    def version(self) -> str:
        """The newest one."""
        ...

    @property
    def undoes_cancelled(self) -> bool:
        """Whether a run that somebody has cancelled is undone before it stops."""
        ...

    def at(self, version: str) -> Callable[[Any], Awaitable[None]]:
        """What drives a run that is recorded as of `version`. Raises `StateMismatchError` for one that is not known."""
        ...

    async def replay(self, recorded: State, config: Any) -> Any:
        """What `Runner.replay` gives of a run, by its `RunConfig`."""
        ...


Instructions = str | Callable[[RunContextWrapper[TContext], "Agent[TContext, Any]"], "str | Awaitable[str]"]
PromptFunction = Callable[[RunContextWrapper[TContext], "Agent[TContext, Any]"], "Prompt | Awaitable[Prompt]"]
"""Called with the context and the agent, once a turn: the prompt for it."""

InputGuardrailFunction = Callable[
    [RunContextWrapper[TContext], "Agent[TContext, Any]", tuple[Item, ...]],
    "GuardrailFunctionOutput | Awaitable[GuardrailFunctionOutput]",
]
OutputGuardrailFunction = Callable[
    [RunContextWrapper[TContext], "Agent[TContext, Any]", Any],
    "GuardrailFunctionOutput | Awaitable[GuardrailFunctionOutput]",
]

ModelSelector = Callable[[TurnContext[TContext], "Agent[TContext, Any]"], "str | Model | Awaitable[str | Model]"]
"""Called with the context and the agent once a turn: the model that answers it, or its name."""

OnStream = Callable[[Any], object]
"""Called with each `StreamEvent` of an agent's run as a tool, and awaited where it is async. (Events hold agents: an import of
their type would lead back here.)"""

AgentToolSession = Callable[[ToolContext[TContext]], "Session | Awaitable[Session | None] | None"]
"""Called with the context of a call of an agent: the session that its run goes on with, None for none."""

HandoffIsEnabled = Callable[[RunContextWrapper[TContext], "Agent[TContext, Any]"], bool | Awaitable[bool]]
"""Called with the context and the agent: whether the model sees the handoff this turn."""


# Defaults of the type of their field, which editors show: of a bare `()` pyright infers an unknown context for the whole agent.
def empty() -> Sequence[_T]:  # pyright: ignore[reportInvalidTypeVarUse]
    """No guardrails, no validators."""
    return ()


def empty_list() -> Sequence[_T]:  # pyright: ignore[reportInvalidTypeVarUse]
    """A list of the agent's own: tools, handoffs and toolsets may be added to it."""
    return cast("Sequence[_T]", field(default_factory=list[Any]))


_NONE_GIVEN = ()  # an agent that is given no tools has a list of its own, to which some may be added


def _unexpected(kind: type[Agent[Any, Any]], given: str) -> TypeError:
    return unexpected(f"{kind.__name__}.__init__()", given, Agent.__dataclass_fields__, meant_for_agent)


@says_where_it_is(METHODS)
@dataclass(eq=False, repr=False)
class Agent(Generic[TContext, TOutput]):
    """A model with instructions, tools, handoffs, guardrails and an output type. `toolsets` are asked for more tools each turn.

    `model` is a model, a name for the run's provider, a callable that chooses one of these for each turn, or None for the
    provider's default. `tool_timeout`, in seconds, and `tool_retry` are for tools without their own (None: as the run says).
    `prompt` is one that OpenAI keeps, or a callable that gives it, once a turn, as it may give the instructions; without a
    `model` that of the prompt is asked. `output_validators` judge the final output, and `max_output_retries` says how often in
    a row the model is sent back with one (None: as the run says). Raises `UserError` for a field that is wrong, when the agent
    is made as when it is changed, and for parts that do not fit together when it is first run.
    """

    name: str
    instructions: Instructions[TContext] | None = None
    tools: Sequence[FunctionTool[TContext] | HostedTool] = empty_list()
    handoffs: Sequence[Agent[TContext, Any] | HandoffDeclaration[TContext]] = empty_list()
    model: str | Model | ModelSelector[TContext] | None = None
    model_settings: ModelSettings = ModelSettings()
    output_type: type[TOutput] | Sequence[type[TOutput]] | AgentOutputSchema[TOutput] | None = None
    input_guardrails: Sequence[InputGuardrail[TContext]] = empty()
    output_guardrails: Sequence[OutputGuardrail[TContext]] = empty()
    hooks: AgentHooks[TContext] | None = None
    tool_use_behavior: ToolUseBehavior[TContext] = "run_llm_again"
    handoff_description: str = ""
    reset_tool_choice: bool = True
    toolsets: Sequence[Toolset[TContext]] = empty_list()
    tool_timeout: float | None = None
    tool_retry: ToolRetrySettings | None = None
    prompt: Prompt | PromptFunction[TContext] | None = None
    output_validators: Sequence[OutputValidatorFunction[TContext, TOutput]] = empty()
    max_output_retries: int | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"

    def __post_init__(self) -> None:
        check_agent_fields(self)
        require_text("an agent", self.name)
        self._declared: Any = None  # the `Declaration` that was made of these fields

    if not TYPE_CHECKING:  # to a type checker `__setattr__` would say that an agent takes any attribute
        # That of a dataclass calls `__setattr__` for each field, which would double the time it takes to make an agent.
        def __init__(
            self,
            name,
            instructions=None,
            tools=_NONE_GIVEN,
            handoffs=_NONE_GIVEN,
            model=None,
            model_settings=model_settings,
            output_type=None,
            input_guardrails=(),
            output_guardrails=(),
            hooks=None,
            tool_use_behavior=tool_use_behavior,
            handoff_description="",
            reset_tool_choice=True,
            toolsets=_NONE_GIVEN,
            tool_timeout=None,
            tool_retry=None,
            prompt=None,
            output_validators=(),
            max_output_retries=None,
            **unknown,
        ):
            if unknown:
                raise _unexpected(type(self), min(unknown))
            self.__dict__.update(
                name=name,
                instructions=instructions,
                tools=[] if tools is _NONE_GIVEN else tools,
                handoffs=[] if handoffs is _NONE_GIVEN else handoffs,
                model=model,
                model_settings=model_settings,
                output_type=output_type,
                input_guardrails=input_guardrails,
                output_guardrails=output_guardrails,
                hooks=hooks,
                tool_use_behavior=tool_use_behavior,
                handoff_description=handoff_description,
                reset_tool_choice=reset_tool_choice,
                toolsets=[] if toolsets is _NONE_GIVEN else toolsets,
                tool_timeout=tool_timeout,
                tool_retry=tool_retry,
                prompt=prompt,
                output_validators=output_validators,
                max_output_retries=max_output_retries,
            )
            self.__post_init__()

        __init__.__annotations__ = {**__annotations__, "return": None}
        __init__.__signature__ = named_only(__init__)

        def __setattr__(self, field: str, value: object) -> None:
            fields = self.__dict__
            if "_declared" in fields and field != "_declared":
                _FIELDS.check_one(field, value, f"agent {self.name!r}")
                fields["_declared"] = None
            fields[field] = value

    @property
    def driver(self) -> Driver | None:
        """What drives its runs; None for the loop over turns."""
        return None

    def clone(self, **changes: Any) -> Self:
        """A copy with some fields replaced; lists are shared unless replaced. Raises `UserError` for a field there is not."""
        if unknown := sorted(changes.keys() - self.__dataclass_fields__.keys()):
            meant = meant_for_agent(unknown[0])
            raise UserError(
                f"agent {self.name!r} has no fields {unknown}, expected some of those that Agent takes"
                + (f"; write {meant}" if meant else "")
            )
        return replace(self, **changes)

    @shows_tool_options(CallOptions)
    def as_tool(
        self,
        tool_name: str | None = None,
        tool_description: str | None = None,
        custom_output_extractor: Callable[[TOutput], object | Awaitable[object]] | None = None,
        *,
        parameters: type[TInput] | None = None,
        input_builder: AgentInputBuilder[TContext, TInput] | None = None,
        session: Session | AgentToolSession[TContext] | None = None,
        hooks: RunHooks[TContext] | None = None,
        max_turns: int | None = None,
        on_stream: OnStream | None = None,
        **options: Unpack[CallOptions[TContext]],
    ) -> AgentTool[TContext]:
        """This agent as a tool of another one: its final output is the call's result.

        A call takes `input`, a text, or the fields of `parameters`, a pydantic model, dataclass or TypedDict. The input of its
        run is that text, or an object of that type as JSON; or what `input_builder`, sync or async, makes of either: called
        with the call's context and the text or the object, it returns a text or items.

        Its run is part of the caller's: one log, one set of limits, and its approvals are the caller's interruptions.
        `max_turns` limits one call of it, `timeout` (seconds) each stretch of one that no person interrupts. `on_stream`, sync
        or async, is called with each stream event of that run while it goes, whether the caller's run is streamed or not, and
        `hooks` are told of it, after those of the caller's run.

        Its run follows what `session` holds (a `Session`, or a callable that gives the one of a call), and is added to it when
        it ends or waits; of a run that was cut, once it goes on. Calls of a reply on one session run one after the other.
        The other options are described at `FunctionTool`. Raises `UserError` for an argument that is wrong.
        """
        if tool_name is None:
            tool_name = re.sub(r"[^A-Za-z0-9_-]+", "_", self.name).strip("_")[:64] or "agent"
        if tool_description is None:
            tool_description = self.handoff_description or f"Ask the agent {self.name}."
        return AgentTool(
            self,
            tool_name,
            tool_description,
            custom_output_extractor,
            parameters=parameters,
            input_builder=input_builder,
            session=session,
            hooks=hooks,
            max_turns=max_turns,
            on_stream=on_stream,
            **options,
        )


class _ModelAndToolHooks(Generic[TContext]):
    """What the hooks of an agent and those of a run are both told."""

    async def on_llm_start(
        self, context: RunContextWrapper[TContext], agent: Agent[TContext, Any], system_prompt: str, input_items: Sequence[Item]
    ) -> None:
        """The model is about to be asked."""

    async def on_llm_end(
        self, context: RunContextWrapper[TContext], agent: Agent[TContext, Any], response: ModelResponse
    ) -> None:
        """The model replied, and the reply is recorded."""

    async def on_tool_start(
        self, context: ToolContext[TContext], agent: Agent[TContext, Any], tool: FunctionTool[TContext]
    ) -> None:
        """A tool is about to run; the intent is recorded."""

    async def on_tool_end(
        self, context: ToolContext[TContext], agent: Agent[TContext, Any], tool: FunctionTool[TContext], result: object
    ) -> None:
        """A tool's result is recorded."""


class AgentHooks(_ModelAndToolHooks[TContext]):
    """Hooks of one agent. Override what you need."""

    async def on_start(self, context: RunContextWrapper[TContext], agent: Agent[TContext, Any]) -> None:
        """This agent takes over."""

    async def on_end(self, context: RunContextWrapper[TContext], agent: Agent[TContext, Any], output: Any) -> None:
        """This agent gave the final output."""

    async def on_handoff(
        self, context: RunContextWrapper[TContext], agent: Agent[TContext, Any], source: Agent[TContext, Any]
    ) -> None:
        """`source` handed over to this agent."""


class RunHooks(_ModelAndToolHooks[TContext]):
    """Hooks of a whole run. Override what you need. None is called again on resume; one that raises stops the run with a
    `HookError`."""

    async def on_agent_start(self, context: RunContextWrapper[TContext], agent: Agent[TContext, Any]) -> None:
        """An agent takes over: at the start of the run and after each handoff."""

    async def on_agent_end(self, context: RunContextWrapper[TContext], agent: Agent[TContext, Any], output: Any) -> None:
        """An agent gave the final output."""

    async def on_handoff(
        self, context: RunContextWrapper[TContext], from_agent: Agent[TContext, Any], to_agent: Agent[TContext, Any]
    ) -> None:
        """An agent handed over, and the handoff is recorded."""


# Without slots: of a frozen generic class that has them Python 3.11 cannot make `InputGuardrail[User](...)`.
@dataclass(frozen=True)
class InputGuardrail(Generic[TContext]):
    """Checks the input of a run, once, for the agent the run starts with, and each message that enters it later.

    With `run_in_parallel` it runs beside the first model call; no tool starts before it has passed either way.
    """

    guardrail_function: InputGuardrailFunction[TContext]
    name: str
    run_in_parallel: bool = True

    def __post_init__(self) -> None:
        _INPUT_GUARDRAIL.check(self)
        require_text("an input guardrail", self.name)


@dataclass(frozen=True)
class OutputGuardrail(Generic[TContext]):
    """Checks the final output of the agent that gives it."""

    guardrail_function: OutputGuardrailFunction[TContext]
    name: str

    def __post_init__(self) -> None:
        _OUTPUT_GUARDRAIL.check(self)
        require_text("an output guardrail", self.name)


@dataclass(frozen=True, eq=False)
class HandoffDeclaration(Generic[TContext]):
    """What `handoff()` returns: the agent handed to and how the model sees it. Use it in `Agent.handoffs`.

    `result` is what the result of its call says, where that is not the usual text.
    """

    agent: Agent[TContext, Any]
    spec: HandoffSpec
    on_handoff: Callable[..., object] | None = None
    payload: AgentOutputSchema[Any] | None = None
    input_filter: HandoffInputFilter | None = None
    is_enabled: bool | HandoffIsEnabled[TContext] = True
    result: str = ""

    def __post_init__(self) -> None:
        _HANDOFF.check(self)


_SESSION = "session of "
"""What the resource of an agent as a tool begins with that is its session: side by side two calls would each miss the other's
turns. One that a callable gives is known by the tool only."""


class AgentToolChanges(ToolChanges[TContext], total=False):
    """What `AgentTool.clone` takes."""

    agent: Agent[TContext, Any]
    custom_output_extractor: Callable[[Any], object] | None
    session: Session | AgentToolSession[TContext] | None
    hooks: RunHooks[TContext] | None
    max_turns: int | None
    on_stream: OnStream | None


class AgentTool(FunctionTool[TContext]):
    """What `agent.as_tool()` returns. Running it again is harmless: what its nested run did is recorded step by step."""

    _CHANGEABLE = AgentToolChanges.__optional_keys__
    agent: Agent[TContext, Any]
    custom_output_extractor: Callable[[Any], object] | None
    session: Session | AgentToolSession[TContext] | None
    hooks: RunHooks[TContext] | None
    max_turns: int | None
    on_stream: OnStream | None

    def __init__(
        self,
        agent: Agent[TContext, Any],
        name: str,
        description: str,
        custom_output_extractor: Callable[[Any], object] | None,
        *,
        parameters: type[Any] | None = None,
        input_builder: AgentInputBuilder[TContext, Any] | None = None,
        session: Session | AgentToolSession[TContext] | None = None,
        hooks: RunHooks[TContext] | None = None,
        max_turns: int | None,
        on_stream: OnStream | None = None,
        **options: Unpack[CallOptions[TContext]],
    ) -> None:
        vars(self).update(
            agent=agent,
            custom_output_extractor=custom_output_extractor,
            session=session,
            hooks=hooks,
            max_turns=max_turns,
            on_stream=on_stream,
        )
        body = AgentInput(parameters, input_builder)
        super().__init__(name, description, {}, body.refuse, False, effect="none", **options)
        vars(self).update(_body=body, _params_json_schema=None, strict_json_schema=True)

    @property
    def input(self) -> AgentInput[TContext]:
        """What a call takes, and how the nested run's input is made of it."""
        return cast("AgentInput[TContext]", self._body)

    def _check(self) -> None:
        super()._check()
        _AGENT_TOOL.check(self, "tool")
        if self.external:
            raise UserError(f"tool {self.name!r} runs an agent, so it cannot be external; declare another tool for that")
        if self._params_json_schema:
            raise UserError(
                f"tool {self.name!r} runs an agent, so it takes no params_json_schema, expected parameters=SomeType; "
                "make it anew with agent.as_tool(parameters=...)"
            )
        if self.session is not None and (self.resource is None or str(self.resource).startswith(_SESSION)):
            is_known = SESSION.fits(self.session)
            vars(self)["resource"] = _SESSION + (repr(cast(Session, self.session).session_id) if is_known else self.name)

    def clone(  # pyright: ignore[reportIncompatibleMethodOverride] - it takes what FunctionTool's takes, and more
        self, **changes: Unpack[AgentToolChanges[TContext]]
    ) -> Self:
        """A copy with some fields replaced. Raises `UserError` for a field there is not."""
        return self._copy(changes, _spec=None, _fingerprint=None)


def _is_type(value: object) -> bool:
    """Whether it can be an `output_type`: a class, a form of `typing`'s such as `list[int]` and `int | str`, or several."""
    if isinstance(value, list | tuple):
        types = cast("Sequence[object]", value)
        return bool(types) and all(map(_is_type, types))
    return isinstance(value, type | AgentOutputSchema) or type(value).__module__ in ("typing", "types", "typing_extensions")


_INPUT_GUARDRAIL = guardrail_fields("InputGuardrail", run_in_parallel=FLAG)
_OUTPUT_GUARDRAIL = guardrail_fields("OutputGuardrail")
INPUT_GUARDRAILS = guardrails_of(InputGuardrail, "input_guardrail")
OUTPUT_GUARDRAILS = guardrails_of(OutputGuardrail, "output_guardrail")
_SELECTOR = Expected("", lambda value: callable(value) and not isinstance(value, type) and not hasattr(value, "stream"))
MODEL = optional(either(A_MODEL, a_name(""), what="a model or the name of one; pass 'openai:NAME', say"))
MODEL_CHOICE = optional(
    either(A_MODEL, a_name(""), _SELECTOR, what="a model, the name of one or a callable that chooses; pass 'openai:NAME', say")
)
SETTINGS = a(ModelSettings, "ModelSettings; pass ModelSettings(...)")
TOOLS = sequence_of(
    a(FunctionTool, "a tool; decorate functions with @function_tool, and give agents as agent.as_tool()"),
    "a list or tuple of tools; pass [tool]",
)


def _is_toolset(value: object) -> bool:
    from agentsdk.define.toolset import Toolset  # most agents have none

    return isinstance(value, Toolset)


TOOLSETS = sequence_of(Expected("a Toolset; subclass Toolset", _is_toolset), "a list or tuple of toolsets; pass [toolset]")
RUN_HOOKS = a(RunHooks, "RunHooks; pass an object of a subclass")
_NAME = a_name("a non-empty str; name the agent")
_FIELDS = Fields(
    Agent,
    name=_NAME,
    instructions=optional(either(any_text(""), CALLABLE, what="a str or a callable that gives one; pass the text")),
    tools=sequence_of(
        a((FunctionTool, HostedTool), "a tool; decorate functions with @function_tool, and give agents as agent.as_tool()"),
        "a list or tuple of tools; pass [tool]",
    ),
    handoffs=sequence_of(
        a((Agent, HandoffDeclaration), "an Agent or handoff(agent)"), "a list or tuple of agents; pass [agent]"
    ),
    model=MODEL_CHOICE,
    model_settings=SETTINGS,
    output_type=optional(
        Expected(
            "a type, a list of them or an AgentOutputSchema; pass a pydantic model, a dataclass, list[int] and so on", _is_type
        )
    ),
    input_guardrails=INPUT_GUARDRAILS,
    output_guardrails=OUTPUT_GUARDRAILS,
    hooks=optional(a(AgentHooks, "AgentHooks; pass an object of a subclass, RunHooks go to the run")),
    tool_use_behavior=either(
        one_of("", ("run_llm_again", "stop_on_first_tool")),
        a(StopAtTools, ""),
        CALLABLE,
        what="'run_llm_again', 'stop_on_first_tool', StopAtTools([...]) or a callable",
    ),
    handoff_description=any_text("a str; it tells the model when to hand over to this agent"),
    reset_tool_choice=FLAG,
    toolsets=TOOLSETS,
    tool_timeout=optional(TIMEOUT),
    tool_retry=optional(TOOL_RETRY),
    prompt=optional(either(PROMPT, CALLABLE, what="a Prompt or a callable that gives one; pass Prompt('pmpt_...')")),
    output_validators=sequence_of(
        Expected("an output validator; pass a def or async def", lambda value: callable(value) and not isinstance(value, type)),
        "a list or tuple of output validators; pass [function]",
    ),
    max_output_retries=optional(whole("a whole number, 0 or more", 0)),
)
_HANDOFF = Fields(
    "HandoffDeclaration",
    agent=a(Agent, "an Agent; pass handoff(agent)"),
    spec=a(HandoffSpec, "a HandoffSpec; make the declaration with handoff(agent)"),
    on_handoff=optional(CALLABLE),
    payload=optional(a(AgentOutputSchema, "an AgentOutputSchema; make the declaration with handoff(agent)")),
    input_filter=optional(CALLABLE),
    is_enabled=RULE,
)
_AGENT_TOOL = Fields(
    "Agent.as_tool",
    agent=a(Agent, "an Agent"),
    custom_output_extractor=optional(CALLABLE),
    session=optional(either(SESSION, CALLABLE, what="a Session or a callable that gives one; pass SQLiteSession('id'), say")),
    hooks=optional(RUN_HOOKS),
    max_turns=optional(whole("a whole number above 0", 1)),
    on_stream=optional(CALLABLE),
)


def check_agent_fields(agent: Agent[Any, Any]) -> None:
    """Raises `UserError` for a field of the agent that is wrong."""
    _FIELDS.check(agent, "agent")
