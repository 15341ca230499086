"""The wire breaks: the shared matrix over Bedrock's Converse, with a key and with signatures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agentsdk.models.bedrock import BedrockModel
from agentsdk.models.bedrock.auth import AwsAuth
from agentsdk.models.bedrock.frames import FrameDecoder
from agentsdk.models.sse import ServerSentEvent
from agentsdk.testing import FakeServer, ServerReply, call
from agentsdk.testing.bedrock_dialect import BedrockDialect, FakeBedrockServer, frame
from agentsdk.types.deltas import OutputTextDelta
from agentsdk.types.errors import (
    AuthenticationError,
    BadRequestError,
    IncompleteResponseError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    NotFoundError,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
)
from tests.models.bedrock.server import KEY, model_at
from tests.models.fault_matrix import BOTH, NO_RETRY, WITH_CALL
from tests.models.faults import STATUSES, WireFaults
from tests.models.wire import calls_of, request, shown_text

EXCEPTIONS: list[tuple[str, int, type[ModelError], bool]] = [
    ("ThrottlingException", 429, RateLimitError, True),
    ("ModelNotReadyException", 429, RateLimitError, True),
    ("ModelTimeoutException", 408, ProviderUnavailableError, True),
    ("ModelErrorException", 424, ProviderUnavailableError, True),
    ("ModelStreamErrorException", 424, ProviderUnavailableError, True),
    ("InternalServerException", 500, ProviderUnavailableError, True),
    ("ServiceUnavailableException", 503, ProviderUnavailableError, True),
    ("AccessDeniedException", 403, AuthenticationError, False),
    ("ValidationException", 400, BadRequestError, False),
    ("ResourceNotFoundException", 404, NotFoundError, False),
]


class TestFaults(WireFaults):
    adapter = "BedrockModel"
    before_text = 1  # messageStart
    after_text = 1  # metadata
    nothing = BedrockDialect().ping

    def server(self, script: list[Any]) -> FakeServer:
        return FakeBedrockServer(script)

    def model(self, server: FakeServer, **options: Any) -> BedrockModel:
        return model_at(server, **options)

    def piece(self, data: bytes, kind: str = "") -> bytes:
        if kind or data.startswith(b'{"error"'):
            return frame(data, message_type="error", error_code="internalServerException")
        return frame(data, event_type="contentBlockDelta")

    def pieces(self, raw: bytes) -> list[bytes]:
        found: list[bytes] = []
        while raw:
            length = int.from_bytes(raw[:4], "big")
            found.append(raw[:length])
            raw = raw[length:]
        return found

    def decoded(self, raw: bytes) -> list[ServerSentEvent]:
        return FrameDecoder().feed(raw)

    @pytest.mark.parametrize("form", ["byte by byte"])
    async def test_how_the_stream_begins_and_ends_makes_no_difference(self, form: str) -> None:
        """A frame has neither a byte order mark nor a line that may lack its end."""
        raw = await self.sent(WITH_CALL, streamed=True)
        async with self.server([ServerReply(events=[raw[at : at + 1] for at in range(len(raw))])]) as server:
            response = await self.tally.ask(self.model_at(server), request(stream=True))
        assert (response.text, len(calls_of(response))) == ("one two", 1)

    # The provider's own exceptions

    @pytest.mark.parametrize(("name", "status", "error", "retryable"), EXCEPTIONS)
    async def test_an_exception_is_typed_by_its_header(
        self, name: str, status: int, error: type[ModelError], retryable: bool
    ) -> None:
        headers = {"x-amzn-errortype": f"{name}:http://internal.amazon.com/", "x-amzn-requestid": "r-7"}
        said = ServerReply(status=status, body={"message": f"no {KEY}"}, headers=headers)
        async with self.server([said]) as server:
            caught = await self.tally.error(error, self.model_at(server, retry=NO_RETRY), request())
        assert type(caught) is error
        assert (caught.code, caught.status, caught.retryable, caught.request_id) == (name, status, retryable, "r-7")
        assert "no ***" in str(caught)

    @pytest.mark.parametrize("begun", [False, True])
    @pytest.mark.parametrize(("name", "status", "error", "retryable"), EXCEPTIONS)
    async def test_an_exception_inside_the_stream_is_typed(
        self, name: str, status: int, error: type[ModelError], retryable: bool, begun: bool
    ) -> None:
        good = self.pieces(await self.sent("one two", streamed=True))[: self.before_text + 1 if begun else 0]
        told = {name[0].lower() + name[1:]: {"message": f"no {KEY}"}}
        async with self.server([ServerReply(events=[*good, told], then="open")]) as server:
            model = self.model_at(server, retry=NO_RETRY)
            seen: list[Any] = []
            caught = await self.tally.error(error, model, request(stream=True), seen)
            await server.all_closed()
        assert type(caught) is error
        assert (caught.code.lower(), caught.status, caught.retryable) == (name.lower(), status, retryable)
        assert "no ***" in str(caught) and (caught.usage is not None) is begun
        assert bool(shown_text(seen)) is begun

    async def test_what_is_too_long_says_so(self) -> None:
        said = ServerReply(status=400, body={"message": "Input is too long for requested model."})
        async with self.server([said]) as server:
            caught = await self.tally.error(BadRequestError, self.model_at(server), request())
        assert type(caught).__name__ == "ContextTooLongError"

    # Damaged frames

    async def test_a_damaged_frame_is_a_connection_that_broke(self) -> None:
        """Any byte of any frame, before and after something was shown."""
        good = self.pieces(await self.sent(WITH_CALL, streamed=True))
        damaged: list[tuple[int, list[bytes]]] = []
        for number in range(1, len(good)):
            for at in range(4, len(good[number]), 7):
                broken = bytearray(good[number])
                broken[at] ^= 0x41
                damaged.append((number, [*good[:number], bytes(broken), *good[number + 1 :]]))
        async with self.server([ServerReply(events=events) for _, events in damaged]) as server:
            model = self.model_at(server, retry=NO_RETRY)
            for number, _ in damaged:
                begun = number > self.before_text
                due = IncompleteResponseError if begun else ModelConnectionError
                caught = await self.tally.error(due, model, request(stream=True))
                assert isinstance(caught.__cause__, ModelConnectionError) is begun

    async def test_a_damaged_first_frame_is_no_stream_and_a_later_one_is_asked_for_again(self) -> None:
        good = self.pieces(await self.sent("one two", streamed=True))
        first, second = bytearray(good[0]), bytearray(good[1])
        first[9], second[9] = first[9] ^ 1, second[9] ^ 1
        script = [ServerReply(events=[bytes(first)]), ServerReply(events=[good[0], bytes(second)]), "ok"]
        async with self.server(script) as server:
            model = self.model_at(server)
            await self.tally.error(MalformedResponseError, model, request(stream=True))
            assert (await self.tally.ask(model, request(stream=True))).text == "ok"

    @pytest.mark.parametrize("total", [0, 15, 17, 2**32 - 1])
    async def test_lengths_that_cannot_be_are_refused_at_once(self, total: int) -> None:
        import struct
        from zlib import crc32

        lengths = struct.pack(">II", total, 2)
        said = ServerReply(events=[lengths + struct.pack(">I", crc32(lengths)) + b"x" * 20], then="open")
        async with self.server([said]) as server:
            await self.tally.error(MalformedResponseError, self.model_at(server), request(stream=True))
            await server.all_closed()

    async def test_a_stream_cut_at_every_byte_of_a_call_never_runs_it(self) -> None:
        raw = await self.sent([call("add", a=1)], streamed=True)
        proof = sum(map(len, self.pieces(raw)[:-1]))
        async with self.server([ServerReply(events=[raw[:at]]) for at in range(1, len(raw))]) as server:
            model = self.model_at(server, retry=NO_RETRY)
            for at in range(1, len(raw)):
                if at >= proof:
                    assert len(calls_of(await self.tally.ask(model, request(stream=True)))) == 1
                else:
                    await self.tally.error((IncompleteResponseError, MalformedResponseError), model, request(stream=True))

    async def test_metadata_may_be_missing(self) -> None:
        good = self.pieces(await self.sent("one", streamed=True))
        async with self.server([ServerReply(events=good[:-1])]) as server:
            events = await self.tally.events(self.model_at(server), request(stream=True))
        assert not events[-1].response.usage.known
        assert [event.delta for event in events if isinstance(event, OutputTextDelta)] == ["one"]
        assert json.dumps(events[-1].response.text) == '"one"'


class TestSignedFaults(TestFaults):
    """The same with signatures in the place of a key."""

    adapter = "BedrockModel, signed"
    sampled = True

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _credentials(cls) -> Iterator[None]:
        """Of the class: a search for them that outlives its test, on a machine under load, still finds them here."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
            patch.setenv("AWS_SESSION_TOKEN", KEY)
            patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
            yield

    def model(self, server: FakeServer, **options: Any) -> BedrockModel:
        return model_at(server, auth=AwsAuth("us-east-1"), **options)

    @BOTH
    @pytest.mark.parametrize(("status", "error", "retryable"), [case for case in STATUSES if case[0] != 401])
    async def test_statuses(self, streamed: bool, status: int, error: type[ProviderError], retryable: bool) -> None:
        """Signed anew after a 401: see `test_auth.py`."""
        await super().test_statuses(streamed, status, error, retryable)
