"""`OpenAIChatCompletionsModel`: the adapter for chat completions servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Unpack, get_args

from msgspec import Raw

from agentsdk.core.output_prompt import prompt_for
from agentsdk.models.hosted import check_hosted_tools
from agentsdk.models.http_model import (
    OPENAI_RETENTIONS,
    HttpModel,
    cache_retention,
    given_settings,
    merge_extra_body,
    refuse_hosted,
    refuse_settings,
)
from agentsdk.models.openai_chat.encode import MessageEncoder, encode_output, encode_tools
from agentsdk.models.openai_chat.reply import ReplyAssembler
from agentsdk.models.options import HttpModelOptions
from agentsdk.models.prefix import Body, framed, to_json
from agentsdk.models.thinking import given_thinking, openai_effort
from agentsdk.ports.model import ModelRequest
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import FLAG, Fields, one_of, optional
from agentsdk.types.errors import UserError
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import HandoffSpec, ToolSpec

DEFAULT_BASE_URL = "https://api.openai.com/v1"

MaxTokensField = Literal["max_tokens", "max_completion_tokens"]


_FIELDS = Fields(
    "OpenAIChatCompletionsModel",
    max_tokens_field=optional(one_of(f"one of {get_args(MaxTokensField)}", get_args(MaxTokensField))),
    allow_missing_finish_reason=FLAG,
    include_usage=FLAG,
    native_output=FLAG,
)


class OpenAIChatCompletionsModel(HttpModel):
    """A model behind `POST {base_url}/chat/completions`, at OpenAI or any compatible server.

    `max_tokens_field` is how the cap on output tokens is sent: by default `max_completion_tokens` to OpenAI, whose reasoning
    models take nothing else, and `max_tokens` elsewhere. `allow_missing_finish_reason` is for servers that never send one:
    their text is accepted, their calls never, unless `whole_body_ok` says that a reply which was not streamed, and came as one
    whole JSON body, is a finished one. `include_usage=False` is for servers that refuse `stream_options`, `native_output=False`
    for those that take no JSON schema: it is then put into the instructions.

    `options` are those of every adapter: see `HttpModelOptions`. `base_url` and `api_key` default to OPENAI_BASE_URL and
    OPENAI_API_KEY.

    Raises `UserError` for a `base_url`, key or header that cannot be used.
    """

    _default_base_url = DEFAULT_BASE_URL
    _base_url_variable = "OPENAI_BASE_URL"
    _key_variables = ("OPENAI_API_KEY",)

    def __init__(
        self,
        model: str,
        *,
        max_tokens_field: MaxTokensField | None = None,
        allow_missing_finish_reason: bool = False,
        whole_body_ok: bool = False,
        include_usage: bool = True,
        native_output: bool = True,
        **options: Unpack[HttpModelOptions],
    ) -> None:
        _FIELDS.check_given(
            max_tokens_field=max_tokens_field,
            allow_missing_finish_reason=allow_missing_finish_reason,
            include_usage=include_usage,
            native_output=native_output,
        )
        super().__init__(model, **options)
        self._cap = max_tokens_field or ("max_completion_tokens" if self._at_home else "max_tokens")
        self._allow_missing_finish_reason = allow_missing_finish_reason
        self._whole_body_ok = whole_body_ok
        self._include_usage = include_usage
        self._native_output = native_output
        self._encoder = MessageEncoder(self.provider)

    def body(self, request: ModelRequest) -> Body:
        """The request's body: settings and tools around the encoded messages."""
        settings = request.settings
        refuse_hosted(request, "chat completions")
        fields: JsonObject = {"model": self.name, **self._given(settings)}
        if request.hosted:
            check_hosted_tools(request.hosted, {}, "chat completions")
        if request.tools:
            fields["tools"] = self._encoded_tools(request.tools)
            if settings.tool_choice is not None:
                fields["tool_choice"] = _tool_choice(settings.tool_choice)
            if settings.parallel_tool_calls is not None:
                fields["parallel_tool_calls"] = settings.parallel_tool_calls
        instructions, output = request.instructions, request.output
        if output is not None and (output.is_asked_for or not self._native_output):
            instructions = "\n\n".join(filter(None, [instructions, prompt_for(output)]))
        elif output is not None:
            fields["response_format"] = Raw(encode_output(output))
        if output is not None and output.mode == "json":
            fields["response_format"] = {"type": "json_object"}
        fields["stream"] = request.stream
        if request.stream and self._include_usage:
            fields["stream_options"] = {"include_usage": True}
        merge_extra_body(fields, settings, "messages")
        messages = self._encoder.encode(request.items, request.tail)
        if instructions:
            system = to_json({"role": "system", "content": instructions})
            messages = framed(system + b",", messages) if messages else system
        return framed(to_json(fields)[:-1] + b',"messages":[', messages, b"]}")

    def _given(self, settings: ModelSettings) -> JsonObject:
        """The fields of the settings, those of tools left out."""
        refuse_settings(settings, "chat completions", "truncation")
        if self._at_home:
            refuse_settings(settings, "OpenAI's chat completions", "top_k")
        fields: JsonObject = given_settings(settings, *_FIELDS_OF_SETTINGS)
        if settings.max_tokens is not None:
            fields[self._cap] = settings.max_tokens
        if settings.top_logprobs is not None:
            fields["logprobs"] = True
        if (retention := cache_retention(settings, "chat completions", *OPENAI_RETENTIONS)) is not None:
            fields["prompt_cache_retention"] = retention
        if (thinking := given_thinking(settings)) is not None:
            if thinking and thinking.summary:
                raise UserError(
                    "ModelSettings(thinking=Thinking(summary=...)) is not available with chat completions; leave the summary "
                    "out, or use OpenAIResponsesModel, AnthropicModel or GoogleModel"
                )
            if (effort := openai_effort(thinking, self.name, at_home=self._at_home)) is not None:
                fields["reasoning_effort"] = effort
        return fields

    def _url_for(self, request: ModelRequest) -> str:
        return f"{self.base_url}/chat/completions"

    def _encode_tools(self, tools: Sequence[ToolSpec | HandoffSpec], hosted: Sequence[HostedTool]) -> bytes:
        return encode_tools(tools)

    def _assembler(self, request: ModelRequest) -> ReplyAssembler:
        return ReplyAssembler(
            self.provider,
            fallback_id=request.request_id,
            unfinished_text_ok=self._allow_missing_finish_reason,
            whole_is_finished=self._whole_body_ok,
        )


_FIELDS_OF_SETTINGS = (
    "temperature",
    "top_p",
    "top_k",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "stop",
    "seed",
    "reasoning_effort",
    "verbosity",
    "logprobs",
    "top_logprobs",
    "service_tier",
    "store",
    "prompt_cache_key",
    "metadata",
)


def _tool_choice(choice: str) -> object:
    return choice if choice in ("auto", "required", "none") else {"type": "function", "function": {"name": choice}}
