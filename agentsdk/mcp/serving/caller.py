"""`Caller`: the client that made a request, and the person behind it: what can be asked of them, and told to them meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import mcp_types as wire
import msgspec
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import principal_components
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agentsdk.mcp.serving.options import MCPRequest


class Caller:
    """One request of a client."""

    def __init__(self, request: ServerRequestContext[Any, Any]) -> None:
        self._request = request
        self._told = 0

    @property
    def repeats(self) -> bool:
        """Whether the client is asked by repeating its request with the answers (2026-07-28), not while it waits."""
        return self._request.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def may_have_left(self) -> bool:
        """Whether a cancellation of its request may be no more than the end of its connection."""
        return self.repeats and self._request.request is not None

    @property
    def wants_progress(self) -> bool:
        """Whether it asked to be told of progress."""
        return "progress_token" in (self._request.meta or {})

    @property
    def can_be_asked(self) -> bool:
        """Whether the person behind it can be shown a form."""
        declared = self._request.session.client_capabilities
        asks = None if declared is None else declared.elicitation
        if asks is None or (asks.form is None and asks.url is not None):
            return False
        return self.repeats or self._request.session.can_send_request

    async def ask(self, questions: Mapping[str, wire.ElicitRequest], timeout: float) -> dict[str, wire.ElicitResult]:
        """A person's answers to each question in turn, while the request waits; those that came within `timeout` seconds."""
        answers: dict[str, wire.ElicitResult] = {}
        try:
            async with asyncio.timeout(timeout):
                for key, question in questions.items():
                    form = question.params
                    assert isinstance(form, wire.ElicitRequestFormParams)
                    answers[key] = await self._request.session.elicit_form(
                        form.message, form.requested_schema, related_request_id=self._request.request_id
                    )
        except (TimeoutError, MCPError, ValueError):  # nobody answered, or not in the protocol: the call goes on waiting
            pass
        return answers

    async def tell(self, message: str) -> None:
        """Tell of progress, where that is wanted."""
        if self.wants_progress:
            self._told += 1
            await self._request.session.report_progress(self._told, None, message)

    def describe(self, tool: str = "", run_id: str = "") -> MCPRequest:
        """The request as the `context` callable sees it."""
        http = self._request.request
        user: object = None if http is None else http.scope.get("user")
        params = self._request.session.client_params
        return MCPRequest(
            tool=tool,
            run_id=run_id,
            principal=_principal(user),
            user=user,
            client="" if params is None else f"{params.client_info.name} {params.client_info.version}".strip(),
            protocol_version=self._request.protocol_version,
            headers={} if http is None else dict(http.headers),
        )


def _principal(user: object) -> str:
    """A text that names an authenticated user, the same in every process; `""` for nobody."""
    if isinstance(user, AuthenticatedUser):
        return msgspec.json.encode(principal_components(user.access_token)).decode()
    if not getattr(user, "is_authenticated", False):
        return ""
    try:
        return str(getattr(user, "identity", None) or getattr(user, "display_name", ""))
    except NotImplementedError:  # Starlette's simple user has only a name to display
        return str(getattr(user, "display_name", ""))
