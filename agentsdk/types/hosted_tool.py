"""`HostedTool`: what all tools have in common that a provider runs itself. `hosted_tools.py` has them."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from typing import Any, cast

from agentsdk.types.permission import Permission


class HostedTool:
    """A tool that the model's provider runs: declared here, never called here. The kinds of it are frozen dataclasses."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """What it is called in results, like `"web_search"`. An agent has one of a name."""
        return re.sub("(?<=[a-z])(?=[A-Z])", "_", type(self).__name__.removesuffix("Tool")).lower()

    @property
    def level(self) -> Permission:
        """What a run must be granted for the model to be told of it."""
        return "read"

    @property
    def settings(self) -> dict[str, object]:
        """What was given for the provider, by the field's name: all that differs from the default."""
        given: dict[str, object] = {}
        for field in fields(cast(Any, self)):
            value: object = getattr(self, field.name)
            if field.name != "permission" and (field.default is MISSING or value != field.default):
                given[field.name] = value
        return given

    @property
    def declared(self) -> tuple[str, dict[str, object]]:
        """The tool as plain data that tells it from others, without its secrets."""
        shown = {field.name for field in fields(cast(Any, self)) if field.repr}
        return type(self).__name__, {name: value for name, value in self.settings.items() if name in shown}
