"""`AnthropicModel`: one reply from the Messages API, proven complete or refused with a typed error."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from itertools import chain
from typing import ClassVar, Literal, Unpack

from msgspec import Raw, structs

from agentsdk.core.output_prompt import prompt_for
from agentsdk.models.anthropic.calls import betas_of, client_tools
from agentsdk.models.anthropic.encode import MessageEncoder, encode_tools
from agentsdk.models.anthropic.reply import ReplyAssembler, TurnPaused
from agentsdk.models.http_model import (
    HttpModel,
    cache_retention,
    given_settings,
    merge_extra_body,
    refuse_hosted,
    refuse_settings,
)
from agentsdk.models.loose import as_list, as_object
from agentsdk.models.network import RequestHeaders
from agentsdk.models.options import HttpModelOptions
from agentsdk.models.prefix import Body, framed, to_json
from agentsdk.models.thinking import claude_thinking, given_thinking
from agentsdk.ports.model import ModelRequest
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import FLAG, Fields, one_of, optional, whole
from agentsdk.types.deltas import AttemptDiscarded, ModelStreamEvent, ResponseCompleted, ResponseCreated
from agentsdk.types.errors import ModelError, UserError
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.response import OutputItem
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.usage import SpentAttempt, Usage

DEFAULT_MAX_TOKENS = 8192
"""The cap on output tokens, which the API demands, where the settings name none."""
MAX_PAUSES = 10
"""How often a turn that the provider paused is continued before it is an error."""
_API = "the Anthropic Messages API"
_VERSION = "2023-06-01"
_UNSUPPORTED = (
    *("frequency_penalty", "presence_penalty", "seed", "logit_bias", "logprobs", "top_logprobs"),
    *("verbosity", "store", "prompt_cache_key", "truncation"),
)
# What the counting endpoint takes; it refuses every other field.
_COUNTED = frozenset(
    {"model", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"}
    | {"mcp_servers", "context_management"}
)


_FIELDS = Fields(
    "AnthropicModel",
    max_tokens=whole("a whole number of tokens above 0", 1),
    cache=optional(one_of("'5m' or '1h'", ("5m", "1h"))),
    native_output=FLAG,
    strict_tools=FLAG,
)


class AnthropicModel(HttpModel):
    """A model behind `POST {base_url}/v1/messages`, at Anthropic or any server that speaks the same.

    `max_tokens` is sent where the settings name none. `cache` has the provider cache each request's prefix for that long.
    `native_output=False` puts the output's schema into the instructions, for models that take none. `strict_tools` has the
    provider enforce the schemas of strict tools, which it allows for 20 tools at most and not for every model.

    `options` are those of every adapter: see `HttpModelOptions`. `base_url` and `api_key` default to ANTHROPIC_BASE_URL and
    ANTHROPIC_API_KEY.

    Raises `UserError` for a `base_url`, key or header that cannot be used.
    """

    _default_base_url = "https://api.anthropic.com"
    _base_url_variable = "ANTHROPIC_BASE_URL"
    _key_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY",)
    _models_path = "/v1/models"

    def __init__(
        self,
        model: str,
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        cache: Literal["5m", "1h"] | None = None,
        native_output: bool = True,
        strict_tools: bool = False,
        **options: Unpack[HttpModelOptions],
    ) -> None:
        _FIELDS.check_given(max_tokens=max_tokens, cache=cache, native_output=native_output, strict_tools=strict_tools)
        super().__init__(model, **options)
        self._url = f"{self.base_url.removesuffix('/v1')}/v1/messages"
        self._max_tokens = max_tokens
        self._cache = cache
        self._native_output = native_output
        self._strict_tools = strict_tools
        self._encoder = MessageEncoder(self.provider)

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`. A turn that the provider pauses is continued.

        Raises `UserError` for a missing key or a request that the API cannot carry; the generator, only `ModelError`s.
        """
        return self._resumed(request, super().stream(request))

    async def _resumed(
        self, request: ModelRequest, events: AsyncGenerator[ModelStreamEvent, None]
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        """The events of a turn, its pauses left out: what came before a pause goes back to the provider, which continues."""
        earlier: tuple[OutputItem, ...] = ()
        usage = Usage()
        attempts: tuple[SpentAttempt, ...] = ()  # all that an error carries; of a whole turn, its pauses are no loss
        retried: tuple[SpentAttempt, ...] = ()
        paused_data: JsonObject = {}
        pauses = width = 0
        while True:
            try:
                async for event in events:
                    if not pauses:
                        yield event
                    elif isinstance(event, ResponseCompleted):
                        reply = event.response
                        data = {**paused_data, **reply.provider_data}
                        whole = structs.replace(
                            reply, output=earlier + reply.output, usage=usage + reply.usage, provider_data=data
                        )
                        yield ResponseCompleted(whole, (*retried, *event.attempts))
                    elif not isinstance(event, ResponseCreated | AttemptDiscarded):  # they would speak of the whole turn
                        yield _shifted(event, width)
                return
            except ModelError as error:
                pauses += 1
                if not isinstance(paused := error, TurnPaused) or pauses > MAX_PAUSES:
                    error.attempts = (*attempts, *error.attempts)
                    raise
                attempts += paused.attempts
                retried += paused.attempts[:-1]
                if request.stream:
                    for event in paused.events:
                        yield _shifted(event, width)
                earlier += paused.response.output
                paused_data |= paused.response.provider_data
                usage += paused.response.usage
                width += paused.width
            finally:
                await events.aclose()
            again_id = request.request_id and f"{request.request_id}-pause-{pauses}"
            again = structs.replace(request, tail=(*request.tail, *earlier), request_id=again_id)
            events = super().stream(again)

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many input tokens `request` would use, as the provider counts. Raises like `stream`."""
        body = self._with_messages(self._counted(request), request)
        return await self._count(request, self._counting_url(), body, "input_tokens")

    def _counted(self, request: ModelRequest) -> JsonObject:
        """The body for the counting endpoint, without its messages."""
        return {name: value for name, value in self._fields(request).items() if name in _COUNTED}

    def _counting_url(self) -> str:
        return f"{self._url}/count_tokens"

    def body(self, request: ModelRequest) -> Body:
        """The request's body: settings, instructions and tools before the encoded messages."""
        return self._with_messages(self._fields(request), request)

    def _with_messages(self, fields: JsonObject, request: ModelRequest) -> Body:
        head = to_json(fields)[:-1] + b',"messages":['
        return framed(head, self._encoder.encode(request.items, request.tail), b"]}")

    def _fields(self, request: ModelRequest) -> JsonObject:
        """The body without its messages."""
        settings = request.settings
        refuse_hosted(request, _API)
        refuse_settings(settings, _API, *_UNSUPPORTED)
        fields: JsonObject = {
            "model": self.name,
            "max_tokens": self._max_tokens if settings.max_tokens is None else settings.max_tokens,
            **given_settings(settings, "temperature", "top_p", "top_k", "service_tier"),
        }
        effort = settings.reasoning_effort
        if (thinking := given_thinking(settings)) is not None:
            told = claude_thinking(thinking, self.name, settings.max_tokens, self._max_tokens)
            fields["thinking"], effort, fields["max_tokens"] = told
        if settings.stop is not None:
            fields["stop_sequences"] = settings.stop
        if settings.metadata:
            fields["metadata"] = _metadata(settings.metadata)
        if cached := cache_retention(settings, _API, "5m", "1h") or self._cache:
            fields["cache_control"] = {"type": "ephemeral", "ttl": cached}
        fields["stream"] = request.stream
        output = request.output
        if output is not None and output.mode == "json":
            raise UserError(
                f"AgentOutputSchema(mode='json') is not available with {_API}; use mode='native' or mode='prompted'"
            )
        prompted = output is not None and (output.is_asked_for or not (self._native_output and output.strict))
        config: JsonObject = {}
        if output is not None and not prompted:
            config["format"] = {"type": "json_schema", "schema": output.schema}
        if effort is not None:
            config["effort"] = effort
        system = [request.instructions, *self._encoder.system(chain(request.items, request.tail))]
        if output is not None and prompted:
            system.append(prompt_for(output))
        if any(system):
            fields["system"] = "\n\n".join(filter(None, system))
        extra = settings.extra_body or {}
        if request.hosted:
            from agentsdk.models.anthropic.hosted import hosted_fields

            fields |= hosted_fields(request.hosted)
        merge_extra_body(fields, settings, "messages", "system")
        if config:
            fields["output_config"] = {**config, **as_object(extra.get("output_config"))}
        if tools := self._all_tools(request, as_list(extra.get("tools"))):
            fields["tools"] = tools
            if "tool_choice" not in extra and (choice := _tool_choice(settings, request.tools)):
                fields["tool_choice"] = choice
        return fields

    def _all_tools(self, request: ModelRequest, extra: list[object]) -> Raw | list[object]:
        """The run's tools, then those of the provider's own that are in `extra_body`."""
        if not (request.tools or request.hosted):
            return extra
        encoded = self._encoded_tools(request.tools, request.hosted)
        return Raw(b"%b,%b" % (bytes(encoded)[:-1], to_json(extra)[1:])) if extra else encoded

    def _url_for(self, request: ModelRequest) -> str:
        return self._url

    def _auth_headers(self, key: str) -> dict[str, str]:
        headers = {"anthropic-version": _VERSION}
        return {**headers, "x-api-key": key} if key else headers

    def _assembler(self, request: ModelRequest) -> ReplyAssembler:
        known = client_tools(request.tools)
        return ReplyAssembler(self.provider, fallback_id=request.request_id, client_tools=known)

    def _encode_tools(self, tools: Sequence[ToolSpec | HandoffSpec], hosted: Sequence[HostedTool]) -> bytes:
        return encode_tools(tools, hosted, strict=self._strict_tools)

    def _headers_for(self, request: ModelRequest) -> RequestHeaders:
        headers = super()._headers_for(request).joined("anthropic-beta", betas_of(request.tools))
        if not request.hosted:
            return headers
        from agentsdk.models.anthropic import hosted

        return headers.joined("anthropic-beta", hosted.betas_of(request.hosted))


def _shifted(event: ModelStreamEvent, by: int) -> ModelStreamEvent:
    if isinstance(event, ResponseCreated | AttemptDiscarded | ResponseCompleted):
        return event
    return structs.replace(event, output_index=event.output_index + by)


def _metadata(metadata: dict[str, str]) -> dict[str, str]:
    if set(metadata) != {"user_id"}:
        raise UserError(f"ModelSettings(metadata=...) has other keys than 'user_id', all that {_API} takes; remove them")
    return metadata


def _tool_choice(settings: ModelSettings, tools: Sequence[ToolSpec | HandoffSpec]) -> JsonObject:
    kinds = {None: "auto", "auto": "auto", "required": "any", "none": "none"}
    name = settings.tool_choice
    if name in kinds:
        choice: JsonObject = {"type": kinds[name]}
    else:
        choice = {"type": "tool", "name": next((own for own, kind in client_tools(tools).items() if kind == name), name)}
    if settings.parallel_tool_calls is False and name != "none":
        choice["disable_parallel_tool_use"] = True
    elif name is None:
        return {}
    return choice
