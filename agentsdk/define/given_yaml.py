"""What is given from outside as YAML text: a plan, the cases of an eval."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agentsdk.types.errors import UserError

_MAX_DEPTH = 64
"""How deep it may nest: to read it takes a time that grows with the square of that."""


def read_yaml(text: str, what: str) -> object:
    """The value of YAML text, which has no aliases. `what` needs it.

    Raises `ValueError` for a text that cannot be read, and `UserError` where PyYAML is not installed.
    """
    try:
        yaml: Any = import_module("yaml")
    except ImportError:
        raise UserError(f"{what} needs PyYAML, expected it installed; run pip install agentsdk[yaml]") from None
    try:
        depth = 0
        for event in yaml.parse(text):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH or isinstance(event, yaml.AliasEvent):  # a few aliases of aliases are billions of values
                raise ValueError(f"has aliases (*name), or is more than {_MAX_DEPTH} levels deep, expected neither")
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, OverflowError) as error:
        raise ValueError(f"cannot be read as YAML ({type(error).__name__})") from None
