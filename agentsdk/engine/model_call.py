"""Asking the model: one recorded reply per turn, proven complete, its call ids unique in the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from msgspec import structs

from agentsdk.core.limits.run_limits import turns_reached
from agentsdk.core.process import is_empty, with_unique_calls
from agentsdk.engine import hooks
from agentsdk.engine.input_filter import filtered
from agentsdk.engine.limits.reservation import Reservation, reserve, stop, stuck, warn_of_turns
from agentsdk.engine.model_request import ask_model, record_spent
from agentsdk.engine.prepare import Prepared, continuation, instructions
from agentsdk.engine.run import Run
from agentsdk.engine.watchers import watched
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.types.errors import (
    ContextTooLongError,
    EmptyResponseError,
    IncompleteResponseError,
    ModelBehaviorError,
    ModelError,
    UserError,
)
from agentsdk.types.events import AttemptSpent, ModelReplied, milliseconds
from agentsdk.types.items import FunctionCall, Message, OutputText
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelSettings

MAX_EMPTY_REPLIES = 3
"""How often an empty reply is asked for again before it is an error."""


async def ask(run: Run, prepared: Prepared) -> None:
    """Ask for the turn's reply and record it, if the limits allow one more.

    The reply is reserved while it is asked for, so that concurrent nested runs cannot pass the limit together. Raises the
    limit reached, `ModelError`s, and `EmptyResponseError`. Where a program is in the model's place, it is run up to its next
    calls.
    """
    if run.program is not None:
        from agentsdk.engine.programs import take_step

        await take_step(run, prepared, run.program)
        return
    if run.state.turns:  # before, it cannot be stuck
        loop = stuck(run, prepared)
        if loop is not None:
            await stop(run, loop)
    root = run.root
    if root.has_budget:  # each request is reserved by itself
        await _ask(run, prepared)
        return
    limit = turns_reached(root.limits, root.state, root.pending_turns)
    if limit is None and run is not root:
        limit = turns_reached(run.limits, run.state)
    if limit is not None:
        await stop(run, limit)
    if root.limits.turns is not None and root.state.all_turns >= root.limits.turns * root.limits.warn_at:
        await warn_of_turns(root)
    root.pending_turns += 1
    replies = run.state.turns
    try:
        await _ask(run, prepared)
    except BaseException:
        if run.recorded.turns == replies:  # no reply has taken the reservation along
            root.pending_turns -= 1
        raise


async def ask_last(run: Run, prepared: Prepared, prompt: str) -> None:
    """Ask for a last answer, without calls, from what was kept back for it. `prompt` tells the model so."""
    await _ask(run, prepared, prompt)


@dataclass(slots=True)
class _Reply:
    """The turn's reply, what was reserved for it, when it was asked for, and the request."""

    response: ModelResponse
    reservation: Reservation | None
    asked_at: float
    request: ModelRequest


@dataclass(slots=True)
class _Partial:
    """Text that stopped at its length: recorded, to be continued."""


@dataclass(slots=True)
class _Empty:
    """Nothing came, though it was paid for."""


@dataclass(slots=True)
class _TooLong:
    """The provider takes no request of that length."""

    error: ContextTooLongError


_Attempt = _Reply | _Partial | _Empty | _TooLong
"""What one request came to."""


async def _ask(run: Run, prepared: Prepared, last: str = "") -> None:
    """Ask until there is a reply, and record it.

    An empty reply is asked for again unless the run accepts it, text that stopped at its length is continued and joined, both
    within a bound. `last` is the prompt of a last answer: calls in it are left out.
    """
    model, window = run.deps.model_of(prepared.agent), run.deps.config.window
    if model is None:
        from agentsdk.engine.model_choice import choose_model

        model = await choose_model(run)
    given = prepared.agent.instructions
    system_prompt = given if isinstance(given, str) and not prepared.extra_instructions else await instructions(run, prepared)
    empty, is_shortened = 0, False
    while True:
        attempt = await _attempt(run, prepared, model, system_prompt, last)
        match attempt:
            case _Reply():
                await _record_reply(run, prepared, model, attempt, is_last=bool(last))
                return
            case _Partial():
                pass
            case _Empty():
                empty += 1
                if empty > MAX_EMPTY_REPLIES or _is_kept(run):
                    raise EmptyResponseError(
                        f"model {model.name!r} gave agent {prepared.agent.name!r} nothing, asked {empty} time(s), expected "
                        "text, a call or a refusal; resume error.state to ask again, or change the prompt or the model"
                    )
            case _TooLong(error):
                if window is None or is_shortened:
                    raise error
                from agentsdk.engine.window.fit import shorten

                if not await shorten(run, prepared, window):
                    raise error
                is_shortened = True
            case _:
                assert_never(attempt)


async def _attempt(run: Run, prepared: Prepared, model: Model, system_prompt: str, last: str) -> _Attempt:
    """One request, reserved and capped where limits say so."""
    config = run.deps.config
    if config.window is not None:
        from agentsdk.engine.window.fit import fit_window  # a run without a window need not import it

        await fit_window(run, prepared, config.window)
    request = _request(run, prepared, system_prompt)
    if prepared.agent.prompt is not None or run.conversation is not None:
        from agentsdk.engine.hosted import with_hosted

        request = await with_hosted(run, request)
    if config.call_model_input_filter is not None:
        request = await filtered(config.call_model_input_filter, request)
    if last:
        request = _without_calls(prepared, request, last)
    await hooks.llm_started(run, request)
    reservation: Reservation | None = None
    try:
        if run.has_budget:
            reservation = await reserve(run, prepared, request, is_last=bool(last))
            request = reservation.capped(request)
        asked_at = run.deps.now()
        if config.wrap_model_call is None:
            response = await ask_model(run, model, request)
        else:
            from agentsdk.engine.wrap_model import wrapped_reply

            wrapped, reservation = (prepared, reservation, bool(last)), None  # settled there
            response, reservation, request = await wrapped_reply(run, model, request, *wrapped)
    except BaseException as error:
        await _gave_nothing(run, model, error, reservation)
        if isinstance(error, ContextTooLongError):
            return _TooLong(error)
        raise
    if reservation is not None and not response.model:
        response = structs.replace(response, model=model.name)  # what it is priced by, also after a resume
    try:
        response = _validated(run, model, _without_tool_calls(response) if last else response)
    except ModelBehaviorError:
        await _record_discarded_attempt(run, model, response, reservation)  # no use to the turn, but paid for
        raise
    partial = "" if run.state.turn is None else run.state.turn.partial
    if response.finish == "length" and _continues(run, response):
        await _record_discarded_attempt(run, model, response, reservation, response.text)
        return _Partial()
    if not partial and is_empty(response) and not (config.accept_empty_replies and prepared.spec.output is None):
        await _record_discarded_attempt(run, model, response, reservation)
        return _Empty()
    return _Reply(_joined(partial, response) if partial else response, reservation, asked_at, request)


async def _gave_nothing(run: Run, model: Model, error: BaseException, reservation: Reservation | None) -> None:
    """Record what a request that ends in `error` has cost."""
    try:
        if run.deps.config.wrap_model_call is None and isinstance(error, ModelError) and error.attempts:
            await record_spent(run, model, error.attempts, is_tried_again=False)
    finally:
        if reservation is not None:
            reservation.release()


def _validated(run: Run, model: Model, response: ModelResponse) -> ModelResponse:
    """The reply, complete and its call ids unique. Raises `ModelBehaviorError` for one that no turn can be taken with."""
    _require_complete(model, response)
    most = run.deps.config.max_calls_per_reply
    if len(response.output) > most:
        _check_calls(model, response, most)
    return with_unique_calls(response, run.call_ids)


async def _record_reply(run: Run, prepared: Prepared, model: Model, reply: _Reply, *, is_last: bool) -> None:
    response, reservation = reply.response, reply.reservation
    for item in response.output:
        if type(item) is FunctionCall:
            run.call_ids.add(item.call_id)
    counted = run.counted if run.deps.config.call_model_input_filter is None else 0
    asked = "" if response.model == model.name else model.name
    hidden = _hidden(prepared, reply.request)
    disabled = (*prepared.disabled, *hidden) if hidden else prepared.disabled
    at = run.deps.stamp()
    await run.record(ModelReplied(response, at, disabled, counted, asked, is_last, milliseconds(reply.asked_at, at)))
    if reservation is not None:
        await reservation.spent(response, turns=1)
    await hooks.llm_ended(run, response)


async def _record_discarded_attempt(
    run: Run, model: Model, response: ModelResponse, reservation: Reservation | None, partial: str = ""
) -> None:
    """Record a reply that is not the turn's: text that is being continued, or one of no use."""
    asked = "" if response.model == model.name else model.name
    await run.record(AttemptSpent(response.usage, partial, "reply", response.model, asked, run.chosen_name))
    if reservation is not None:
        await reservation.spent(response, turns=0)


def _request(run: Run, prepared: Prepared, system_prompt: str) -> ModelRequest:
    state = run.state
    return ModelRequest(
        state.view,
        system_prompt,
        continuation(run) if state.turn is not None else (),
        prepared.request_tools,
        prepared.declared.request_output,
        _settings(run, prepared),
        run.channel is not None or (bool(watched) and run.watchers is not None),
        run.request_id(),
        hosted=prepared.spec.hosted,
    )


def _hidden(prepared: Prepared, request: ModelRequest) -> tuple[str, ...]:
    """The tools and handoffs that a filter or wrapper left out: what the model was not offered is not run either."""
    if request.tools is prepared.request_tools:
        return ()
    offered = {tool.name for tool in request.tools}
    return tuple([tool.name for tool in prepared.request_tools if tool.name not in offered])


def _without_calls(prepared: Prepared, request: ModelRequest, prompt: str) -> ModelRequest:
    """The tools stay, so that the provider's cache does and calls in the history are understood; they may not be used."""
    settings = request.settings
    if request.tools or request.hosted:
        settings = settings.resolve(ModelSettings(tool_choice="none"))
    output = request.output
    if prepared.declared.output_tool is not None and prepared.spec.output is not None:
        output = structs.replace(prepared.spec.output, mode="native")
    return structs.replace(request, tail=(*request.tail, Message("user", prompt)), settings=settings, output=output)


def _without_tool_calls(response: ModelResponse) -> ModelResponse:
    """A last answer without the calls that it was not to make."""
    output = tuple([item for item in response.output if type(item) is not FunctionCall])
    return response if len(output) == len(response.output) else structs.replace(response, output=output, finish="stop")


def _settings(run: Run, prepared: Prepared) -> ModelSettings:
    settings = prepared.agent.model_settings
    override = run.deps.config.model_settings
    if override is not None:
        settings = settings.resolve(override)
    if settings.tool_choice not in (None, "auto", "none"):
        if run.state.used_tools and prepared.agent.reset_tool_choice:
            # A forced call would be forced again with every result: a loop that only the limits end.
            return settings.resolve(ModelSettings(tool_choice="auto"))
        if settings.tool_choice != "required":
            _require_offered(prepared, settings)
    if prepared.declared.output_tool is not None and settings.tool_choice is None and not settings.thinking:
        # Who ends with a call need not talk. Some models cannot be made to call while they think.
        return settings.resolve(ModelSettings(tool_choice="required"))
    return settings


def _require_offered(prepared: Prepared, settings: ModelSettings) -> None:
    """Raises `UserError` for a `tool_choice` that names no tool of the turn, unless the provider may have others."""
    agent, names = prepared.agent, [tool.name for tool in prepared.request_tools]
    has_others = prepared.spec.hosted or agent.prompt is not None or "tools" in (settings.extra_body or ())
    if settings.tool_choice not in names and not has_others:
        raise UserError(
            f"agent {agent.name!r} has the tool_choice {settings.tool_choice!r}, expected 'auto', 'required', 'none' or a tool "
            f"that it offers in this turn ({', '.join(names) or 'there are none'}); write one of these"
        )


def _require_complete(model: Model, response: ModelResponse) -> ModelResponse:
    """The response, unless it holds a call that its finish does not vouch for."""
    if response.finish in ("stop", "tool_calls"):
        return response
    if any(type(item) is FunctionCall for item in response.output):
        raise IncompleteResponseError(
            f"model {model.name!r} stopped with finish {response.finish!r} in a reply that holds a call, expected a finished "
            "reply; no call was run: raise max_tokens, or ask again",
            partial=response.text,
        )
    if response.finish == "error":
        raise ModelBehaviorError(f"model {model.name!r} ended its reply with an error, expected a finished reply; ask again")
    return response


def _check_calls(model: Model, response: ModelResponse, most: int) -> None:
    calls = sum(type(item) is FunctionCall for item in response.output)
    if calls > most:
        raise ModelBehaviorError(
            f"model {model.name!r} made {calls} calls in one reply, expected at most {most}; none of them was run: ask again, "
            "use another model, or raise RunConfig(max_calls_per_reply=...)"
        )


def _continues(run: Run, response: ModelResponse) -> bool:
    """Whether text that stopped at its length is to be continued."""
    turn = run.state.turn
    done = 0 if turn is None else turn.continuations
    return bool(response.text) and done < run.deps.config.max_continuations and not _is_kept(run)


def _is_kept(run: Run) -> bool:
    """Whether a conversation at the provider holds each request and reply, so that none can be asked for again."""
    return run.conversation is not None and bool(run.conversation.conversation_id)


def _joined(partial: str, response: ModelResponse) -> ModelResponse:
    """The reply with the text it continues in front."""
    output = list(response.output)
    for position, item in enumerate(output):
        if isinstance(item, Message):
            content = partial + item.content if isinstance(item.content, str) else (OutputText(partial), *item.content)
            output[position] = Message(item.role, content, item.id, item.phase)
            break
    else:
        output.insert(0, Message("assistant", partial))
    return structs.replace(response, output=tuple(output))
