"""A reply's text, and the same type strings on the wire as in the stream."""

from __future__ import annotations

import msgspec

from agentsdk.types.items import FunctionCall, Message, OutputText, Reasoning
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage


def test_the_text_is_that_of_all_messages() -> None:
    reply = ModelResponse(
        (Reasoning("hidden"), Message("assistant", "a"), FunctionCall("c", "n", "{}"), Message("assistant", (OutputText("b"),)))
    )
    assert reply.text == "ab"
    assert ModelResponse(()).text == ""


def test_a_reply_writes_only_what_it_holds() -> None:
    assert msgspec.json.encode(ModelResponse(())) == b'{"output":[]}'
    full = ModelResponse((Message("assistant", "a"),), Usage(1), "length", "r", "m")
    assert msgspec.json.decode(msgspec.json.encode(full), type=ModelResponse) == full
