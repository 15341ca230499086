"""Agreeing on a protocol version with a server of either era.

A modern server answers `server/discover`. Whatever a server of the handshake era answers to it, an error, something else or
nothing, `initialize` follows. A server that says which versions it takes is asked once more for one of those.
"""

from __future__ import annotations

from mcp import types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError as WireError
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError


async def negotiate(session: ClientSession) -> None:
    """Make `session` ready. Raises the package's `MCPError`, and `RuntimeError` where no version suits both."""
    version, refused = LATEST_MODERN_VERSION, None
    for _ in range(2):
        try:
            found = types.DiscoverResult.model_validate(await session.send_discover(version))
            if _best(found.supported_versions) is not None:
                session.adopt(found)
                return
        except ValidationError:
            pass
        except WireError as error:
            other, is_modern = _named(error)
            if other is not None and refused is None:
                version, refused = other, error
                continue
            if is_modern:
                raise
        try:
            await session.initialize()
            return
        except WireError as error:  # a slow start: it had taken `discover` by then, so it is modern
            other, _ = _named(error)
            if other is None or refused is not None:
                raise
            version, refused = other, error
    assert refused is not None
    raise refused


def _best(versions: list[str]) -> str | None:
    return next((version for version in reversed(MODERN_PROTOCOL_VERSIONS) if version in versions), None)


def _named(error: WireError) -> tuple[str | None, bool]:
    """The best version that a refusal names and we speak, and whether the server speaks no version of the handshake era."""
    if error.code != UNSUPPORTED_PROTOCOL_VERSION:
        return None, False
    try:
        supported = types.UnsupportedProtocolVersionErrorData.model_validate(error.data).supported
    except ValidationError:
        return None, False
    return _best(supported), not any(version in HANDSHAKE_PROTOCOL_VERSIONS for version in supported)
