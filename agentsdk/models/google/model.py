"""`GoogleModel`: the adapter for Google's `generateContent`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack
from urllib.parse import quote

from agentsdk.core.output_prompt import prompt_for
from agentsdk.models.google.calls import computer_tool, encode_computer
from agentsdk.models.google.encode import ContentEncoder, encode_tools
from agentsdk.models.google.reply import ReplyAssembler
from agentsdk.models.google.schema import to_google
from agentsdk.models.http_model import HttpModel, given_settings, refuse_hosted, refuse_settings
from agentsdk.models.loose import as_list, as_object
from agentsdk.models.options import HttpModelOptions
from agentsdk.models.prefix import Body, framed, to_json
from agentsdk.models.thinking import GEMINI_BUDGETS, gemini_before_3, gemini_thinking, given_thinking
from agentsdk.ports.model import ModelRequest
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import FLAG, Fields
from agentsdk.types.errors import UserError
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import HandoffSpec, ToolSpec

DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com"
_API = "Google's generateContent"
_UNSUPPORTED = (
    *("metadata", "logit_bias", "verbosity", "store"),
    *("prompt_cache_key", "prompt_cache_retention", "truncation"),
)


_FIELDS = Fields("GoogleModel", include_thoughts=FLAG)


class GoogleModel(HttpModel):
    """A Gemini model behind `POST {base_url}/v1beta/models/{model}:generateContent`.

    `include_thoughts` asks for summaries of the model's thoughts.

    `options` are those of every adapter: see `HttpModelOptions`. `base_url` defaults to GOOGLE_BASE_URL, `api_key` to
    GEMINI_API_KEY or GOOGLE_API_KEY, and `provider` to `"google"`.

    Raises `UserError` for a `base_url`, key or header that cannot be used.
    """

    _default_base_url = DEFAULT_BASE_URL
    _base_url_variable = "GOOGLE_BASE_URL"
    _key_variables: ClassVar[tuple[str, ...]] = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    _models_path = "/v1beta/models"
    _end_grace = 5.0  # a finish reason is no end here: more may follow

    def __init__(
        self,
        model: str,
        *,
        include_thoughts: bool = False,
        **options: Unpack[HttpModelOptions],
    ) -> None:
        _FIELDS.check_given(include_thoughts=include_thoughts)
        options.setdefault("provider", "google")
        super().__init__(model, **options)
        self._path = model if "/" in model else f"models/{model}"
        self._include_thoughts = include_thoughts
        # Gemini 1 and 2 check no signatures, count thinking in tokens, and take no output schema beside tools.
        self._before_3 = gemini_before_3(model)
        self._encoder = ContentEncoder(self.provider, signs=not self._before_3)

    def body(self, request: ModelRequest) -> Body:
        """The request's body: instructions, settings and tools before the encoded contents."""
        settings = request.settings
        refuse_hosted(request, _API)
        refuse_settings(settings, _API, *_UNSUPPORTED)
        if settings.parallel_tool_calls is False:
            raise UserError(f"ModelSettings(parallel_tool_calls=False) is not available with {_API}; leave it out")
        fields: JsonObject = {}
        instructions, output = request.instructions, request.output
        config = self._sampling(settings)
        takes_json = not ((request.tools or request.hosted) and self._before_3)
        if output is not None and (output.is_asked_for or not takes_json):
            instructions = "\n\n".join(filter(None, [instructions, prompt_for(output)]))
        elif output is not None:
            config["responseJsonSchema"] = to_google(output.schema)
        if output is not None and output.mode != "prompted" and takes_json:
            config["responseMimeType"] = "application/json"
        if instructions:
            fields["systemInstruction"] = {"parts": [{"text": instructions}]}
        if request.tools:
            fields["tools"] = [{"functionDeclarations": self._encoded_tools(request.tools)}]
            if (computer := computer_tool(request.tools)) is not None:
                own = encode_computer(computer, request.tools)
                fields["tools"] = [*as_list(fields["tools"]), own] if len(request.tools) > 1 else [own]
            if settings.tool_choice is not None:
                fields["toolConfig"] = {"functionCallingConfig": _tool_choice(settings.tool_choice)}
        if request.hosted:
            self._add_hosted(fields, request)
        if config:
            fields["generationConfig"] = config
        if settings.service_tier is not None:
            fields["serviceTier"] = settings.service_tier
        _merge(fields, settings.extra_body or {})
        contents = self._encoder.encode(request.items, request.tail)
        if not contents.startswith(_FROM_USER):  # a conversation begins with its user, and is never empty
            contents = framed(_NOTHING_SAID + b",", contents) if contents else _NOTHING_SAID
        head = to_json(fields)[:-1]
        return framed(b'%b%b"contents":[' % (head, b"," if fields else b""), contents, b"]}")

    def _add_hosted(self, fields: JsonObject, request: ModelRequest) -> None:
        """The hosted tools, beside functions in such a way that what they did can go back."""
        from agentsdk.models.google.hosted import encode_hosted

        fields["tools"] = [*as_list(fields.get("tools")), *encode_hosted(request.hosted)]
        if request.tools:  # Google demands it, and takes no "AUTO" with it
            chosen = {} if request.settings.tool_choice == "auto" else as_object(fields.get("toolConfig"))
            fields["toolConfig"] = {**chosen, "includeServerSideToolInvocations": True}

    def _sampling(self, settings: ModelSettings) -> JsonObject:
        config: JsonObject = {_NAMES[name]: value for name, value in given_settings(settings, *_NAMES).items()}
        if settings.top_logprobs is not None:
            config["responseLogprobs"] = True
        thinking: JsonObject = {"includeThoughts": True} if self._include_thoughts else {}
        if (effort := settings.reasoning_effort) is not None:
            if effort not in GEMINI_BUDGETS:
                raise UserError(
                    f"reasoning_effort={effort!r} is not known to {_API}; expected one of {', '.join(GEMINI_BUDGETS)}"
                )
            if self._before_3 or effort == "none":
                thinking["thinkingBudget"] = GEMINI_BUDGETS[effort]
            else:
                thinking["thinkingLevel"] = effort
        elif (given := given_thinking(settings)) is not None:
            thinking |= gemini_thinking(given, self.name)
        if thinking:
            config["thinkingConfig"] = thinking
        return config

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many input tokens `request` would use, as the provider counts. Raises like `stream`."""
        body = b'{"generateContentRequest":{"model":%b,%b}' % (to_json(self._path), bytes(self.body(request))[1:])
        return await self._count(request, self._url("countTokens"), body, "totalTokens")

    def _url_for(self, request: ModelRequest) -> str:
        return self._url("streamGenerateContent?alt=sse" if request.stream else "generateContent")

    def _url(self, method: str) -> str:
        return f"{self.base_url}/v1beta/{quote(self._path, safe='/-_.~@')}:{method}"

    def _auth_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}

    def _encode_tools(self, tools: Sequence[ToolSpec | HandoffSpec], hosted: Sequence[HostedTool]) -> bytes:
        return encode_tools(tools)

    def _assembler(self, request: ModelRequest) -> ReplyAssembler:
        return ReplyAssembler(self.provider, fallback_id=request.request_id, computer=computer_tool(request.tools))


_FROM_USER = b'{"role":"user"'
_NOTHING_SAID = b'{"role":"user","parts":[{"text":""}]}'
_NAMES = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
    "logprobs": "responseLogprobs",
    "top_logprobs": "logprobs",
}
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}


def _tool_choice(choice: str) -> JsonObject:
    return {"mode": _MODES[choice]} if choice in _MODES else {"mode": "ANY", "allowedFunctionNames": [choice]}


def _merge(fields: JsonObject, extra: JsonObject) -> None:
    """Add `extra` to `fields`: to an object or a list that both have, else in its place."""
    if "contents" in extra:
        raise UserError("extra_body holds 'contents', which are the run's own; pass them as input or instructions")
    for name, value in extra.items():
        known = fields.get(name)
        if as_object(known) and as_object(value):
            fields[name] = {**as_object(known), **as_object(value)}
        elif as_list(known) and as_list(value):
            fields[name] = [*as_list(known), *as_list(value)]
        else:
            fields[name] = value
