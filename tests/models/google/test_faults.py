from __future__ import annotations

from typing import Any

from agentsdk.models.google import GoogleModel
from agentsdk.testing import FakeServer
from agentsdk.testing.google_dialect import FakeGoogleServer
from tests.models.fault_matrix import KEY
from tests.models.faults import WireFaults


class TestFaults(WireFaults):
    adapter = "GoogleModel"
    before_text = 0
    after_text = 0

    def server(self, script: list[Any]) -> FakeServer:
        return FakeGoogleServer(script)

    def model(self, server: FakeServer, **options: Any) -> GoogleModel:
        return GoogleModel("gemini-test", base_url=server.base_url, api_key=KEY, **options)
