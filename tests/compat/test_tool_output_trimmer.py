"""`ToolOutputTrimmer`: which results are made shorter, and what is left of them."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.compat.openai_agents import Agent
from agentsdk.compat.openai_agents.extensions.tool_output_trimmer import ToolOutputTrimmer
from agentsdk.compat.openai_agents.run_config import CallModelData, ModelInputData

LONG = "x" * 1000
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64," + "Q" * 2000}
FILE = {"type": "input_file", "file_data": "R" * 2000, "filename": "a.pdf"}


def result(output: Any, name: str = "search", namespace: str | None = None) -> list[Any]:
    call = {"type": "function_call", "call_id": name, "name": name, "arguments": "{}"}
    return [
        {"role": "user", "content": "Go on."},
        {**call, "namespace": namespace} if namespace else call,
        {"type": "function_call_output", "call_id": name, "output": output},
    ]


def trimmed(items: list[Any], **options: Any) -> list[Any]:
    """The outputs that are sent, with the items that are given after them."""
    given = [*items, {"role": "user", "content": "And now?"}, {"role": "user", "content": "Well?"}]
    before = repr(given)
    sent = ToolOutputTrimmer(**options)(CallModelData(ModelInputData(given, "Be brief."), Agent("A"), None))
    assert repr(given) == before and sent.instructions == "Be brief." and len(sent.input) == len(given)
    return [item["output"] for item in sent.input if isinstance(item, dict) and item.get("type") == "function_call_output"]


def test_a_long_result_of_an_older_turn_is_a_preview() -> None:
    assert trimmed(result(LONG)) == ["[Trimmed: search output of 1000 chars]\n" + "x" * 200 + "..."]
    assert trimmed(result(LONG), recent_turns=3) == [LONG]
    assert trimmed(result(LONG), max_output_chars=1000) == [LONG]
    assert trimmed(result(LONG), preview_chars=990) == [LONG], "a preview that saves nothing"


def test_only_the_named_tools_are_trimmed() -> None:
    both = [*result(LONG, "search"), *result(LONG, "look", "web")]
    for wanted, kept in (
        ("look", [True, False]),
        (["web.look"], [True, False]),
        ({"search"}, [False, True]),
        ("web", [True, True]),
    ):
        assert [output == LONG for output in trimmed(both, trimmable_tools=wanted)] == kept


def test_images_and_files_are_named_and_texts_shown() -> None:
    text = {"type": "input_text", "text": "The chart: up 12 %."}
    assert trimmed(result([IMAGE, text, FILE, IMAGE])) == [
        "[Trimmed: search output of 6068 chars; dropped 1 input_file, 2 input_image]\nThe chart: up 12 %."
    ]
    assert trimmed(result([text])) == [[text]]


@pytest.mark.parametrize("part", [{"type": "output_text", "text": LONG}, LONG, {"text": LONG}])
def test_parts_of_another_kind_are_left_as_they_are(part: Any) -> None:
    assert trimmed(result([part])) == [[part]]


def test_the_call_may_be_missing() -> None:
    assert trimmed([*result("", "other"), {"type": "function_call_output", "call_id": "gone", "output": LONG}])[1].startswith(
        "[Trimmed: unknown_tool output"
    )


@pytest.mark.parametrize(
    "wrong", [{"recent_turns": 0}, {"max_output_chars": 0}, {"preview_chars": -1}, {"trimmable_tools": b"x"}]
)
def test_what_fits_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        ToolOutputTrimmer(**wrong)
