"""`wrap_model_call`: a callable of the user around each request for a turn's reply. What it returns is the reply.

It may send another request, several one after the other, or none. A reply that it does not return is recorded as a discarded
attempt: it is paid for, and limits see it before the next request is sent. One that it has changed, or made of several, is paid
for as the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from msgspec import structs

from agentsdk.core.deltas import deltas_of
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.handler import Handler
from agentsdk.engine.input_filter import checked_request
from agentsdk.engine.limits.reservation import Reservation, nothing_reserved, reserve
from agentsdk.engine.model_request import ask_model, checked_reply, record_spent
from agentsdk.engine.prepare import Prepared
from agentsdk.engine.run import Run
from agentsdk.engine.streaming import show_delta
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.types.deltas import AttemptDiscarded, ResponseCompleted
from agentsdk.types.errors import AgentsException, ModelError, UserError
from agentsdk.types.events import AttemptSpent
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

NAME = "wrap_model_call"


async def wrapped_reply(
    run: Run, model: Model, request: ModelRequest, prepared: Prepared, reservation: Reservation | None, is_last: bool
) -> tuple[ModelResponse, Reservation | None, ModelRequest]:
    """The reply that the wrapper returns, what is reserved for it, and the request that gave it, or that it was asked about.

    `reservation` is that of the first request. Raises `CallbackError` for a wrapper that raises, `UserError` for one that
    returns no reply, and what the requests raise if the wrapper lets it pass.
    """
    wrap = run.deps.config.wrap_model_call
    assert wrap is not None
    wrapped = _WrappedModel(run, model, request, prepared, reservation, is_last)
    handler = Handler(NAME, wrapped.ask)
    try:
        given = await call_user(NAME, cast("Callable[..., object]", wrap), run.turn_context(), prepared.agent, request, handler)
        if await handler.close(run.deps.config.cancel_grace):
            raise UserError(f"{NAME} returned while a call of its handler went on, expected it to await that; await it")
        return await wrapped.taken(_checked(given))
    except BaseException as error:
        await handler.close(run.deps.config.cancel_grace)
        await wrapped.left(error)
        raise


class _WrappedModel:
    """The requests of one use of the wrapper. `_reply` and `_error` are what the last one came to: neither, if it was cut.

    `_is_unsettled`: it is not known yet whether the last one gave the turn's reply.
    """

    def __init__(
        self, run: Run, model: Model, request: ModelRequest, prepared: Prepared, reservation: Reservation | None, is_last: bool
    ) -> None:
        self._run = run
        self._model = model
        self._request = request
        self._prepared = prepared
        self._reservation = reservation
        self._is_last = is_last
        self._sent = 0
        self._is_unsettled = False
        self._reply: ModelResponse | None = None
        self._error: ModelError | None = None
        self._replies: list[tuple[ModelResponse, ModelRequest]] = []
        self._errors: list[ModelError] = []

    async def ask(self, given: object) -> ModelResponse:
        """Send a request: its reply. The id, the wire form and the cap on its output are the run's."""
        run, first = self._run, self._request
        request = checked_request(f"the handler of {NAME} was given", given, first)
        request_id = f"{first.request_id}-again-{self._sent}" if self._sent else first.request_id
        request = structs.replace(request, stream=first.stream, request_id=request_id)
        if self._sent:
            await self._settle()
            await show_delta(run, AttemptDiscarded(f"{NAME} asks again"))
            if run.has_budget:
                self._reservation = await reserve(run, self._prepared, request, is_last=self._is_last)
        if self._reservation is not None:
            request = self._reservation.capped(request)
        self._sent += 1
        self._reply = self._error = None
        self._is_unsettled = True
        try:
            self._reply = await ask_model(run, self._model, request)
        except ModelError as error:
            self._error = error
            self._errors.append(error)
            raise
        self._replies.append((self._reply, request))
        return self._reply

    async def taken(self, reply: ModelResponse) -> tuple[ModelResponse, Reservation | None, ModelRequest]:
        """The wrapper has returned `reply`."""
        last, latest = self._reply, self._replies[-1][1] if self._replies else self._request
        request = next((sent for one, sent in self._replies if one is reply), latest)
        if reply is not last or not _is_as_counted(request, self._request):
            self._run.counted = 0  # of another request: it would teach what is not so
        if reply is last:
            return reply, self._reservation, request
        if last is not None and reply.usage in (_NO_USAGE, *[one.usage for one, _ in self._replies]):
            reply = structs.replace(reply, usage=last.usage, model=reply.model or last.model)
        else:
            if self._is_unsettled:
                await self._settle()
            if not (reply.usage.requests or reply.usage.unsent):
                reply = structs.replace(reply, usage=structs.replace(reply.usage, unsent=1))
            if self._reservation is None and self._run.has_budget:
                self._reservation = nothing_reserved(self._run)
        await self._show(reply)
        return reply, self._reservation, request

    async def left(self, error: BaseException) -> None:
        """The wrapper has raised `error`: what was paid for is recorded. A request that is cut with the run is not: it is sent
        again."""
        is_cut = self._reply is None and self._error is None
        try:
            if self._is_unsettled and (isinstance(error, Exception) or not is_cut):
                await self._settle(is_tried_again=error is not self._error)
            if isinstance(error, ModelError) and error.attempts and error not in self._errors:
                await record_spent(self._run, self._model, error.attempts, is_tried_again=False)
        except AgentsException as failure:
            error.add_note(str(failure))
        finally:
            if self._reservation is not None:
                self._reservation.release()

    async def _settle(self, *, is_tried_again: bool = True) -> None:
        """Record what the last request has cost: it gave no reply to use."""
        reservation, self._reservation = self._reservation, None
        self._is_unsettled = False
        if self._error is None:
            reply = self._reply or ModelResponse((), Usage(1, known=False), model=self._model.name)
            asked = "" if reply.model == self._model.name else self._model.name
            await self._run.record(AttemptSpent(reply.usage, "", "discarded", reply.model, asked))
            if reservation is not None:
                await reservation.spent(reply, turns=0)
            return
        if reservation is not None:
            reservation.release()
        if self._error.attempts:
            await record_spent(self._run, self._model, self._error.attempts, is_tried_again=is_tried_again)

    async def _show(self, reply: ModelResponse) -> None:
        """Show a reply that has not come from the model as it is."""
        if self._sent:
            await show_delta(self._run, AttemptDiscarded(f"{NAME} gives another reply"))
        if self._request.stream:
            for event in (*deltas_of(reply), ResponseCompleted(reply)):
                await show_delta(self._run, event)


def _is_as_counted(sent: ModelRequest, request: ModelRequest) -> bool:
    same = sent.items is request.items and sent.tools is request.tools and sent.output is request.output
    return same and sent.instructions == request.instructions and sent.tail == request.tail


def _checked(given: object) -> ModelResponse:
    """What the wrapper has returned, without lone surrogates."""
    if not isinstance(given, ModelResponse):
        raise UserError(
            f"{NAME} returned {type(given).__name__!r}, expected a ModelResponse; return what the handler gave, or "
            "ModelResponse((Message('assistant', text),))"
        )
    try:
        return checked_reply(given)
    except Exception as error:
        raise UserError(
            f"{NAME} returned a reply whose parts are not what their types say ({type(error).__name__}), expected a "
            "ModelResponse of items, texts and a Usage; fix it"
        ) from error


_NO_USAGE = Usage()
