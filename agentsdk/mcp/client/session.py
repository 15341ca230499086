"""The official package's session with our callbacks: what a server says, and asks of its client, while it is connected."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import cast

from mcp import types
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agentsdk.mcp.client.dispatcher import WatchedDispatcher
from agentsdk.ports.mcp import (
    MCPElicitation,
    MCPEvents,
    MCPSample,
    MCPSamplingRequest,
    MCPSettings,
    Sample,
    SamplingRefusedError,
)
from agentsdk.types.base import JsonObject
from agentsdk.types.text import escaped, shortened

SAMPLING_REFUSED = -1
"""The code of the error that the protocol has for a request for the model which is turned down."""

_MAX_LOGGED = 500
_SLACK = 5.0
_LEVELS = {"debug": 10, "info": 20, "notice": 20, "warning": 30, "error": 40, "critical": 50, "alert": 50, "emergency": 50}
_CLIENT = types.Implementation(name="agentsdk", version="0")


class Session(ClientSession):
    """The session of the server called `name`. A modern server's questions come as results; only one of the handshake era asks
    here, over the open connection, and is answered within the settings' time."""

    def __init__(self, name: str, dispatcher: WatchedDispatcher, events: MCPEvents, settings: MCPSettings) -> None:
        super().__init__(
            dispatcher=dispatcher,
            client_info=_CLIENT,
            message_handler=self._on_message,
            logging_callback=self._on_log,
            log_level=settings.log_level,
            elicitation_callback=self._elicit,
            list_roots_callback=None if settings.roots is None else self._list_roots,
            sampling_callback=self._answer_sampling if settings.samples else None,
        )
        self._sample: Sample | None = None
        self._samplings: set[asyncio.Future[MCPSample]] = set()
        self._sampling_lock = asyncio.Lock()
        self._clocks: dict[asyncio.Timeout, float | None] = {}
        self._questions = 0
        self._server = name
        self._events = events
        self._settings = settings
        dispatcher.session = self

    def _build_capabilities(self, version: str) -> types.ClientCapabilities:
        """Without a handler nobody answers a server of the handshake era, so it is not told that somebody would."""
        abilities = super()._build_capabilities(version)
        if self._settings.elicit is None and version not in MODERN_PROTOCOL_VERSIONS:
            return abilities.model_copy(update={"elicitation": None})
        return abilities

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._events.changed()

    async def _on_log(self, params: types.LoggingMessageNotificationParams) -> None:
        data: object = params.data
        text = data if isinstance(data, str) else json.dumps(data, default=str)
        said = f"{params.logger}: {text}" if params.logger else text
        self._events.log(_LEVELS.get(params.level, logging.INFO), shortened(escaped(said), _MAX_LOGGED))

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        elicit = self._settings.elicit
        if elicit is None:
            return types.ErrorData(code=types.INVALID_REQUEST, message="Elicitation not supported")
        asked = elicitation_of(self._server, params)
        try:
            with self._question():
                async with asyncio.timeout(self._settings.elicit_seconds):
                    answer = await elicit(asked)
        except Exception as error:
            self._events.warn(f"nobody answered its question: {type(error).__name__}")
            return types.ElicitResult(action="cancel")
        return elicit_result(answer, is_form=not asked.url)

    @asynccontextmanager
    async def sampling(self, sample: Sample | None) -> AsyncGenerator[None]:
        """Around a call in which a server of the handshake era may ask for the model: alone, as it does not say for which."""
        if sample is None or self.initialize_result is None:
            yield
            return
        async with self._sampling_lock:
            self._sample = sample
            try:
                yield
            finally:
                self._sample = None
                for asked in self._samplings:
                    asked.cancel()
                if self._samplings:
                    await asyncio.wait(self._samplings, timeout=_SLACK)  # of a model that ignores its cancellation no more

    async def _answer_sampling(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        request, sample = sampling_of(params), self._sample
        if request is None:
            return types.ErrorData(code=types.INVALID_PARAMS, message="Sampling with tools is not supported")
        if sample is None:
            return _refusal("no call is under way that it could be for")
        asked = asyncio.ensure_future(sample(request))
        self._samplings.add(asked)
        asked.add_done_callback(self._samplings.discard)
        with self._question():
            await asyncio.wait([asked])
        if asked.cancelled():
            return _refusal("the call is over")
        if (error := asked.exception()) is None:
            return sample_result(asked.result())
        if isinstance(error, SamplingRefusedError):
            return _refusal(str(error))
        self._events.warn(f"its request for the model came to nothing: {type(error).__name__}")
        return types.ErrorData(code=types.INTERNAL_ERROR, message="Sampling failed")

    @contextmanager
    def _question(self) -> Generator[None]:
        """While a person is asked. The clocks of the calls go on as ever when the last question is over."""
        self._questions += 1
        self._renew_all()
        try:
            yield
        finally:
            self._questions -= 1
            self._renew_all()

    def _renew_all(self) -> None:
        for clock in self._clocks:
            self.renew(clock)

    @property
    def roots(self) -> types.ListRootsResult | None:
        """The folders that the server may take as its own; None where it is told of none."""
        given = self._settings.roots
        return None if given is None else types.ListRootsResult.model_validate({"roots": [{"uri": uri} for uri in given]})

    @contextmanager
    def clock(self, seconds: float | None) -> Generator[asyncio.Timeout]:
        """For a call in which the server may be silent for so long: its clock, which begins anew with each sign of life."""
        clock = asyncio.timeout(self._patience(seconds))
        self._clocks[clock] = seconds
        try:
            yield clock
        finally:
            del self._clocks[clock]

    def renew(self, clock: asyncio.Timeout) -> None:
        """Begin a call's clock anew, while it is one of a call."""
        seconds = self._patience(self._clocks.get(clock))
        if seconds is not None and not clock.expired():
            clock.reschedule(asyncio.get_running_loop().time() + seconds)

    def _patience(self, seconds: float | None) -> float | None:
        """How long the server of a call may be silent: longer while it waits for a person."""
        if seconds is None or not self._questions:
            return seconds
        return max(seconds, self._settings.elicit_seconds + _SLACK)

    async def _list_roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        assert self.roots is not None, "the callback is given where there are roots"
        return self.roots


def elicitation_of(server: str, params: types.ElicitRequestParams) -> MCPElicitation:
    """What a server asks of a person."""
    if isinstance(params, types.ElicitRequestURLParams):
        return MCPElicitation(server, params.message, None, str(params.url))
    schema = cast(JsonObject, params.requested_schema)
    return MCPElicitation(server, params.message, schema)


def sampling_of(params: types.CreateMessageRequestParams) -> MCPSamplingRequest | None:
    """What a server asks of the model; None where the model would have to be given tools."""
    if params.tools or params.tool_choice is not None:
        return None
    messages: list[tuple[str, tuple[JsonObject, ...]]] = []
    for message in params.messages:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        shown = [block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in blocks]
        messages.append((message.role, tuple(shown)))
    return MCPSamplingRequest(
        tuple(messages), params.max_tokens, params.system_prompt or "", params.temperature, tuple(params.stop_sequences or ())
    )


def sample_result(sample: MCPSample) -> types.CreateMessageResult:
    """The model's answer as the protocol has it."""
    return types.CreateMessageResult(
        role="assistant",
        content=types.TextContent(type="text", text=sample.text),
        model=sample.model,
        stop_reason="maxTokens" if sample.is_cut else "endTurn",
    )


def _refusal(why: str) -> types.ErrorData:
    return types.ErrorData(code=SAMPLING_REFUSED, message=f"Sampling was refused: {why}")


def elicit_result(answer: object, *, is_form: bool) -> types.ElicitResult:
    """A person's answer as the protocol has it: a form's content, or True for an address that was visited; else declined."""
    if answer is None or answer is False:
        return types.ElicitResult(action="decline")
    if not is_form:
        return types.ElicitResult(action="accept")
    return types.ElicitResult.model_validate({"action": "accept", "content": answer})
