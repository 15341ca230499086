"""Adapters that differ in their credentials only are run against a sample of the fault matrix."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

from tests.whole import WHOLE


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a fault that is tried streamed and not, one of the two is kept, by turns: every fault stays, for every adapter."""
    if WHOLE:
        return
    turns: dict[Hashable, bool] = {}
    left_out: list[pytest.Item] = []
    for item in items:
        if not getattr(getattr(item, "cls", None), "sampled", False) or not hasattr(item, "callspec"):
            continue
        params: dict[str, Any] = item.callspec.params
        if "streamed" in params:
            turn = turns.setdefault(_fault(item), len(turns) % 2 == 0)
            if params["streamed"] is not turn:
                left_out.append(item)
    if left_out:
        gone = {*left_out}
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left_out)


def _fault(item: Any) -> Hashable:
    """The same for both ways of one fault."""
    indices = tuple(sorted((name, index) for name, index in item.callspec.indices.items() if name != "streamed"))
    return item.cls, item.originalname, indices
