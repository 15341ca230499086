"""`KeepSlashes`: an id in a path may have a slash, sent as `%2F`, which servers decode before routes are looked at."""

from __future__ import annotations

import re
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

_SLASH = "\0"
"""What stands for a slash within a part of a path: no id has that character."""


class KeepSlashes:
    """Decodes the path anew, in which an encoded slash does not part it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        raw: bytes = scope.get("raw_path") or b""  # some servers have none
        if b"%2f" in raw.lower():
            scope = {**scope, "path": unquote(re.sub("%2f", _SLASH, raw.decode("latin-1"), flags=re.IGNORECASE))}
        await self._app(scope, receive, send)


def id_in_path(part: str) -> str:
    """The id that a part of a path is."""
    return part.replace(_SLASH, "/")
