"""The names of `agentsdk.patterns`."""

from __future__ import annotations

from pathlib import Path

import agentsdk.patterns


def test_no_name_is_hidden_by_a_module_of_its_name() -> None:
    """Once `agentsdk.patterns.x` is imported it is what `from agentsdk.patterns import x` gives."""
    modules = {path.stem for path in Path(agentsdk.patterns.__file__).parent.iterdir()}
    assert not modules & set(agentsdk.patterns.__all__)
