"""The adapter against a real socket: what it sends, and what it makes of each shape of reply.

What goes wrong whatever the protocol is in test_faults.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.transport import ModelTimeouts
from agentsdk.testing import FakeOpenAIServer, ServerReply, call
from agentsdk.types.deltas import AttemptDiscarded, ResponseCompleted, ResponseCreated
from agentsdk.types.errors import (
    AgentsException,
    AuthenticationError,
    BadRequestError,
    ContentFilterError,
    IncompleteResponseError,
    MalformedResponseError,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
    UnsupportedCallError,
    UserError,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, OutputText, Reasoning, Refusal
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage
from tests.models.wire import ask, calls_of, events_of, model_at, reasoning_of, request, shown_text

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
        model = model_at(server, allow_missing_finish_reason=True)
        response = await ask(model, request(stream=streamed))
        assert (response.text, response.finish) == ("all", "unknown")
        for _ in range(2):
            with pytest.raises(IncompleteResponseError):
                await ask(model, request(stream=streamed))


@BOTH
async def test_no_name_and_no_arguments_in_the_older_form_are_no_call(streamed: bool) -> None:
    messages = ({"content": "4", "function_call": legacy} for legacy in ({"name": "", "arguments": ""}, {}, {"name": None}))
    async with FakeOpenAIServer([reply(message, "stop", streamed=streamed) for message in messages]) as server:
        model = model_at(server)
        for _ in range(3):
            assert (await ask(model, request(stream=streamed))).output == (Message("assistant", "4"),)


@pytest.mark.parametrize(
    ("message", "finish"), [({"content": "4"}, "stop"), ({"tool_calls": [TOOL_CALL]}, "tool_calls"), ({"content": ""}, None)]
)
async def test_a_whole_body_may_be_proof_enough(message: dict[str, object], finish: str | None) -> None:
    said = [reply(message, "", streamed=False), reply(message, "", streamed=True)]
    async with FakeOpenAIServer(said) as server:
        model = model_at(server, whole_body_ok=True)
        if finish is None:
            with pytest.raises(IncompleteResponseError):
                await ask(model, request())
        else:
            assert (await ask(model, request())).finish == finish
        with pytest.raises(IncompleteResponseError):
            await ask(model, request(stream=True))


@BOTH
async def test_a_call_of_another_kind_is_an_error_that_names_it(streamed: bool) -> None:
    custom = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    messages = ({"tool_calls": [custom]}, {"content": "Let me look.", "tool_calls": [custom, {**TOOL_CALL, "index": 1}]})
    async with FakeOpenAIServer([reply(message, "tool_calls", streamed=streamed) for message in messages]) as server:
        model = model_at(server)
        for _ in range(2):
            with pytest.raises(UnsupportedCallError, match="'custom'") as caught:
                await ask(model, request(stream=streamed))
            assert caught.value.kind == "custom"


@BOTH
async def test_what_comes_beside_a_call_or_a_message_goes_back_with_it(streamed: bool) -> None:
    beside = [{"google": {"thought_signature": text}} for text in ("one", "two", "said")]
    calls = [{**TOOL_CALL, "index": n, "id": f"c{n}", "extra_content": extra} for n, extra in enumerate(beside[:2])]
    message = {"content": "a", "tool_calls": [*calls, {**TOOL_CALL, "index": 2, "id": "c2"}], "extra_content": beside[2]}
    async with FakeOpenAIServer([reply(message, "tool_calls", streamed=streamed)]) as server:
        model = model_at(server, provider="gemini")
        said = (await ask(model, request(stream=streamed))).output
        [sent] = json.loads(model.body(request(items=said)))["messages"]
        assert [call.get("extra_content") for call in sent["tool_calls"]] == [*beside[:2], None]
        assert (sent["content"], sent["extra_content"]) == ("a", beside[2])
        other = model_at(server, provider="other").body(request(items=said))
        assert b"extra_content" not in other


@BOTH
@pytest.mark.parametrize(("finish", "error"), [("content_filter", ContentFilterError), ("error", IncompleteResponseError)])
async def test_finish_reasons_that_are_errors(streamed: bool, finish: str, error: type[AgentsException]) -> None:
    async with FakeOpenAIServer([reply({"content": "a"}, finish, streamed=streamed)]) as server:
        with pytest.raises(error):
            await ask(model_at(server), request(stream=streamed))


# Replies that are not the protocol


MALFORMED_BODIES: list[Any] = [
    {"choices": []},
    {"choices": None},
    {"id": "x"},
    b'{"choices": [{"message": {"content": "\xff"}, "finish_reason": "stop"}]}',
    b'{"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}',
]


@pytest.mark.parametrize("body", MALFORMED_BODIES, ids=lambda body: str(body)[:20])
@BOTH
async def test_malformed_bodies(streamed: bool, body: Any) -> None:
    async with FakeOpenAIServer([ServerReply(body=body)]) as server:
        with pytest.raises(MalformedResponseError):
            await ask(model_at(server), request(stream=streamed))


MALFORMED_STREAMS: list[list[Any]] = [
    [b'data: {"choices": 5}\n\n'],
    [{"choices": []}, {"choices": None}, "[DONE]"],
    ["[DONE]"],
]


@pytest.mark.parametrize("events", MALFORMED_STREAMS, ids=lambda events: str(events)[:40])
async def test_malformed_streams(events: list[Any]) -> None:
    async with FakeOpenAIServer([ServerReply(events=events)]) as server:
        with pytest.raises(MalformedResponseError):
            await ask(model_at(server), request(stream=True))


# Errors of the provider


async def test_an_error_tells_the_providers_code() -> None:
    said = ServerReply(status=400, body={"error": {"message": "the reason", "code": "the_code", "type": "t"}})
    async with FakeOpenAIServer([said]) as server:
        with pytest.raises(BadRequestError, match="the reason") as caught:
            await ask(model_at(server), request())
    assert caught.value.code == "the_code"


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


async def test_a_reset_before_anything_was_shown_is_repeated() -> None:
    async with FakeOpenAIServer([ServerReply("one", stops_after=1, then="reset"), "two"]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert [type(event) for event in events[:3]] == [ResponseCreated, AttemptDiscarded, ResponseCreated]
    assert shown_text(events) == "two"


# Ends


@pytest.mark.parametrize("cut", [None, -1, -2], ids=["after-done", "after-usage", "after-finish"])
async def test_a_socket_that_stays_open_is_not_waited_for(cut: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.models.http_model.HttpModel._end_grace", 0.3)
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


async def test_a_server_that_takes_no_schema_is_told_it_in_words() -> None:
    trip = OutputSpec("Trip", {"type": "object", "properties": {"city": {"type": "string"}}})
    asked = request(output=trip, instructions="Be brief.")
    model = OpenAIChatCompletionsModel("m", base_url="http://127.0.0.1:9/v1", native_output=False)
    body = json.loads(model.body(asked))
    assert "response_format" not in body
    system = body["messages"][0]["content"]
    assert system.startswith("Be brief.") and '"city"' in system and "JSON Schema" in system
