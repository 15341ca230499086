"""`VertexAdapter`: what the adapters for Vertex AI share: a location, a project, and the credentials of Google Cloud."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agentsdk.models.http_model import HttpModel
from agentsdk.models.options import HttpModelOptions
from agentsdk.models.vertex.auth import GoogleAuth
from agentsdk.models.vertex.place import BASE_URL_VARIABLE, home_of, known_location, known_project
from agentsdk.types.declared import Fields, a_name, optional


def place_fields(adapter: str) -> Fields:
    """What `project` and `location` of an adapter must be."""
    return Fields(
        adapter,
        project=optional(a_name("the id of a project; write 'my-project'")),
        location=optional(a_name("the name of a location; write 'global' or 'us-central1'")),
    )


class VertexAdapter(HttpModel):
    """Stands before the adapter for the vendor's own server. `_take_location` comes before its `__init__`, which asks for the
    address, `_take_project` after it."""

    _default_base_url = ""  # it is the location's
    _base_url_variable = BASE_URL_VARIABLE
    _key_variables: ClassVar[tuple[str, ...]] = ()
    location: str
    project: str

    def _take_location(self, location: str | None, options: HttpModelOptions, provider: str) -> None:
        self.location = known_location(location)
        if options.get("provider") is None:
            options["provider"] = provider

    def _take_project(self, project: str | None, model: str, options: Mapping[str, object]) -> None:
        self.project = known_project(project, model)
        if self._is_own_address and options.get("api_key") is None and not self._has_credential:
            self._auth = GoogleAuth()
        self._who = f"model {model!r} in location {self.location!r} of Vertex AI"

    def _home(self) -> str:
        return home_of(self.location)
