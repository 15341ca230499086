"""Where models are at Vertex AI: in a location of a project."""

from __future__ import annotations

import os
import re
from urllib.parse import quote

from agentsdk.types.declared import shown
from agentsdk.types.errors import UserError

BASE_URL_VARIABLE = "GOOGLE_VERTEX_BASE_URL"
_EVERYWHERE = "global"
_CONTINENTS = ("us", "eu")
_LOCATION = re.compile(r"[a-z0-9-]+")


def known_project(project: str | None, model: str) -> str:
    """`project`, or that of GOOGLE_CLOUD_PROJECT. Raises `UserError` where neither says."""
    found = project or os.environ.get("GOOGLE_CLOUD_PROJECT")
    if not found:
        raise UserError(
            f"model {model!r} at Vertex AI has no project, expected it in GOOGLE_CLOUD_PROJECT; set that variable or pass "
            "project='my-project'"
        )
    return found


def known_location(location: str | None) -> str:
    """`location`, or that of GOOGLE_CLOUD_LOCATION, or "global". Raises `UserError` for what cannot stand in an address."""
    found = location or os.environ.get("GOOGLE_CLOUD_LOCATION") or _EVERYWHERE
    if not _LOCATION.fullmatch(found):
        raise UserError(f"location {shown(found)} is none of Vertex AI, expected letters, digits and '-'; write 'us-central1'")
    return found


def home_of(location: str) -> str:
    """The server of a location."""
    if location == _EVERYWHERE:
        return "https://aiplatform.googleapis.com"
    if location in _CONTINENTS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def path_of(project: str, location: str) -> str:
    """What the paths of a location begin with."""
    return f"/v1/projects/{quote(project, safe=':', errors='replace')}/locations/{location}"
