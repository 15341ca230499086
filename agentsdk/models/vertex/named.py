"""Models at Vertex AI by their names."""

from __future__ import annotations

import os

from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.vertex.auth import GoogleAuth
from agentsdk.models.vertex.claude import VertexAnthropicModel
from agentsdk.models.vertex.gemini import VertexGoogleModel
from agentsdk.models.vertex.place import BASE_URL_VARIABLE, home_of, known_location, known_project, path_of
from agentsdk.ports.model import Model


def vertex_model(name: str) -> Model:
    """The model called `name`, in the project and location of the environment.

    `"claude-..."` is Anthropic's, `"meta/llama-..."` and the like another publisher's, everything else Google's. Raises
    `UserError` where the project is missing.
    """
    if name.startswith("claude-"):
        return VertexAnthropicModel(name)
    if "/" not in name or name.startswith(("projects/", "publishers/")):
        return VertexGoogleModel(name)
    location = known_location(None)
    server = os.environ.get(BASE_URL_VARIABLE) or home_of(location)
    root = f"{server}{path_of(known_project(None, name), location)}"
    return OpenAIChatCompletionsModel(name, base_url=f"{root}/endpoints/openapi", auth=GoogleAuth())
