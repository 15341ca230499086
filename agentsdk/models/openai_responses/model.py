"""`OpenAIResponsesModel`: the adapter for the Responses API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Unpack, cast

from msgspec import Raw, structs

from agentsdk.core.output_prompt import prompt_for
from agentsdk.models.exchange import Exchange
from agentsdk.models.http_model import (
    OPENAI_RETENTIONS,
    HttpModel,
    cache_retention,
    given_settings,
    merge_extra_body,
    refuse_settings,
)
from agentsdk.models.network import RequestHeaders
from agentsdk.models.openai_responses.background import BackgroundAssembler, reply_url
from agentsdk.models.openai_responses.encode import InputEncoder, encode_prompt, encode_tools, output_format
from agentsdk.models.openai_responses.reply import ResponseAssembler
from agentsdk.models.openai_responses.server_history import ServerHistory, is_lost
from agentsdk.models.options import HttpModelOptions
from agentsdk.models.prefix import Body, framed, to_json
from agentsdk.models.retry import wait_before_retry
from agentsdk.models.shield import shielded
from agentsdk.models.thinking import given_thinking, openai_effort, openai_thinks
from agentsdk.models.transport import ModelTimeouts
from agentsdk.ports.clock import wait_idle
from agentsdk.ports.model import ModelRequest
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import FLAG, Fields, optional
from agentsdk.types.deltas import AttemptDiscarded, ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import ModelError, ProviderError, UserError
from agentsdk.types.hosted import ServerConversation
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.tape import Tape

_API = "the Responses API"
_UNSUPPORTED = ("stop", "seed", "frequency_penalty", "presence_penalty", "top_k", "logit_bias")
_SAME_NAME = ("temperature", "top_p", "top_logprobs", "service_tier", "prompt_cache_key", "truncation", "metadata")
MODEL_OF_PROMPT = "(of the prompt)"
"""What a model is called that only the prompt names."""
# The API takes JSON mode only where a message of the input, not the instructions, speaks of JSON.
_JSON_ASKED_FOR = b'{"role":"developer","content":"Answer with JSON."}'
_TO_CANCEL = ModelTimeouts(connect=2.0, read=5.0, idle=None, total=5.0)
_MERGED = ("text", "reasoning", "include", "tools")
# What the counting endpoint takes.
_COUNTED = frozenset(
    {"model", "prompt", "instructions", "tools", "tool_choice", "parallel_tool_calls", "text", "reasoning"}
    | {"previous_response_id", "conversation", "truncation"}
)


_FIELDS = Fields("OpenAIResponsesModel", store=FLAG, server_history=FLAG, background=FLAG, encrypted_reasoning=optional(FLAG))


class OpenAIResponsesModel(HttpModel):
    """A model behind `POST {base_url}/responses`, at OpenAI or any compatible server.

    Requests are stateless: each carries the whole history, and the server is told not to keep the reply. `store=True` lets it,
    and with `server_history=True` too a request sends only what follows the last reply that this model gave in the same run.
    `background=True`, which needs `store=True` too, has the server make the reply whether or not the connection holds: a stream
    that breaks is resumed where it broke, and a run that is cancelled cancels it.
    `model` may be left out for agents with a `prompt` that OpenAI keeps: it names one.
    `encrypted_reasoning` asks for reasoning in the encrypted form that can be sent back although nothing is stored; by default
    where OpenAI's model reasons (its other models refuse to be asked), and elsewhere not. The provider's own tools (web search
    and others) are asked for in `ModelSettings(extra_body={"tools": [...]})`, which adds to the agent's tools.

    `options` are those of every adapter: see `HttpModelOptions`. `base_url` and `api_key` default to OPENAI_BASE_URL and
    OPENAI_API_KEY, and `provider` to the host with `/responses`.

    Raises `UserError` for a `base_url`, key or header that cannot be used.
    """

    _default_base_url = "https://api.openai.com/v1"
    _base_url_variable = "OPENAI_BASE_URL"
    _key_variables = ("OPENAI_API_KEY",)

    def __init__(
        self,
        model: str | None = None,
        *,
        store: bool = False,
        server_history: bool = False,
        background: bool = False,
        encrypted_reasoning: bool | None = None,
        **options: Unpack[HttpModelOptions],
    ) -> None:
        _FIELDS.check_given(
            store=store, server_history=server_history, background=background, encrypted_reasoning=encrypted_reasoning
        )
        super().__init__(MODEL_OF_PROMPT if model is None else model, **options)
        self._is_named = model is not None
        if options.get("provider") is None:  # reasoning of the same host's chat completions has another form
            self.provider = f"{self.provider}/responses"
        for name, given in (("server_history", server_history), ("background", background)):
            if given and not store:
                raise UserError(f"{name}=True needs replies that the server keeps; pass store=True with it")
        self._store = store
        self._history = ServerHistory() if server_history else None
        self._background = background
        if encrypted_reasoning is None:
            encrypted_reasoning = self._at_home and model is not None and openai_thinks(model)
        self._encrypted_reasoning = encrypted_reasoning
        self._encoder = InputEncoder(self.provider, stored=store)

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`.

        Raises `UserError` for a missing key or a request that the API cannot carry; the generator, only `ModelError`s.
        """
        events = self._events(request)
        return events if self._history is None else self._with_history(self._history, request, events)

    def _events(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """The events of a reply. One that is made in the background always comes as a stream."""
        if not self._background or request.stream:
            return super().stream(request)
        return _only_the_last(super().stream(structs.replace(request, stream=True)))

    async def _with_history(
        self, history: ServerHistory, request: ModelRequest, events: AsyncGenerator[ModelStreamEvent, None]
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        """The events of a reply, which is remembered. If the server lost the one before it, all of the history is sent."""
        while True:
            begun = False
            try:
                async for event in events:
                    if isinstance(event, ResponseCompleted):
                        history.remember(request, event.response)
                    begun = True
                    yield event
                return
            except ProviderError as error:
                if not (is_lost(error) and history.forget(request)):
                    raise
                reason = type(error).__name__
            finally:
                await events.aclose()
            if begun:
                yield AttemptDiscarded(reason)
            request = structs.replace(request, request_id=request.request_id and f"{request.request_id}-whole")
            events = self._events(request)

    def _attempt(self, request: ModelRequest, headers: RequestHeaders, body: Body) -> AsyncGenerator[ModelStreamEvent, None]:
        if self._background:
            return self._in_background(request, headers, body)
        return super()._attempt(request, headers, body)

    async def _in_background(
        self, request: ModelRequest, headers: RequestHeaders, body: Body
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        """The events of one attempt, over as many connections as it takes.

        `max_retries` bounds how often in a row the stream is resumed without bringing anything new.
        """
        settings = request.settings.retry or self._retry
        assembler = BackgroundAssembler(self.provider, fallback_id=request.request_id)
        again = headers.without("idempotency-key", "content-type")
        events = self._receive(request, assembler, self._url_for(request), headers, body)
        failures = 0
        try:
            while True:
                number = assembler.number
                try:
                    async for event in events:
                        yield event
                    return
                except ModelError as error:
                    failures = 0 if assembler.number != number else failures
                    retry_after = error.retry_after if isinstance(error, ProviderError) else None
                    late = retry_after is not None and retry_after > settings.max_retry_after
                    if late or failures >= settings.max_retries or not assembler.can_resume(error):
                        raise
                finally:
                    await events.aclose()
                await wait_idle(self._clock, wait_before_retry(failures, retry_after, settings, self._random()))
                failures += 1
                events = self._receive(request, assembler, assembler.resume_url(self.base_url), again, None)
        finally:
            if assembler.running:
                await shielded(self._cancel(assembler.response_id, again))

    async def _cancel(self, response_id: str, headers: RequestHeaders) -> None:
        """Tell the server to stop, for a short while; whether it does is its own affair."""
        url = f"{reply_url(self.base_url, response_id)}/cancel"
        with suppress(ModelError, UserError):
            async with await Exchange.start(self._transport, url, headers, b"", _TO_CANCEL, stream=False) as exchange:
                await exchange.read_all()

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many input tokens `request` would use, as the provider counts. Raises like `stream`."""
        fields = {name: value for name, value in self._fields(request).items() if name in _COUNTED}
        held = 0 if request.conversation is None else request.conversation.held
        body = _body(fields, self._entries(request, held))
        return await self._count(request, f"{self.base_url}/responses/input_tokens", body, "input_tokens")

    def body(self, request: ModelRequest) -> Body:
        """The request's body: settings and tools around the encoded input."""
        fields = self._fields(request)
        held = 0 if request.conversation is None else request.conversation.held
        if self._history is not None and (found := self._history.find(request)) is not None:
            fields["previous_response_id"], held = found
        return _body(fields, self._entries(request, held))

    def _entries(self, request: ModelRequest, held: int) -> Body:
        """The input without the first `held` items, which the server has."""
        encoder = InputEncoder(self.provider) if request.settings.store is False else self._encoder
        entries = encoder.encode(Tape(request.items[held:]) if held else request.items, request.tail)
        is_json = request.output is not None and request.output.mode == "json"
        return framed(_JSON_ASKED_FOR + b",", entries) if is_json else entries

    def _fields(self, request: ModelRequest) -> JsonObject:
        """The body without its input."""
        settings = request.settings
        refuse_settings(settings, _API, *_UNSUPPORTED)
        fields: JsonObject = {"model": self.name} if self._is_named else {}
        fields |= given_settings(settings, *_SAME_NAME)
        if request.prompt is not None:
            fields["prompt"] = encode_prompt(request.prompt)
        elif not self._is_named:
            raise UserError("OpenAIResponsesModel() has no model and the agent no prompt, expected one; name a model")
        if settings.max_tokens is not None:
            fields["max_output_tokens"] = settings.max_tokens
        if (retention := cache_retention(settings, _API, *OPENAI_RETENTIONS)) is not None:
            fields["prompt_cache_retention"] = retention
        if reasoning := self._reasoning(settings):
            fields["reasoning"] = reasoning
        if request.tools or request.hosted:
            fields["tools"] = self._encoded_tools(request.tools, request.hosted)
            if settings.tool_choice is not None:
                fields["tool_choice"] = _tool_choice(settings.tool_choice, request)
            if settings.parallel_tool_calls is not None:
                fields["parallel_tool_calls"] = settings.parallel_tool_calls
        if text := _text(request):
            fields["text"] = text
        if instructions := _instructions(request):
            fields["instructions"] = instructions
        fields["stream"] = request.stream
        fields["store"] = self._stores(request)
        if request.conversation is not None:
            fields |= _continued(request.conversation)
        if self._background:
            fields["background"] = True
        if include := self._include(request):
            fields["include"] = include
        _merge(fields, settings)
        return fields

    def _stores(self, request: ModelRequest) -> bool:
        """Whether the server is to keep the reply."""
        given, needs = request.settings.store, ""
        if request.conversation is not None and not request.conversation.conversation_id:
            needs = "a run with a previous_response_id"
        elif self._background or self._history is not None:
            needs = f"{'background' if self._background else 'server_history'}=True of the model"
        if given is False and needs:
            raise UserError(f"ModelSettings(store=False) does not go with {needs}; leave one of them out")
        return (self._store or request.conversation is not None) if given is None else given

    def _reasoning(self, settings: ModelSettings) -> JsonObject:
        if settings.reasoning_effort is not None:
            return {"effort": settings.reasoning_effort}
        thinking = given_thinking(settings)
        if thinking is None:
            return {}
        effort = openai_effort(thinking, self.name, at_home=self._at_home)
        reasoning: JsonObject = {} if effort is None else {"effort": effort}
        if thinking and thinking.summary:
            reasoning["summary"] = "auto" if thinking.summary is True else thinking.summary
        return reasoning

    def _include(self, request: ModelRequest) -> list[str]:
        """What a reply is to hold beside what it always does."""
        settings = request.settings
        include = ["reasoning.encrypted_content"] if self._encrypted_reasoning else []
        if settings.logprobs or settings.top_logprobs is not None:
            include.append("message.output_text.logprobs")
        if request.hosted:
            from agentsdk.models.openai_responses.hosted import included

            include += included(request.hosted)
        return include

    def _url_for(self, request: ModelRequest) -> str:
        return f"{self.base_url}/responses"

    def _encode_tools(self, tools: Sequence[ToolSpec | HandoffSpec], hosted: Sequence[HostedTool]) -> bytes:
        return encode_tools(tools, hosted)

    def _assembler(self, request: ModelRequest) -> ResponseAssembler:
        return ResponseAssembler(self.provider, fallback_id=request.request_id)


async def _only_the_last(events: AsyncGenerator[ModelStreamEvent, None]) -> AsyncGenerator[ModelStreamEvent, None]:
    async with aclosing(events):
        async for event in events:
            if isinstance(event, ResponseCompleted):
                yield event


def _text(request: ModelRequest) -> JsonObject:
    output = request.output
    text: JsonObject = {}
    if output is not None and output.mode != "prompted":
        text["format"] = {"type": "json_object"} if output.mode == "json" else output_format(output)
    if request.settings.verbosity is not None:
        text["verbosity"] = request.settings.verbosity
    return text


def _instructions(request: ModelRequest) -> str:
    output = request.output
    if output is None or not output.is_asked_for:
        return request.instructions
    return "\n\n".join(filter(None, [request.instructions, prompt_for(output)]))


def _continued(conversation: ServerConversation) -> JsonObject:
    if conversation.conversation_id:
        return {"conversation": conversation.conversation_id}
    return {"previous_response_id": conversation.previous_response_id}


def _body(fields: JsonObject, entries: Body) -> Body:
    return framed(to_json(fields)[:-1] + b',"input":[', entries, b"]}")


def _merge(fields: JsonObject, settings: ModelSettings) -> None:
    """Merge `extra_body`: its `text`, `reasoning`, `include` and `tools` add to what the request has itself."""
    own = {name: fields[name] for name in _MERGED if name in fields}
    merge_extra_body(fields, settings, "input")
    for name, mine in own.items():
        given = fields[name]
        if given is mine:
            continue
        if isinstance(mine, dict) and isinstance(given, dict):
            fields[name] = {**cast(JsonObject, mine), **cast(JsonObject, given)}
        elif isinstance(mine, list) and isinstance(given, list):
            mine, given = cast("list[object]", mine), cast("list[object]", given)
            fields[name] = [*mine, *(one for one in given if one not in mine)]
        elif isinstance(mine, Raw) and isinstance(given, list) and given:
            fields[name] = Raw(b"%b,%b" % (bytes(mine)[:-1], to_json(cast("list[object]", given))[1:]))
    if "background" in (settings.extra_body or ()):
        raise UserError("extra_body holds 'background', which is the model's own; pass background=True to the model instead")


def _tool_choice(choice: str, request: ModelRequest) -> object:
    if choice in ("auto", "required", "none"):
        return choice
    if request.hosted:
        from agentsdk.models.openai_responses.hosted import is_chosen

        if is_chosen(choice, request.hosted):
            return {"type": choice}
    kinds = [tool.kind for tool in request.tools if tool.name == choice and isinstance(tool, ToolSpec)]
    kind = kinds[0] if kinds else "function"
    if kind in ("shell", "apply_patch", "computer"):
        return {"type": kind}
    return {"type": "custom" if kind == "custom" else "function", "name": choice}
