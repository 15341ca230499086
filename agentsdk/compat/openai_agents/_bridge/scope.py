"""`RunScope`: the context object of the run beneath. Every callback finds there what it needs of the run above."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents._bridge.raw import Originals
from agentsdk.compat.openai_agents.run_config import RunConfig
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.tool_context import ToolContext
from agentsdk.define.context import RunContextWrapper as OwnContext
from agentsdk.define.context import ToolContext as OwnToolContext
from agentsdk.types.items import FunctionCall, FunctionCallOutput

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents._bridge.agents import Translation
    from agentsdk.compat.openai_agents._bridge.model import FoundModel
    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.guardrail import InputGuardrailResult, OutputGuardrailResult
    from agentsdk.compat.openai_agents.run_state import RunState
    from agentsdk.compat.openai_agents.tool_guardrails import ToolInputGuardrailResult, ToolOutputGuardrailResult

NOTHING: Any = object()
"""There is no final output yet, or none but the one beneath."""


class RunScope:
    """What a run has of the program: its context, its settings, and what callbacks said that the run beneath keeps as data."""

    def __init__(self, wrapper: RunContextWrapper[Any], config: RunConfig, translation: Translation) -> None:
        self.wrapper = wrapper
        self.config = config
        self.translation = translation
        self.originals = Originals()
        self.outputs: dict[str, Any] = {}  # what tools returned, by the id of the call
        self.custom_data: dict[str, dict[str, Any]] = {}
        self.nested: dict[str, RunState[Any, Any]] = {}  # runs of agents as tools that wait for a person, by the id of the call
        self.tool_contexts: dict[str, ToolContext[Any]] = {}
        self.final_output: Any = NOTHING  # where a tool's result, or a callback, gave it
        self.handled: tuple[Agent[Any], str] | None = None  # what an error handler gave, as the last message
        self.input_results: list[InputGuardrailResult] = []
        self.output_results: list[OutputGuardrailResult] = []
        self.tool_input_results: list[ToolInputGuardrailResult] = []
        self.tool_output_results: list[ToolOutputGuardrailResult] = []
        self.tripped: Any = None
        self.raised: BaseException | None = None  # by a callback, where the run beneath has to go on until it can end
        self.models: dict[Agent[Any], FoundModel] = {}
        self.offered: dict[Agent[Any], tuple[object, list[Any], list[Any]]] = {}  # tools and handoffs, by those of the request
        self.turn_tools: dict[int, list[Any]] = {}
        self.original_input: str | list[Any] = []
        self.is_streamed = False
        self.turns = 0
        self.last_response_id: str | None = None
        self.last_output: Sequence[Any] = ()  # of the last reply, as the run beneath has it
        self.auto_previous_response_id = False
        self.approved: set[str] = set()  # calls that an `on_approval` has let run
        self.late_rejections: list[tuple[str | None, bool, Awaitable[Any]]] = []  # whose text an async formatter gives
        self.may_ask = True  # whether the run may take a turn at all

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


current: ContextVar[RunScope | None] = ContextVar("compat run", default=None)
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
