"""What `GoogleModel` sends, and what it makes of Google's own errors. The faults of the wire are in `test_faults.py`."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.models.google import GoogleModel
from agentsdk.testing import ServerReply, call
from agentsdk.testing.google_dialect import FakeGoogleServer
from agentsdk.types.errors import (
    AuthenticationError,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
    UserError,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, ProviderItem, Reasoning
from agentsdk.types.response import OutputItem
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage
from tests.models.wire import FakeClock, ask, calls_of, events_of, reasoning_of, request

pytestmark = pytest.mark.anyio

KEY = "canary-0123456789"
SCHEMA: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = ToolSpec("add", "adds", SCHEMA)
DECLARED = {"name": "add", "description": "adds", "parametersJsonSchema": SCHEMA}
OUTPUT = OutputSpec("answer", SCHEMA)
SAID = {"role": "user", "parts": [{"text": "hi"}]}
BOTH = pytest.mark.parametrize("streamed", [False, True])


def model_at(server: FakeGoogleServer, name: str = "gemini-3-test", **options: Any) -> GoogleModel:
    options.setdefault("clock", FakeClock())
    options.setdefault("api_key", KEY)
    return GoogleModel(name, base_url=server.base_url, **options)


def body_of(model: str = "gemini-3-test", options: dict[str, Any] | None = None, **fields: Any) -> Any:
    """The body of a request, parsed."""
    import json

    made = GoogleModel(model, base_url="http://127.0.0.1:9", **(options or {}))
    return json.loads(made.body(request(**fields)))


# What is sent


SETTINGS = ModelSettings(
    temperature=0.5,
    top_p=0.9,
    frequency_penalty=0.1,
    presence_penalty=0.2,
    max_tokens=50,
    stop=("END",),
    seed=7,
    tool_choice="add",
    parallel_tool_calls=True,
    reasoning_effort="low",
    extra_body={"generationConfig": {"topK": 3}, "tools": [{"googleSearch": {}}], "safetySettings": []},
    extra_headers={"X-Trace": "t"},
)


@BOTH
async def test_the_request(streamed: bool) -> None:
    asked = request(
        stream=streamed,
        items=[Message("user", "hi"), FunctionCall("1", "add", "{}"), FunctionCallOutput("1", "2")],
        instructions="Be brief.",
        tail=(Message("user", "now"),),
        tools=(TOOL,),
        output=OUTPUT,
        settings=SETTINGS,
    )
    async with FakeGoogleServer(["ok"]) as server:
        await ask(model_at(server, headers={"X-Org": "o"}), asked)
    sent = server.requests[0]
    body = sent.json
    contents: Any = body.pop("contents")
    assert [content["role"] for content in contents] == ["user", "model", "user", "user"]
    assert body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [DECLARED]}, {"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["add"]}},
        "generationConfig": {
            "temperature": 0.5,
            "topP": 0.9,
            "frequencyPenalty": 0.1,
            "presencePenalty": 0.2,
            "maxOutputTokens": 50,
            "stopSequences": ["END"],
            "seed": 7,
            "thinkingConfig": {"thinkingLevel": "low"},
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
            "topK": 3,
        },
        "safetySettings": [],
    }
    method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
    assert sent.path == f"/v1beta/models/gemini-3-test:{method}"
    assert sent.headers["x-goog-api-key"] == KEY
    assert sent.headers["idempotency-key"] == "req-7"
    assert (sent.headers["x-org"], sent.headers["x-trace"]) == ("o", "t")


def test_a_bare_request_sends_nothing_it_need_not() -> None:
    asked = ModelSettings(tool_choice="required", parallel_tool_calls=True)
    assert body_of(settings=asked) == {"contents": [SAID]}


@pytest.mark.parametrize(("choice", "mode"), [("auto", "AUTO"), ("required", "ANY"), ("none", "NONE")])
def test_tool_choice(choice: str, mode: str) -> None:
    body = body_of(tools=(TOOL,), settings=ModelSettings(tool_choice=choice))
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": mode}}


THINKING: list[tuple[str, str, Any]] = [
    ("gemini-3-pro", "minimal", {"thinkingLevel": "minimal"}),
    ("gemini-3-pro", "high", {"thinkingLevel": "high"}),
    ("gemini-flash-latest", "medium", {"thinkingLevel": "medium"}),
    ("gemini-3-pro", "none", {"thinkingBudget": 0}),
    ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
    ("gemini-2.5-flash", "medium", {"thinkingBudget": 8192}),
    ("models/gemini-2.5-flash", "high", {"thinkingBudget": 24576}),
]


@pytest.mark.parametrize(("model", "effort", "sent"), THINKING)
def test_reasoning_effort(model: str, effort: str, sent: Any) -> None:
    settings = ModelSettings(reasoning_effort=effort)
    assert body_of(model, settings=settings)["generationConfig"] == {"thinkingConfig": sent}
    with_thoughts = body_of(model, {"include_thoughts": True}, settings=settings)["generationConfig"]
    assert with_thoughts == {"thinkingConfig": {"includeThoughts": True, **sent}}


UNSUPPORTED = [
    ModelSettings(metadata={"k": "v"}),
    ModelSettings(parallel_tool_calls=False),
    ModelSettings(reasoning_effort="huge"),
    ModelSettings(extra_body={"contents": []}),
]


@pytest.mark.parametrize("settings", UNSUPPORTED, ids=["metadata", "parallel", "effort", "contents"])
async def test_what_google_cannot_do_is_the_callers_error_before_any_request(settings: ModelSettings) -> None:
    async with FakeGoogleServer([]) as server:
        with pytest.raises(UserError):
            await ask(model_at(server), request(settings=settings))
    assert server.requests == []


def test_an_output_beside_tools_is_asked_for_in_words_before_gemini_3() -> None:
    for model in ("gemini-2.5-pro", "gemini-1.5-flash"):
        body = body_of(model, tools=(TOOL,), output=OUTPUT, instructions="Be brief.")
        assert "generationConfig" not in body
        text = body["systemInstruction"]["parts"][0]["text"]
        assert text.startswith("Be brief.\n\n")
        assert '"properties"' in text
        assert body_of(model, output=OUTPUT)["generationConfig"]["responseJsonSchema"] == SCHEMA
    assert body_of("gemini-3-pro", tools=(TOOL,), output=OUTPUT)["generationConfig"]["responseJsonSchema"] == SCHEMA


def test_a_conversation_begins_with_its_user() -> None:
    nothing = {"role": "user", "parts": [{"text": ""}]}
    assert body_of(items=[])["contents"] == [nothing]
    assert body_of(items=[Message("assistant", "a")])["contents"] == [nothing, {"role": "model", "parts": [{"text": "a"}]}]


async def test_the_path_names_the_model() -> None:
    paths = {}
    for name in ("gemini-x", "models/gemini-x", "tunedModels/a b", "gemini?x#y"):
        model = GoogleModel(name, base_url="http://127.0.0.1:9")
        paths[name] = model._url_for(request()).removeprefix("http://127.0.0.1:9")
    assert paths == {
        "gemini-x": "/v1beta/models/gemini-x:generateContent",
        "models/gemini-x": "/v1beta/models/gemini-x:generateContent",
        "tunedModels/a b": "/v1beta/tunedModels/a%20b:generateContent",
        "gemini?x#y": "/v1beta/models/gemini%3Fx%23y:generateContent",
    }


async def test_each_request_extends_the_one_before_and_tools_are_encoded_once() -> None:
    model = GoogleModel("gemini-3-test", base_url="http://127.0.0.1:9")
    tape, tools, before = Tape[Item]([Message("user", "hi")]), (TOOL,), b""
    for turn in range(4):
        body = model.body(request(items=tape, tools=tools))
        assert body.startswith(before)
        before = body.removesuffix(b"]}")
        tape = tape.extended([FunctionCall(str(turn), "add", "{}"), FunctionCallOutput(str(turn), "2")])
    assert model._encoded_tools(tools) is model._encoded_tools(tools)


# Keys and addresses


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
async def test_the_environment_is_the_default(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    async with FakeGoogleServer(["one", "two"]) as server:
        monkeypatch.setenv("GOOGLE_BASE_URL", f"{server.base_url}/")
        monkeypatch.setenv(variable, "env-key")
        response = await ask(GoogleModel("gemini-test"), request())
        monkeypatch.delenv("GOOGLE_BASE_URL")
        await ask(GoogleModel("gemini-test", base_url=server.base_url), request())
    assert response.text == "one"
    assert server.requests[0].headers["x-goog-api-key"] == "env-key"
    assert "x-goog-api-key" not in server.requests[1].headers


def test_a_missing_key_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UserError, match="GEMINI_API_KEY or GOOGLE_API_KEY"):
        GoogleModel("gemini-test").stream(request())


def test_the_key_is_not_shown() -> None:
    assert KEY not in repr(GoogleModel("gemini-test", api_key=KEY))


# What comes


@BOTH
async def test_a_reply_with_everything(streamed: bool) -> None:
    said: list[OutputItem] = [
        Reasoning("Hm so", signature="s0", provider="google"),
        Message("assistant", "I look."),
        ProviderItem("google", {"executableCode": {"code": "1"}}),
        Reasoning(id="call", signature="s1", provider="google"),
        call("add", a=1),
        call("add", a=2),
    ]
    async with FakeGoogleServer([said, "done"]) as server:
        model = model_at(server)
        response = await ask(model, request(stream=streamed))
        assert response.output[:4] == tuple(said[:4])
        assert calls_of(response) == [("call_1_1", "add", '{"a":1}'), ("call_1_2", "add", '{"a":2}')]
        assert (response.finish, response.usage) == ("tool_calls", Usage(requests=1, input_tokens=10, output_tokens=5))
        assert reasoning_of(response) == "Hm so"
        results = [FunctionCallOutput("call_1_1", "x"), FunctionCallOutput("call_1_2", "y")]
        await ask(model, request(stream=streamed, items=[Message("user", "hi"), *response.output, *results]))
    contents: Any = server.requests[1].json["contents"]
    assert contents[1]["parts"] == [
        {"text": "Hm so", "thought": True, "thoughtSignature": "s0"},
        {"text": "I look."},
        {"executableCode": {"code": "1"}},
        {"functionCall": {"id": "call_1_1", "name": "add", "args": {"a": 1}}, "thoughtSignature": "s1"},
        {"functionCall": {"id": "call_1_2", "name": "add", "args": {"a": 2}}},
    ]


async def test_a_history_made_elsewhere_goes_on_here() -> None:
    items: list[Item] = [
        Message("user", "hi"),
        Reasoning("hm", id="rs_1", encrypted="e", provider="api.openai.com"),
        ProviderItem("anthropic", {"type": "server_tool_use"}),
        FunctionCall("fc-1", "add", "{}", id="fc_1"),
        FunctionCallOutput("fc-1", "2"),
    ]
    async with FakeGoogleServer(["ok", "ok"]) as server:
        for name in ("gemini-3-test", "gemini-2.5-flash"):
            await ask(model_at(server, name), request(items=items))
    part: dict[str, Any] = {"functionCall": {"id": "fc-1", "name": "add", "args": {}}}
    sent: list[Any] = [one.json["contents"] for one in server.requests]
    assert sent[0][1] == {"role": "model", "parts": [{**part, "thoughtSignature": "skip_thought_signature_validator"}]}
    assert sent[1][1] == {"role": "model", "parts": [part]}


async def test_the_events_of_a_stream() -> None:
    said: list[OutputItem] = [
        Reasoning("Hm"),
        Message("assistant", "I look."),
        Reasoning(id="call", signature="s"),
        call("add", a=1),
    ]
    async with FakeGoogleServer([said]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert [(event.type, getattr(event, "output_index", None)) for event in events] == [
        ("response.created", None),
        ("response.output_item.added", 0),
        ("response.reasoning_text.delta", 0),
        ("response.output_item.added", 1),
        ("response.output_text.delta", 1),
        ("response.output_text.delta", 1),
        ("response.output_item.added", 2),
        ("response.output_item.added", 3),
        ("response.function_call_arguments.delta", 3),
        ("response.output_item.done", 0),
        ("response.output_item.done", 1),
        ("response.output_item.done", 2),
        ("response.output_item.done", 3),
        ("response.completed", None),
    ]


# Google's errors


def refusal(code: int, status: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": "m", "status": status, "details": list(details)}}


INFO = "type.googleapis.com/google.rpc."
ERRORS: list[tuple[dict[str, Any], type[ProviderError], str, float | None]] = [
    (refusal(400, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}), AuthenticationError, "INVALID_ARGUMENT", None),
    (
        refusal(429, "RESOURCE_EXHAUSTED", {"@type": INFO + "Help"}, {"@type": INFO + "RetryInfo", "retryDelay": "34.5s"}),
        RateLimitError,
        "RESOURCE_EXHAUSTED",
        34.5,
    ),
    (refusal(503, "UNAVAILABLE", {"retryDelay": "soon"}, {"retryDelay": 5}), ProviderUnavailableError, "UNAVAILABLE", None),
]


@BOTH
@pytest.mark.parametrize("inside", [False, True], ids=["status", "inside"])
@pytest.mark.parametrize(("body", "error", "code", "delay"), ERRORS, ids=["key", "quota", "overload"])
async def test_errors(
    streamed: bool, inside: bool, body: dict[str, Any], error: type[ProviderError], code: str, delay: float | None
) -> None:
    status = body["error"]["code"]
    said = ServerReply(events=[body]) if inside and streamed else ServerReply(status=200 if inside else status, body=body)
    async with FakeGoogleServer([said]) as server:
        with pytest.raises(error) as caught:
            await ask(model_at(server, retry=ModelRetrySettings(max_retries=0)), request(stream=streamed))
    assert (caught.value.status, caught.value.code, caught.value.retry_after) == (status, code, delay)
