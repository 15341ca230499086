"""A server of access tokens, a service account whose tokens it gives, and models on fake servers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from agentsdk.models.vertex import VertexAnthropicModel, VertexGoogleModel
from agentsdk.testing import CapturedRequest, FakeServer, ServerReply
from agentsdk.testing.google_dialect import GoogleDialect
from agentsdk.types.base import JsonObject
from tests.models.wire import FakeClock

PROJECT, LOCATION = "my-project", "europe-west4"
PLACE = f"/v1/projects/{PROJECT}/locations/{LOCATION}"


class TokenServer(FakeServer):
    """Answers each request for a token with the next of the script."""

    def __init__(self, script: list[Any]) -> None:
        super().__init__(script, GoogleDialect())

    def _serves(self, path: str) -> bool:
        return True

    def _asked(self, request: CapturedRequest) -> JsonObject:
        return {}


def token(text: str, seconds: float = 3600) -> ServerReply:
    """The answer that gives a token."""
    return ServerReply(body={"access_token": text, "expires_in": int(seconds), "token_type": "Bearer"})


@cache
def private_key() -> str:
    """A key of a service account that nobody knows."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return made.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def service_account(folder: Path, token_url: str, **more: str) -> Path:
    """The file of a service account whose tokens come from `token_url`."""
    fields = {
        "type": "service_account",
        "project_id": PROJECT,
        "private_key_id": "1",
        "private_key": private_key(),
        "client_email": "agent@my-project.iam.gserviceaccount.com",
        "token_uri": token_url,
        **more,
    }
    path = folder / "account.json"
    path.write_text(json.dumps(fields))
    return path


def gemini_at(server: FakeServer, **options: Any) -> VertexGoogleModel:
    """A Gemini model served by `server` that waits for nothing."""
    options.setdefault("clock", FakeClock())
    return VertexGoogleModel("gemini-test", project=PROJECT, location=LOCATION, base_url=server.url, **options)


def claude_at(server: FakeServer, **options: Any) -> VertexAnthropicModel:
    """A Claude model served by `server` that waits for nothing."""
    options.setdefault("clock", FakeClock())
    return VertexAnthropicModel("claude-test@20250929", project=PROJECT, location=LOCATION, base_url=server.url, **options)
