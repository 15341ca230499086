"""What goes wrong on the wire whatever the protocol, as a class of tests: an adapter subclasses it with its server and model.

Each case ends in the very reply, or in a typed error; no request hangs, and no socket stays open.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import random
from typing import Any, ClassVar

import msgspec
import pytest

from agentsdk.models.http import ModelTimeouts
from agentsdk.testing import FakeServer, ServerReply, call
from agentsdk.types.deltas import AttemptDiscarded, OutputTextDelta, ResponseCompleted
from agentsdk.types.errors import (
    AuthenticationError,
    BadRequestError,
    IncompleteResponseError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    NotFoundError,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
)
from agentsdk.types.items import Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from tests.models.wire import FakeClock, ask, calls_of, events_of, request, shown_text

KEY = "sk-canary-0123456789"
QUICK = ModelTimeouts(idle=0.3, read=10, total=10)
NO_RETRY = ModelRetrySettings(max_retries=0)
BOTH = pytest.mark.parametrize("streamed", [False, True])
STATUSES: list[tuple[int, type[ProviderError], bool]] = [
    (301, ProviderError, False),
    (400, BadRequestError, False),
    (401, AuthenticationError, False),
    (403, AuthenticationError, False),
    (404, NotFoundError, False),
    (408, ProviderUnavailableError, True),
    (409, ProviderUnavailableError, True),
    (413, BadRequestError, False),
    (422, BadRequestError, False),
    (429, RateLimitError, True),
    (500, ProviderUnavailableError, True),
    (529, ProviderUnavailableError, True),
]
WIRE_FORMS: list[dict[str, Any]] = [
    {"chunks": "bytes"},
    {"chunks": 1},
    {"chunks": 2, "line_end": "\r\n"},
    {"chunks": "bytes", "line_end": "\r"},
    {"comments": True},
    {"gzip": True},
    {"gzip": True, "chunks": 3},
]
WITH_CALL = [Message("assistant", "one two"), call("add", a=1)]


@pytest.mark.anyio
class WireFaults:
    """Subclass as `TestFaults`. `before_text` and `after_text` count the events around the words of a streamed text."""

    before_text: ClassVar[int]
    after_text: ClassVar[int]

    def server(self, script: list[Any]) -> FakeServer:
        """A fake server of the adapter's protocol."""
        raise NotImplementedError

    def model(self, server: FakeServer, **options: Any) -> Any:
        """The adapter's model there, with the key `KEY`."""
        raise NotImplementedError

    def model_at(self, server: FakeServer, **options: Any) -> Any:
        options.setdefault("clock", FakeClock())
        return self.model(server, **options)

    # The provider's errors and the retries

    @BOTH
    @pytest.mark.parametrize(("status", "error", "retryable"), STATUSES)
    async def test_statuses(self, streamed: bool, status: int, error: type[ProviderError], retryable: bool) -> None:
        body = {"error": {"message": f"the reason, {KEY}", "type": "t"}}
        said = ServerReply(status=status, body=body, headers={"x-request-id": "r-1", "location": "http://127.0.0.1:9/"})
        async with self.server([said] * 3) as server:
            with pytest.raises(error) as caught:
                await ask(self.model_at(server), request(stream=streamed))
        found = caught.value
        assert type(found) is error
        assert (found.status, found.request_id, found.retryable) == (status, "r-1", retryable)
        assert "the reason, ***" in str(found)
        assert KEY not in f"{found!r}{found.__cause__!r}"
        assert len(server.requests) == (3 if retryable else 1)

    @BOTH
    @pytest.mark.parametrize("fault", [ServerReply(status=503, body=b""), ServerReply(then="refuse")])
    async def test_every_attempt_is_the_same_request(self, streamed: bool, fault: ServerReply) -> None:
        async with self.server([fault, fault, "ok"]) as server:
            assert (await ask(self.model_at(server), request(stream=streamed))).text == "ok"
        assert len({(sent.path, sent.body, sent.headers["idempotency-key"]) for sent in server.requests}) == 1
        assert len(server.requests) == 3

    @BOTH
    async def test_the_request_count_is_one_and_the_retries(self, streamed: bool) -> None:
        asked = request(stream=streamed, settings=ModelSettings(retry=ModelRetrySettings(max_retries=4)))
        async with self.server([ServerReply(status=500, body=b"")] * 9) as server:
            with pytest.raises(ProviderUnavailableError):
                await ask(self.model_at(server), asked)
        assert len(server.requests) == 5

    @BOTH
    @pytest.mark.parametrize("header", ["20", "Tue, 14 Nov 2023 22:13:40 GMT"])
    async def test_retry_after_is_kept(self, streamed: bool, header: str) -> None:
        clock = FakeClock()
        async with self.server([ServerReply(status=429, body=b"", headers={"Retry-After": header}), "ok"]) as server:
            await ask(self.model_at(server, clock=clock, random=lambda: 0.5), request(stream=streamed))
        assert clock.slept == [21.0]

    @BOTH
    async def test_a_long_retry_after_is_raised_at_once(self, streamed: bool) -> None:
        clock = FakeClock()
        async with self.server([ServerReply(status=429, body=b"", headers={"Retry-After": "3600"})]) as server:
            with pytest.raises(RateLimitError) as caught:
                await ask(self.model_at(server, clock=clock), request(stream=streamed))
        assert (caught.value.retry_after, clock.slept, len(server.requests)) == (3600.0, [], 1)

    # Not whole

    @BOTH
    @pytest.mark.parametrize("said", ["half", WITH_CALL], ids=["text", "call"])
    async def test_no_finish_reason_proves_nothing(self, streamed: bool, said: Any) -> None:
        async with self.server([ServerReply(said, finish="")]) as server:
            with pytest.raises(IncompleteResponseError) as caught:
                await ask(self.model_at(server), request(stream=streamed))
        assert caught.value.partial == ("half" if said == "half" else "one two")

    @BOTH
    async def test_length_on_text_is_told(self, streamed: bool) -> None:
        async with self.server([ModelResponse((Message("assistant", "half"),), finish="length")]) as server:
            response = await ask(self.model_at(server), request(stream=streamed))
        assert (response.text, response.finish) == ("half", "length")

    @BOTH
    @pytest.mark.parametrize("output", [WITH_CALL, []], ids=["call", "empty"])
    async def test_length_in_a_call_or_before_any_text_is_incomplete(self, streamed: bool, output: Any) -> None:
        async with self.server([ModelResponse(tuple(output), finish="length")]) as server:
            with pytest.raises(IncompleteResponseError):
                await ask(self.model_at(server), request(stream=streamed))

    @BOTH
    async def test_an_empty_stop_is_passed_on(self, streamed: bool) -> None:
        async with self.server([""]) as server:
            assert (await ask(self.model_at(server), request(stream=streamed))).output == ()

    @BOTH
    async def test_missing_usage_is_marked(self, streamed: bool) -> None:
        async with self.server([ServerReply("a", usage=None)]) as server:
            usage = (await ask(self.model_at(server), request(stream=streamed))).usage
        assert (usage.requests, usage.total_tokens, usage.known) == (1, 0, False)

    # Cut off

    @pytest.mark.parametrize("then", ["reset", "end"])
    async def test_a_stream_cut_after_something_was_shown_is_not_repeated(self, then: Any) -> None:
        said = ServerReply("one two three", stops_after=self.before_text + 2, then=then)
        async with self.server([said, "other"]) as server:
            shown = ""
            with pytest.raises(IncompleteResponseError) as caught:
                async for event in self.model_at(server).stream(request(stream=True)):
                    shown += event.delta if isinstance(event, OutputTextDelta) else ""
        assert shown == caught.value.partial == "one two"
        assert len(server.requests) == 1

    async def test_a_reset_before_anything_was_shown_is_repeated(self) -> None:
        async with self.server([ServerReply("one", stops_after=0, then="reset"), "two"]) as server:
            events = await events_of(self.model_at(server), request(stream=True))
        assert not any(isinstance(event, AttemptDiscarded) for event in events[1:])
        assert shown_text(events) == "two"

    @pytest.mark.parametrize("cut", [0, 1, 40])
    async def test_a_reset_of_a_whole_answer_is_repeated(self, cut: int) -> None:
        async with self.server([ServerReply("one", stops_after=cut, then="reset"), "two"]) as server:
            assert (await ask(self.model_at(server), request())).text == "two"

    async def test_a_stream_cut_anywhere_never_yields_a_response(self) -> None:
        said = [Message("assistant", "a b"), call("add", a=1)]
        async with self.server([said]) as server:
            count = len(await self._frames(server, said))
        script = [ServerReply(said, stops_after=cut, chunks=cut) for cut in range(count - self.after_text)]
        async with self.server(list(script)) as server:
            model = self.model_at(server, retry=NO_RETRY)
            for _ in script:
                with pytest.raises((IncompleteResponseError, MalformedResponseError)):
                    await ask(model, request(stream=True))

    async def _frames(self, server: FakeServer, said: Any) -> list[str]:
        """The data of the events of a good stream."""
        import httpx

        await ask(model := self.model_at(server), asked := request(stream=True))
        sent = server.requests[0]
        async with self.server([said]) as again, httpx.AsyncClient() as client:
            url, _ = again.url, model
            response = await client.post(f"{url}{sent.path}", content=sent.body)
        assert asked.stream
        return [line for line in response.text.split("\n\n") if line.strip()]

    async def test_no_server(self) -> None:
        async with self.server([]) as server:
            model = self.model_at(server, retry=NO_RETRY)
        with pytest.raises(ModelConnectionError, match="base_url"):
            await ask(model, request())

    # Not the protocol

    @BOTH
    @pytest.mark.parametrize(
        "body",
        [
            b"[]",
            b"null",
            b'"text"',
            b"",
            b"{",
            b"not json",
            b"{}",
            b'{"id": "\xff"}',
            b"[" * 100_000,
            "<html>Bad gateway</html>",
        ],
        ids=lambda body: str(body)[:20],
    )
    async def test_malformed_bodies(self, streamed: bool, body: Any) -> None:
        async with self.server([ServerReply(body=body)]) as server:
            with pytest.raises(MalformedResponseError) as caught:
                await ask(self.model_at(server), request(stream=streamed))
        assert "Bad gateway" not in str(caught.value)

    @pytest.mark.parametrize(
        "event", [b"data: {not json}\n\n", b"data: \xff\n\n", b"data: []\n\n", b"data: " + b"[" * 100_000 + b"\n\n"]
    )
    async def test_malformed_streams_close_the_connection(self, event: bytes) -> None:
        async with self.server([ServerReply(events=[event], then="open")]) as server:
            with pytest.raises(MalformedResponseError):
                await ask(self.model_at(server), request(stream=True))
            await server.all_closed()

    @pytest.mark.parametrize("events", [[b": nothing but comments\n\n"], []])
    async def test_empty_streams(self, events: list[Any]) -> None:
        async with self.server([ServerReply(events=events)]) as server:
            with pytest.raises((MalformedResponseError, IncompleteResponseError)):
                await ask(self.model_at(server), request(stream=True))

    @BOTH
    @pytest.mark.parametrize("data", [b"not gzip", gzip.compress(b'{"a": []}')[:-6]])
    async def test_broken_gzip_is_typed(self, streamed: bool, data: bytes) -> None:
        async with self.server([ServerReply(body=data, headers={"content-encoding": "gzip"})]) as server:
            with pytest.raises(MalformedResponseError):
                await ask(self.model_at(server), request(stream=streamed))

    @pytest.mark.parametrize("how", WIRE_FORMS, ids=str)
    async def test_the_wire_form_makes_no_difference(self, how: dict[str, Any]) -> None:
        said = [Message("assistant", "a\u2028b\u0085c 😀 é"), call("add", text="\u2028é")]
        async with self.server([said, ServerReply(said, **how)]) as server:
            model = self.model_at(server)
            plain, other = await events_of(model, request(stream=True)), await events_of(model, request(stream=True))
        assert shown_text(other) == shown_text(plain) == "a\u2028b\u0085c 😀 é"
        assert isinstance(last := other[-1], ResponseCompleted)
        assert last.response.text == "a\u2028b\u0085c 😀 é"
        assert msgspec.json.decode(calls_of(last.response)[0][2]) == {"text": "\u2028é"}

    @BOTH
    async def test_random_damage_ends_in_a_model_error_or_one_call(self, streamed: bool) -> None:
        import httpx

        chance = random.Random(3)
        said = [Message("assistant", "one two"), call("add", a=1)]
        async with self.server([said, said]) as server, httpx.AsyncClient() as client:
            await ask(self.model_at(server), request(stream=streamed))
            sent = server.requests[0]
            good = (await client.post(f"{server.url}{sent.path}", content=sent.body)).content
        damaged = []
        for _ in range(100):
            position = chance.randrange(len(good))
            broken = bytearray(good)
            match chance.randint(0, 2):
                case 0:
                    broken[position] = chance.randrange(256)
                case 1:
                    del broken[position : position + chance.randint(1, 60)]
                case _:
                    del broken[position:]
            damaged.append(bytes(broken))
        script = [ServerReply(events=[one], stops_after=1) if streamed else ServerReply(body=one) for one in damaged]
        async with self.server(list(script)) as server:
            model = self.model_at(server, retry=NO_RETRY)
            for _ in script:
                try:
                    response = await ask(model, request(stream=streamed))
                except ModelError:
                    continue
                assert len(calls_of(response)) <= 1

    # Deadlines and ends

    @pytest.mark.parametrize("then", ["stall", "pings"])
    async def test_a_stalled_stream_is_given_up(self, then: Any) -> None:
        said = ServerReply("one two", stops_after=self.before_text + 1, then=then)
        async with self.server([said]) as server:
            with pytest.raises(ModelTimeoutError, match="idle"):
                await ask(self.model_at(server, timeouts=QUICK), request(stream=True))
            await server.all_closed()
        assert len(server.requests) == 1

    async def test_a_stream_that_stalls_before_anything_was_shown_is_asked_for_again(self) -> None:
        async with self.server([ServerReply("one", stops_after=0, then="pings"), "two"]) as server:
            assert (await ask(self.model_at(server, timeouts=QUICK), request(stream=True))).text == "two"

    @BOTH
    async def test_the_total_deadline_is_final(self, streamed: bool) -> None:
        async with self.server([ServerReply("one", wait=asyncio.Event())]) as server:
            with pytest.raises(ModelTimeoutError, match="total"):
                await ask(self.model_at(server, timeouts=ModelTimeouts(total=0.3)), request(stream=streamed))
            await server.all_closed()
        assert len(server.requests) == 1

    async def test_a_socket_that_stays_open_is_not_waited_for(self) -> None:
        async with self.server([ServerReply("one", then="open"), "two"]) as server:
            model = self.model_at(server, timeouts=ModelTimeouts(idle=None, read=None, total=None))
            response = await ask(model, request(stream=True))
            assert (response.text, response.usage.known) == ("one", True)
            await server.all_closed()
            assert (await ask(model, request(stream=True))).text == "two"

    async def test_a_connection_is_used_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("agentsdk.models.http._END_GRACE", 5.0)
        async with self.server(["a", "b", ServerReply(status=400, body=b"x"), "c"]) as server:
            model = self.model_at(server)
            for streamed in (True, False):
                await ask(model, request(stream=streamed))
            with pytest.raises(BadRequestError):
                await ask(model, request())
            await ask(model, request(stream=True))
        assert server.connections == 1

    # Closing

    async def test_closing_the_stream_closes_the_connection(self) -> None:
        said = ServerReply("one two three", stops_after=self.before_text + 2, then="stall")
        async with self.server([said]) as server:
            stream = self.model_at(server).stream(request(stream=True))
            async for event in stream:
                if isinstance(event, OutputTextDelta):
                    break
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
            task = asyncio.ensure_future(ask(self.model_at(server), request(stream=streamed)))
            await server.requested()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.all_closed()
