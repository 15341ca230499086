"""Raw stream events carry the type strings of the Responses stream."""

from __future__ import annotations

from typing import get_args

from agentsdk.types.deltas import Delta, ModelStreamEvent, OutputTextDelta


def test_every_stream_event_has_a_type_string_of_its_own() -> None:
    kinds = get_args(ModelStreamEvent)
    names = [kind.type for kind in kinds]
    assert len(set(names)) == len(kinds)
    assert all(name.startswith("response.") for name in names)
    ours = {kind for kind in Delta.__subclasses__() if kind.__module__ == Delta.__module__}  # compat has one of its own
    assert set(kinds) == ours


def test_text_is_where_readers_of_the_responses_stream_look_for_it() -> None:
    event = OutputTextDelta("hi", 2)
    assert (event.type, event.delta, event.output_index) == ("response.output_text.delta", "hi", 2)
