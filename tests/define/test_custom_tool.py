"""Custom tools: called with a text, which a grammar may constrain, by every kind of model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk import Agent, Runner, function_tool
from agentsdk.define.context import ToolContext
from agentsdk.define.custom_tool import TEXT_SCHEMA
from agentsdk.models.anthropic.encode import encode_tools as anthropic_tools
from agentsdk.models.google.encode import encode_tools as google_tools
from agentsdk.models.openai_chat.encode import encode_tools as chat_tools
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import FunctionTool, Grammar, custom_tool
from agentsdk.types.errors import UnsupportedCallError, UserError
from agentsdk.types.items import FunctionCall, FunctionCallOutput

pytestmark = pytest.mark.anyio

DIGITS = Grammar("regex", "[0-9]+")


@custom_tool(grammar=DIGITS)
def double(number: str) -> str:
    """Double a number."""
    return str(2 * int(number))


def outputs(result: Any) -> list[str | tuple[Any, ...]]:
    return [item.raw_item.output for item in result.new_items if isinstance(item.raw_item, FunctionCallOutput)]


def test_what_a_custom_tool_declares() -> None:
    assert (double.name, double.description, double.kind) == ("double", "Double a number.", "custom")
    assert double.spec.parameters == TEXT_SCHEMA
    assert double.spec.kind_settings == {"format": {"type": "grammar", "syntax": "regex", "definition": "[0-9]+"}}

    @custom_tool
    def free(text: str) -> str:
        return text

    assert free.spec.kind_settings == {}
    assert custom_tool(name_override="other", description_override="Else.", timeout=5)(free_text).description == "Else."


def free_text(text: str) -> str:
    return text


@pytest.mark.parametrize(
    "called",
    [FunctionCall("", "double", '{"input":"21"}', kind="custom"), call("double", input="21")],
    ids=["custom", "as a function"],
)
async def test_its_body_gets_the_text(called: FunctionCall) -> None:
    result = await Runner.run(Agent("a", model=ScriptedModel([called, "done"]), tools=[double]), "x")
    assert outputs(result) == ["42"]


async def test_it_may_take_the_context_and_be_async() -> None:
    @custom_tool
    async def say(context: ToolContext[str], text: str) -> str:
        return f"{context.context}: {text}"

    model = ScriptedModel([FunctionCall("", "say", '{"input":"hi"}', kind="custom"), "done"])
    assert outputs(await Runner.run(Agent("a", model=model, tools=[say]), "x", context="Ada")) == ["Ada: hi"]


@pytest.mark.parametrize("arguments", ["{}", '{"input":1}', '{"text":"a"}', '{"input":"1","more":2}', "no JSON"])
async def test_arguments_that_are_no_text_go_back_to_the_model(arguments: str) -> None:
    model = ScriptedModel([FunctionCall("", "double", arguments), "done"])
    (output,) = outputs(await Runner.run(Agent("a", model=model, tools=[double]), "x"))
    assert isinstance(output, str)
    assert "not" in output


async def test_a_custom_call_to_a_function_is_not_answered_by_it() -> None:
    @function_tool
    def add(input: str) -> str:
        raise AssertionError("not called")

    model = ScriptedModel([FunctionCall("", "add", '{"input":"1"}', kind="custom")])
    with pytest.raises(UnsupportedCallError, match="kind 'custom' to 'add'"):
        await Runner.run(Agent("a", model=model, tools=[add]), "x")


def test_providers_without_custom_tools_get_a_function_whose_description_has_the_grammar() -> None:
    said = "Double a number.\n\nThe input must fit this regex grammar:\n[0-9]+"
    (chat,) = json.loads(chat_tools([double.spec]))
    assert chat["function"] == {"name": "double", "description": said, "parameters": TEXT_SCHEMA, "strict": True}
    (claude,) = json.loads(anthropic_tools([double.spec], strict=False))
    assert claude == {"name": "double", "description": said, "input_schema": TEXT_SCHEMA}
    (gemini,) = json.loads(google_tools([double.spec]))
    assert (gemini["name"], gemini["description"]) == ("double", said)
    (bare,) = json.loads(chat_tools([double.clone(description="").spec]))
    assert bare["function"]["description"].startswith("The input must fit")
    (plain,) = json.loads(chat_tools([double.clone(kind_settings=None).spec]))
    assert plain["function"]["description"] == "Double a number."


def test_the_grammar_is_part_of_what_an_approval_is_for() -> None:
    assert double.fingerprint != double.clone(kind_settings={}).fingerprint


def two(a: str, b: str) -> str:
    return a + b


def whole(a: int) -> str:
    return str(a)


def optional(a: str = "") -> str:
    return a


def several(*a: str) -> str:
    return "".join(a)


def none() -> str:
    return ""


@pytest.mark.parametrize("function", [two, whole, optional, several, none])
def test_a_function_of_anything_but_one_text_is_refused_when_it_is_used(function: Any) -> None:
    made = custom_tool(function)
    with pytest.raises(UserError, match=f"custom tool {function.__name__!r} is a function of other parameters than one str"):
        _ = made.spec


@pytest.mark.parametrize(
    "given",
    [
        {"grammar": "[0-9]+"},
        {"name_override": "no name"},
        {"description_override": 1},
        {"kind": "shell"},
        {"kind_settings": {"a": 1}},
        {"timeout": 0},
        {"effect": "some"},
    ],
    ids=str,
)
def test_a_wrong_option_is_refused_at_once(given: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(given))):
        custom_tool(**given)(free_text)


def test_an_unknown_option_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'strict_mode'"):
        custom_tool(strict_mode=True)  # type: ignore[call-overload]


@pytest.mark.parametrize("given", [("lark", ""), ("ebnf", "a"), ("regex", 1)])
def test_a_wrong_grammar_is_refused_at_once(given: tuple[Any, Any]) -> None:
    with pytest.raises(UserError, match="Grammar"):
        Grammar(*given)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"kind": "mcp_approval"}, "HostedMCPTool"),
        ({"kind": "shell"}, "the tool of kind 'shell' is named 'free_text', expected 'shell'"),
        ({"kind": "browser"}, "kind='browser'"),
        ({"kind_settings": {"a": object()}}, "kind_settings"),
    ],
)
def test_a_wrong_kind_of_a_function_tool_is_refused_at_once(given: dict[str, Any], match: str) -> None:
    with pytest.raises(UserError, match=match):
        function_tool(free_text, **given)

    async def invoke(context: object, arguments: str) -> str:
        return ""

    with pytest.raises(UserError, match=match.replace("free_text", "free")):
        FunctionTool("free", "", {}, invoke, strict_json_schema=False, **given)
