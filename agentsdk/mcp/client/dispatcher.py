"""Between the official session and the wire: lists are mended before the session checks them, and the end is noticed.

The session refuses a whole list for one definition that is not the protocol. Here such an entry is left out, and said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import anyio.abc
from anyio import TASK_STATUS_IGNORED
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions, Dispatcher, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.transport_context import TransportContext
from mcp_types import methods
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from agentsdk.ports.mcp import MCPEvents
from agentsdk.types.text import escaped, shortened

LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
"""The requests that are answered with a list, and where in the answer it is."""


def _variants(method: str, entry: object) -> Iterator[object]:
    """An entry of a list; of a tool then what can be saved of it, without what it may do without."""
    yield entry
    if method != "tools/list" or not isinstance(entry, dict):
        return
    tool = cast("dict[str, object]", entry)
    schema = tool.get("inputSchema")
    if isinstance(schema, dict):
        tool = tool | {"inputSchema": {"type": "object"} | cast("dict[str, object]", schema)}
        yield tool
        needed = {name: value for name, value in tool.items() if name in ("name", "description", "inputSchema")}
        for extras in (("outputSchema", "annotations"), ("outputSchema",), ()):
            yield needed | {name: tool[name] for name in extras if name in tool}


class WatchedDispatcher(Dispatcher[TransportContext]):
    """The package's dispatcher, with its answers mended. `session` is set once there is one; `is_open` until it has stopped.

    `discover_seconds` is how long the first request may go unanswered: a server of the handshake era may ignore it.
    """

    def __init__(self, inner: Dispatcher[TransportContext], events: MCPEvents, discover_seconds: float) -> None:
        self._inner = inner
        self._events = events
        self._discover_seconds = discover_seconds
        self.session: ClientSession | None = None
        self.is_open = True
        self.heard = 0
        """How often the server has answered a request."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        if method == "server/discover" and opts is not None:
            opts["timeout"] = self._discover_seconds
        raw = await self._inner.send_raw_request(method, params, opts)
        self.heard += 1
        if method in LISTS:
            return self._mended(method, raw)
        return raw

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        await self._inner.notify(method, params, opts)

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = TASK_STATUS_IGNORED,
    ) -> None:
        try:
            await self._inner.run(on_request, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self.is_open = False
            self._events.ended()

    def _mended(self, method: str, raw: dict[str, Any]) -> dict[str, Any]:
        """The answer to a list without the entries that are not the protocol."""
        key = LISTS[method]
        entries = raw.get(key)
        if not isinstance(entries, list) or self._is_valid(method, raw):
            return raw
        for hint in ("ttlMs", "cacheScope", "_meta"):  # a wrong hint must not cost the list
            if hint in raw and not self._is_valid(method, {**raw, key: []}):
                raw = {name: value for name, value in raw.items() if name != hint}
                if hint != "_meta" and not self._is_valid(method, {**raw, key: []}):
                    raw[hint] = 0 if hint == "ttlMs" else "private"
        kept: list[object] = []
        for place, entry in enumerate(cast("list[object]", entries)):
            fitting = next((one for one in _variants(method, entry) if self._is_valid(method, {**raw, key: [one]})), None)
            if fitting is not None:
                kept.append(fitting)
                continue
            given = cast("dict[str, object]", entry).get("name") if isinstance(entry, dict) else None
            name = f" {shortened(escaped(given), 80)!r}" if isinstance(given, str) else ""
            self._events.warn(f"entry {place + 1}{name} of its {method} is not the protocol, so it was left out")
        return {**raw, key: kept}

    def _is_valid(self, method: str, raw: Mapping[str, Any]) -> bool:
        session = self.session
        version = (session.protocol_version if session is not None else None) or LATEST_HANDSHAKE_VERSION
        try:
            methods.validate_server_result(method, version, raw)
        except KeyError:
            return True
        except ValidationError:
            return False
        return True
