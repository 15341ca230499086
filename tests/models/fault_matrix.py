"""What the fault matrix stands on: an adapter's server and model, and the count of what became of every request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from agentsdk.models.sse import ServerSentEvent, SSEDecoder
from agentsdk.models.transport import ModelTimeouts
from agentsdk.testing import FakeServer, call
from agentsdk.types.items import Message
from agentsdk.types.settings import ModelRetrySettings
from tests.models.tally import Tally
from tests.models.wire import FakeClock, ask, request
from tests.shown import show

KEY = "sk-canary-0123456789"
QUICK = ModelTimeouts(idle=0.3, read=10, total=10)
NO_RETRY = ModelRetrySettings(max_retries=0)
BOTH = pytest.mark.parametrize("streamed", [False, True])
WITH_CALL = [Message("assistant", "one two"), call("add", a=1)]


class FaultMatrix:
    """Says which adapter. `before_text` and `after_text` count the events around the words of a streamed text."""

    adapter: ClassVar[str]
    before_text: ClassVar[int]
    after_text: ClassVar[int]
    nothing: ClassVar[bytes] = b": nothing but comments\n\n"
    sampled: ClassVar[bool] = False
    """Whether it speaks the protocol of another adapter, which is run against the whole: see `conftest.py`."""
    tally: Tally

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _counted(cls, pytestconfig: pytest.Config) -> Iterator[None]:
        cls.tally = Tally()
        yield
        show(pytestconfig, [f"{cls.adapter}, {line}" for line in cls.tally.lines()])

    def server(self, script: list[Any]) -> FakeServer:
        """A fake server of the adapter's protocol."""
        raise NotImplementedError

    def model(self, server: FakeServer, **options: Any) -> Any:
        """The adapter's model there, with the key `KEY`."""
        raise NotImplementedError

    def model_at(self, server: FakeServer, **options: Any) -> Any:
        options.setdefault("clock", FakeClock())
        return self.model(server, **options)

    def piece(self, data: bytes, kind: str = "") -> bytes:
        """An event of a stream, with this data."""
        return (f"event: {kind}\n".encode() if kind else b"") + b"data: " + data + b"\n\n"

    def pieces(self, raw: bytes) -> list[bytes]:
        """The events of a stream, each as it was sent."""
        return [event + b"\n\n" for event in raw.split(b"\n\n") if event]

    def decoded(self, raw: bytes) -> list[ServerSentEvent]:
        """The events of a stream as they are read."""
        return SSEDecoder().feed(raw)

    async def sent(self, said: Any, *, streamed: bool) -> bytes:
        """The bytes of a good reply's body."""
        import httpx

        async with self.server([said, said]) as server, httpx.AsyncClient() as client:
            await ask(self.model_at(server), request(stream=streamed))
            first = server.requests[0]
            return (await client.post(f"{server.url}{first.path}", content=first.body)).content
