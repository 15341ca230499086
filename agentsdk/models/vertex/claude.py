"""`VertexAnthropicModel`: the adapter for Anthropic's Messages API at Vertex AI."""

from __future__ import annotations

from typing import Literal, Unpack
from urllib.parse import quote

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.models.anthropic.encode import MessageEncoder
from agentsdk.models.anthropic.model import DEFAULT_MAX_TOKENS
from agentsdk.models.hosted import check_hosted_tools
from agentsdk.models.options import HttpModelOptions
from agentsdk.models.vertex.adapter import VertexAdapter, place_fields
from agentsdk.models.vertex.features import ANTHROPIC
from agentsdk.models.vertex.place import path_of
from agentsdk.ports.model import ModelRequest
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.items import InputFile, InputImage, Media

_API = "Anthropic's models at Vertex AI"
_VERSION = "vertex-2023-10-16"
_FIELDS = place_fields("VertexAnthropicModel")


class VertexEncoder(MessageEncoder, frozen=True):
    """Encodes for Vertex AI, which keeps no files."""

    def media_block(self, part: Media) -> JsonObject:
        """An image or a document."""
        if isinstance(part, InputImage | InputFile) and part.file_id:
            raise UserError(f"{_API} know no file_id, expected the data or an address; send one of them")
        return super().media_block(part)


class VertexAnthropicModel(VertexAdapter, AnthropicModel):
    """A Claude model of Vertex AI behind `POST {base_url}/v1/projects/.../publishers/anthropic/models/{model}:rawPredict`.

    `project` defaults to GOOGLE_CLOUD_PROJECT, `location` to GOOGLE_CLOUD_LOCATION or `"global"`. `max_tokens`, `cache`,
    `native_output` and `strict_tools` are those of `AnthropicModel`.

    Requests carry access tokens of the default credentials (extra `vertex`, see `GoogleAuth`), or an `api_key` of Google Cloud.
    `base_url` defaults to GOOGLE_VERTEX_BASE_URL or the location's address; another one needs its own `api_key` or `auth`.
    `provider` defaults to `"vertex-anthropic"`. `options` are those of every adapter: see `HttpModelOptions`.

    Raises `UserError` for a missing project or package, and a `base_url`, key or header that cannot be used.
    """

    _models_path = "/v1beta1/publishers/anthropic/models?pageSize=1"

    def __init__(
        self,
        model: str,
        *,
        project: str | None = None,
        location: str | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        cache: Literal["5m", "1h"] | None = None,
        native_output: bool = True,
        strict_tools: bool = False,
        **options: Unpack[HttpModelOptions],
    ) -> None:
        _FIELDS.check_given(project=project, location=location)
        self._take_location(location, options, "vertex-anthropic")
        super().__init__(
            model, max_tokens=max_tokens, cache=cache, native_output=native_output, strict_tools=strict_tools, **options
        )
        self._encoder = VertexEncoder(self.provider)
        self._take_project(project, model, options)
        self._models = f"{self.base_url}{path_of(self.project, self.location)}/publishers/anthropic/models"

    def _fields(self, request: ModelRequest) -> JsonObject:
        check_hosted_tools(request.hosted, ANTHROPIC.hosted_tools, _API)
        fields = {"anthropic_version": _VERSION, **super()._fields(request)}
        del fields["model"]
        return fields

    def _counted(self, request: ModelRequest) -> JsonObject:
        return {"anthropic_version": _VERSION, "model": self.name, **super()._counted(request)}

    def _counting_url(self) -> str:
        return f"{self._models}/count-tokens:rawPredict"

    def _url_for(self, request: ModelRequest) -> str:
        method = "streamRawPredict" if request.stream else "rawPredict"
        return f"{self._models}/{quote(self.name, safe='-._~@', errors='replace')}:{method}"

    def _auth_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}
