"""`VertexGoogleModel`: the adapter for Google's `generateContent` at Vertex AI."""

from __future__ import annotations

from typing import Unpack
from urllib.parse import quote

from agentsdk.models.google import GoogleModel
from agentsdk.models.google.hosted import encode_hosted
from agentsdk.models.loose import as_list
from agentsdk.models.options import HttpModelOptions
from agentsdk.models.vertex.adapter import VertexAdapter, place_fields
from agentsdk.models.vertex.features import GOOGLE
from agentsdk.models.vertex.place import path_of
from agentsdk.ports.model import ModelRequest
from agentsdk.types.base import JsonObject

_FIELDS = place_fields("VertexGoogleModel")


class VertexGoogleModel(VertexAdapter, GoogleModel):
    """A Gemini model of Vertex AI behind `POST {base_url}/v1/projects/.../publishers/google/models/{model}:generateContent`.

    `model` is the name of one of Google's models, `"publishers/..."` for another's, or `"projects/.../endpoints/..."` for one
    that you have tuned. `project` defaults to GOOGLE_CLOUD_PROJECT, `location` to GOOGLE_CLOUD_LOCATION or `"global"`.
    `include_thoughts` asks for summaries of the model's thoughts.

    Requests carry access tokens of the default credentials (extra `vertex`, see `GoogleAuth`), or an `api_key` of Google Cloud.
    `base_url` defaults to GOOGLE_VERTEX_BASE_URL or the location's address; another one needs its own `api_key` or `auth`.
    `provider` defaults to `"vertex-google"`. `options` are those of every adapter: see `HttpModelOptions`.

    Raises `UserError` for a missing project or package, and a `base_url`, key or header that cannot be used.
    """

    _models_path = "/v1beta1/publishers/google/models?pageSize=1"

    def __init__(
        self,
        model: str,
        *,
        project: str | None = None,
        location: str | None = None,
        include_thoughts: bool = False,
        **options: Unpack[HttpModelOptions],
    ) -> None:
        _FIELDS.check_given(project=project, location=location)
        self._take_location(location, options, "vertex-google")
        super().__init__(model, include_thoughts=include_thoughts, **options)
        self._take_project(project, model, options)
        self._path = model if "/" in model else f"publishers/google/models/{model}"

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many input tokens `request` would use, as the provider counts. Raises like `stream`."""
        return await self._count(request, self._url("countTokens"), self.body(request), "totalTokens")

    def _add_hosted(self, fields: JsonObject, request: ModelRequest) -> None:
        fields["tools"] = [*as_list(fields.get("tools")), *encode_hosted(request.hosted, GOOGLE.hosted_tools, "Vertex AI")]

    def _url(self, method: str) -> str:
        root = "/v1" if self._path.startswith("projects/") else path_of(self.project, self.location)
        return f"{self.base_url}{root}/{quote(self._path, safe='/-_.~@', errors='replace')}:{method}"
