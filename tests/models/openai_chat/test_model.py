"""The adapter against a real socket: what it sends, what it makes of good answers, and what of every bad one."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
from typing import Any

import msgspec
import pytest

from agentsdk.models.http import ModelTimeouts, aclose
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.testing import FakeOpenAIServer, ServerReply, call
from agentsdk.types.deltas import AttemptDiscarded, OutputTextDelta, ResponseCompleted, ResponseCreated
from agentsdk.types.errors import (
    AgentsException,
    AuthenticationError,
    BadRequestError,
    ContentFilterError,
    IncompleteResponseError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    NotFoundError,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
    UserError,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, OutputText, Reasoning, Refusal
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage
from tests.models.wire import FakeClock, ask, calls_of, events_of, model_at, reasoning_of, request, shown_text

pytestmark = pytest.mark.anyio

KEY = "sk-canary-0123456789"
SCHEMA: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = ToolSpec("add", "adds", SCHEMA)
BOTH = pytest.mark.parametrize("streamed", [False, True])


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **rest: Any) -> dict[str, Any]:
    return {"id": "c1", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **rest}


def whole(message: dict[str, Any], finish: str | None = "stop", **rest: Any) -> dict[str, Any]:
    return {"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **rest}


def reply(message: dict[str, Any], finish: str | None = "stop", *, streamed: bool, **options: Any) -> ServerReply:
    """The same message in both wire forms."""
    if not streamed:
        return ServerReply(body=whole(message, finish), **options)
    return ServerReply(events=[chunk(message), chunk(finish=finish), "[DONE]"], **options)


TOOL_CALL = {"index": 0, "id": "a", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}


# What is sent


async def test_the_request() -> None:
    settings = ModelSettings(
        temperature=0.5,
        top_p=0.9,
        max_tokens=50,
        stop=("END",),
        seed=7,
        tool_choice="add",
        parallel_tool_calls=False,
        reasoning_effort="low",
        metadata={"k": "v"},
        extra_body={"vendor": {"x": 1}, "seed": 8},
        extra_headers={"X-Trace": "t"},
    )
    items: list[Item] = [Message("user", "hi"), FunctionCall("1", "add", "{}"), FunctionCallOutput("1", "2")]
    asked = request(
        stream=True,
        items=items,
        instructions="Be brief.",
        tail=(Message("user", "now"),),
        tools=(TOOL,),
        output=OutputSpec("answer", SCHEMA),
        settings=settings,
    )
    async with FakeOpenAIServer(["ok"]) as server:
        await ask(model_at(server, headers={"X-Org": "o"}), asked)
    sent = server.requests[0]
    body = sent.json
    messages = body.pop("messages")
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "user"]  # type: ignore[attr-defined]
    function = {"name": "add", "description": "adds", "parameters": SCHEMA, "strict": True}
    assert body == {
        "model": "gpt-test",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 50,
        "stop": ["END"],
        "seed": 8,
        "reasoning_effort": "low",
        "metadata": {"k": "v"},
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "add"}},
        "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}},
        "stream": True,
        "stream_options": {"include_usage": True},
        "vendor": {"x": 1},
    }
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["idempotency-key"] == "req-7"
    assert (sent.headers["x-org"], sent.headers["x-trace"]) == ("o", "t")


async def test_a_bare_request_sends_nothing_it_need_not() -> None:
    async with FakeOpenAIServer(["ok"]) as server:
        asked = request(settings=ModelSettings(tool_choice="required", parallel_tool_calls=True))
        await ask(model_at(server, api_key=None), asked)
    sent = server.requests[0]
    assert sent.json == {"model": "gpt-test", "stream": False, "messages": [{"role": "user", "content": "hi"}]}
    assert "authorization" not in sent.headers


async def test_usage_need_not_be_asked_for() -> None:
    async with FakeOpenAIServer(["ok"]) as server:
        response = await ask(model_at(server, include_usage=False), request(stream=True))
    assert "stream_options" not in server.requests[0].json
    assert response.usage == Usage(requests=1, known=False)


async def test_an_unchanged_history_is_not_encoded_again() -> None:
    tape, tools = Tape[Item]([Message("user", "hi")]), (TOOL,)
    async with FakeOpenAIServer(["ok"]) as server:
        model = model_at(server)
        bodies = {model.body(request(items=tape, tools=tools)) for _ in range(3)}
        assert len(bodies) == 1
        assert model._encoded_tools(tools) is model._encoded_tools(tools)
        for _ in range(200):
            model._encoded_tools((ToolSpec("t", "", {}),))
        assert len(model._tools) <= 64


async def test_which_field_caps_the_output() -> None:
    asked = request(settings=ModelSettings(max_tokens=5))
    at_openai = OpenAIChatCompletionsModel("m", api_key="k")
    elsewhere = OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9/v1")
    chosen = OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9/v1", max_tokens_field="max_completion_tokens")
    fields = [set(json.loads(model.body(asked))) - {"model", "messages", "stream"} for model in (at_openai, elsewhere, chosen)]
    assert fields == [{"max_completion_tokens"}, {"max_tokens"}, {"max_completion_tokens"}]


# Keys, addresses and headers


async def test_the_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeOpenAIServer(["one"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
        response = await ask(OpenAIChatCompletionsModel("gpt-test"), request())
    assert response.text == "one"
    assert server.requests[0].headers["authorization"] == "Bearer sk-env"


async def test_the_key_of_the_environment_goes_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    async with FakeOpenAIServer(["one"]) as server:
        await ask(OpenAIChatCompletionsModel("gpt-test", base_url=server.base_url), request())
    assert "authorization" not in server.requests[0].headers


def test_a_missing_key_is_named_with_its_remedy() -> None:
    model = OpenAIChatCompletionsModel("gpt-test")
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        model.stream(request())


@pytest.mark.parametrize(
    "url", ["", "api.openai.com", "ftp://x/v1", "http://", "https://u:p@x/v1", "https://x/v1?a=b", "http://[", "http://x:0"]
)
def test_an_unusable_base_url_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="base_url"):
        OpenAIChatCompletionsModel("m", base_url=url)


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f"{KEY}é", f"{KEY}\r\nx: y"])
def test_an_unusable_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(UserError, match="api_key") as caught:
        OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9", api_key=key)
    assert "canary" not in str(caught.value)
    with pytest.raises(UserError, match="X-Y"):
        OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9", headers={"X-Y": key})


def test_messages_in_the_extra_body_are_refused() -> None:
    model = OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9")
    with pytest.raises(UserError, match="extra_body"):
        model.body(request(settings=ModelSettings(extra_body={"messages": []})))


async def test_the_key_is_in_no_repr_and_no_error() -> None:
    told = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": f"bad {KEY}"}}
    async with FakeOpenAIServer([ServerReply(status=401, body=told), ServerReply(body=told)]) as server:
        model = model_at(server, retry=ModelRetrySettings(max_retries=0))
        assert "canary" not in repr(model)
        for _ in range(2):
            with pytest.raises(ProviderError) as caught:
                await ask(model, request())
            assert "canary" not in f"{caught.value!r}{caught.value.code}{caught.value.__cause__!r}"
            assert "***" in str(caught.value)


# Good answers


@BOTH
async def test_text(streamed: bool) -> None:
    async with FakeOpenAIServer(["Hello, wörld!\n"]) as server:
        events = await events_of(model_at(server), request(stream=streamed))
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    assert last.response.output == (Message("assistant", "Hello, wörld!\n"),)
    assert last.response.usage == Usage(requests=1, input_tokens=10, output_tokens=5)
    assert (last.response.finish, last.response.response_id, last.response.model) == ("stop", "resp_1", "scripted")
    assert shown_text(events) == ("Hello, wörld!\n" if streamed else "")


async def test_the_events_of_a_stream() -> None:
    said = [Reasoning("Hm so"), Message("assistant", "I look."), call("add", a=1)]
    async with FakeOpenAIServer([said]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert [(event.type, getattr(event, "output_index", None)) for event in events] == [
        ("response.created", None),
        ("response.output_item.added", 0),
        ("response.reasoning_text.delta", 0),
        ("response.reasoning_text.delta", 0),
        ("response.output_item.added", 1),
        ("response.output_text.delta", 1),
        ("response.output_text.delta", 1),
        ("response.output_item.added", 2),
        ("response.function_call_arguments.delta", 2),
        ("response.function_call_arguments.delta", 2),
        ("response.output_item.done", 0),
        ("response.output_item.done", 1),
        ("response.output_item.done", 2),
        ("response.completed", None),
    ]


@BOTH
async def test_calls_and_reasoning(streamed: bool) -> None:
    said = [Reasoning("Hm so"), Message("assistant", "I look."), call("add", a=1), call("add", a=2)]
    async with FakeOpenAIServer([said]) as server:
        model = model_at(server)
        response = await ask(model, request(stream=streamed))
    assert response.text == "I look."
    assert calls_of(response) == [("call_1_1", "add", '{"a":1}'), ("call_1_2", "add", '{"a":2}')]
    assert response.finish == "tool_calls"
    assert response.output[0] == Reasoning("Hm so", id="reasoning_content", provider=model.provider)


@BOTH
async def test_a_refusal_is_kept_as_one(streamed: bool) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I cannot."}
    async with FakeOpenAIServer([reply(message, streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert response.output == (Message("assistant", (Refusal("I cannot."),)),)


@BOTH
async def test_annotations_are_kept(streamed: bool) -> None:
    message = {"content": "see", "annotations": [{"type": "url_citation", "url": "https://x"}]}
    async with FakeOpenAIServer([reply(message, streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert response.output == (Message("assistant", (OutputText("see", ({"type": "url_citation", "url": "https://x"},)),)),)


VENDORS: list[tuple[str, dict[str, Any], str, str, list[tuple[str, str, str]]]] = [
    ("null-everything", {"content": "a", "refusal": None, "tool_calls": None, "function_call": None}, "a", "", []),
    ("empty-strings", {"content": "a", "refusal": "", "reasoning_content": "", "tool_calls": []}, "a", "", []),
    ("unknown-fields", {"content": "a", "channel": "final", "x": {"y": [1]}}, "a", "", []),
    ("reasoning_content", {"content": "a", "reasoning_content": "r"}, "a", "r", []),
    ("reasoning", {"content": "a", "reasoning": "r"}, "a", "r", []),
    ("both-names", {"content": "a", "reasoning": "r", "reasoning_content": "r"}, "a", "r", []),
    ("details", {"content": "a", "reasoning_details": [{"type": "reasoning.text", "text": "r"}]}, "a", "r", []),
    (
        "details-beside-text",
        {"content": "a", "reasoning": "r", "reasoning_details": [{"type": "reasoning.text", "text": "r"}, None]},
        "a",
        "r",
        [],
    ),
    (
        "content-parts",
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "r"}]},
                {"type": "text", "text": "a"},
                {"type": "reference", "reference_ids": [1]},
                "b",
                None,
            ]
        },
        "ab",
        "r",
        [],
    ),
    (
        "no-type-no-index",
        {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
        "",
        "",
        [("a", "f", "{}")],
    ),
    (
        "object-arguments",
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": "é"}}}]},
        "",
        "",
        [("a", "f", '{"x": "é"}')],
    ),
    ("no-id", {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}, "", "", [("call_c1_0", "f", "{}")]),
    ("old-function-call", {"function_call": {"name": "f", "arguments": "{}"}}, "", "", [("call_c1_0", "f", "{}")]),
]


@BOTH
@pytest.mark.parametrize(("message", "text", "reasoning", "calls"), [pytest.param(*row[1:], id=row[0]) for row in VENDORS])
async def test_vendor_shapes(streamed: bool, message: dict[str, Any], text: str, reasoning: str, calls: list[Any]) -> None:
    async with FakeOpenAIServer([reply(message, streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert (response.text, reasoning_of(response), calls_of(response)) == (text, reasoning, calls)


async def test_pieces_of_structured_reasoning_are_joined_for_their_return() -> None:
    pieces = [
        {"type": "reasoning.text", "index": 0, "text": "a"},
        {"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"},
    ]
    events = [chunk({"reasoning_details": [piece]}) for piece in pieces]
    async with FakeOpenAIServer(
        [ServerReply(events=[*events, chunk({"content": "x"}), chunk(finish="stop"), "[DONE]"])]
    ) as server:
        response = await ask(model_at(server), request(stream=True))
    item = response.output[0]
    assert isinstance(item, Reasoning)
    assert (item.text, json.loads(item.encrypted)) == ("ab", [{**pieces[1], "text": "ab"}])


async def test_a_message_repeated_in_every_chunk_counts_once() -> None:
    events = [
        {"choices": [{"delta": {"content": "a"}, "message": {"content": "a"}}]},
        {"choices": [{"delta": {"content": "b"}, "message": {"content": "ab"}, "finish_reason": "stop"}]},
        "[DONE]",
    ]
    async with FakeOpenAIServer([ServerReply(events=events)]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "ab"


@BOTH
async def test_only_the_first_of_several_choices_is_read(streamed: bool) -> None:
    second = {"index": 1, "delta": {"content": "no"}, "message": {"content": "no"}, "finish_reason": "stop"}
    first = {"index": 0, "delta": {"content": "yes"}, "message": {"content": "yes"}, "finish_reason": "stop"}
    body = {"choices": [second, first]}
    said = ServerReply(events=[body, "[DONE]"]) if streamed else ServerReply(body=body)
    async with FakeOpenAIServer([said]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).text == "yes"


@pytest.mark.parametrize("finish", ["stop", "STOP", "eos_token", "stop_sequence"])
@BOTH
async def test_finish_reasons_that_mean_stop(streamed: bool, finish: str) -> None:
    async with FakeOpenAIServer([reply({"content": "a", "tool_calls": [TOOL_CALL]}, finish, streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert (response.finish, len(calls_of(response))) == ("stop", 1)


async def test_a_chunk_of_another_choice_is_left_out() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": None}]}
    async with FakeOpenAIServer(
        [ServerReply(events=[chunk({"content": "a"}), other, chunk(finish="stop"), "[DONE]"])]
    ) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "a"


async def test_a_whole_answer_to_a_request_for_a_stream() -> None:
    async with FakeOpenAIServer([ServerReply(body=whole({"content": "a"}))]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "a"


async def test_a_stream_with_no_content_type() -> None:
    said = ServerReply(events=[chunk({"content": "a"}), chunk(finish="stop"), "[DONE]"], headers={"content-type": "text/plain"})
    async with FakeOpenAIServer([said]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "a"


@pytest.mark.parametrize(
    "how",
    [
        {"chunks": "bytes"},
        {"chunks": 1},
        {"chunks": 2, "line_end": "\r\n"},
        {"chunks": "bytes", "line_end": "\r"},
        {"comments": True},
        {"gzip": True},
        {"gzip": True, "chunks": 3},
    ],
    ids=str,
)
async def test_the_wire_form_makes_no_difference(how: dict[str, Any]) -> None:
    said = [Message("assistant", "a\u2028b\u0085c 😀 é"), call("add", text="\u2028é")]
    async with FakeOpenAIServer([said, ServerReply(said, **how)]) as server:
        model = model_at(server)
        plain, other = await events_of(model, request(stream=True)), await events_of(model, request(stream=True))
    assert [e for e in other if isinstance(e, OutputTextDelta)] == [e for e in plain if isinstance(e, OutputTextDelta)]
    response = other[-1]
    assert isinstance(response, ResponseCompleted)
    assert response.response.text == "a\u2028b\u0085c 😀 é"
    assert calls_of(response.response)[0][2] == msgspec.json.encode({"text": "\u2028é"}).decode()


@BOTH
async def test_lone_surrogates_are_replaced(streamed: bool) -> None:
    texts = (
        '{"id":"c1","choices":[{"delta":{"content":"a\\ud83d"}}]}',
        '{"choices":[{"delta":{"content":"\\ude00\\ud83db"},"finish_reason":"stop"}]}',
    )
    body = b'{"choices":[{"message":{"content":"a\\ud83d\\ude00\\ud83db"},"finish_reason":"stop"}]}'
    said = ServerReply(events=[*texts, "[DONE]"]) if streamed else ServerReply(body=body)
    async with FakeOpenAIServer([said]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert response.text == "a😀\ufffdb"


# Usage


@BOTH
async def test_missing_usage_is_marked(streamed: bool) -> None:
    async with FakeOpenAIServer([ServerReply("a", usage=None)]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).usage == Usage(requests=1, known=False)


async def test_usage_that_comes_with_every_chunk_is_not_added_up() -> None:
    def at(output: int) -> dict[str, int]:
        return {"prompt_tokens": 3, "completion_tokens": output}

    events = [
        chunk({"content": "a"}, usage=at(1)),
        chunk({"content": "b"}, usage=at(2)),
        chunk(finish="stop", usage=at(2)),
        "[DONE]",
    ]
    async with FakeOpenAIServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server), request(stream=True))
    assert (response.text, response.usage) == ("ab", Usage(1, 3, 2))


# Replies that are not whole


@BOTH
@pytest.mark.parametrize("message", [{"content": "half"}, {"content": "half", "tool_calls": [TOOL_CALL]}, {}])
async def test_no_finish_reason_proves_nothing(streamed: bool, message: dict[str, Any]) -> None:
    async with FakeOpenAIServer([reply(message, None, streamed=streamed)]) as server:
        with pytest.raises(IncompleteResponseError) as caught:
            await ask(model_at(server), request(stream=streamed))
    assert caught.value.partial == message.get("content", "")


@pytest.mark.parametrize("end", [["[DONE]"], []])
async def test_a_stream_that_ends_early_is_incomplete_with_or_without_done(end: list[str]) -> None:
    async with FakeOpenAIServer([ServerReply(events=[chunk({"content": "ha"}), chunk({"content": "lf"}), *end])]) as server:
        with pytest.raises(IncompleteResponseError) as caught:
            await ask(model_at(server), request(stream=True))
    assert caught.value.partial == "half"


@BOTH
async def test_servers_that_never_send_a_finish_reason(streamed: bool) -> None:
    text, calls = {"content": "all"}, {"content": "all", "tool_calls": [TOOL_CALL]}
    async with FakeOpenAIServer([reply(message, None, streamed=streamed) for message in (text, calls, {})]) as server:
        model = model_at(server, incomplete_text_ok=True)
        response = await ask(model, request(stream=streamed))
        assert (response.text, response.finish) == ("all", "unknown")
        for _ in range(2):
            with pytest.raises(IncompleteResponseError):
                await ask(model, request(stream=streamed))


@BOTH
async def test_length_on_text_is_told(streamed: bool) -> None:
    async with FakeOpenAIServer([reply({"content": "half"}, "length", streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert (response.text, response.finish) == ("half", "length")


@BOTH
@pytest.mark.parametrize("message", [{"content": "a", "tool_calls": [TOOL_CALL]}, {"content": ""}, {"reasoning_content": "r"}])
async def test_length_in_a_call_or_before_any_text_is_incomplete(streamed: bool, message: dict[str, Any]) -> None:
    async with FakeOpenAIServer([reply(message, "length", streamed=streamed)]) as server:
        with pytest.raises(IncompleteResponseError, match="max_tokens") as caught:
            await ask(model_at(server), request(stream=streamed))
    assert caught.value.partial == message.get("content", "")


@BOTH
async def test_an_unknown_finish_reason_lets_text_through_but_no_call(streamed: bool) -> None:
    messages = ({"content": "a"}, {"tool_calls": [TOOL_CALL]})
    async with FakeOpenAIServer([reply(message, "weird", streamed=streamed) for message in messages]) as server:
        model = model_at(server)
        assert (await ask(model, request(stream=streamed))).finish == "unknown"
        with pytest.raises(IncompleteResponseError):
            await ask(model, request(stream=streamed))


@BOTH
@pytest.mark.parametrize(("finish", "error"), [("content_filter", ContentFilterError), ("error", IncompleteResponseError)])
async def test_finish_reasons_that_are_errors(streamed: bool, finish: str, error: type[AgentsException]) -> None:
    async with FakeOpenAIServer([reply({"content": "a"}, finish, streamed=streamed)]) as server:
        with pytest.raises(error):
            await ask(model_at(server), request(stream=streamed))


@BOTH
async def test_an_empty_stop_is_passed_on(streamed: bool) -> None:
    async with FakeOpenAIServer([reply({"content": ""}, "stop", streamed=streamed)]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).output == ()


@pytest.mark.parametrize("cut", range(6))
async def test_a_stream_cut_anywhere_never_yields_a_response(cut: int) -> None:
    said = [Message("assistant", "a b"), call("add", a=1)]
    async with FakeOpenAIServer([ServerReply(said, stops_after=cut, chunks=cut)]) as server:
        with pytest.raises((IncompleteResponseError, MalformedResponseError)):
            await ask(model_at(server), request(stream=True))


async def test_an_event_cut_in_two_is_incomplete_not_malformed() -> None:
    async with FakeOpenAIServer([ServerReply(events=[chunk({"content": "a"}), b'data: {"choi'])]) as server:
        with pytest.raises(IncompleteResponseError):
            await ask(model_at(server), request(stream=True))


# Replies that are not the protocol


MALFORMED_BODIES: list[Any] = [
    {"choices": []},
    {"choices": None},
    {"id": "x"},
    b"[]",
    b"null",
    b'"text"',
    b"",
    b"{",
    b"not json",
    b'{"choices": [{"message": {"content": "\xff"}, "finish_reason": "stop"}]}',
    b'{"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}',
    b"[" * 100_000,
    "<html><body>Bad gateway</body></html>",
]


@pytest.mark.parametrize("body", MALFORMED_BODIES, ids=lambda body: str(body)[:20])
@BOTH
async def test_malformed_bodies(streamed: bool, body: Any) -> None:
    async with FakeOpenAIServer([ServerReply(body=body)]) as server:
        with pytest.raises(MalformedResponseError) as caught:
            await ask(model_at(server), request(stream=streamed))
    assert "Bad gateway" not in str(caught.value)


MALFORMED_STREAMS: list[list[Any]] = [
    [chunk({"content": "a"}), b"data: {not json}\n\n"],
    [chunk({"content": "a"}), b"data: \xff\n\n"],
    [chunk({"content": "a"}), b"data: []\n\n"],
    [b'data: {"choices": 5}\n\n'],
    [b"data: " + b"[" * 100_000 + b"\n\n"],
    [{"choices": []}, {"choices": None}, "[DONE]"],
    [b": nothing but comments\n\n"],
    ["[DONE]"],
    [],
]


@pytest.mark.parametrize("events", MALFORMED_STREAMS, ids=lambda events: str(events)[:40])
async def test_malformed_streams_close_the_connection(events: list[Any]) -> None:
    said = ServerReply(events=events, then="open" if events[1:] and isinstance(events[1], bytes) else "end")
    async with FakeOpenAIServer([said]) as server:
        with pytest.raises(MalformedResponseError):
            await ask(model_at(server), request(stream=True))
        if said.then == "open":
            await server.all_closed()


@BOTH
@pytest.mark.parametrize("data", [b"not gzip", gzip.compress(b'{"choices": []}')[:-6]])
async def test_broken_gzip_is_typed(streamed: bool, data: bytes) -> None:
    said = ServerReply(body=data, headers={"content-encoding": "gzip"})
    async with FakeOpenAIServer([said]) as server:
        with pytest.raises(MalformedResponseError):
            await ask(model_at(server), request(stream=streamed))


# Errors of the provider


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


@BOTH
@pytest.mark.parametrize(("status", "error", "retryable"), STATUSES)
async def test_statuses(streamed: bool, status: int, error: type[ProviderError], retryable: bool) -> None:
    body = {"error": {"message": "the reason", "code": "the_code", "type": "t"}}
    said = ServerReply(status=status, body=body, headers={"x-request-id": "r-1", "location": "http://127.0.0.1:9/"})
    async with FakeOpenAIServer([said] * 3) as server:
        with pytest.raises(error) as caught:
            await ask(model_at(server), request(stream=streamed))
    found = caught.value
    assert type(found) is error
    assert (found.status, found.code, found.request_id, found.retryable) == (status, "the_code", "r-1", retryable)
    assert "the reason" in str(found)
    assert "'gpt-test'" in str(found)
    assert len(server.requests) == (3 if retryable else 1)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", {"detail": "no"}, {"error": "no"}, {"message": "no"}, [{"error": {"message": "no"}}]]
)
async def test_error_bodies_of_any_shape(body: Any) -> None:
    async with FakeOpenAIServer(
        [ServerReply(status=400, body=body if isinstance(body, bytes) else msgspec.json.encode(body))]
    ) as server:
        with pytest.raises(BadRequestError) as caught:
            await ask(model_at(server), request())
    assert caught.value.status == 400
    assert (": no" in str(caught.value)) == (not isinstance(body, bytes))


async def test_a_huge_error_body_is_not_read_to_its_end() -> None:
    async with FakeOpenAIServer([ServerReply(status=400, body=b"x" * 1_000_000, then="open")]) as server:
        with pytest.raises(BadRequestError):
            await ask(model_at(server), request())
        await server.all_closed()


async def test_a_broken_error_body_still_tells_the_status() -> None:
    async with FakeOpenAIServer([ServerReply(status=400, body=b"x" * 100, stops_after=10, then="reset")]) as server:
        with pytest.raises(BadRequestError):
            await ask(model_at(server), request())


INSIDE: list[tuple[Any, type[ProviderError], int | None, bool]] = [
    ({"message": "m", "code": 429}, RateLimitError, 429, True),
    ({"message": "m", "code": "rate_limit_exceeded"}, RateLimitError, 429, True),
    ({"message": "m", "code": "insufficient_quota"}, RateLimitError, 429, False),
    (
        {"message": "m", "type": "invalid_request_error", "code": "tool_use_failed", "status_code": 400},
        BadRequestError,
        400,
        False,
    ),
    ({"message": "m", "type": "server_error"}, ProviderUnavailableError, 500, True),
    ({"message": "m", "code": "502"}, ProviderUnavailableError, 502, True),
    ({"message": "m", "type": "authentication_error"}, AuthenticationError, 401, False),
    ({"message": "m"}, ProviderUnavailableError, None, True),
    ("m", ProviderUnavailableError, None, True),
]


@BOTH
@pytest.mark.parametrize(("told", "error", "status", "retryable"), INSIDE)
async def test_an_error_inside_an_answer(
    streamed: bool, told: Any, error: type[ProviderError], status: int | None, retryable: bool
) -> None:
    said = ServerReply(events=[{"error": told}], then="open") if streamed else ServerReply(body={"error": told})
    async with FakeOpenAIServer([said] * 3) as server:
        with pytest.raises(error) as caught:
            await ask(model_at(server), request(stream=streamed))
        assert (caught.value.status, caught.value.retryable) == (status, retryable)
        assert "m" in str(caught.value)
        assert len(server.requests) == (3 if retryable else 1)
        if streamed:
            await server.all_closed()


@pytest.mark.parametrize(
    "event",
    [
        b'event: error\ndata: {"error": {"message": "m", "status_code": 400}}\n\n',
        b'event: error\ndata: {"message": "m", "status_code": 400}\n\n',
        {"object": "error", "message": "m", "code": 400},
        {"error": {"message": "m", "status": 400}, "choices": [{"delta": {}, "finish_reason": "error"}]},
    ],
)
async def test_forms_of_errors_in_a_stream(event: Any) -> None:
    async with FakeOpenAIServer([ServerReply(events=[chunk({"content": "a"}), event])]) as server:
        with pytest.raises(BadRequestError, match="m") as caught:
            await ask(model_at(server), request(stream=True))
    assert caught.value.status == 400


async def test_an_error_event_that_is_no_json() -> None:
    async with FakeOpenAIServer([ServerReply(events=[b"event: error\ndata: upstream gone\n\n"])] * 3) as server:
        with pytest.raises(ProviderUnavailableError, match="upstream gone"):
            await ask(model_at(server), request(stream=True))


# Retries


@BOTH
@pytest.mark.parametrize(
    "fault", [ServerReply(status=503, body=b""), ServerReply(status=429, body=b""), ServerReply(then="refuse")]
)
async def test_every_attempt_is_the_same_request(streamed: bool, fault: ServerReply) -> None:
    async with FakeOpenAIServer([fault, fault, "ok"]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).text == "ok"
    assert len({(sent.body, sent.headers["idempotency-key"]) for sent in server.requests}) == 1
    assert len(server.requests) == 3


@BOTH
async def test_the_request_count_is_one_and_the_retries(streamed: bool) -> None:
    asked = request(stream=streamed, settings=ModelSettings(retry=ModelRetrySettings(max_retries=4)))
    async with FakeOpenAIServer([ServerReply(status=500, body=b"")] * 9) as server:
        with pytest.raises(ProviderUnavailableError):
            await ask(model_at(server), asked)
    assert len(server.requests) == 5


@BOTH
@pytest.mark.parametrize("header", ["20", "Tue, 14 Nov 2023 22:13:40 GMT"])
async def test_retry_after_is_kept(streamed: bool, header: str) -> None:
    clock = FakeClock()
    async with FakeOpenAIServer([ServerReply(status=429, body=b"", headers={"Retry-After": header}), "ok"]) as server:
        await ask(model_at(server, clock=clock, random=lambda: 0.5), request(stream=streamed))
    assert clock.slept == [21.0]


@BOTH
async def test_a_long_retry_after_is_raised_at_once(streamed: bool) -> None:
    clock = FakeClock()
    async with FakeOpenAIServer([ServerReply(status=429, body=b"", headers={"Retry-After": "3600"})]) as server:
        with pytest.raises(RateLimitError) as caught:
            await ask(model_at(server, clock=clock), request(stream=streamed))
    assert (caught.value.retry_after, clock.slept, len(server.requests)) == (3600.0, [], 1)


async def test_the_provider_may_say_whether_to_retry() -> None:
    no = ServerReply(status=500, body=b"", headers={"x-should-retry": "false"})
    yes = ServerReply(status=400, body=b"", headers={"x-should-retry": "true"})
    async with FakeOpenAIServer([yes, no]) as server:
        with pytest.raises(ProviderUnavailableError):
            await ask(model_at(server), request())
    assert len(server.requests) == 2


async def test_a_reset_after_something_was_shown_is_not_repeated() -> None:
    async with FakeOpenAIServer([ServerReply("one two three", stops_after=3, then="reset"), "other"]) as server:
        model = model_at(server)
        shown = ""
        with pytest.raises(IncompleteResponseError) as caught:
            async for event in model.stream(request(stream=True)):
                shown += event.delta if isinstance(event, OutputTextDelta) else ""
    assert shown == caught.value.partial == "one two"
    assert isinstance(caught.value.__cause__, ModelConnectionError)
    assert len(server.requests) == 1


async def test_a_reset_before_anything_was_shown_is_repeated() -> None:
    async with FakeOpenAIServer([ServerReply("one", stops_after=1, then="reset"), "two"]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert [type(event) for event in events[:3]] == [ResponseCreated, AttemptDiscarded, ResponseCreated]
    assert shown_text(events) == "two"


@pytest.mark.parametrize("cut", [0, 1, 40])
async def test_a_reset_of_a_whole_answer_is_repeated(cut: int) -> None:
    async with FakeOpenAIServer([ServerReply("one", stops_after=cut, then="reset"), "two"]) as server:
        assert (await ask(model_at(server), request())).text == "two"


async def test_no_server() -> None:
    async with FakeOpenAIServer([]) as server:
        model = model_at(server, retry=ModelRetrySettings(max_retries=0))
    with pytest.raises(ModelConnectionError, match="base_url") as caught:
        await ask(model, request())
    assert caught.value.retryable


# Deadlines and ends


QUICK = ModelTimeouts(idle=0.3, read=10, total=10)


@pytest.mark.parametrize("then", ["stall", "pings"])
async def test_a_stalled_stream_is_given_up(then: Any) -> None:
    """Comments keep the socket busy and mean nothing."""
    async with FakeOpenAIServer([ServerReply("one two", stops_after=2, then=then)]) as server:
        with pytest.raises(ModelTimeoutError, match="idle"):
            await ask(model_at(server, timeouts=QUICK), request(stream=True))
        await server.all_closed()
    assert len(server.requests) == 1


async def test_a_stream_that_stalls_before_anything_was_shown_is_asked_for_again() -> None:
    async with FakeOpenAIServer([ServerReply("one", stops_after=0, then="pings"), "two"]) as server:
        assert (await ask(model_at(server, timeouts=QUICK), request(stream=True))).text == "two"


async def test_a_whole_answer_that_stalls() -> None:
    async with FakeOpenAIServer([ServerReply("one", stops_after=5, then="stall")] * 2) as server:
        model = model_at(server, timeouts=ModelTimeouts(read=0.3), retry=ModelRetrySettings(max_retries=1))
        with pytest.raises(ModelTimeoutError, match="read"):
            await ask(model, request())
        await server.all_closed()
    assert len(server.requests) == 2


@BOTH
async def test_the_total_deadline_is_final(streamed: bool) -> None:
    async with FakeOpenAIServer([ServerReply("one", wait=asyncio.Event())]) as server:
        with pytest.raises(ModelTimeoutError, match="total"):
            await ask(model_at(server, timeouts=ModelTimeouts(total=0.3)), request(stream=streamed))
        await server.all_closed()
    assert len(server.requests) == 1


async def test_a_slow_reader_is_not_an_idle_stream() -> None:
    async with FakeOpenAIServer(["one two three"]) as server:
        got = ""
        async for event in model_at(server, timeouts=QUICK).stream(request(stream=True)):
            if isinstance(event, OutputTextDelta):
                got += event.delta
                if got == "one":
                    await asyncio.sleep(0.4)
    assert got == "one two three"


@pytest.mark.parametrize("cut", [None, -1, -2], ids=["after-done", "after-usage", "after-finish"])
async def test_a_socket_that_stays_open_is_not_waited_for(cut: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.models.http_model._END_GRACE", 0.3)
    said = ServerReply("one", stops_after=cut, then="open")
    async with FakeOpenAIServer([said, "two"]) as server:
        model = model_at(server, timeouts=ModelTimeouts(idle=None, read=None, total=None))
        response = await ask(model, request(stream=True))
        assert (response.text, response.usage.known) == ("one", cut != -2)
        await server.all_closed()
        assert (await ask(model, request(stream=True))).text == "two"


async def test_a_reset_after_the_finish_reason_does_no_harm() -> None:
    async with FakeOpenAIServer([ServerReply("one", stops_after=-2, then="reset")]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "one"


async def test_a_connection_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.models.http._END_GRACE", 5.0)
    async with FakeOpenAIServer(["a", "b", ServerReply(status=400, body=b"x"), "c"]) as server:
        model = model_at(server)
        for streamed in (True, False):
            await ask(model, request(stream=streamed))
        with pytest.raises(BadRequestError):
            await ask(model, request())
        await ask(model, request(stream=True))
    assert server.connections == 1


# Closing


async def test_closing_the_stream_closes_the_connection() -> None:
    async with FakeOpenAIServer([ServerReply("one two three", stops_after=3, then="stall")]) as server:
        stream = model_at(server).stream(request(stream=True))
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
@pytest.mark.parametrize(
    "said", [ServerReply("one two", wait=asyncio.Event()), ServerReply("one two", stops_after=2, then="stall")]
)
async def test_cancelling_closes_the_connection(streamed: bool, said: ServerReply) -> None:
    if said.wait is not None:
        said = msgspec.structs.replace(said, wait=asyncio.Event())
    async with FakeOpenAIServer([said]) as server:
        task = asyncio.ensure_future(ask(model_at(server), request(stream=streamed)))
        await server.requested()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.all_closed()


async def test_many_at_once_share_a_bounded_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.models.http.MAX_CONNECTIONS", 5)
    await aclose()
    async with FakeOpenAIServer(["ok"] * 30) as server:
        models = [model_at(server) for _ in range(3)]
        answers = await asyncio.gather(*(ask(models[n % 3], request(stream=bool(n % 2))) for n in range(30)))
    assert {answer.text for answer in answers} == {"ok"}
    assert server.connections == 5
    await aclose()


@BOTH
async def test_nothing_but_model_errors_comes_out(streamed: bool) -> None:
    """Random damage to a good answer: a typed error, or the very same answer."""
    import random

    chance = random.Random(3)
    said = [Message("assistant", "one two"), call("add", a=1)]
    async with FakeOpenAIServer([said]) as server:
        model = model_at(server)
        whole_one = await ask(model, request(stream=streamed))
        raw = msgspec.json.encode
        from agentsdk.testing.chat_dialect import ChatDialect

        dialect = ChatDialect()
        good = (
            b"".join(b"data: %b\n\n" % (e.encode() if isinstance(e, str) else raw(e)) for e in dialect.events(whole_one, {}))
            if streamed
            else raw(dialect.whole(whole_one, {}))
        )
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
    said_raw = [ServerReply(events=[one], stops_after=1) if streamed else ServerReply(body=one) for one in damaged]
    async with FakeOpenAIServer(said_raw) as server:
        model = model_at(server, retry=ModelRetrySettings(max_retries=0))
        for _ in damaged:
            try:
                response = await ask(model, request(stream=streamed))
            except ModelError:
                continue
            assert len(calls_of(response)) <= 1
