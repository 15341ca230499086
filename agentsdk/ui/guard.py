"""`Guard`: who gets through to the page and its API, and what a browser may do with what it gets.

A page on this machine is within reach of every other page that its user opens. So each request must name a host that is ours (a
strange name that leads here is none), one from a page must come from ours, and one for data must have the token, which no other
page can read. The answer lets no script run but the page's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from hmac import compare_digest
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentsdk.web.problems import problem

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Lets through what `hosts` are asked for, to `/api/` with the `token`."""

    def __init__(self, app: ASGIApp, token: str, hosts: Sequence[str]) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, guarded)
            return
        status, detail = refusal
        await problem(status, detail, headers={"connection": "close"})(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is not for us: a status and words."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _name(f"//{host}") not in self._hosts:
            return 403, f"the request is for host {host[:100]!r}, expected one that the page has; pass app(hosts=...)"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return 403, "the request comes from another page, expected this one; open the page itself"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "the request comes from another site, expected this page; open the page itself"
        inside = scope["path"].removeprefix(scope.get("root_path", ""))
        if inside.startswith("/api/") and not self._has_token(headers.get("authorization", "")):
            return (
                401,
                "the request has no token, or another one, expected that of this start; open the page by the printed URL",
            )
        return None

    def _has_token(self, given: str) -> bool:
        kind, _, token = given.partition(" ")
        return kind.lower() == "bearer" and compare_digest(token.encode(), self._token)


def _name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
