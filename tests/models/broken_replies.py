"""Replies that are incomplete, not the protocol, or only odd: the very reply comes of it, or a typed error.

Long, as it is a list: a method for each way in which a reply can be broken.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from agentsdk.ports.model import ModelRequest
from agentsdk.testing import ServerReply, call
from agentsdk.types.deltas import AttemptDiscarded, OutputTextDelta, ResponseCompleted
from agentsdk.types.errors import (
    ContentFilterError,
    IncompleteResponseError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ProviderUnavailableError,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Message, Reasoning
from agentsdk.types.response import ModelResponse
from tests.models.fault_matrix import BOTH, NO_RETRY, WITH_CALL, FaultMatrix
from tests.models.wire import calls_of, request, shown_text

WIRE_FORMS: list[dict[str, Any]] = [
    {"chunks": "bytes"},
    {"chunks": 1},
    {"chunks": 2, "line_end": "\r\n"},
    {"chunks": "bytes", "line_end": "\r"},
    {"comments": True},
    {"gzip": True},
    {"gzip": True, "chunks": 3},
]
WILD = "a\u2028b\u0085c\0 😀 é"

# Repeated keys, too long, too deep, no object, a null character.
ODD_ARGUMENTS = ['{"a":1,"a":2}', f'{{"a":"{"x" * 3_000_000}"}}', f'{{"a":{"[" * 5000}{"]" * 5000}}}', "[1]", r'{"a":"\u0000"}']


REFUSED = [f'{{"a":{"9" * 5000}}}', f'{{"a":[{"9" * 10_000}]}}', '{"a":NaN}', r'{"a":"\ud83d"}', "", '{"a":', "{}{}", "null"]


def strictly(data: str | bytes) -> Any:
    """JSON as a strict server reads it."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs), "a key stands twice"
        return dict(pairs)

    def refused(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    value = json.loads(data, object_pairs_hook=unique, parse_constant=refused)
    msgspec.json.encode(value)  # no half of a surrogate pair
    return value


def with_deep(value: Any, deep: Any) -> Iterator[Any]:
    """`value` with `deep` in each place in turn."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        for changed in (deep, *with_deep(inner, deep)):
            yield {**value, key: changed} if isinstance(value, dict) else [*value[:key], changed, *value[key + 1 :]]
    if isinstance(value, dict):
        yield {**value, "new": deep}
    elif isinstance(value, list):
        yield [*value, {"type": "new_kind", "text": deep}]


def strings_in(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        return [text for inner in (value.values() if isinstance(value, dict) else value) for text in strings_in(inner)]
    return [value] if isinstance(value, str) else []


class BrokenReplies(FaultMatrix):
    """A part of `WireFaults`."""

    # Not whole

    @BOTH
    @pytest.mark.parametrize("said", ["half", WITH_CALL, ""], ids=["text", "call", "empty"])
    async def test_no_finish_reason_proves_nothing(self, streamed: bool, said: Any) -> None:
        async with self.server([ServerReply(said, finish="")]) as server:
            caught = await self.tally.error(IncompleteResponseError, self.model_at(server), request(stream=streamed))
        assert caught.partial == ("one two" if said is WITH_CALL else said)

    @BOTH
    @pytest.mark.parametrize("said", ["half a sen", WITH_CALL, ""], ids=["text", "call", "empty"])
    async def test_an_unknown_finish_reason_proves_nothing(self, streamed: bool, said: Any) -> None:
        async with self.server([ServerReply(said, finish="weird")]) as server:
            caught = await self.tally.error(IncompleteResponseError, self.model_at(server), request(stream=streamed))
        assert "weird" in str(caught)
        assert caught.partial == ("one two" if said is WITH_CALL else said)

    @BOTH
    async def test_a_filtered_reply_is_no_success(self, streamed: bool) -> None:
        said = ModelResponse((Message("assistant", "a"), call("add", a=1)), finish="content_filter")
        async with self.server([said]) as server:
            await self.filtered(self.model_at(server), request(stream=streamed))

    async def filtered(self, model: Any, asked: ModelRequest) -> None:
        """How the adapter tells it."""
        await self.tally.error(ContentFilterError, model, asked)

    @BOTH
    async def test_length_on_text_is_told(self, streamed: bool) -> None:
        async with self.server([ModelResponse((Message("assistant", "half"),), finish="length")]) as server:
            response = await self.tally.ask(self.model_at(server), request(stream=streamed))
        assert (response.text, response.finish) == ("half", "length")

    @BOTH
    @pytest.mark.parametrize("output", [WITH_CALL, [], [Reasoning("hm")]], ids=["call", "empty", "reasoning"])
    async def test_length_in_a_call_or_before_any_text_is_incomplete(self, streamed: bool, output: Any) -> None:
        async with self.server([ModelResponse(tuple(output), finish="length")]) as server:
            caught = await self.tally.error(IncompleteResponseError, self.model_at(server), request(stream=streamed))
        assert "max_tokens" in str(caught)
        assert caught.partial == ("one two" if output is WITH_CALL else "")

    @BOTH
    async def test_an_empty_stop_is_passed_on(self, streamed: bool) -> None:
        async with self.server([""]) as server:
            assert (await self.tally.ask(self.model_at(server), request(stream=streamed))).output == ()

    @BOTH
    async def test_missing_usage_is_marked(self, streamed: bool) -> None:
        async with self.server([ServerReply("a", usage=None)]) as server:
            usage = (await self.tally.ask(self.model_at(server), request(stream=streamed))).usage
        assert (usage.requests, usage.total_tokens, usage.known) == (1, 0, False)

    # What a reply that ends in an error has cost

    @BOTH
    @pytest.mark.parametrize(
        "said",
        [
            ServerReply(WITH_CALL, finish="weird"),
            ModelResponse(tuple(WITH_CALL), finish="length"),
            ModelResponse((), finish="length"),
        ],
        ids=["unknown finish", "length in a call", "length before any text"],
    )
    async def test_its_usage_goes_with_the_error(self, streamed: bool, said: Any) -> None:
        asked = request(stream=streamed)
        async with self.server([ModelResponse((Message("assistant", "one two"),)), said]) as server:
            good = (await self.tally.ask(self.model_at(server), asked)).usage
            model = self.model_at(server)
            caught = await self.tally.error(IncompleteResponseError, model, asked)
        assert good.known and good.input_tokens
        assert caught.usage.known
        assert (caught.usage.requests, caught.usage.input_tokens) == (1, good.input_tokens)
        assert [attempt.model for attempt in caught.attempts] == [model.name]

    @BOTH
    async def test_a_filtered_reply_is_paid_for(self, streamed: bool) -> None:
        said = ModelResponse((Message("assistant", "one two"),), finish="content_filter")
        async with self.server([said]) as server:
            try:
                usage = (await self.tally.ask(self.model_at(server), request(stream=streamed))).usage
            except ContentFilterError as error:
                assert error.usage is not None
                usage = error.usage
        assert usage.known and usage.requests == 1 and usage.input_tokens

    @pytest.mark.parametrize("then", ["reset", "end"])
    async def test_a_reply_that_is_cut_is_paid_for_by_an_unknown_amount(self, then: Any) -> None:
        said = ServerReply("one two three", stops_after=self.before_text + 2, then=then)
        async with self.server([said]) as server:
            caught = await self.tally.error(IncompleteResponseError, self.model_at(server), request(stream=True))
        assert (caught.usage.requests, caught.usage.known) == (1, False)

    async def test_an_error_in_mid_reply_carries_what_was_told_before(self) -> None:
        good = self.pieces(await self.sent("one two", streamed=True))
        events = [*good[: self.before_text + 1], self.piece(b'{"error":{"message":"no","type":"server_error"}}')]
        async with self.server([ServerReply(events=events)]) as server:
            caught = await self.tally.error(ProviderUnavailableError, self.model_at(server), request(stream=True))
        assert (caught.usage.requests, caught.usage.known) == (1, False)

    @BOTH
    async def test_no_reply_costs_nothing_that_is_known(self, streamed: bool) -> None:
        async with self.server([ServerReply(status=500, body=b""), ServerReply(then="refuse")]) as server:
            model = self.model_at(server, retry=NO_RETRY)
            for due in (ProviderUnavailableError, ModelConnectionError):
                caught = await self.tally.error(due, model, request(stream=streamed))
                assert (caught.usage, caught.attempts) == (None, ())

    # Cut off

    @pytest.mark.parametrize("then", ["reset", "end"])
    async def test_a_stream_cut_after_something_was_shown_is_not_repeated(self, then: Any) -> None:
        said = ServerReply("one two three", stops_after=self.before_text + 2, then=then)
        async with self.server([said, "other"]) as server:
            seen: list[Any] = []
            caught = await self.tally.error(IncompleteResponseError, self.model_at(server), request(stream=True), seen)
        assert shown_text(seen) == caught.partial == "one two"
        assert isinstance(caught.__cause__, ModelConnectionError) == (then == "reset")
        assert len(server.requests) == 1

    async def test_a_reset_before_anything_was_shown_is_repeated(self) -> None:
        async with self.server([ServerReply("one", stops_after=0, then="reset"), "two"]) as server:
            events = await self.tally.events(self.model_at(server), request(stream=True))
        assert not any(isinstance(event, AttemptDiscarded) for event in events[1:])
        assert shown_text(events) == "two"

    @pytest.mark.parametrize("cut", [0, 1, 40])
    async def test_a_reset_of_a_whole_answer_is_repeated(self, cut: int) -> None:
        async with self.server([ServerReply("one", stops_after=cut, then="reset"), "two"]) as server:
            assert (await self.tally.ask(self.model_at(server), request())).text == "two"

    async def test_a_stream_cut_anywhere_never_yields_a_response(self) -> None:
        """Between its events with nothing after, and within them."""
        raw = await self.sent(WITH_CALL, streamed=True)
        events = self.pieces(raw)
        proof = len(events) - self.after_text - 1
        script = [ServerReply(events=events[:count]) for count in range(proof + 1)]
        script += [ServerReply(events=[*events[:count], events[count][:-9]]) for count in range(self.before_text + 1, proof)]
        async with self.server(list(script)) as server:
            model = self.model_at(server, retry=NO_RETRY)
            for said in script:
                begun = said.events is not None and len(said.events) > self.before_text
                due = IncompleteResponseError if begun else (IncompleteResponseError, MalformedResponseError)
                await self.tally.error(due, model, request(stream=True))

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
            caught = await self.tally.error(MalformedResponseError, self.model_at(server), request(stream=streamed))
        assert "Bad gateway" not in str(caught)

    @pytest.mark.parametrize("begun", [False, True])
    @pytest.mark.parametrize("data", [b"{not json}", b"\xff", b"[]", b"[" * 100_000])
    async def test_malformed_streams_close_the_connection(self, data: bytes, begun: bool) -> None:
        good = self.pieces(await self.sent("one two", streamed=True))
        before = good[: self.before_text + 1] if begun else []
        async with self.server([ServerReply(events=[*before, self.piece(data)], then="open")]) as server:
            await self.tally.error(MalformedResponseError, self.model_at(server), request(stream=True))
            await server.all_closed()
        assert len(server.requests) == 1

    @pytest.mark.parametrize("comments", [True, False])
    async def test_empty_streams(self, comments: bool) -> None:
        events = [self.nothing] if comments else []
        async with self.server([ServerReply(events=events)]) as server:
            await self.tally.error(
                (MalformedResponseError, IncompleteResponseError), self.model_at(server), request(stream=True)
            )

    @BOTH
    @pytest.mark.parametrize("data", [b"not gzip", gzip.compress(b'{"a": []}', mtime=0)[:-6]])
    async def test_broken_gzip_is_typed(self, streamed: bool, data: bytes) -> None:
        async with self.server([ServerReply(body=data, headers={"content-encoding": "gzip"})]) as server:
            await self.tally.error(MalformedResponseError, self.model_at(server), request(stream=streamed))

    @pytest.mark.parametrize("how", WIRE_FORMS, ids=str)
    async def test_the_wire_form_makes_no_difference(self, how: dict[str, Any]) -> None:
        said = [Message("assistant", WILD), call("add", text="\u2028é\0")]
        async with self.server([said, ServerReply(said, **how)]) as server:
            model = self.model_at(server)
            plain, other = (
                await self.tally.events(model, request(stream=True)),
                await self.tally.events(model, request(stream=True)),
            )
        deltas = [[event for event in events if isinstance(event, OutputTextDelta)] for events in (plain, other)]
        assert deltas[0] == deltas[1]
        assert shown_text(plain) == WILD
        assert isinstance(last := other[-1], ResponseCompleted)
        assert last.response.text == WILD
        assert msgspec.json.decode(calls_of(last.response)[0][2]) == {"text": "\u2028é\0"}

    @pytest.mark.parametrize("form", ["byte order mark", "no final newline"])
    async def test_how_the_stream_begins_and_ends_makes_no_difference(self, form: str) -> None:
        raw = await self.sent(WITH_CALL, streamed=True)
        raw = b"\xef\xbb\xbf" + raw if form == "byte order mark" else raw.rstrip(b"\n")
        async with self.server([ServerReply(events=[raw])]) as server:
            response = await self.tally.ask(self.model_at(server), request(stream=True))
        assert (response.text, len(calls_of(response))) == ("one two", 1)

    @BOTH
    @pytest.mark.parametrize("arguments", ODD_ARGUMENTS, ids=lambda text: text[:20])
    async def test_odd_arguments_come_as_they_are_or_not_at_all(self, streamed: bool, arguments: str) -> None:
        """The run refuses them; it must get to see them."""
        raw = (await self.sent(call("add", a="here"), streamed=False)).decode()
        for plain, odd in (('{"a":"here"}', arguments), (r"{\"a\":\"here\"}", msgspec.json.encode(arguments).decode()[1:-1])):
            raw = raw.replace(plain, odd)
        assert "here" not in raw
        async with self.server([ServerReply(body=raw.encode())]) as server:
            try:
                response = await self.tally.ask(self.model_at(server), request(stream=streamed))
            except MalformedResponseError:
                return
        assert [text for _, _, text in calls_of(response)] == [arguments]

    @pytest.mark.parametrize("depth", [50, 150, 400, 900])
    async def test_what_nests_deep_is_a_model_error_or_can_be_kept(self, depth: int) -> None:
        """Wherever it stands: in what is known, beside it, or in an item of a new kind."""
        good = json.loads(await self.sent(WITH_CALL, streamed=False))
        deep: Any = 1
        for _ in range(depth):
            deep = [deep] if depth % 100 else {"a": deep}
        bodies = [msgspec.json.encode(body) for body in with_deep(good, deep)]
        assert len(bodies) > 5
        async with self.server([ServerReply(body=body) for body in bodies]) as server:
            model = self.model_at(server, retry=NO_RETRY)
            for _ in bodies:
                try:
                    response = await self.tally.ask(model, request())
                except ModelError:
                    continue
                strictly(msgspec.json.encode(copy.deepcopy(msgspec.to_builtins(response))))
                model.body(request(items=response.output))

    @BOTH
    async def test_the_work_of_reading_grows_with_the_reply_and_no_faster(self, streamed: bool) -> None:
        """Counted in Python calls, so that the machine's speed is no matter."""
        work: list[int] = []
        for count in (300, 600):
            raw = await self.sent([call("add", a=n) for n in range(count)], streamed=streamed)
            events = self.decoded(raw) if streamed else []
            async with self.server([]) as server:
                assembler, calls = self.model_at(server)._assembler(request(stream=streamed)), 0

            def count_call(*_: object) -> None:
                nonlocal calls
                calls += 1

            sys.setprofile(count_call)
            try:
                if streamed:
                    for event in events:
                        assembler.add_event(event)
                else:
                    assembler.add_whole(raw)
                output = assembler.response().output
            finally:
                sys.setprofile(None)
            assert len(output) == count
            work.append(calls)
        assert work[1] < 2.3 * work[0]

    @pytest.mark.parametrize("arguments", [*ODD_ARGUMENTS, *REFUSED], ids=lambda text: text[:20])
    async def test_arguments_that_were_refused_never_go_back(self, arguments: str) -> None:
        """A strict server refuses them too, and with them every later request of the run."""
        items = [Message("user", "x"), FunctionCall("c", "add", arguments), FunctionCallOutput("c", "no", True)]
        async with self.server([]) as server:
            sent = strictly(self.model_at(server).body(request(items=items)))
        texts = [text for text in strings_in(sent) if text.startswith("{")]
        assert texts or "add" in json.dumps(sent)
        for text in texts:
            strictly(text)

    @BOTH
    async def test_random_damage_ends_in_a_model_error_or_one_call(self, streamed: bool) -> None:
        chance = random.Random(3)
        good = await self.sent(WITH_CALL, streamed=streamed)
        damaged = []
        for _ in range(150):
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
                    response = await self.tally.ask(model, request(stream=streamed))
                except ModelError:
                    continue
                assert response.output
                assert len(calls_of(response)) <= 1
