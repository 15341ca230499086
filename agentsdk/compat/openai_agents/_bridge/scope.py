"""`RunScope`: the context object of the run beneath. Every callback finds there what it needs of the run above."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from agentsdk.compat.openai_agents._bridge.raw import Originals
from agentsdk.compat.openai_agents._going import current_run, current_trace
from agentsdk.compat.openai_agents.run_config import RunConfig
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.tool_context import ToolContext
from agentsdk.define.context import RunContextWrapper as OwnContext
from agentsdk.define.context import ToolContext as OwnToolContext
from agentsdk.types.items import FunctionCall, FunctionCallOutput

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents._bridge.agents import Translation
    from agentsdk.compat.openai_agents._bridge.handed import Filtered
    from agentsdk.compat.openai_agents._bridge.hooks import BridgedRunHooks
    from agentsdk.compat.openai_agents._bridge.model import FoundModel
    from agentsdk.compat.openai_agents._bridge.session import BridgedSession
    from agentsdk.compat.openai_agents._tools.function import ToolOrigin
    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.guardrail import InputGuardrailResult, OutputGuardrailResult
    from agentsdk.compat.openai_agents.run_state import RunState
    from agentsdk.compat.openai_agents.tool_guardrails import ToolInputGuardrailResult, ToolOutputGuardrailResult
    from agentsdk.compat.openai_agents.tracing.traces import Trace
    from agentsdk.compat.openai_agents.usage import Usage
    from agentsdk.ports.model import ModelRequest
    from agentsdk.types.response import ModelResponse

T = TypeVar("T")
NOTHING: Any = object()
"""There is no final output yet, or none but the one beneath."""


class Made(Generic[T]):
    """A field that is made when it is first looked at: a run looks at few of those of its scope.

    As `functools.cached_property`, without the lock that it takes on Python 3.11.
    """

    def __init__(self, kind: Callable[[], T]) -> None:
        self._kind = kind
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> T:
        made = instance.__dict__[self._name] = self._kind()
        return made


class RunScope:
    """What a run has of the program: its context, its settings, and what callbacks said that the run beneath keeps as data."""

    originals = Made(Originals)
    outputs: Made[dict[str, Any]] = Made(dict)  # what tools returned, by the id of the call
    origins: Made[dict[str, ToolOrigin]] = Made(dict)  # of the tools that were called, by the id of the call
    handed: Made[dict[str, Filtered]] = Made(dict)  # by the id of the handoff's call, where a filter was asked
    custom_data: Made[dict[str, dict[str, Any]]] = Made(dict)
    # Runs of agents as tools that wait for a person, by the id of the call.
    nested: Made[dict[str, RunState[Any, Any]]] = Made(dict)
    tool_contexts: Made[dict[str, ToolContext[Any]]] = Made(dict)
    input_results: Made[list[InputGuardrailResult]] = Made(list)
    output_results: Made[list[OutputGuardrailResult]] = Made(list)
    tool_input_results: Made[list[ToolInputGuardrailResult]] = Made(list)
    tool_output_results: Made[list[ToolOutputGuardrailResult]] = Made(list)
    models: Made[dict[Agent[Any], FoundModel]] = Made(dict)
    turn_tools: Made[dict[int, list[Any]]] = Made(dict)
    approved: Made[set[str]] = Made(set)  # calls that an `on_approval` has let run
    late_rejections: Made[list[tuple[str | None, bool, Awaitable[Any]]]] = Made(list)  # whose text an async formatter gives

    final_output: Any = NOTHING  # where a tool's result, or a callback, gave it
    handled: tuple[Agent[Any], str] | None = None  # what an error handler gave, as the last message
    tripped: Any = None
    raised: BaseException | None = None  # by a callback, where the run beneath has to go on until it can end
    is_streamed = False
    is_traced = False
    outer: RunScope | None = None  # of the run that it goes on inside of
    begun: Trace | None = None  # the trace that it has begun, where somebody is told of it
    given_usage: Usage | None = None  # of the reply that comes, where the program's own model says more than agentsdk keeps
    is_nested = False  # the last handoff put its turn's messages into the input, as they are
    invoked: Any = None  # the handoff that was taken before its filter was asked
    hooks: BridgedRunHooks | None = None
    starts_anew = False  # it goes on: the hooks are told again who is at work, before the next turn
    is_handoff_told = False  # to the hooks, before its filter was asked
    is_end_told = False  # to the hooks, before the final output was judged
    last: tuple[ModelRequest, ModelResponse] | None = None  # the last reply, as the run beneath has it, and what was asked
    loaded_reply: ModelResponse | None = None  # the last reply of a state that was loaded
    auto_previous_response_id = False
    conversation_id: str | None = None  # of a run that has not begun with it: given to its state, or when it goes on
    previous_response_id: str | None = None
    session: BridgedSession | None = None
    max_turns: int | None = None

    def __init__(
        self,
        wrapper: RunContextWrapper[Any],
        config: RunConfig,
        translation: Translation,
        original_input: str | list[Any],
    ) -> None:
        self.wrapper = wrapper
        self.config = config
        self.translation = translation
        self.original_input = original_input

    @property
    def last_reply(self) -> ModelResponse | None:
        """The last reply, that of a state which was loaded too."""
        return self.loaded_reply if self.last is None else self.last[1]

    @property
    def trace(self) -> Trace:
        """Its trace, where nobody is told of it."""
        if self.outer is not None:
            return self.outer.trace
        made = self.__dict__.get("made_trace")
        if made is None:
            from agentsdk.compat.openai_agents.tracing.traces import UntoldTrace

            made = self.__dict__["made_trace"] = UntoldTrace(self.config)
        return made

    @property
    def own_trace(self) -> Trace | None:
        """The trace that the run, which goes on here, has begun; None where it is of one that went on already."""
        if self.begun is not None:
            return self.begun
        return None if self.outer is not None or current_trace.get() is not None else self.trace

    def context_of(self, ctx: OwnToolContext[RunScope], agent: Agent[Any]) -> ToolContext[Any]:
        """The context of a call: the same object each time."""
        made = self.tool_contexts.get(ctx.tool_call_id)
        if made is None:
            call = (ctx.tool_name, ctx.tool_call_id, ctx.tool_arguments)
            build = partial(call_of, self.originals, ctx)  # without the scope, which would be a cycle
            made = ToolContext.of_call(self.wrapper, call, agent, self.config, build)
            self.tool_contexts[ctx.tool_call_id] = made
        return made

    def is_waiting(self, items: Sequence[Any]) -> bool:
        """Whether a call among these items has no result yet: what is sent of them must not be made smaller."""
        called = {item.call_id for item in items if isinstance(item, FunctionCall)}
        return not called <= {item.call_id for item in items if isinstance(item, FunctionCallOutput)}

    def tool_named(self, agent: Agent[Any], name: str) -> Any:
        """A tool of the turn that goes on, by its name; None where there is none of it."""
        return next((tool for tool in self.tools_of(agent) if tool.name == name), None)

    def tools_of(self, agent: Agent[Any]) -> list[Any]:
        """The tools of the turn that goes on, those of MCP servers too."""
        return [*self.turn_tools.get(id(agent), []), *agent.tools]


def call_of(originals: Originals, ctx: OwnToolContext[Any]) -> Any:
    """The raw item of a call."""
    from agentsdk.compat.openai_agents._bridge.openai_types import built_item

    call = FunctionCall(ctx.tool_call_id, ctx.tool_name, ctx.tool_arguments)
    raw = originals.raw(call)
    if raw is not None:
        return raw
    return built_item({"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments})


current = cast("ContextVar[RunScope | None]", current_run)
"""The run that goes on, for callbacks of agentsdk that are not given its context."""


def scope_of(ctx: OwnContext[Any]) -> RunScope:
    """The scope of the run that a callback is of."""
    scope: RunScope = ctx.context
    return scope


def current_scope() -> RunScope:
    """The scope of the run that goes on."""
    scope = current.get()
    assert scope is not None
    return scope
