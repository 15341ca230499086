"""`OpenAIResponsesModel`: the adapter for the Responses API."""

from __future__ import annotations

import random as _random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from msgspec import Raw

from agentsdk.models.http import ModelTimeouts, Transport
from agentsdk.models.http_model import HttpModel, given_settings, merge_extra_body, refuse_settings
from agentsdk.models.openai_responses.encode import InputEncoder, encode_tools, output_format
from agentsdk.models.openai_responses.reply import ResponseAssembler
from agentsdk.models.prefix import to_json
from agentsdk.ports.clock import Clock
from agentsdk.ports.model import ModelRequest
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.spec import HandoffSpec, ToolSpec

if TYPE_CHECKING:
    import httpx

_WITHOUT_REASONING = ("gpt-3", "gpt-4", "chatgpt-", "gpt-5-chat")
_UNSUPPORTED = ("stop", "seed", "frequency_penalty", "presence_penalty")
_MERGED = ("text", "reasoning", "include", "tools")


class OpenAIResponsesModel(HttpModel):
    """A model behind `POST {base_url}/responses`, at OpenAI or any compatible server.

    `base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY; the key of the environment goes only to the
    `base_url` of the environment (or OpenAI's), so another `base_url` needs its own `api_key`, or none.

    Requests are stateless: each carries the whole history, and the server is told not to keep the reply. `store=True` lets it.
    `encrypted_reasoning` asks for reasoning in the sealed form that can be sent back although nothing is stored; by default
    where OpenAI's model reasons (its other models refuse to be asked), and elsewhere not. `provider` names where reasoning and
    the provider's own items come from and may be sent back to; by default the host, with `/responses`. The provider's own tools
    (web search and others) are asked for in `ModelSettings(extra_body={"tools": [...]})`, which adds to the agent's tools.

    `http_client` is an `httpx.AsyncClient` or a `Transport` and is never closed here; without one, all models of an event loop
    share a client. `clock` and `random` are for tests.

    Raises `UserError` for a `base_url`, key or header that cannot be used.
    """

    _default_base_url = "https://api.openai.com/v1"
    _base_url_variable = "OPENAI_BASE_URL"
    _key_variables = ("OPENAI_API_KEY",)

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        http_client: httpx.AsyncClient | Transport | None = None,
        timeouts: ModelTimeouts | None = None,
        retry: ModelRetrySettings | None = None,
        headers: Mapping[str, str] | None = None,
        provider: str | None = None,
        store: bool = False,
        encrypted_reasoning: bool | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] = _random.random,
    ) -> None:
        super().__init__(
            model,
            base_url=base_url,
            api_key=api_key,
            http_client=http_client,
            timeouts=timeouts,
            retry=retry,
            headers=headers,
            provider=provider,
            clock=clock,
            random=random,
        )
        if provider is None:  # reasoning of the same host's chat completions has another form
            self.provider = f"{self.provider}/responses"
        self._store = store
        if encrypted_reasoning is None:
            encrypted_reasoning = self._at_home and not model.startswith(_WITHOUT_REASONING)
        self._encrypted_reasoning = encrypted_reasoning
        self._encoder = InputEncoder(self.provider, stored=store)

    def body(self, request: ModelRequest) -> bytes:
        """The request's body: settings and tools around the encoded input."""
        settings = request.settings
        refuse_settings(settings, "the Responses API", *_UNSUPPORTED)
        fields: JsonObject = {"model": self.name, **given_settings(settings, "temperature", "top_p", "metadata")}
        if settings.max_tokens is not None:
            fields["max_output_tokens"] = settings.max_tokens
        if settings.reasoning_effort is not None:
            fields["reasoning"] = {"effort": settings.reasoning_effort}
        if request.tools:
            fields["tools"] = self._encoded_tools(request.tools)
            if settings.tool_choice is not None:
                fields["tool_choice"] = _tool_choice(settings.tool_choice)
            if settings.parallel_tool_calls is not None:
                fields["parallel_tool_calls"] = settings.parallel_tool_calls
        if request.output is not None:
            fields["text"] = {"format": output_format(request.output)}
        if request.instructions:
            fields["instructions"] = request.instructions
        fields["stream"] = request.stream
        fields["store"] = self._store
        if self._encrypted_reasoning:
            fields["include"] = ["reasoning.encrypted_content"]
        _merge(fields, settings)
        entries = self._encoder.encode(request.items, request.tail)
        return b'%b,"input":[%b]}' % (to_json(fields)[:-1], entries)

    def _url_for(self, request: ModelRequest) -> str:
        return f"{self.base_url}/responses"

    def _auth_headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def _encode_tools(self, tools: Sequence[ToolSpec | HandoffSpec]) -> bytes:
        return encode_tools(tools)

    def _assembler(self, request: ModelRequest) -> ResponseAssembler:
        return ResponseAssembler(self.provider, fallback_id=request.request_id)


def _merge(fields: JsonObject, settings: ModelSettings) -> None:
    """Merge `extra_body`: its `text`, `reasoning`, `include` and `tools` add to what the request says itself."""
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
    if fields.get("background"):
        raise UserError("extra_body holds 'background', whose reply does not come with the answer; leave it out")


def _tool_choice(choice: str) -> object:
    return choice if choice in ("auto", "required", "none") else {"type": "function", "name": choice}
