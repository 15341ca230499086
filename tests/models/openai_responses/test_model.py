"""The adapter against a real socket: what it sends, what it makes of good answers, and what of bad ones of this protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk import Agent, Runner, function_tool
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.models.openai_responses.reply import ResponseAssembler
from agentsdk.models.sse import ServerSentEvent
from agentsdk.result import RunResultStreaming
from agentsdk.testing import ServerReply, call
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.types.deltas import OutputItemDone, ReasoningTextDelta, ResponseCompleted
from agentsdk.types.errors import (
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
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    Item,
    Message,
    OutputText,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.usage import Usage
from tests.models.openai_responses.server import model_at
from tests.models.wire import ask, calls_of, events_of, request, shown_reasoning, shown_text

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = ToolSpec("add", "adds", SCHEMA)
BOTH = pytest.mark.parametrize("streamed", [False, True])
TEXT = {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
CALL = {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}', "status": "completed"}


def body(*output: Any, status: str | None = "completed", **rest: Any) -> dict[str, Any]:
    return {"id": "r1", "object": "response", "model": "m", "status": status, "output": list(output), **rest}


def last(reply: dict[str, Any]) -> dict[str, Any]:
    return {"type": f"response.{reply['status']}", "response": reply}


def done(item: Any, index: int = 0) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def said(reply: dict[str, Any], *, streamed: bool) -> ServerReply:
    """The same reply in both wire forms."""
    return ServerReply(events=[last(reply)]) if streamed else ServerReply(body=reply)


# What is sent


async def test_the_request() -> None:
    settings = ModelSettings(
        temperature=0.5,
        top_p=0.9,
        max_tokens=50,
        tool_choice="add",
        parallel_tool_calls=False,
        reasoning_effort="low",
        metadata={"k": "v"},
        extra_body={
            "reasoning": {"summary": "auto"},
            "text": {"verbosity": "low"},
            "include": ["web_search_call.action.sources"],
            "tools": [{"type": "web_search"}],
            "truncation": "auto",
        },
        extra_headers={"X-Trace": "t"},
    )
    asked = request(
        stream=True,
        items=[Message("user", "hi"), FunctionCall("1", "add", "{}"), FunctionCallOutput("1", "2")],
        instructions="Be brief.",
        tail=(Message("user", "now"),),
        tools=(TOOL,),
        output=OutputSpec("answer", SCHEMA),
        settings=settings,
    )
    async with FakeResponsesServer(["ok"]) as server:
        await ask(model_at(server, headers={"X-Org": "o"}, encrypted_reasoning=True), asked)
    sent = server.requests[0]
    fields = sent.json
    assert [entry.get("role") or entry["type"] for entry in fields.pop("input")] == [  # type: ignore[attr-defined]
        "user",
        "function_call",
        "function_call_output",
        "user",
    ]
    function = {"type": "function", "name": "add", "description": "adds", "parameters": SCHEMA, "strict": True}
    assert fields == {
        "model": "gpt-test",
        "temperature": 0.5,
        "top_p": 0.9,
        "metadata": {"k": "v"},
        "max_output_tokens": 50,
        "reasoning": {"effort": "low", "summary": "auto"},
        "tools": [function, {"type": "web_search"}],
        "tool_choice": {"type": "function", "name": "add"},
        "parallel_tool_calls": False,
        "text": {
            "format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True},
            "verbosity": "low",
        },
        "instructions": "Be brief.",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content", "web_search_call.action.sources"],
        "truncation": "auto",
    }
    assert sent.path == "/v1/responses"
    assert sent.headers["authorization"] == "Bearer sk-canary-0123456789"
    assert (sent.headers["idempotency-key"], sent.headers["x-org"], sent.headers["x-trace"]) == ("req-7", "o", "t")


async def test_a_bare_request_sends_nothing_it_need_not() -> None:
    async with FakeResponsesServer(["ok"]) as server:
        await ask(model_at(server, api_key=None), request(settings=ModelSettings(tool_choice="required")))
    sent = server.requests[0]
    wanted = {"model": "gpt-test", "stream": False, "store": False, "input": [{"role": "user", "content": "hi"}]}
    assert sent.json == wanted
    assert "authorization" not in sent.headers


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_tool_choices_that_name_no_tool(choice: str) -> None:
    model = OpenAIResponsesModel("m", base_url="http://127.0.0.1:9")
    sent = json.loads(model.body(request(tools=(TOOL,), settings=ModelSettings(tool_choice=choice))))
    assert sent["tool_choice"] == choice


@pytest.mark.parametrize(
    ("name", "options", "asks"),
    [
        ("gpt-5", {}, True),
        ("o3", {}, True),
        ("gpt-4o", {}, False),
        ("gpt-4.1-mini", {}, False),
        ("gpt-5-chat-latest", {}, False),
        ("gpt-4o", {"encrypted_reasoning": True}, True),
        ("gpt-5", {"encrypted_reasoning": False}, False),
        ("gpt-5", {"base_url": "http://127.0.0.1:9"}, False),
    ],
)
def test_sealed_reasoning_is_asked_for_where_it_exists(name: str, options: dict[str, Any], asks: bool) -> None:
    sent = json.loads(OpenAIResponsesModel(name, api_key="k", **options).body(request()))
    assert ("include" in sent) == asks


def test_replies_are_stored_only_on_request() -> None:
    assert json.loads(OpenAIResponsesModel("m", api_key="k", store=True).body(request()))["store"] is True


@pytest.mark.parametrize("setting", [{"stop": ("x",)}, {"seed": 1}, {"frequency_penalty": 0.5}, {"presence_penalty": 0.5}])
def test_settings_that_the_api_does_not_have(setting: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(setting))):
        OpenAIResponsesModel("m", api_key="k").stream(request(settings=ModelSettings(**setting)))


@pytest.mark.parametrize("extra", [{"input": []}, {"background": True}])
def test_an_extra_body_that_the_run_cannot_have(extra: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="extra_body"):
        OpenAIResponsesModel("m", api_key="k").body(request(settings=ModelSettings(extra_body=extra)))


def test_tools_are_encoded_once() -> None:
    model, tools = OpenAIResponsesModel("m", api_key="k"), (TOOL,)
    assert model._encoded_tools(tools) is model._encoded_tools(tools)


async def test_the_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeResponsesServer(["one", "two"]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
        await ask(OpenAIResponsesModel("gpt-test", base_url=server.base_url), request())
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        await ask(OpenAIResponsesModel("gpt-test"), request())
    assert [sent.headers.get("authorization") for sent in server.requests] == [None, "Bearer sk-env"]


def test_a_missing_key_is_named_with_its_remedy() -> None:
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        OpenAIResponsesModel("gpt-5").stream(request())


def test_reasoning_does_not_cross_to_chat_completions_of_the_same_host() -> None:
    address = "http://127.0.0.1:9/v1"
    mine, chat = OpenAIResponsesModel("m", base_url=address), OpenAIChatCompletionsModel("m", base_url=address)
    items: list[Item] = [
        Message("user", "hi"),
        Reasoning("r", ("r",), "rs_1", encrypted="gAAA", provider=mine.provider),
        Reasoning("r", id="reasoning_content", provider=chat.provider),
        Message("assistant", "a", "msg_1"),
    ]
    assert json.loads(mine.body(request(items=items)))["input"][1:] == [{"role": "assistant", "content": "a"}]
    answer = json.loads(chat.body(request(items=items)))["messages"][1]
    assert answer == {"role": "assistant", "content": "a", "reasoning_content": "r"}


# Good answers


@BOTH
async def test_text(streamed: bool) -> None:
    async with FakeResponsesServer(["Hello, wörld!\n"]) as server:
        events = await events_of(model_at(server), request(stream=streamed))
    final = events[-1]
    assert isinstance(final, ResponseCompleted)
    usage = Usage(requests=1, input_tokens=10, output_tokens=5)
    output = (Message("assistant", "Hello, wörld!\n", "msg_0"),)
    assert final.response == ModelResponse(output, usage, "stop", "resp_1", "scripted")
    assert shown_text(events) == ("Hello, wörld!\n" if streamed else "")


async def test_the_events_of_a_stream() -> None:
    reply: list[Any] = [Reasoning("", ("Hm so", "then")), Message("assistant", "I look."), call("add", a=1)]
    async with FakeResponsesServer([reply]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert [(event.type, getattr(event, "output_index", None)) for event in events] == [
        ("response.created", None),
        ("response.output_item.added", 0),
        *[("response.reasoning_text.delta", 0)] * 4,
        ("response.output_item.done", 0),
        ("response.output_item.added", 1),
        ("response.output_text.delta", 1),
        ("response.output_text.delta", 1),
        ("response.output_item.done", 1),
        ("response.output_item.added", 2),
        ("response.function_call_arguments.delta", 2),
        ("response.function_call_arguments.delta", 2),
        ("response.output_item.done", 2),
        ("response.completed", None),
    ]
    final = events[-1]
    assert isinstance(final, ResponseCompleted)
    assert [event.item for event in events if isinstance(event, OutputItemDone)] == list(final.response.output)
    thought = final.response.output[0]
    assert isinstance(thought, Reasoning)
    assert thought.text == shown_reasoning(events) == "Hm so\n\nthen"


@BOTH
async def test_everything_a_reply_holds(streamed: bool) -> None:
    search: dict[str, object] = {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    }
    note: dict[str, object] = {"type": "url_citation", "url": "https://x", "start_index": 0, "end_index": 1}
    reply: list[Any] = [
        Reasoning("r", ("r",), "rs_1", encrypted="gAAA"),
        ProviderItem("any", search),
        Message("assistant", (OutputText("see", (note,)), Refusal("no more")), "msg_1"),
        FunctionCall("c1", "add", '{"a":1}', "fc_1"),
        FunctionCall("c2", "add", '{"a":2}', "fc_2"),
    ]
    async with FakeResponsesServer([reply]) as server:
        model = model_at(server)
        response = await ask(model, request(stream=streamed))
    assert response.output == (
        Reasoning("r", ("r",), "rs_1", encrypted="gAAA", provider=model.provider),
        ProviderItem(model.provider, search),
        *reply[2:],
    )
    assert response.finish == "tool_calls"


ANSWERED: dict[str, list[dict[str, Any]]] = {
    "web_search_call": [{"type": "web_search_call", "id": "ws_1"}],
    "mcp_call": [{"type": "mcp_call", "id": "m_1", "output": "x"}, {"type": "mcp_list_tools", "id": "l_1", "tools": []}],
    "shell_call": [
        {"type": "shell_call", "id": "s", "call_id": "c"},
        {"type": "shell_call_output", "id": "o", "call_id": "c", "output": []},
    ],
    "tool_search_call": [{"type": "tool_search_call", "id": "t", "call_id": "c", "execution": "server"}],
}
CALLS = ["computer_call", "local_shell_call", "shell_call", "apply_patch_call", "custom_tool_call", "new_call"]
ASKING = ["mcp_approval_request", *CALLS]


@BOTH
@pytest.mark.parametrize("beside", [[], [TEXT], [CALL], [*ANSWERED["shell_call"]]], ids=["alone", "text", "call", "answered"])
@pytest.mark.parametrize("kind", ASKING)
async def test_a_call_that_nobody_can_answer_is_one_request_and_an_error(kind: str, beside: list[Any], streamed: bool) -> None:
    item = {"type": kind, "id": "x_1"} if kind == "mcp_approval_request" else {"type": kind, "id": "x_1", "call_id": "x"}
    runs: list[str] = []

    @function_tool
    def add(a: int) -> str:
        runs.append("add")
        return ""

    usage = {"input_tokens": 3, "output_tokens": 2}
    async with FakeResponsesServer([said(body(*beside, item, usage=usage), streamed=streamed)]) as server:
        agent = Agent("a", model=model_at(server), tools=[add])
        with pytest.raises(UnsupportedCallError, match=repr(kind)) as caught:
            await (Runner.run_streamed(agent, "x") if streamed else Runner.run(agent, "x"))
    assert (caught.value.kind, len(server.requests), runs) == (kind, 1, [])
    assert caught.value.usage == Usage(1, 3, 2)


@BOTH
@pytest.mark.parametrize("kind", ANSWERED)
async def test_what_the_provider_ran_itself_is_fine(kind: str, streamed: bool) -> None:
    async with FakeResponsesServer([said(body(*ANSWERED[kind], TEXT), streamed=streamed)]) as server:
        agent = Agent("a", model=model_at(server))
        result = await (Runner.run_streamed(agent, "x") if streamed else Runner.run(agent, "x"))
    assert result.final_output == "a"


@BOTH
@pytest.mark.parametrize(
    "item",
    [
        {"type": "image_generation_call", "id": "i", "result": "aGk="},
        {"type": "code_interpreter_call", "id": "i", "code": "x", "outputs": [{"type": "image", "url": "https://x"}]},
    ],
    ids=lambda item: str(item["type"]),
)
async def test_a_reply_of_an_image_alone_is_an_answer(item: dict[str, Any], streamed: bool) -> None:
    async with FakeResponsesServer([said(body(item), streamed=streamed)]) as server:
        agent = Agent("a", model=model_at(server))
        result = await (Runner.run_streamed(agent, "x") if streamed else Runner.run(agent, "x"))
    assert (result.final_output, len(server.requests)) == ("", 1)
    assert [one.data for one in result.raw_responses[0].output if isinstance(one, ProviderItem)] == [item]


@BOTH
async def test_reasoning_of_open_models(streamed: bool) -> None:
    item = {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    delta = {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "hm"}
    reply = body(item, TEXT)
    told = ServerReply(events=[delta, done(item), done(TEXT, 1), last(reply)]) if streamed else ServerReply(body=reply)
    async with FakeResponsesServer([told]) as server:
        events = await events_of(model_at(server), request(stream=streamed))
    final = events[-1]
    assert isinstance(final, ResponseCompleted)
    assert isinstance(thought := final.response.output[0], Reasoning)
    assert (thought.text, thought.summary, thought.id) == ("hm", (), "r")
    assert [event.delta for event in events if isinstance(event, ReasoningTextDelta)] == (["hm"] if streamed else [])


VENDORS: list[tuple[str, dict[str, Any], list[tuple[str, str, str]]]] = [
    ("no call id", {**CALL, "call_id": None}, [("fc_1", "add", '{"a":1}')]),
    ("no id at all", {**CALL, "call_id": "", "id": None}, [("call_req-7_0", "add", '{"a":1}')]),
    ("object arguments", {**CALL, "arguments": {"a": "é"}}, [("c1", "add", '{"a": "é"}')]),
    ("no arguments", {**CALL, "arguments": None}, [("c1", "add", "{}")]),
    ("text as text", {"type": "message", "content": "a"}, []),
    ("unknown fields", {**TEXT, "x": {"y": [1]}}, []),
]


@BOTH
@pytest.mark.parametrize(("item", "calls"), [pytest.param(*row[1:], id=row[0]) for row in VENDORS])
async def test_vendor_shapes(streamed: bool, item: dict[str, Any], calls: list[Any]) -> None:
    async with FakeResponsesServer([said(body(item), streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert (calls_of(response), response.text) == (calls, "" if calls else "a")


async def test_a_last_event_without_the_items() -> None:
    nothing: list[Any] = []
    for output in (nothing, None):
        events = [done(TEXT), done(CALL, 1), last({**body(), "output": output})]
        async with FakeResponsesServer([ServerReply(events=events)]) as server:
            response = await ask(model_at(server), request(stream=True))
        assert (response.text, len(calls_of(response)), response.finish) == ("a", 1, "tool_calls")


async def test_an_event_named_only_by_its_frame() -> None:
    frame = b"event: response.completed\ndata: " + json.dumps({"response": body(TEXT)}).encode() + b"\n\n"
    async with FakeResponsesServer([ServerReply(events=[frame])]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "a"


async def test_a_whole_answer_to_a_request_for_a_stream() -> None:
    async with FakeResponsesServer([ServerReply(body=body(TEXT))]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert [event.type for event in events] == ["response.output_item.done", "response.completed"]


@BOTH
async def test_lone_surrogates_are_replaced(streamed: bool) -> None:
    text = json.dumps(body({**TEXT, "content": [{"type": "output_text", "text": "a\ud83d\ude00\ud83db"}]}))
    event = f'{{"type":"response.completed","response":{text}}}'
    told = ServerReply(events=[event]) if streamed else ServerReply(body=text.encode())
    async with FakeResponsesServer([told]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).text == "a😀\ufffdb"


@BOTH
async def test_usage(streamed: bool) -> None:
    usage = Usage(1, 100, 20, cached_tokens=60, cache_write_tokens=7, reasoning_tokens=5)
    async with FakeResponsesServer([ModelResponse((Message("assistant", "a"),), usage)]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).usage == usage


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 5}, {"input_tokens": -1, "output_tokens": True}, []])
async def test_usage_of_any_shape(usage: Any) -> None:
    async with FakeResponsesServer([ServerReply(body=body(TEXT, usage=usage))]) as server:
        found = (await ask(model_at(server), request())).usage
    assert (found.requests, found.known, found.output_tokens) == (1, False, 0)


@BOTH
async def test_a_run_sends_reasoning_back_with_the_call_it_led_to(streamed: bool) -> None:
    @function_tool
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    thought = Reasoning("r", ("r",), "rs_1", encrypted="gAAA")
    script: list[Any] = [[thought, FunctionCall("c1", "add", '{"a":1}', "fc_1")], "2", "bye"]
    async with FakeResponsesServer(script) as server:
        agent = Agent(name="A", model=model_at(server), tools=[add])
        run = Runner.run_streamed(agent, "hi") if streamed else await Runner.run(agent, "hi")
        if isinstance(run, RunResultStreaming):
            async for _ in run.stream_events():
                pass
        await Runner.run(agent, [*run.to_input_list(), {"role": "user", "content": "more"}])
    assert run.final_output == "2"
    inputs: list[Any] = [sent.json["input"] for sent in server.requests]
    assert inputs[1][:3] == [
        {"role": "user", "content": "hi"},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "r"}],
            "encrypted_content": "gAAA",
        },
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}', "id": "fc_1"},
    ]
    assert inputs[1] == inputs[2][:4]
    assert (inputs[1][3]["call_id"], inputs[1][3]["output"]) == ("c1", "2")


# Replies that are not whole, and errors


@BOTH
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (body(TEXT, status="incomplete", incomplete_details={"reason": "content_filter"}), ContentFilterError),
        (body(CALL, status="incomplete", incomplete_details={"reason": "max_output_tokens"}), IncompleteResponseError),
        (body(CALL, status="incomplete", incomplete_details=None), IncompleteResponseError),
        (body(status="incomplete", incomplete_details={"reason": "weird"}), IncompleteResponseError),
        (body(TEXT, CALL, status="incomplete", incomplete_details={"reason": "weird"}), IncompleteResponseError),
        (body({**CALL, "status": "incomplete"}), IncompleteResponseError),
        (body(status="failed", error={"code": "rate_limit_exceeded", "message": "m"}), RateLimitError),
        (body(status="failed", error={"code": "server_error", "message": "m"}), ProviderUnavailableError),
        (body(status="failed", error={"code": "invalid_prompt", "message": "m"}), BadRequestError),
        (body(status="failed", error={"code": "image_too_large", "message": "m"}), BadRequestError),
        (body(status="failed"), ProviderUnavailableError),
    ],
)
async def test_replies_that_are_no_success(streamed: bool, reply: dict[str, Any], error: type[Exception]) -> None:
    async with FakeResponsesServer([said(reply, streamed=streamed)]) as server:
        with pytest.raises(error):
            await ask(model_at(server, retry=ModelRetrySettings(max_retries=0)), request(stream=streamed))


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled", None])
async def test_a_reply_that_is_still_to_come(status: str | None) -> None:
    async with FakeResponsesServer([ServerReply(body=body(TEXT, status=status))]) as server:
        with pytest.raises(IncompleteResponseError) as caught:
            await ask(model_at(server), request())
    assert caught.value.partial == "a"


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "response.output_item.added", "output_index": 0, "item": {**CALL, "arguments": ""}}, last(body())],
        [{"type": "response.output_text.delta", "output_index": 0, "delta": "a"}, last(body())],
        [done({**CALL, "status": "incomplete"}), last(body())],
        [done(CALL), "[DONE]"],
    ],
)
async def test_a_stream_whose_end_does_not_cover_what_began(events: list[Any]) -> None:
    async with FakeResponsesServer([ServerReply(events=events)]) as server:
        with pytest.raises(IncompleteResponseError):
            await ask(model_at(server), request(stream=True))


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.completed"},
        {"type": "response.completed", "response": {"output": [5]}},
        {"type": "response.completed", "response": {"output": {}, "status": "completed"}},
        {"type": "response.output_item.done", "item": []},
        {"type": 5},
        {"choices": [{"delta": {"content": "of another protocol"}}]},
    ],
)
async def test_events_that_are_not_of_the_protocol(event: Any) -> None:
    async with FakeResponsesServer([ServerReply(events=[event])]) as server:
        with pytest.raises(MalformedResponseError):
            await ask(model_at(server), request(stream=True))


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "invalid_prompt", "message": "m", "status": 400},
        {"type": "error", "error": {"type": "invalid_request_error", "code": "x", "message": "m"}},
        b'event: error\ndata: {"error": {"message": "m", "status_code": 400}}\n\n',
        b'data: {"type": "error", "message": "m", "code": "invalid_request_error"}\n\n',
        {"error": {"message": "m", "code": 400}},
    ],
)
async def test_forms_of_errors_in_a_stream(event: Any) -> None:
    async with FakeResponsesServer([ServerReply(events=[event], then="open")]) as server:
        with pytest.raises(BadRequestError, match="m"):
            await ask(model_at(server), request(stream=True))
        await server.all_closed()


async def test_an_error_event_that_is_no_json() -> None:
    async with FakeResponsesServer([ServerReply(events=[b"event: error\ndata: upstream gone\n\n"])]) as server:
        with pytest.raises(ProviderUnavailableError, match="upstream gone"):
            await ask(model_at(server, retry=ModelRetrySettings(max_retries=0)), request(stream=True))


async def test_an_error_in_a_whole_answer() -> None:
    told: dict[str, object] = {"error": {"message": "m sk-canary-0123456789", "code": 429}}
    async with FakeResponsesServer([ServerReply(body=told)]) as server:
        with pytest.raises(ProviderError) as caught:
            await ask(model_at(server, retry=ModelRetrySettings(max_retries=0)), request())
    assert type(caught.value) is RateLimitError
    assert "canary" not in str(caught.value)


async def test_a_failed_reply_of_which_nothing_was_shown_is_asked_for_again() -> None:
    failed = body(status="failed", error={"code": "server_error", "message": "m"})
    created: dict[str, object] = {"type": "response.created", "response": body(status="in_progress")}
    async with FakeResponsesServer([ServerReply(events=[created, last(failed)]), "ok"]) as server:
        assert shown_text(await events_of(model_at(server), request(stream=True))) == "ok"


@pytest.mark.parametrize("end", ['"output":null', '"model":"m"'])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_completed_reply_without_output_is_malformed_and_an_empty_one_is_empty(streamed: bool, end: str) -> None:
    def told(fields: str) -> ResponseAssembler:
        assembler = ResponseAssembler("p")
        reply = f'{{"id":"r","status":"completed",{fields}}}'
        if streamed:
            assembler.add_event(ServerSentEvent(f'{{"type":"response.completed","response":{reply}}}', "response.completed"))
        else:
            assembler.add_whole(reply.encode())
        return assembler

    with pytest.raises(MalformedResponseError, match="no output"):
        told(end).response()
    assert told('"output":[]').response().output == ()
