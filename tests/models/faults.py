"""What goes wrong on the wire whatever the protocol, as a class of tests: an adapter subclasses it with its server and model.

Each case ends in the very reply, or in a typed error; no request hangs, and no socket stays open. `Tally` counts them.
"""

from __future__ import annotations

import asyncio
import gc
import traceback
from typing import Any

import pytest

from agentsdk.models.shared_client import aclose
from agentsdk.models.transport import ModelTimeouts
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.testing import ServerReply
from agentsdk.types.deltas import OutputTextDelta
from agentsdk.types.errors import (
    AuthenticationError,
    BadRequestError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    NotFoundError,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
)
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from tests.models.broken_replies import BrokenReplies
from tests.models.fault_matrix import BOTH, KEY, NO_RETRY, QUICK
from tests.models.wire import FakeClock, ask, request

STATUSES: list[tuple[int, type[ProviderError], bool]] = [
    (301, ProviderError, False),
    (400, BadRequestError, False),
    (401, AuthenticationError, False),
    (403, AuthenticationError, False),
    (404, NotFoundError, False),
    (408, ProviderUnavailableError, True),
    (409, ProviderUnavailableError, True),
    (413, BadRequestError, False),
    (418, BadRequestError, False),
    (422, BadRequestError, False),
    (429, RateLimitError, True),
    (500, ProviderUnavailableError, True),
    (503, ProviderUnavailableError, True),
    (529, ProviderUnavailableError, True),
]
ERROR_BODIES = [
    b"",
    b"<html>",
    b"[]",
    b'{"detail":"no"}',
    b'{"error":"no"}',
    b'{"message":"no"}',
    b'[{"error":{"message":"no"}}]',
]

TOKEN = "a-token-in-headers-0123"
TENANT = "dGVuYW50OmNhbmFyeQ"
KEY_FAULTS = ("refused", "told", "told by an event", "id", "html", "reset", "cut", "silent", "no server")


async def failure_of(model: Model, asked: ModelRequest) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(model, asked)
    return caught.value


@pytest.mark.anyio
class WireFaults(BrokenReplies):
    """Subclass as `TestFaults`."""

    # The provider's errors and the retries

    @BOTH
    @pytest.mark.parametrize(("status", "error", "retryable"), STATUSES)
    async def test_statuses(self, streamed: bool, status: int, error: type[ProviderError], retryable: bool) -> None:
        body = {"error": {"message": f"the reason, {KEY}", "type": "t"}}
        said = ServerReply(status=status, body=body, headers={"x-request-id": "r-1", "location": "http://127.0.0.1:9/"})
        async with self.server([said] * 3) as server:
            model = self.model_at(server)
            found = await self.tally.error(error, model, request(stream=streamed))
        assert type(found) is error
        assert (found.status, found.request_id, found.retryable) == (status, "r-1", retryable)
        assert "the reason, ***" in str(found)
        assert repr(model.name) in str(found)
        assert KEY not in f"{found!r}{found.__cause__!r}"
        assert len(server.requests) == (3 if retryable else 1)

    @BOTH
    @pytest.mark.parametrize("fault", [ServerReply(status=n, body=b"") for n in (503, 429)] + [ServerReply(then="refuse")])
    async def test_every_attempt_is_the_same_request(self, streamed: bool, fault: ServerReply) -> None:
        async with self.server([fault, fault, "ok"]) as server:
            assert (await self.tally.ask(self.model_at(server), request(stream=streamed))).text == "ok"
        assert len({(sent.path, sent.body, sent.headers["idempotency-key"]) for sent in server.requests}) == 1
        assert len(server.requests) == 3

    @BOTH
    async def test_the_request_count_is_one_and_the_retries(self, streamed: bool) -> None:
        asked = request(stream=streamed, settings=ModelSettings(retry=ModelRetrySettings(max_retries=4)))
        async with self.server([ServerReply(status=500, body=b"")] * 9) as server:
            await self.tally.error(ProviderUnavailableError, self.model_at(server), asked)
        assert len(server.requests) == 5

    @BOTH
    @pytest.mark.parametrize("header", ["20", "Tue, 14 Nov 2023 22:13:40 GMT"])
    async def test_retry_after_is_kept(self, streamed: bool, header: str) -> None:
        clock = FakeClock()
        async with self.server([ServerReply(status=429, body=b"", headers={"Retry-After": header}), "ok"]) as server:
            await self.tally.ask(self.model_at(server, clock=clock, random=lambda: 0.5), request(stream=streamed))
        assert clock.slept == [21.0]

    @BOTH
    async def test_a_long_retry_after_is_raised_at_once(self, streamed: bool) -> None:
        clock = FakeClock()
        async with self.server([ServerReply(status=429, body=b"", headers={"Retry-After": "3600"})]) as server:
            caught = await self.tally.error(RateLimitError, self.model_at(server, clock=clock), request(stream=streamed))
        assert (caught.retry_after, clock.slept, len(server.requests)) == (3600.0, [], 1)

    async def test_the_provider_may_say_whether_to_retry(self) -> None:
        no = ServerReply(status=500, body=b"", headers={"x-should-retry": "false"})
        yes = ServerReply(status=400, body=b"", headers={"x-should-retry": "true"})
        async with self.server([yes, no]) as server:
            await self.tally.error(ProviderUnavailableError, self.model_at(server), request())
        assert len(server.requests) == 2

    @BOTH
    @pytest.mark.parametrize("body", ERROR_BODIES, ids=str)
    async def test_error_bodies_of_any_shape(self, streamed: bool, body: Any) -> None:
        async with self.server([ServerReply(status=400, body=body)]) as server:
            caught = await self.tally.error(BadRequestError, self.model_at(server), request(stream=streamed))
        assert caught.status == 400
        assert (": no" in str(caught)) == (b"no" in body)

    async def test_a_huge_error_body_is_not_read_to_its_end(self) -> None:
        async with self.server([ServerReply(status=400, body=b"x" * 1_000_000, then="open")]) as server:
            await self.tally.error(BadRequestError, self.model_at(server), request())
            await server.all_closed()

    async def test_a_broken_error_body_still_tells_the_status(self) -> None:
        async with self.server([ServerReply(status=400, body=b"x" * 100, stops_after=10, then="reset")]) as server:
            await self.tally.error(BadRequestError, self.model_at(server), request())

    @BOTH
    async def test_an_error_inside_a_reply(self, streamed: bool) -> None:
        told: dict[str, object] = {"error": {"message": f"m {KEY}", "type": "t", "code": 429}}
        said = ServerReply(events=[told], then="open") if streamed else ServerReply(body=told)
        async with self.server([said] * 3) as server:
            caught = await self.tally.error(RateLimitError, self.model_at(server), request(stream=streamed))
            if streamed:
                await server.all_closed()
        assert (caught.status, caught.retryable, len(server.requests)) == (429, True, 3)
        assert "m ***" in str(caught)

    @BOTH
    @pytest.mark.parametrize("fault", KEY_FAULTS)
    async def test_no_error_shows_a_key(self, streamed: bool, fault: str) -> None:
        said: dict[str, ServerReply] = {
            "refused": ServerReply(status=401, body={"error": {"message": f"bad key {KEY}, {TOKEN}, {TENANT}"}}),
            "told": ServerReply(body={"error": {"message": f"bad key {KEY}, {TOKEN}, {TENANT}"}}),
            "told by an event": ServerReply(events=[{"error": {"message": f"bad {KEY} {TOKEN}"}, "type": "error"}]),
            "id": ServerReply(status=500, body=b"", headers={"x-request-id": f"{KEY} {TOKEN} {TENANT}"}),
            "html": ServerReply(body=f"<html>{KEY}{TOKEN}"),
            "reset": ServerReply(then="refuse"),
            "cut": ServerReply("one two three", stops_after=2, then="reset"),
            "silent": ServerReply(wait=asyncio.Event()),
        }
        options: dict[str, Any] = {"headers": {"x-token": TOKEN}, "timeouts": ModelTimeouts(read=0.1), "retry": NO_RETRY}
        asked = request(stream=streamed, settings=ModelSettings(extra_headers={"x-tenant": f"Basic {TENANT}"}))
        async with self.server([said[fault]] if fault in said else []) as server:
            model = self.model_at(server, **options)
            if fault in said:
                caught = await failure_of(model, asked)
        if fault not in said:
            caught = await failure_of(model, asked)
        shown = "".join(traceback.TracebackException.from_exception(caught, capture_locals=True).format())
        chain: BaseException | None = caught
        while chain is not None:
            shown += f"{chain!r}{vars(chain)!r}"
            chain = chain.__cause__ or chain.__context__
        for secret in (KEY, TOKEN, TENANT):
            assert secret not in shown, [line[:300] for line in shown.splitlines() if secret in line]

    async def test_an_error_event_that_is_no_json(self) -> None:
        async with self.server([ServerReply(events=[self.piece(b"upstream gone", "error")])] * 3) as server:
            caught = await self.tally.error(ProviderUnavailableError, self.model_at(server), request(stream=True))
        assert "upstream gone" in str(caught)

    async def test_no_server(self) -> None:
        async with self.server([]) as server:
            model = self.model_at(server, retry=NO_RETRY)
        caught = await self.tally.error(ModelConnectionError, model, request())
        assert "base_url" in str(caught)
        assert caught.retryable

    # Deadlines and ends

    @pytest.mark.parametrize("then", ["stall", "pings"])
    async def test_a_stalled_stream_is_given_up(self, then: Any) -> None:
        said = ServerReply("one two", stops_after=self.before_text + 1, then=then)
        async with self.server([said]) as server:
            caught = await self.tally.error(ModelTimeoutError, self.model_at(server, timeouts=QUICK), request(stream=True))
            assert "idle" in str(caught)
            await server.all_closed()
        assert len(server.requests) == 1

    async def test_a_stream_that_stalls_before_anything_was_shown_is_asked_for_again(self) -> None:
        async with self.server([ServerReply("one", stops_after=0, then="pings"), "two"]) as server:
            assert (await self.tally.ask(self.model_at(server, timeouts=QUICK), request(stream=True))).text == "two"

    async def test_a_whole_answer_that_stalls(self) -> None:
        async with self.server([ServerReply("one", stops_after=5, then="stall")] * 2) as server:
            model = self.model_at(server, timeouts=ModelTimeouts(read=0.3), retry=ModelRetrySettings(max_retries=1))
            caught = await self.tally.error(ModelTimeoutError, model, request())
            await server.all_closed()
        assert "read" in str(caught)
        assert len(server.requests) == 2

    async def test_a_slow_reader_is_not_an_idle_stream(self) -> None:
        async with self.server(["one two three"]) as server:
            got = ""
            async for event in self.model_at(server, timeouts=QUICK).stream(request(stream=True)):
                if isinstance(event, OutputTextDelta):
                    got += event.delta
                    if got == "one":
                        await asyncio.sleep(0.4)
        assert got == "one two three"

    @BOTH
    async def test_the_total_deadline_is_final(self, streamed: bool) -> None:
        async with self.server([ServerReply("one", wait=asyncio.Event())]) as server:
            caught = await self.tally.error(
                ModelTimeoutError, self.model_at(server, timeouts=ModelTimeouts(total=0.3)), request(stream=streamed)
            )
            assert "total" in str(caught)
            await server.all_closed()
        assert len(server.requests) == 1

    async def test_a_socket_that_stays_open_is_not_waited_for(self) -> None:
        async with self.server([ServerReply("one", then="open"), "two"]) as server:
            model = self.model_at(server, timeouts=ModelTimeouts(idle=None, read=None, total=None))
            response = await self.tally.ask(model, request(stream=True))
            assert (response.text, response.usage.known) == ("one", True)
            await server.all_closed()
            assert (await self.tally.ask(model, request(stream=True))).text == "two"

    async def test_a_connection_is_used_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in ("exchange", "httpx_transport"):
            monkeypatch.setattr(f"agentsdk.models.{module}.END_GRACE", 5.0)
        async with self.server(["a", "b", ServerReply(status=400, body=b"x"), "c"]) as server:
            model = self.model_at(server)
            for streamed in (True, False):
                await self.tally.ask(model, request(stream=streamed))
            await self.tally.error(BadRequestError, model, request())
            await self.tally.ask(model, request(stream=True))
        assert server.connections == 1

    @pytest.mark.parametrize("connections", [1, 5, 20])
    async def test_many_at_once_share_a_bounded_client(self, monkeypatch: pytest.MonkeyPatch, connections: int) -> None:
        monkeypatch.setattr("agentsdk.models.shared_client._max_connections", [connections])
        await aclose()
        all_open = asyncio.Event()  # else a request that is late finds a connection that is free again
        async with self.server([ServerReply("ok", wait=all_open)] * 30) as server:
            models = [self.model_at(server) for _ in range(3)]
            asks = [asyncio.ensure_future(self.tally.ask(models[n % 3], request(stream=bool(n % 2)))) for n in range(30)]
            async with asyncio.timeout(60):
                while server.connections < connections:  # noqa: ASYNC110
                    await asyncio.sleep(0)
            all_open.set()
            assert {answer.text for answer in await asyncio.gather(*asks)} == {"ok"}
        assert server.connections == connections
        await aclose()

    # Closing

    async def test_closing_the_stream_closes_the_connection(self) -> None:
        said = ServerReply("one two three", stops_after=self.before_text + 2, then="stall")
        async with self.server([said]) as server:
            stream = self.model_at(server).stream(request(stream=True))
            async for event in stream:
                if isinstance(event, OutputTextDelta):
                    break
            assert server.open_connections == 1
            tasks = asyncio.all_tasks()
            await stream.aclose()
            del stream
            gc.collect()
            assert asyncio.all_tasks() <= tasks
            await server.all_closed()

    @BOTH
    @pytest.mark.parametrize("waits", [True, False])
    async def test_cancelling_closes_the_connection(self, streamed: bool, waits: bool) -> None:
        said = ServerReply("one two", wait=asyncio.Event()) if waits else ServerReply("one two", stops_after=2, then="stall")
        async with self.server([said]) as server:
            task = asyncio.ensure_future(self.tally.ask(self.model_at(server), request(stream=streamed)))
            await server.requested()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.all_closed()
