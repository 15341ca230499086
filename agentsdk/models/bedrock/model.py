"""`BedrockModel`: one reply from Amazon Bedrock's Converse API, proven complete or refused with a typed error."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain
from typing import Literal, Unpack
from urllib.parse import quote

from agentsdk.core.output_prompt import prompt_for
from agentsdk.models.bedrock.auth import AwsAuth, known_region
from agentsdk.models.bedrock.encode import MessageEncoder, encode_tools, text_format
from agentsdk.models.bedrock.frames import FrameDecoder
from agentsdk.models.bedrock.reply import ReplyAssembler
from agentsdk.models.exchange import Decoder
from agentsdk.models.hosted import check_hosted_tools
from agentsdk.models.http_model import (
    HttpModel,
    cache_retention,
    merge_extra_body,
    refuse_hosted,
    refuse_settings,
)
from agentsdk.models.loose import as_object
from agentsdk.models.options import HttpModelOptions
from agentsdk.models.prefix import Body, Pieces, framed, to_json
from agentsdk.models.thinking import claude_thinking, given_thinking
from agentsdk.ports.model import ModelRequest
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import FLAG, Fields, a_name, one_of, optional
from agentsdk.types.errors import UserError
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import HandoffSpec, ToolSpec

DEFAULT_THINKING_CAP = 8192
"""What a thinking model may write beside its thoughts, where the settings name no cap: a budget needs one."""
_API = "Amazon Bedrock's Converse"
_ADDRESS_VARIABLE = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
_LIST_VARIABLE = "AWS_ENDPOINT_URL_BEDROCK"
_UNSUPPORTED = (
    *("top_k", "frequency_penalty", "presence_penalty", "seed", "logit_bias", "logprobs", "top_logprobs"),
    *("verbosity", "store", "prompt_cache_key", "truncation"),
)
_COUNTED = ("system", "toolConfig", "additionalModelRequestFields")  # all that the counting endpoint takes
_MORE = "additionalModelRequestFields"
_OUTPUT = "outputConfig"
_OTHERS = ("ai21.", "amazon.", "cohere.", "deepseek.", "meta.", "mistral.", "openai.", "qwen.")

_FIELDS = Fields(
    "BedrockModel",
    region=optional(a_name("the name of a region; write 'us-east-1'")),
    cache=optional(one_of("'5m' or '1h'", ("5m", "1h"))),
    native_output=FLAG,
    strict_tools=FLAG,
)


class BedrockModel(HttpModel):
    """A model of Amazon Bedrock behind `POST {base_url}/model/{model}/converse`, and `converse-stream`.

    `model` is the id of a model or of an inference profile, or an ARN. `region` defaults to AWS_REGION or AWS_DEFAULT_REGION.
    `cache` has Bedrock cache each request's prefix for that long, where the model can. `native_output` holds the model to the
    schema of a strict output type, `strict_tools` to those of strict tools: some models at Bedrock can, the others refuse it.

    Requests are signed with the credentials that the AWS tools would use (extra `bedrock`, see `AwsAuth`), or carry an API key
    of Bedrock: `api_key`, or AWS_BEARER_TOKEN_BEDROCK. `base_url` defaults to AWS_ENDPOINT_URL_BEDROCK_RUNTIME or the region's
    address; another one needs its own `api_key` or `auth`. `provider` defaults to `"bedrock"`. `options` are those of every
    adapter: see `HttpModelOptions`.

    Raises `UserError` for a missing region, and a `base_url`, key or header that cannot be used.
    """

    _default_base_url = ""  # it is the region's
    _base_url_variable = _ADDRESS_VARIABLE
    _key_variables = ("AWS_BEARER_TOKEN_BEDROCK",)
    _stream_type = "application/vnd.amazon.eventstream"

    def __init__(
        self,
        model: str,
        *,
        region: str | None = None,
        cache: Literal["5m", "1h"] | None = None,
        native_output: bool = False,
        strict_tools: bool = False,
        **options: Unpack[HttpModelOptions],
    ) -> None:
        _FIELDS.check_given(region=region, cache=cache, native_output=native_output, strict_tools=strict_tools)
        self._region = known_region(region)
        if options.get("provider") is None:
            options["provider"] = "bedrock"
        super().__init__(model, **options)
        if self._is_own_address and options.get("api_key") is None and not self._has_credential:
            self._auth = AwsAuth(self._region or None)
        if self._region:
            self._who = f"model {model!r} in region {self._region!r} of Amazon Bedrock"
        self._path = f"{self.base_url}/model/{quote(model, safe='-._~', errors='replace')}"
        self._cache = cache
        self._native_output = native_output
        self._strict_tools = strict_tools
        self._encoder = MessageEncoder(self.provider)
        self._text_encoder = MessageEncoder(self.provider, calls_as_text=True)

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many input tokens `request` would use, as the provider counts. Raises like `stream`."""
        fields = {name: value for name, value in self._fields(request).items() if name in _COUNTED}
        body = framed(b'{"input":{"converse":', self._with_messages(fields, request), b"}}")
        return await self._count(request, f"{self._path}/count-tokens", body, "inputTokens")

    def body(self, request: ModelRequest) -> Body:
        """The request's body: settings, instructions and tools before the encoded messages."""
        return self._with_messages(self._fields(request), request)

    def _with_messages(self, fields: JsonObject, request: ModelRequest) -> Body:
        encoder = self._encoder if "toolConfig" in fields else self._text_encoder
        messages = encoder.encode(request.items, request.tail)
        if (point := self._cache_point(request.settings)) is not None:
            messages = _with_last_block(messages, point)
        head = to_json(fields)[:-1]
        return framed(head + (b"," if fields else b"") + b'"messages":[', messages, b"]}")

    def _fields(self, request: ModelRequest) -> JsonObject:
        """The body without its messages."""
        settings = request.settings
        refuse_hosted(request, _API)
        if request.hosted:
            check_hosted_tools(request.hosted, {}, _API)
        refuse_settings(settings, _API, *_UNSUPPORTED)
        if settings.parallel_tool_calls is False:
            raise UserError(f"ModelSettings(parallel_tool_calls=False) is not available with {_API}; leave it out")
        fields = self._sampling(settings)
        if settings.metadata:
            fields["requestMetadata"] = settings.metadata
        if settings.service_tier is not None:
            fields["serviceTier"] = {"type": settings.service_tier}
        output = request.output
        if output is not None and output.mode == "json":
            raise UserError(f"AgentOutputSchema(mode='json') is not available with {_API}; use mode='prompted'")
        point = self._cache_point(settings)
        system = [request.instructions, *self._encoder.system(chain(request.items, request.tail))]
        if output is not None and self._native_output and output.strict and not output.is_asked_for:
            fields[_OUTPUT] = {**as_object(fields.get(_OUTPUT)), "textFormat": text_format(output)}
        elif output is not None:
            system.append(prompt_for(output))
        if any(system):
            blocks: list[JsonObject] = [{"text": "\n\n".join(filter(None, system))}]
            fields["system"] = blocks if point is None else [*blocks, point]
        own = {name: as_object(fields.get(name)) for name in (_MORE, _OUTPUT)}
        merge_extra_body(fields, settings, "messages", "system")
        for name, known in own.items():
            if known and name in (settings.extra_body or ()):
                fields[name] = {**known, **as_object(fields[name])}
        if request.tools and settings.tool_choice != "none" and "toolConfig" not in fields:
            config: JsonObject = {"tools": self._encoded_tools(request.tools)}
            if choice := _tool_choice(settings):
                config["toolChoice"] = choice
            fields["toolConfig"] = config
        return fields

    def _sampling(self, settings: ModelSettings) -> JsonObject:
        """How much and how freely the model writes, and thinks."""
        config: JsonObject = {
            "maxTokens": settings.max_tokens,
            "temperature": settings.temperature,
            "topP": settings.top_p,
            "stopSequences": settings.stop,
        }
        effort, fields = settings.reasoning_effort, dict[str, object]()
        if (thinking := given_thinking(settings)) is not None:
            if any(vendor in f".{self.name}" for vendor in map(".{}".format, _OTHERS)):
                raise UserError(
                    f"ModelSettings(thinking=...) is not available with model {self.name!r}, expected a Claude; pass what the "
                    f"model takes in extra_body={{{_MORE!r}: ...}}"
                )
            told = claude_thinking(thinking, self.name, settings.max_tokens, DEFAULT_THINKING_CAP)
            fields[_MORE], effort = {"thinking": told.thinking}, told.effort
            if "budget_tokens" in told.thinking:  # which must be below the cap
                config["maxTokens"] = told.max_tokens
        if effort is not None:
            fields[_OUTPUT] = {"effort": effort}
        given = {name: value for name, value in config.items() if value is not None}
        return {"inferenceConfig": given, **fields} if given else fields

    def _cache_point(self, settings: ModelSettings) -> JsonObject | None:
        """What ends a part of the request that is to be cached."""
        ttl = cache_retention(settings, _API, "5m", "1h") or self._cache
        return None if ttl is None else {"cachePoint": {"type": "default", "ttl": ttl}}

    def _home(self) -> str:
        if not self._region:
            return ""
        return f"https://bedrock-runtime.{self._region}.amazonaws.com{'.cn' if self._region.startswith('cn-') else ''}"

    def _models_url(self) -> str:
        """Another service has the list: it is asked where this one is the region's own, or where a variable names it."""
        home = os.environ.get(_LIST_VARIABLE) or (
            self._home().replace("bedrock-runtime", "bedrock", 1) if self._at_home else ""
        )
        return f"{home.rstrip('/')}/foundation-models" if home and self._is_own_address else ""

    def _no_address(self) -> UserError:
        return UserError(
            f"model {self.name!r} has no region, expected it in AWS_REGION; set that variable or pass region='us-east-1'"
        )

    def _url_for(self, request: ModelRequest) -> str:
        return f"{self._path}/converse-stream" if request.stream else f"{self._path}/converse"

    def _decoder(self) -> Decoder:
        return FrameDecoder()

    def _assembler(self, request: ModelRequest) -> ReplyAssembler:
        return ReplyAssembler(self.provider, model=self.name, fallback_id=request.request_id)

    def _encode_tools(self, tools: Sequence[ToolSpec | HandoffSpec], hosted: Sequence[HostedTool]) -> bytes:
        return encode_tools(tools, strict=self._strict_tools)


def _tool_choice(settings: ModelSettings) -> JsonObject:
    choices: dict[str | None, JsonObject] = {None: {}, "auto": {"auto": {}}, "required": {"any": {}}}
    name = settings.tool_choice
    return choices.get(name, {"tool": {"name": name}})


def _with_last_block(messages: Body, block: JsonObject) -> Body:
    """`messages` with one more block at the end of the last one's content."""
    parts = [messages] if isinstance(messages, bytes) else list(messages.parts)
    parts[-1] = b"%b,%b]}" % (parts[-1].removesuffix(b"]}"), to_json(block))
    return parts[0] if len(parts) == 1 else Pieces(parts)
