"""What asks for an output where nothing makes the model keep to its schema."""

from __future__ import annotations

import msgspec

from agentsdk.types.spec import OutputSpec
from agentsdk.types.text import clean_value


def prompt_for(output: OutputSpec) -> str:
    """Words for the model that ask for JSON of the output's schema."""
    schema = msgspec.json.encode(clean_value(output.schema)).decode()
    return f"Give your final answer as JSON and nothing else, without a code fence. It must fit this JSON Schema:\n{schema}"
