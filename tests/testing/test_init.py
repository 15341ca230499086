from __future__ import annotations

import pytest

import agentsdk.testing


def test_every_name_is_there() -> None:
    for name in agentsdk.testing.__all__:
        assert getattr(agentsdk.testing, name).__module__.startswith("agentsdk.testing.")
    with pytest.raises(AttributeError, match="no_such"):
        _ = agentsdk.testing.no_such  # type: ignore[attr-defined]
