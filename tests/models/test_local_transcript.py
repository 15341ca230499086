"""The history as plain messages."""

from __future__ import annotations

from agentsdk.models.local.transcript import answered_tools, plain_messages, system_text
from agentsdk.types.items import FunctionCall, FunctionCallOutput, InputImage, InputText, Item, Message, OutputText, Reasoning
from agentsdk.types.spec import OutputSpec, ToolSpec

WEATHER = ToolSpec("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})


def test_calls_and_results_become_text_and_neighbours_become_one() -> None:
    history = [
        Message("developer", "Be brief."),
        Message("user", "Rome?"),
        Message("user", "Today."),
        Reasoning("thinking"),
        Message("assistant", (OutputText("I'll look."),)),
        FunctionCall("c1", "weather", '{"city": "Rome"}'),
        FunctionCallOutput("c1", "sunny"),
        FunctionCallOutput("c2", (InputText("also "), InputText("warm"))),
        Message("assistant", "Sunny."),
    ]
    assert plain_messages(history) == [
        Message("system", "Be brief."),
        Message("user", "Rome?\n\nToday."),
        Message("assistant", 'I\'ll look.\n\n<tool_call>{"name": "weather", "arguments": {"city": "Rome"}}</tool_call>'),
        Message("user", "<tool_response>\nsunny\n</tool_response>\n\n<tool_response>\nalso warm\n</tool_response>"),
        Message("assistant", "Sunny."),
    ]


def test_tools_that_answered_since_the_last_user_message_are_known() -> None:
    def called(number: int, name: str, *, is_error: bool = False) -> list[Item]:
        return [FunctionCall(f"c{number}", name, "{}"), FunctionCallOutput(f"c{number}", "text", is_error)]

    history = [*called(1, "old"), Message("user", "And now?"), *called(2, "weather"), *called(3, "failed", is_error=True)]
    assert answered_tools(history) == {"weather", "failed"}
    assert answered_tools([*history, FunctionCall("c4", "open", "{}")]) == {"weather", "failed"}
    assert answered_tools([*history, Message("user", "Again?")]) == set()


def test_parts_that_are_not_text_are_kept_for_the_server_to_judge() -> None:
    image = InputImage(image_url="data:image/png;base64,AA==")
    history = [Message("user", "Look:"), Message("user", (image,)), FunctionCallOutput("c1", (image,))]
    [message] = plain_messages(history)
    assert message == Message(
        "user", (InputText("Look:"), image, InputText("<tool_response>\n"), image, InputText("\n</tool_response>"))
    )


def test_system_text_names_the_tools_and_the_schema() -> None:
    assert system_text("", (), None) == ""
    assert system_text("Be brief.", (), None) == "Be brief."
    text = system_text("Be brief.", (WEATHER,), OutputSpec("person", {"type": "object"}))
    assert text.startswith("Be brief.\n\n")
    assert "- weather: The weather." in text and '{"city": {"type": "string"}}' in text
    assert text.endswith('JSON of this schema: {"type": "object"}')
