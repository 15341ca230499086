"""The count that the fault matrix prints: each way that no case may end is seen as what it is."""

from __future__ import annotations

import asyncio

import pytest

from agentsdk.testing import ScriptedModel, call
from agentsdk.types.errors import IncompleteResponseError, ModelError
from tests.models import tally
from tests.models.wire import request

pytestmark = pytest.mark.anyio


async def test_each_end_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(tally, "DEADLINE", 0.05)
    model = ScriptedModel([ValueError(), never, "text", call("add"), IncompleteResponseError("cut"), "text"])
    counted = tally.Tally()
    for ends_in in (ValueError, TimeoutError, pytest.fail.Exception, pytest.fail.Exception):
        with pytest.raises(ends_in):
            await counted.error(ModelError, model, request())
    assert isinstance(await counted.error(ModelError, model, request()), IncompleteResponseError)
    assert (await counted.ask(model, request(stream=True))).text == "text"
    assert counted.lines() == [
        "whole: 5 cases, 1 untyped, 1 hung, 1 silent, 1 unproven",
        "streamed: 1 cases, 0 untyped, 0 hung, 0 silent, 0 unproven",
    ]
