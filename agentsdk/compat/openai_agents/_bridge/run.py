"""Runs: what `Runner` is given, for the run beneath; and its errors, as the program knows them."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from agentsdk.compat.openai_agents import exceptions as theirs
from agentsdk.compat.openai_agents._bridge.agents import (
    own_input_guardrail,
    own_output_guardrail,
    raise_for_collisions,
    translation_of,
)
from agentsdk.compat.openai_agents._bridge.errors import their_error
from agentsdk.compat.openai_agents._bridge.filters import filtered_call
from agentsdk.compat.openai_agents._bridge.hooks import BridgedRunHooks, tell_end
from agentsdk.compat.openai_agents._bridge.model import take_note
from agentsdk.compat.openai_agents._bridge.scope import NOTHING, RunScope, current
from agentsdk.compat.openai_agents._bridge.session import BridgedSession
from agentsdk.compat.openai_agents._bridge.view import View, details_of
from agentsdk.compat.openai_agents.agent import Agent
from agentsdk.compat.openai_agents.agent_output import AgentOutputSchema
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.items import ItemHelpers
from agentsdk.compat.openai_agents.lifecycle import RunHooksBase
from agentsdk.compat.openai_agents.run_config import NO_SETTINGS, RunConfig, coerce_run_config
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.run_error_handlers import RunErrorData, RunErrorHandlerInput, RunErrorHandlerResult
from agentsdk.compat.openai_agents.run_state import RunState
from agentsdk.compat.openai_agents.tracing import begin_trace, tracer_for
from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.define.agent import Agent as OwnAgent
from agentsdk.define.run_config import RunConfig as OwnConfig
from agentsdk.define.run_config import RunErrorHandlerInput as OwnHandlerInput
from agentsdk.define.run_config import RunErrorHandlerResult as OwnHandlerResult
from agentsdk.engine.lifecycle import execute
from agentsdk.engine.run import Run
from agentsdk.engine.session import save_session
from agentsdk.runner import begun_with, history_of
from agentsdk.types.errors import AgentsException as OwnError
from agentsdk.types.items import Item

if TYPE_CHECKING:
    from agentsdk.core.run_state import RunState as OwnState

_MOST = 10**9  # for what openai-agents has no limit of


@dataclass(slots=True)
class Call:
    """A run that is about to begin, or to go on."""

    scope: RunScope
    agent: OwnAgent[Any, Any]
    given: Any
    hooks: Any
    handlers: Mapping[str, Any] | None
    session: Any
    previous_response_id: str | None
    conversation_id: str | None
    state: RunState[Any, Any] | None = None

    async def run(self, begun: Callable[[Run], None] | None = None) -> Run:
        """Take the run to its end, or to where it waits: the run beneath, which `begun` is told of when it begins.

        Callbacks find its scope, and its trace, as long as it goes on. Errors are raised as the program knows them.
        """
        scope, agent, given, hooks = self.scope, self.agent, self.given, self.hooks
        session: BridgedSession | None = None
        history: tuple[Item, ...] = ()
        scope.outer = current.get()
        scope.begun = trace = begin_trace(scope.config, scope.begun)
        token = current.set(scope)
        try:
            config = self._config()
            if type(given) is not str or self.session is not None or self.state is not None:
                given, session = await self._input()
                scope.session = session
                history = () if session is None else await history_of(session, given, config)
            if hooks is None and scope.translation.has_hooks:
                hooks = RunHooksBase[Any, Any]()
            if hooks is not None:
                hooks = scope.hooks = BridgedRunHooks(hooks)
            handlers: Any = _handlers(scope, self.handlers) if self.handlers else None
            run, begin = begun_with(agent, given, history, scope, run_config=config, hooks=hooks, session=session)
            run.on_reply = take_note
            if hooks is not None:
                run.on_output = tell_end
            if session is not None:
                run.on_turn = functools.partial(save_session, session=session)
            if begun is not None:
                begun(run)
            await execute(run, begin, session, handlers, agent)
            return run
        except OwnError as error:
            raised = _seen(scope, error)
        finally:
            if trace is not None:
                trace.finish(reset_current=True)
            current.reset(token)
        raise raised

    async def _input(self) -> tuple[Any, BridgedSession | None]:
        """The input of the run beneath, and its session."""
        scope, given, state = self.scope, self.given, self.state
        session: BridgedSession | None = None
        if state is not None:
            await state.settle_late()
        if state is not None and (own := state.ready()) is not None:
            given = own
            session = None if self.session is None else BridgedSession(self.session, scope)
        elif self.session is not None:
            new = ItemHelpers.input_to_new_input_list(given)
            session = BridgedSession(self.session, scope, new)
            given = new if scope.config.session_input_callback is None else await session.merged(new)
        if isinstance(given, list):
            entries = cast("list[Any]", given)
            given = [scope.originals.item(raw, f"entry {at}") for at, raw in enumerate(entries)]
        return given, session

    def _config(self) -> OwnConfig:
        config, most = self.scope.config, self.scope.max_turns
        turns = None if most is None else max(1, most)
        fields: dict[str, Any] = {}
        tracer = tracer_for(config)
        self.scope.is_traced = tracer is not None
        if tracer is not None:
            fields["tracer"] = tracer
        if self.conversation_id is not None:
            fields["conversation_id"] = self.conversation_id
        if self.previous_response_id is not None:
            fields["previous_response_id"] = self.previous_response_id
        if config is NO_SETTINGS:
            made = _own_config(turns, False, None)
        else:
            execution = config.tool_execution
            concurrency = execution.max_function_tool_concurrency if execution is not None else None
            made = _own_config(turns, config.tracing_disabled, concurrency)
            fields |= _own_settings(config)
        return dataclasses.replace(made, **fields) if fields else made


def _own_settings(config: RunConfig) -> dict[str, Any]:
    """What of the settings of a run is not the same for most runs."""
    fields: dict[str, Any] = {}
    if config.workflow_name != NO_SETTINGS.workflow_name:
        fields["workflow_name"] = config.workflow_name
    if config.model_settings is not None:
        from agentsdk.compat.openai_agents._bridge.settings import own_settings

        fields["model_settings"] = own_settings(config.model_settings)
    if config.input_guardrails:
        fields["input_guardrails"] = [own_input_guardrail(one, None) for one in config.input_guardrails]
    if config.output_guardrails:
        fields["output_guardrails"] = [own_output_guardrail(one, None) for one in config.output_guardrails]
    if config.call_model_input_filter is not None:
        fields["wrap_model_call"] = filtered_call
    return fields


@functools.lru_cache(maxsize=64)
def _own_config(turns: int | None, tracing_disabled: bool, concurrency: int | None) -> OwnConfig:
    """The config of a run that says no more than this, as most say nothing."""
    return OwnConfig(
        limits=RunLimits(turns=turns, consecutive_errors=None, repeated_rounds=None),
        workflow_name=NO_SETTINGS.workflow_name,
        tracing_disabled=tracing_disabled,
        max_tool_concurrency=concurrency or 1000,
        max_tool_result_chars=_MOST,
        max_output_retries=0,
        accept_empty_replies=True,
        after_untrusted="allow",
    )


def new_call(
    agent: Agent[Any],
    given: str | list[Any] | RunState[Any, Any],
    *,
    context: Any,
    max_turns: int | None,
    hooks: Any,
    run_config: RunConfig | dict[str, Any] | None,
    error_handlers: Any,
    previous_response_id: str | None,
    auto_previous_response_id: bool = False,
    conversation_id: str | None,
    session: Any,
) -> Call:
    """The run that these arguments of `Runner` mean. Raises `UserError` for a wrong one."""
    if not isinstance(cast(object, agent), Agent):
        raise UserError(
            f"the agent is a {type(agent).__name__} of {type(agent).__module__!r}, expected an Agent of "
            "'agentsdk.compat.openai_agents'; make it there, or run it with the Runner of its own package"
        )
    if hooks is not None and not isinstance(hooks, RunHooksBase):
        raise TypeError(
            f"Run hooks must be instances of RunHooks. Received agent hooks or another type: {type(hooks).__name__}"
        )
    if session is not None and auto_previous_response_id:
        raise UserError(
            "the run is given a session and auto_previous_response_id, by which the provider keeps the conversation, expected "
            "one of them; leave the other out"
        )
    config = NO_SETTINGS if run_config is None else coerce_run_config(run_config)
    state: RunState[Any, Any] | None = None
    if isinstance(given, RunState):
        state = given
        scope = _gone_on_with(given, agent, context, None if run_config is None else config)
        given = scope.original_input
        conversation_id, previous_response_id = _conversation(state, conversation_id, previous_response_id)
    elif type(given) is str or isinstance(cast(object, given), str | list):
        if config.tool_name_collision_policy == "error":
            raise_for_collisions(agent)
        scope = RunScope(_wrapper(context), config, translation_of(agent), given)
    else:
        raise UserError(f"the input is {type(given).__name__!r}, expected a str, a list of items or a RunState")
    if auto_previous_response_id:
        scope.auto_previous_response_id = True
    scope.max_turns = max_turns
    own = scope.translation.own(agent)
    return Call(scope, own, given, hooks, error_handlers, session, previous_response_id, conversation_id, state)


def _gone_on_with(state: RunState[Any, Any], agent: Agent[Any], context: Any, config: RunConfig | None) -> RunScope:
    """The scope of a state that is gone on with."""
    scope = state.scope
    scope.translation = translation_of(agent)
    scope.config = config or scope.config
    scope.final_output, scope.tripped, scope.raised = NOTHING, None, None
    scope.starts_anew, scope.is_end_told = state.is_begun, False
    scope.models.clear()
    if context is not None:
        kept = scope.wrapper.decisions
        scope.wrapper = _wrapper(context)
        if scope.wrapper.decisions is not kept:
            scope.wrapper.decisions = [*kept, *scope.wrapper.decisions]
    return scope


def _conversation(
    state: RunState[Any, Any], conversation_id: str | None, previous_response_id: str | None
) -> tuple[str | None, str | None]:
    """What a run begins with that a state stands for. One that has begun goes on with what it has, or from its last reply."""
    scope = state.scope
    if not state.is_begun:
        return conversation_id or scope.conversation_id, previous_response_id or scope.previous_response_id
    if conversation_id:
        scope.conversation_id = conversation_id
    if previous_response_id:
        scope.auto_previous_response_id = True
    return None, None


def _wrapper(context: Any) -> RunContextWrapper[Any]:
    if isinstance(context, RunContextWrapper):
        return cast("RunContextWrapper[Any]", context)
    return RunContextWrapper.of_run(context)


def _handlers(scope: RunScope, given: Mapping[str, Any]) -> dict[str, Any]:
    """Error handlers for the run beneath."""
    known = ("max_turns", "model_refusal", "invalid_final_output")
    unknown = sorted(given.keys() - set(known))
    if unknown:
        raise UserError(f"error_handlers has {unknown}, expected some of {list(known)}")
    return {kind: _handler(scope, handler) for kind, handler in given.items() if handler is not None}


def _handler(scope: RunScope, handler: Any) -> Any:
    async def handle(beneath: OwnHandlerInput) -> OwnHandlerResult | None:
        error: Any = their_error(beneath.error, scope)
        state = cast("OwnState", beneath.error.state).value
        view = View(scope, state)
        new = view.new_items
        output = [item.to_input_item() for item in new]
        history = [*ItemHelpers.input_to_new_input_list(scope.original_input), *output]
        data = RunErrorData(scope.original_input, new, history, output, view.raw_responses, view.last_agent)
        called = handler(RunErrorHandlerInput(error, scope.wrapper, data))
        answer = await called if inspect.isawaitable(called) else called
        if answer is None:
            return None
        value = answer.final_output if isinstance(answer, RunErrorHandlerResult) else answer
        is_shown = answer.include_in_history if isinstance(answer, RunErrorHandlerResult) else True
        if isinstance(value, dict) and "final_output" in value:
            fields = cast("dict[str, Any]", value)
            if fields.keys() <= {"final_output", "include_in_history"}:
                value, is_shown = fields["final_output"], bool(fields.get("include_in_history", True))
        value = _fitting(scope, view.last_agent, value)
        scope.final_output = value
        if is_shown:
            scope.handled = (view.last_agent, _as_text(scope, view.last_agent, value))
        return OwnHandlerResult(value if isinstance(value, str) else _kept(value))

    return handle


def _as_text(scope: RunScope, agent: Agent[Any], value: Any) -> str:
    """What a handler gave, as the model would have written it."""
    schema = scope.translation.output_schema(agent)
    if isinstance(schema, AgentOutputSchema) and not schema.is_plain_text():
        return schema.json_of(value)
    return value if isinstance(value, str) else json.dumps(_kept(value))


def _fitting(scope: RunScope, agent: Agent[Any], value: Any) -> Any:
    """What a handler gave, as the agent's output type. Raises `UserError` for what does not fit."""
    schema = scope.translation.output_schema(agent)
    kind = getattr(schema, "output_type", None)
    if schema is None or schema.is_plain_text() or kind is None:
        return value
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise UserError(f"an error handler gave what does not fit the output type: {error}") from error


def _kept(value: Any) -> Any:
    """What the run beneath keeps of a final output."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)


def _seen(scope: RunScope, error: OwnError) -> BaseException:
    """What the program is to see of an error of the run beneath."""
    raised = their_error(error, scope)
    if isinstance(raised, theirs.AgentsException) and raised.run_data is None:
        raised.run_data = details_of(scope, cast(Any, error.state))
    if raised.__cause__ is None and raised is not error.__cause__:
        raised.__cause__ = error
    return raised


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs here."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
