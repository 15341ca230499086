from __future__ import annotations

from typing import Any

import pytest

from agentsdk.models.google import GoogleModel
from agentsdk.testing import FakeServer
from agentsdk.testing.google_dialect import FakeGoogleServer
from tests.models.fault_matrix import KEY
from tests.models.faults import WireFaults


class TestFaults(WireFaults):
    adapter = "GoogleModel"
    before_text = 0
    after_text = 0

    @pytest.fixture(autouse=True)
    @classmethod
    def _quick_end(cls, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(GoogleModel, "_end_grace", 0.2)

    def server(self, script: list[Any]) -> FakeServer:
        return FakeGoogleServer(script)

    def model(self, server: FakeServer, **options: Any) -> GoogleModel:
        return GoogleModel("gemini-test", base_url=server.base_url, api_key=KEY, **options)
