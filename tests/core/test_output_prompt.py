from __future__ import annotations

from agentsdk.core.output_prompt import prompt_for
from agentsdk.types.spec import OutputSpec


def test_the_schema_is_told_as_json_that_can_be_sent() -> None:
    text = prompt_for(OutputSpec("Sum", {"type": "object", "description": "half a pair: \ud83d"}))
    assert text.startswith("Give your final answer as JSON and nothing else")
    assert text.endswith('{"type":"object","description":"half a pair: \ufffd"}')
