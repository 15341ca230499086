"""Settings of sessions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass
class SessionSettings:
    """`limit`: how many of the latest items a run reads, None for all."""

    limit: int | None = None

    def resolve(self, override: SessionSettings | dict[str, Any] | None) -> SessionSettings:
        """These settings with every value that `override` gives."""
        if override is None:
            return self
        given = coerce_session_settings(override)
        changes = {name: value for name, value in vars(given).items() if value is not None}
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """The settings as a dict."""
        return dataclasses.asdict(self)


def coerce_session_settings(given: SessionSettings | dict[str, Any]) -> SessionSettings:
    """Settings that may be given as a dict."""
    return SessionSettings(**given) if isinstance(given, Mapping) else given


def resolve_session_limit(explicit_limit: int | None, settings: SessionSettings | dict[str, Any] | None) -> int | None:
    """The limit that counts: the one given, else that of the settings."""
    if explicit_limit is not None or settings is None:
        return explicit_limit
    return coerce_session_settings(settings).limit
