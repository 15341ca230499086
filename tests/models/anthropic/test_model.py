"""The Anthropic adapter against a real socket: what it sends, and what it makes of each block, stop reason and event."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.models.anthropic.model import MAX_PAUSES
from agentsdk.testing import ServerReply, call
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.types.deltas import OutputItemAdded, OutputItemDone, RefusalDelta, ResponseCompleted, ResponseCreated
from agentsdk.types.errors import (
    BadRequestError,
    IncompleteResponseError,
    MalformedResponseError,
    ProviderUnavailableError,
    UnsupportedCallError,
    UserError,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, OutputText, ProviderItem, Reasoning, Refusal
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage
from tests.models.anthropic.server import model_at
from tests.models.wire import ask, calls_of, events_of, reasoning_of, request, shown_reasoning, shown_text

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = ToolSpec("add", "adds", SCHEMA)
BOTH = pytest.mark.parametrize("streamed", [False, True])
OFFLINE = "http://127.0.0.1:9"
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "https://x"}]}
CITATION = {"type": "web_search_result_location", "url": "https://x", "encrypted_index": "e"}


def whole(*blocks: dict[str, Any], stop: str | None = "end_turn", **rest: Any) -> dict[str, Any]:
    return {"id": "m1", "type": "message", "content": list(blocks), "stop_reason": stop, **rest}


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def stream_of(*events: dict[str, Any], reason: str | None = "end_turn", **rest: Any) -> list[dict[str, Any]]:
    opening = {"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 3, "output_tokens": 1}}}
    closing = {"type": "message_delta", "delta": {"stop_reason": reason, **rest}, "usage": {"output_tokens": 5}}
    return [opening, *events, closing, {"type": "message_stop"}]


def reply(*blocks: dict[str, Any], reason: str = "end_turn", streamed: bool, **rest: Any) -> ServerReply:
    """The same blocks in both wire forms."""
    if not streamed:
        return ServerReply(body=whole(*blocks, stop=reason, **rest))
    events = [event for index, block in enumerate(blocks) for event in (start(index, **block), stop(index))]
    return ServerReply(events=stream_of(*events, reason=reason, **rest))


# What is sent


async def test_the_request() -> None:
    settings = ModelSettings(
        temperature=0.5,
        top_p=0.9,
        max_tokens=50,
        stop=("END",),
        tool_choice="add",
        parallel_tool_calls=False,
        reasoning_effort="low",
        metadata={"user_id": "u"},
        extra_body={
            "thinking": {"type": "adaptive"},
            "output_config": {"x": 1},
            "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        },
        extra_headers={"Anthropic-Beta": "b"},
    )
    items: list[Item] = [Message("system", "Lead."), Message("user", "hi"), call("add"), FunctionCallOutput("", "2")]
    asked = request(
        stream=True,
        items=items,
        instructions="Be brief.",
        tail=(Message("user", "now"),),
        tools=(TOOL,),
        output=OutputSpec("answer", SCHEMA),
        settings=settings,
    )
    async with FakeAnthropicServer(["ok"]) as server:
        await ask(model_at(server, headers={"X-Org": "o"}, cache="1h", strict_tools=True), asked)
    sent = server.requests[0]
    body = sent.json
    assert list(body)[-1] == "messages"
    messages: Any = body.pop("messages")
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert body == {
        "model": "claude-test",
        "max_tokens": 50,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "metadata": {"user_id": "u"},
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
        "stream": True,
        "system": "Be brief.\n\nLead.",
        "thinking": {"type": "adaptive"},
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low", "x": 1},
        "tools": [
            {"name": "add", "description": "adds", "input_schema": SCHEMA, "strict": True},
            {"type": "web_search_20250305", "name": "web_search"},
        ],
        "tool_choice": {"type": "tool", "name": "add", "disable_parallel_tool_use": True},
    }
    assert sent.path == "/v1/messages"
    assert (sent.headers["x-api-key"], sent.headers["anthropic-version"]) == ("sk-canary-0123456789", "2023-06-01")
    assert (sent.headers["x-org"], sent.headers["anthropic-beta"]) == ("o", "b")
    assert "authorization" not in sent.headers


def body_of(model: AnthropicModel, **fields: Any) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(model.body(request(**fields)))
    return parsed


def test_a_bare_request_sends_nothing_it_need_not() -> None:
    model = AnthropicModel("m", base_url=OFFLINE)
    settings = ModelSettings(tool_choice="required", parallel_tool_calls=False)
    messages = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert body_of(model, settings=settings) == {"model": "m", "max_tokens": 8192, "stream": False, "messages": messages}
    assert body_of(AnthropicModel("m", base_url=OFFLINE, max_tokens=7))["max_tokens"] == 7


@pytest.mark.parametrize(
    ("choice", "parallel", "sent"),
    [
        (None, None, None),
        (None, True, None),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("auto", None, {"type": "auto"}),
        ("required", None, {"type": "any"}),
        ("none", False, {"type": "none"}),
        ("add", True, {"type": "tool", "name": "add"}),
    ],
)
def test_tool_choice(choice: Any, parallel: bool | None, sent: Any) -> None:
    settings = ModelSettings(tool_choice=choice, parallel_tool_calls=parallel)
    assert body_of(AnthropicModel("m", base_url=OFFLINE), tools=(TOOL,), settings=settings).get("tool_choice") == sent


@pytest.mark.parametrize(
    "settings",
    [
        ModelSettings(seed=1),
        ModelSettings(frequency_penalty=0.0),
        ModelSettings(presence_penalty=0.5),
        ModelSettings(metadata={"k": "v"}),
        ModelSettings(extra_body={"messages": []}),
        ModelSettings(extra_body={"system": "x"}),
    ],
    ids=str,
)
def test_what_the_api_does_not_have_is_refused_before_any_request(settings: ModelSettings) -> None:
    with pytest.raises(UserError):
        AnthropicModel("m", base_url=OFFLINE).stream(request(settings=settings))


@pytest.mark.parametrize(("native", "strict", "is_native"), [(True, True, True), (True, False, False), (False, True, False)])
def test_a_schema_that_is_not_enforced_stands_in_the_instructions(native: bool, strict: bool, is_native: bool) -> None:
    body = body_of(AnthropicModel("m", base_url=OFFLINE, native_output=native), output=OutputSpec("answer", SCHEMA, strict))
    assert ("output_config" in body) == is_native
    assert (json.dumps(SCHEMA, separators=(",", ":")) in body.get("system", "")) != is_native


def test_each_request_begins_with_the_one_before() -> None:
    model = AnthropicModel("m", base_url=OFFLINE, cache="5m")
    tape, tools = Tape[Item]([Message("user", "hi")]), (TOOL,)
    sent = model.body(request(items=tape, tools=tools, instructions="x")).removesuffix(b"]}")
    for turn in range(5):
        tape = tape.extended([FunctionCall(str(turn), "add", "{}"), FunctionCallOutput(str(turn), "x")])
        grown = model.body(request(items=tape, tools=tools, instructions="x")).removesuffix(b"]}")
        assert grown.startswith(sent)
        sent = grown


@pytest.mark.parametrize(
    "base_url", ["http://127.0.0.1:9", "http://127.0.0.1:9/", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/"]
)
def test_the_address_may_end_in_its_version(base_url: str) -> None:
    assert AnthropicModel("m", base_url=base_url)._url_for(request()) == "http://127.0.0.1:9/v1/messages"


async def test_the_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
    async with FakeAnthropicServer(["one", "two"]) as server:
        await ask(AnthropicModel("m", base_url=server.base_url), request())
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        await ask(AnthropicModel("m"), request())
    assert [sent.headers.get("x-api-key") for sent in server.requests] == [None, "sk-env"]


def test_a_missing_key_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    with pytest.raises(UserError, match="ANTHROPIC_API_KEY"):
        AnthropicModel("m").stream(request())


# Blocks


@BOTH
async def test_text(streamed: bool) -> None:
    async with FakeAnthropicServer(["Hello, wörld!\n"]) as server:
        events = await events_of(model_at(server), request(stream=streamed))
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    assert last.response.output == (Message("assistant", "Hello, wörld!\n"),)
    assert last.response.usage == Usage(requests=1, input_tokens=10, output_tokens=5)
    assert (last.response.finish, last.response.response_id, last.response.model) == ("stop", "resp_1", "scripted")
    assert shown_text(events) == ("Hello, wörld!\n" if streamed else "")


async def test_the_events_of_a_stream() -> None:
    said = [Reasoning("Hm so"), Message("assistant", "I look."), call("add", a=1)]
    async with FakeAnthropicServer([said]) as server:
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
async def test_every_kind_of_block_makes_the_round_trip(streamed: bool) -> None:
    """What came goes back as it came, in its order."""
    said = [
        Reasoning("Hm so", signature="sig"),
        Reasoning(encrypted="xyz"),
        Message("assistant", "I look."),
        ProviderItem("p", dict(SEARCH)),
        ProviderItem("p", dict(FOUND)),
        Message("assistant", (OutputText("a"), OutputText("b", (dict(CITATION),)))),
        FunctionCall("c1", "add", '{"a":1.0}'),
    ]
    async with FakeAnthropicServer([said, "ok"]) as server:
        model = model_at(server, provider="p")
        response = await ask(model, request(stream=streamed))
        history = [Message("user", "hi"), *response.output, FunctionCallOutput("c1", "2")]
        await ask(model, request(stream=streamed, items=history))
    sent: Any = server.requests[1].json["messages"]
    assert sent[1] == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm so", "signature": "sig"},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": "I look."},
            SEARCH,
            FOUND,
            {"type": "text", "text": "a"},
            {"type": "text", "text": "b", "citations": [CITATION]},
            {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1.0}},
        ],
    }
    assert b'"input":{"a":1.0}' in server.requests[1].body
    assert [type(item).__name__ for item in response.output] == [
        "Reasoning",
        "Reasoning",
        "Message",
        "ProviderItem",
        "ProviderItem",
        "Message",
        "FunctionCall",
    ]
    assert (response.text, response.finish) == ("I look.ab", "tool_calls")


@BOTH
async def test_who_calls_a_tool_is_kept_for_the_provider(streamed: bool) -> None:
    caller = {"type": "code_execution_20260120", "tool_id": "s1"}
    blocks: list[dict[str, Any]] = [
        {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}, "caller": caller},
        {"type": "tool_use", "id": "c2", "name": "add", "input": {}, "caller": {"type": "direct"}},
    ]
    async with FakeAnthropicServer([reply(*blocks, reason="tool_use", streamed=streamed)]) as server:
        model = model_at(server, provider="p")
        events = await events_of(model, request(stream=streamed))
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    output = last.response.output
    assert output[0] == ProviderItem("p", {"type": "tool_use", "caller": caller})
    assert [(call_id, json.loads(text)) for call_id, _, text in calls_of(last.response)] == [("c1", {"a": 1}), ("c2", {})]
    again: Any = body_of(model, items=list(output))["messages"][1]
    assert again["content"] == [blocks[0], {name: blocks[1][name] for name in ("type", "id", "name", "input")}]
    if streamed:
        assert [event.output_index for event in events if isinstance(event, OutputItemDone)] == [0, 1, 2]


async def test_blocks_between_each_other_and_out_of_order() -> None:
    events = stream_of(
        start(2, type="tool_use", id="b", name="add", input={}),
        start(1, type="tool_use", id="a", name="add", input={}),
        start(0, type="text", text=""),
        delta(2, "input_json_delta", partial_json='{"a"'),
        delta(1, "input_json_delta", partial_json='{"a":'),
        delta(0, "text_delta", text="t"),
        delta(2, "input_json_delta", partial_json=":2}"),
        delta(1, "input_json_delta", partial_json="1}"),
        *map(stop, (0, 1, 2)),
        reason="tool_use",
    )
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server), request(stream=True))
    assert response.text == "t"
    assert calls_of(response) == [("a", "add", '{"a":1}'), ("b", "add", '{"a":2}')]


async def test_one_index_twice_is_two_calls_and_what_is_missing_is_made_up() -> None:
    events = stream_of(
        start(0, type="tool_use", name="f"),
        stop(0),
        start(0, type="tool_use", id="b", name="g"),
        {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_stop"},
        reason="tool_use",
    )
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server), request(stream=True))
    assert calls_of(response) == [("call_m1_0", "f", "{}"), ("b", "g", "{}")]


async def test_text_and_thinking_without_their_start() -> None:
    events = stream_of(delta(0, "thinking_delta", thinking="h"), delta(1, "text_delta", text="t"))
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        shown = await events_of(model_at(server), request(stream=True))
    assert (shown_reasoning(shown), shown_text(shown)) == ("h", "t")


async def test_a_call_without_its_start_is_not_the_protocol() -> None:
    events = stream_of(delta(0, "input_json_delta", partial_json="{}"), reason="tool_use")
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        with pytest.raises(MalformedResponseError, match="input_json_delta"):
            await ask(model_at(server), request(stream=True))


async def test_blocks_and_deltas_and_events_that_are_not_known() -> None:
    events = stream_of(
        {"type": "something_new", "x": 1},
        {"type": "ping"},
        start(0, type="compaction", content="", level=1),
        delta(0, "compaction_delta", content="a "),
        delta(0, "compaction_delta", content="b", level=2),
        stop(0),
        start(1, type="text", text="t"),
        delta(1, "new_delta", x=1),
        stop(1),
    )
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server, provider="p"), request(stream=True))
    kept = ProviderItem("p", {"type": "compaction", "content": "a b", "level": 2})
    assert response.output == (kept, Message("assistant", "t"))


async def test_thinking_that_is_not_shown_keeps_its_signature() -> None:
    events = stream_of(
        start(0, type="thinking", thinking="", signature=""), delta(0, "signature_delta", signature="s"), stop(0)
    )
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server, provider="p"), request(stream=True))
    assert response.output == (Reasoning(signature="s", provider="p"),)


@BOTH
async def test_lone_surrogates_are_replaced(streamed: bool) -> None:
    texts = ('{"type":"text_delta","text":"a\\ud83d"}', '{"type":"text_delta","text":"\\ude00\\ud83db"}')
    pieces = [f'{{"type":"content_block_delta","index":0,"delta":{text}}}' for text in texts]
    opening, *_, closing, end = stream_of()
    body = b'{"content":[{"type":"text","text":"a\\ud83d\\ude00\\ud83db"}],"stop_reason":"end_turn"}'
    said = ServerReply(events=[opening, *pieces, closing, end]) if streamed else ServerReply(body=body)
    async with FakeAnthropicServer([said]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).text == "a😀\ufffdb"


async def test_usage_is_the_last_total() -> None:
    async with FakeAnthropicServer([ServerReply(events=stream_of(start(0, type="text", text="t"), stop(0)))]) as server:
        assert (await ask(model_at(server), request(stream=True))).usage == Usage(1, 3, 5)


# Stop reasons


@BOTH
@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
    ],
)
async def test_stop_reasons(streamed: bool, reason: str, finish: str) -> None:
    async with FakeAnthropicServer([reply({"type": "text", "text": "t"}, reason=reason, streamed=streamed)]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).finish == finish


@BOTH
@pytest.mark.parametrize(
    "reason", ["max_tokens", "model_context_window_exceeded", "stop_sequence", "something_new", "pause_turn"]
)
async def test_stop_reasons_that_prove_no_call(streamed: bool, reason: str) -> None:
    blocks = ({"type": "text", "text": "t"}, {"type": "tool_use", "id": "c", "name": "add", "input": {}})
    async with FakeAnthropicServer([reply(*blocks, reason=reason, streamed=streamed)]) as server:
        with pytest.raises(IncompleteResponseError) as caught:
            await ask(model_at(server), request(stream=streamed))
    assert caught.value.partial == "t"


async def test_a_call_whose_block_never_ended_is_not_proven() -> None:
    events = stream_of(start(0, type="tool_use", id="c", name="add", input={}), reason="tool_use")
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        with pytest.raises(IncompleteResponseError):
            await ask(model_at(server), request(stream=True))


async def test_the_stop_reason_is_enough_if_the_stream_ends_there() -> None:
    events = stream_of(start(0, type="text", text="t"), stop(0))[:-1]
    async with FakeAnthropicServer([ServerReply(events=events, then="reset")]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "t"


@BOTH
@pytest.mark.parametrize(
    ("details", "says"),
    [(None, "The model declined to answer."), ({"type": "refusal", "explanation": "Too risky."}, "Too risky.")],
)
async def test_a_refusal_is_told_as_one_and_gives_no_call(streamed: bool, details: Any, says: str) -> None:
    blocks = ({"type": "text", "text": "t"}, {"type": "tool_use", "id": "c", "name": "add", "input": {}})
    said = [reply(*blocks[:count], reason="refusal", streamed=streamed, stop_details=details) for count in (0, 1, 2)]
    async with FakeAnthropicServer(said) as server:
        for count in range(3):
            events = await events_of(model_at(server), request(stream=streamed))
            last = events[-1]
            assert isinstance(last, ResponseCompleted)
            text = (OutputText("t"),) if count else ()
            assert last.response.output == (Message("assistant", (*text, Refusal(says))),)
            assert last.response.finish == "content_filter"
            assert [event.delta for event in events if isinstance(event, RefusalDelta)] == ([says] if streamed else [])


async def test_a_refusal_in_the_middle_of_a_call() -> None:
    events = stream_of(start(0, type="tool_use", id="c", name="add", input={}), reason="refusal")
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server), request(stream=True))
    assert response.output == (Message("assistant", (Refusal("The model declined to answer."),)),)


async def test_nothing_is_waited_for_after_the_end_of_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.models.http_model.HttpModel._end_grace", 600.0)
    async with FakeAnthropicServer([ServerReply("one", then="open")]) as server:
        assert (await asyncio.wait_for(ask(model_at(server), request(stream=True)), 60)).text == "one"


# Pauses


@BOTH
async def test_a_paused_turn_is_taken_up_again(streamed: bool) -> None:
    first = reply({"type": "text", "text": "I look."}, SEARCH, reason="pause_turn", streamed=streamed)
    second = reply(FOUND, {"type": "text", "text": "It is x."}, streamed=streamed)
    broken = ServerReply(status=503, body=b"")
    async with FakeAnthropicServer([first, broken, second]) as server:
        events = await events_of(model_at(server, provider="p"), request(stream=streamed))
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    assert last.response.output == (
        Message("assistant", "I look."),
        ProviderItem("p", dict(SEARCH)),
        ProviderItem("p", dict(FOUND)),
        Message("assistant", "It is x."),
    )
    assert (last.response.finish, last.response.usage.requests) == ("stop", 2)
    sent: Any = server.requests[2].json["messages"]
    assert sent[1:] == [{"role": "assistant", "content": [{"type": "text", "text": "I look."}, SEARCH]}]
    assert [sent.headers["idempotency-key"] for sent in server.requests] == ["req-7", "req-7-pause-1", "req-7-pause-1"]
    if streamed:
        assert shown_text(events) == "I look.It is x."
        assert len([event for event in events if isinstance(event, ResponseCreated)]) == 1
        added = [event.output_index for event in events if isinstance(event, OutputItemAdded)]
        done = [(event.output_index, event.item) for event in events if isinstance(event, OutputItemDone)]
        assert added == [0, 1, 2, 3]
        assert done == list(enumerate(last.response.output))


async def test_a_turn_that_pauses_for_ever_is_an_error() -> None:
    said = reply({"type": "text", "text": "t"}, SEARCH, reason="pause_turn", streamed=False)
    async with FakeAnthropicServer([said] * 99) as server:
        with pytest.raises(IncompleteResponseError, match="paused"):
            await ask(model_at(server), request())
    assert len(server.requests) == 1 + MAX_PAUSES


async def test_closing_a_resumed_turn_closes_its_connection() -> None:
    first = reply(SEARCH, reason="pause_turn", streamed=True)
    async with FakeAnthropicServer([first, ServerReply("one two", stops_after=4, then="stall")]) as server:
        stream = model_at(server).stream(request(stream=True))
        async for event in stream:
            if shown_text([event]):
                break
        inner = stream.ag_frame.f_locals["events"]
        await stream.aclose()
        assert inner.ag_frame is None
        await server.all_closed()


# Errors


@BOTH
async def test_errors_carry_the_providers_code_and_request_id(streamed: bool) -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "no effort"}, "request_id": "req_1"}
    async with FakeAnthropicServer([ServerReply(status=400, body=body, headers={"request-id": "req_1"})]) as server:
        with pytest.raises(BadRequestError, match="no effort") as caught:
            await ask(model_at(server), request(stream=streamed))
    assert (caught.value.code, caught.value.request_id) == ("invalid_request_error", "req_1")


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "error": {"type": "overloaded_error", "message": "m"}},
        b'data: {"type": "error", "error": {"type": "overloaded_error", "message": "m"}}\n\n',
        b'data: {"error": {"type": "overloaded_error", "message": "m"}}\n\n',
        b"event: error\ndata: m\n\n",
    ],
)
async def test_an_error_in_a_stream_is_tried_again_if_nothing_was_shown(event: Any) -> None:
    late = [*stream_of(start(0, type="text", text="t"))[:2], event]
    async with FakeAnthropicServer([ServerReply(events=[event]), "ok", ServerReply(events=late)]) as server:
        model = model_at(server)
        assert (await ask(model, request(stream=True))).text == "ok"
        with pytest.raises(ProviderUnavailableError, match="m"):
            await ask(model, request(stream=True))
    assert len(server.requests) == 3


async def test_an_error_as_a_whole_reply() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "m"}}
    async with FakeAnthropicServer([ServerReply(body=body)]) as server:
        with pytest.raises(ProviderUnavailableError, match="overloaded_error"):
            await ask(model_at(server, retry=ModelRetrySettings(max_retries=0)), request())


@pytest.mark.parametrize("blocks", [5, ["x"], [{"type": "tool_use", "input": "\ud800"}, None]])
async def test_content_that_is_no_list_of_blocks(blocks: Any) -> None:
    said = ServerReply(body=json.dumps({"content": blocks, "stop_reason": "end_turn"}).encode())
    async with FakeAnthropicServer([said]) as server:
        with pytest.raises(MalformedResponseError):
            await ask(model_at(server), request())


async def test_reasoning_goes_back_to_its_provider_only() -> None:
    items: list[Item] = [Message("user", "hi"), Reasoning("h", signature="s", provider="elsewhere"), Message("assistant", "a")]
    body = body_of(AnthropicModel("m", base_url=OFFLINE), items=items)
    assert "thinking" not in json.dumps(body)
    async with FakeAnthropicServer([[Reasoning("h"), Message("assistant", "a")]]) as server:
        assert reasoning_of(await ask(model_at(server), request())) == "h"


SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
MCP = {"type": "mcp_tool_use", "id": "m1", "name": "f", "server_name": "s", "input": {}}


@BOTH
@pytest.mark.parametrize("asked", [SEARCH, MCP], ids=lambda block: str(block["type"]))
async def test_a_call_of_the_providers_own_that_it_did_not_run_is_an_error(streamed: bool, asked: dict[str, Any]) -> None:
    text = {"type": "text", "text": "t"}
    said = [reply(*blocks, streamed=streamed) for blocks in ((asked,), (text, asked), (SEARCH, FOUND, text))]
    async with FakeAnthropicServer(said) as server:
        model = model_at(server)
        for _ in range(2):
            with pytest.raises(UnsupportedCallError, match=str(asked["type"])):
                await ask(model, request(stream=streamed))
        assert (await ask(model, request(stream=streamed))).text == "t"


@BOTH
async def test_a_call_of_the_providers_own_that_waits_for_one_of_ours_is_fine(streamed: bool) -> None:
    code = {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {}}
    used = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    async with FakeAnthropicServer([reply(code, used, reason="tool_use", streamed=streamed)]) as server:
        assert len(calls_of(await ask(model_at(server), request(stream=streamed)))) == 1
