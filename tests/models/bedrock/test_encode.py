"""What is sent: items as blocks, settings as Converse's fields; each request fits botocore's own model of the service."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from agentsdk.models.bedrock import BedrockModel
from agentsdk.types.errors import UserError
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    Item,
    Message,
    OutputText,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.settings import ModelSettings, Thinking
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.tape import Tape
from tests.models.bedrock.server import MODEL, OFFLINE, body_of
from tests.models.wire import request

TOOL = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
PICTURE = "data:image/png;base64,aGVsbG8="
CALL, RESULT = FunctionCall("c1", "add", '{"a": 1}'), FunctionCallOutput("c1", "2")


def messages(*items: Item, **fields: Any) -> Any:
    return body_of(items=list(items), tools=(TOOL,), **fields)["messages"]


def test_long_ids_of_calls_fit_and_stay_different() -> None:
    ids = ["a" + "x" * 80, "b" + "x" * 80]
    calls = [FunctionCall(one, "add", "{}") for one in ids]
    reply, answer = messages(Message("user", "hi"), *calls, *[FunctionCallOutput(one, one[0]) for one in ids])[1:]
    sent = [block["toolUse"]["toolUseId"] for block in reply["content"]]
    assert len(set(sent)) == 2 and max(map(len, sent)) <= 64
    assert [block["toolResult"]["toolUseId"] for block in answer["content"]] == sent


def test_a_turn_with_everything() -> None:
    thought = Reasoning("hm", signature="c2ln", provider="bedrock")
    sealed = Reasoning(encrypted="cmVk", provider="bedrock")
    other = FunctionCall("c 2", "add", '{"a": 2}')
    failed = FunctionCallOutput("c 2", (InputText("no"), InputImage(PICTURE)), is_error=True)
    sent = messages(Message("user", "hi"), thought, sealed, Message("assistant", "let me"), CALL, other, failed, RESULT)
    image = {"image": {"format": "png", "source": {"bytes": "aGVsbG8="}}}
    assert sent == [
        {"role": "user", "content": [{"text": "hi"}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
                {"reasoningContent": {"redactedContent": "cmVk"}},
                {"text": "let me"},
                {"toolUse": {"toolUseId": "c1", "name": "add", "input": {"a": 1}}},
                {"toolUse": {"toolUseId": "c_20_2", "name": "add", "input": {"a": 2}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "c_20_2", "content": [{"text": "no"}, image], "status": "error"}},
                {"toolResult": {"toolUseId": "c1", "content": [{"text": "2"}]}},
            ],
        },
    ]


def test_roles_alternate_and_every_call_has_its_result_next_to_it() -> None:
    sent = messages(Message("assistant", "a"), CALL, Message("user", "b"), Message("user", "c"), FunctionCallOutput("x", ""))
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[2]["content"] == [
        {"toolResult": {"toolUseId": "c1", "content": [{"text": "(no result yet)"}]}},
        {"text": "b"},
        {"text": "c"},
        {"text": "Result of tool call x:"},
    ]
    assert messages() == [{"role": "user", "content": [{"text": "(continued)"}]}]
    assert messages(Message("user", " ")) == [{"role": "user", "content": [{"text": "(empty)"}]}]


def test_calls_are_text_where_no_tool_is_declared() -> None:
    """The API refuses them as blocks then: a turn that may call nothing still knows what was called."""
    items = [Message("user", "hi"), CALL, RESULT]
    for fields in ({}, {"tools": (TOOL,), "settings": ModelSettings(tool_choice="none")}):
        body = body_of(items=items, **fields)
        assert "toolConfig" not in body
        assert body["messages"][1:] == [
            {"role": "assistant", "content": [{"text": '(Tool call c1: add {"a": 1})'}]},
            {"role": "user", "content": [{"text": "Result of tool call c1:"}, {"text": "2"}]},
        ]


def test_what_is_of_others_stays_away_and_texts_are_kept() -> None:
    foreign = Reasoning("hm", provider="else"), ProviderItem("else", {"a": 1})
    own = ProviderItem("bedrock", {"guardContent": {"text": {"text": "x"}}})
    parts = (OutputText("a", ({"x": 1},)), OutputText(" "), Refusal("no"))
    sent = messages(Message("user", "hi"), *foreign, own, Message("assistant", parts), Message("system", "late"))
    assert sent[1]["content"] == [own.data, {"text": "a"}, {"text": "no"}]
    assert sent[2]["content"] == [{"text": "<system>\nlate\n</system>"}]


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (InputImage("data:image/jpg;base64,aGk="), {"image": {"format": "jpeg", "source": {"bytes": "aGk="}}}),
        (InputImage("s3://b/a.webp"), {"image": {"format": "webp", "source": {"s3Location": {"uri": "s3://b/a.webp"}}}}),
        (
            InputFile("data:application/pdf;base64,aGk=", filename="a_b (1).pdf"),
            {"document": {"format": "pdf", "name": "a b (1)", "source": {"bytes": "aGk="}}},
        ),
        (InputFile("data:text/plain,hi"), {"document": {"format": "txt", "name": "document", "source": {"bytes": "aGk="}}}),
        (InputFile("data:image/png;base64,aGk=", filename="a.png"), {"image": {"format": "png", "source": {"bytes": "aGk="}}}),
        (InputVideo("data:video/quicktime;base64,aGk="), {"video": {"format": "mov", "source": {"bytes": "aGk="}}}),
        (InputAudio("aGk=", "wav"), {"audio": {"format": "wav", "source": {"bytes": "aGk="}}}),
    ],
    ids=str,
)
def test_media(part: Any, block: dict[str, Any]) -> None:
    assert messages(Message("user", (part,)))[0]["content"] == [block]


@pytest.mark.parametrize(
    "part",
    [InputImage("https://example.com/a.png"), InputImage(file_id="f"), InputFile(file_url="s3://b/a"), InputImage("nonsense")],
    ids=str,
)
def test_media_that_cannot_go(part: Any) -> None:
    with pytest.raises(UserError, match="s3://"):
        messages(Message("user", (part,)))


def test_settings() -> None:
    settings = ModelSettings(
        max_tokens=9,
        temperature=0.5,
        top_p=0.25,
        stop=("END",),
        metadata={"team": "a"},
        service_tier="flex",
        reasoning_effort="low",
        tool_choice="add",
        extra_body={"additionalModelRequestFields": {"top_k": 3}, "guardrailConfig": {"guardrailIdentifier": "g"}},
    )
    body = body_of(tools=(TOOL,), settings=settings, instructions="be kind")
    assert body["inferenceConfig"] == {"maxTokens": 9, "temperature": 0.5, "topP": 0.25, "stopSequences": ["END"]}
    assert (body["requestMetadata"], body["serviceTier"]) == ({"team": "a"}, {"type": "flex"})
    assert (body["outputConfig"], body["system"]) == ({"effort": "low"}, [{"text": "be kind"}])
    assert body["additionalModelRequestFields"] == {"top_k": 3}
    assert body["guardrailConfig"] == {"guardrailIdentifier": "g"}
    spec = {"name": "add", "description": "Adds.", "inputSchema": {"json": TOOL.parameters}}
    assert body["toolConfig"] == {"tools": [{"toolSpec": spec}], "toolChoice": {"tool": {"name": "add"}}}
    assert set(body_of()) == {"messages"}


@pytest.mark.parametrize(("given", "sent"), [(None, None), ("auto", {"auto": {}}), ("required", {"any": {}})])
def test_tool_choice(given: Any, sent: Any) -> None:
    assert body_of(tools=(TOOL,), settings=ModelSettings(tool_choice=given))["toolConfig"].get("toolChoice") == sent


def test_thinking_is_claudes_and_other_models_are_refused() -> None:
    settings = ModelSettings(thinking=Thinking(budget=2000), extra_body={"additionalModelRequestFields": {"top_k": 3}})
    body = body_of("us.anthropic.claude-sonnet-4-5-20250929-v1:0", settings=settings)
    assert body["additionalModelRequestFields"] == {"thinking": {"type": "enabled", "budget_tokens": 2000}, "top_k": 3}
    assert body["inferenceConfig"] == {"maxTokens": 10192}
    newer = body_of("global.anthropic.claude-opus-4-8-v1:0", settings=ModelSettings(thinking="high"))
    assert newer["additionalModelRequestFields"] == {"thinking": {"type": "adaptive"}}
    assert newer["outputConfig"] == {"effort": "high"} and "inferenceConfig" not in newer
    for name in ("us.amazon.nova-pro-v1:0", "meta.llama3-70b-instruct-v1:0"):
        with pytest.raises(UserError, match=r"thinking=.*expected a Claude.*additionalModelRequestFields"):
            body_of(name, settings=ModelSettings(thinking=True))


@pytest.mark.parametrize("how", ["model", "settings"])
def test_caching_ends_each_part_with_a_point(how: str) -> None:
    point = {"cachePoint": {"type": "default", "ttl": "5m"}}
    options: dict[str, Any] = {"cache": "5m"} if how == "model" else {}
    settings = ModelSettings(prompt_cache_retention="5m") if how == "settings" else ModelSettings()
    large = Message("user", (InputImage("data:image/png;base64," + "A" * 400_000),))
    for items in ([Message("user", "hi")], [Message("user", "hi"), CALL, RESULT], [large], []):
        body = body_of(options=options, items=items, instructions="x", tools=(TOOL,), settings=settings)
        assert body["system"][-1] == body["messages"][-1]["content"][-1] == point
        assert json.dumps(body).count("cachePoint") == 2


def test_a_later_request_sends_the_same_bytes_first() -> None:
    model = BedrockModel(MODEL, base_url=OFFLINE, api_key="k")
    tape: Tape[Item] = Tape([Message("user", "hi"), CALL, RESULT])
    first = bytes(model.body(request(items=tape, tools=(TOOL,))))
    later = bytes(model.body(request(items=tape.extended([Message("assistant", "2"), Message("user", "and?")]), tools=(TOOL,))))
    assert later.startswith(first.removesuffix(b"]}"))


def test_an_output_type_is_asked_for_in_the_instructions() -> None:
    output = OutputSpec("Sum", {"type": "object", "properties": {"total_sum": {"type": "integer"}}})
    body = body_of(output=output, instructions="be kind")
    assert "be kind" in body["system"][0]["text"] and "total_sum" in body["system"][0]["text"]


def test_what_is_sent_fits_botocores_model_of_the_service() -> None:
    """Validated by botocore itself, as the request of its own client would be."""
    from botocore.loaders import Loader
    from botocore.model import ServiceModel
    from botocore.validate import ParamValidator

    shape = (
        ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2")).operation_model("ConverseStream").input_shape
    )
    thought = Reasoning("hm", signature="c2ln", provider="bedrock")
    items: list[Item] = [Message("user", (InputText("hi"), InputImage(PICTURE))), thought, CALL, RESULT]
    settings = ModelSettings(max_tokens=9, thinking=True, tool_choice="required", metadata={"a": "b"}, stop=("x",))
    body = body_of(
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        options={"cache": "5m", "native_output": True, "strict_tools": True},
        items=items,
        tools=(TOOL,),
        output=OutputSpec("Sum", {"type": "object"}),
        instructions="x",
        settings=settings,
    )
    report = ParamValidator().validate({"modelId": MODEL, **body}, shape)
    assert not report.has_errors(), report.generate_report()
    assert not unknown(body, shape), "botocore would leave it out"


def unknown(value: Any, shape: Any) -> list[str]:
    """The fields of `value` that `shape` does not have."""
    if shape.type_name == "list":
        return [name for one in value for name in unknown(one, shape.member)]
    if shape.type_name != "structure" or getattr(shape, "is_document_type", False):
        return []
    found = [name for name in value if name not in shape.members]
    return found + [
        inner for name, one in value.items() if name in shape.members for inner in unknown(one, shape.members[name])
    ]


def test_a_model_may_be_held_to_schemas() -> None:
    """By the fields that the service's own model of its API has."""
    output = OutputSpec("Sum of all", {"type": "object", "properties": {"total_sum": {"type": "integer"}}})
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    tools = (ToolSpec("add", "Add.", schema), ToolSpec("sub", "Subtract.", schema, strict=False))
    options = {"native_output": True, "strict_tools": True}
    settings = ModelSettings(reasoning_effort="low", extra_body={"outputConfig": {"new": 1}})
    body = body_of(output=output, tools=tools, options=options, settings=settings)
    told = body["outputConfig"].pop("textFormat")
    assert body["outputConfig"] == {"effort": "low", "new": 1} and "system" not in body
    assert told["type"] == "json_schema" and told["structure"]["jsonSchema"]["name"] == "Sum_of_all"
    assert json.loads(told["structure"]["jsonSchema"]["schema"]) == output.schema
    assert [tool["toolSpec"].get("strict") for tool in body["toolConfig"]["tools"]] == [True, None]
    loose = structs.replace(output, strict=False)
    for one in (loose, structs.replace(output, mode="prompted")):
        body = body_of(output=one, options=options)
        assert "outputConfig" not in body and "total_sum" in json.dumps(body["system"])
