"""Every store keeps every rule of the suite."""

from __future__ import annotations

import pytest

from agentsdk.testing.store_conformance import CHECKS, Check
from tests.stores.stores import STORES

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
@pytest.mark.parametrize("name", STORES)
async def test_it_keeps_the_rule(name: str, check: Check, request: pytest.FixtureRequest) -> None:
    case = STORES[name]
    await check(case.factory(request), shared=case.shared, workers=3 if check.shared else 8)
