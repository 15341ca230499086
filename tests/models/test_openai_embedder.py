"""`OpenAIEmbedder`: what it sends, what it reads, and what it makes of a server that answers otherwise."""

from __future__ import annotations

import base64
from array import array
from typing import Any

import pytest

from agentsdk.errors import MalformedResponseError, RateLimitError, UserError
from agentsdk.models import ModelRetrySettings, OpenAIEmbedder
from agentsdk.testing import FakeOpenAIServer, FakeServer, ServerReply
from tests.models.wire import FakeClock

pytestmark = pytest.mark.anyio


def vectors(*given: Any, **more: Any) -> ServerReply:
    return ServerReply(
        body={"object": "list", "data": [{"index": at, "embedding": one} for at, one in enumerate(given)], **more}
    )


def embedder_at(server: FakeServer, **options: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        "embed-1", base_url=f"{server.base_url}", api_key="sk-canary-0123456789", clock=FakeClock(), **options
    )


async def test_texts_are_sent_and_their_vectors_come_in_order() -> None:
    reply = ServerReply(body={"data": [{"index": 1, "embedding": [0.5, 1]}, {"index": 0, "embedding": [1, 0]}]})
    async with FakeOpenAIServer([reply]) as server:
        assert await embedder_at(server).embed(["one", "two\ud800"]) == [[1, 0], [0.5, 1]]
    [request] = server.requests
    assert request.json == {"model": "embed-1", "input": ["one", "two\ufffd"], "encoding_format": "float"}
    assert request.headers["authorization"] == "Bearer sk-canary-0123456789"


async def test_many_texts_go_in_several_requests() -> None:
    async with FakeOpenAIServer([vectors([1], [2]), vectors([3])]) as server:
        assert await embedder_at(server, batch=2, dimensions=1).embed(["a", "b", "c"]) == [[1], [2], [3]]
        assert await embedder_at(server).embed([]) == []
    assert [(request.json["input"], request.json["dimensions"]) for request in server.requests] == [(["a", "b"], 1), (["c"], 1)]


async def test_prefixes_tell_what_is_looked_for_from_what_may_be_found() -> None:
    async with FakeOpenAIServer([vectors([1]), vectors([1])]) as server:
        embedder = embedder_at(server, query_prefix="query: ", document_prefix="passage: ")
        await embedder.embed(["a"], "query")
        await embedder.embed(["a"])
    assert [request.json["input"] for request in server.requests] == [["query: a"], ["passage: a"]]


async def test_vectors_in_base64_are_read_too() -> None:
    packed = base64.b64encode(array("f", [0.5, -2.0]).tobytes()).decode()
    async with FakeOpenAIServer([vectors(packed)]) as server:
        assert [list(vector) for vector in await embedder_at(server).embed(["a"])] == [[0.5, -2.0]]


@pytest.mark.parametrize(
    "reply",
    [
        ServerReply(body="<html>"),
        ServerReply(body={"data": "none"}),
        vectors(),
        vectors([1], [2]),
        vectors([]),
        vectors("no base64!"),
        vectors(base64.b64encode(b"abc").decode()),
        vectors(base64.b64encode(array("f", [float("nan")]).tobytes()).decode()),
    ],
)
async def test_an_answer_that_has_no_vector_for_each_text_is_malformed(reply: ServerReply) -> None:
    async with FakeOpenAIServer([reply]) as server:
        with pytest.raises(MalformedResponseError, match="embed-1"):
            await embedder_at(server).embed(["a"])


async def test_vectors_of_two_lengths_are_malformed() -> None:
    async with FakeOpenAIServer([vectors([1]), vectors([1, 2])]) as server:
        with pytest.raises(MalformedResponseError, match="different lengths"):
            await embedder_at(server, batch=1).embed(["a", "b"])


async def test_what_fails_is_tried_again_and_typed() -> None:
    busy = ServerReply(status=429, body={"error": {"message": "slow down, sk-canary-0123456789"}})
    async with FakeOpenAIServer([busy, vectors([1]), busy]) as server:
        assert await embedder_at(server).embed(["a"]) == [[1]]
        with pytest.raises(RateLimitError) as caught:
            await embedder_at(server, retry=ModelRetrySettings(max_retries=0)).embed(["a"])
    assert "canary" not in str(caught.value)


async def test_a_missing_key_and_wrong_values_are_told() -> None:
    with pytest.raises(UserError, match="no key for model 'text-embedding-3-small'"):
        await OpenAIEmbedder().embed(["a"])
    for wrong in ({"batch": 0}, {"dimensions": 0}, {"query_prefix": 1}, {"document_prefix": None}):
        with pytest.raises(UserError, match=rf"OpenAIEmbedder\({next(iter(wrong))}="):
            OpenAIEmbedder(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'model_name'"):
        OpenAIEmbedder(model_name="x")  # type: ignore[call-arg]
