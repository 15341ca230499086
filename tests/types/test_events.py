"""Run events on the wire: arrays with a tag of their own, in a closed schema."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from agentsdk.types.events import Nested, RunEvent, Stopped, ToolFinished, unnested
from tests.core.released import EVERY_EVENT

KINDS = get_args(RunEvent)


def test_every_event_has_a_tag_of_its_own() -> None:
    tags = [kind.__struct_config__.tag for kind in KINDS]
    assert len(set(tags)) == len(KINDS)
    assert all(isinstance(tag, str) and tag.isidentifier() for tag in tags)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_event_is_a_frozen_array_of_a_closed_schema(kind: type[msgspec.Struct]) -> None:
    config = kind.__struct_config__
    assert (config.frozen, config.array_like, config.forbid_unknown_fields) == (True, True, True)


@pytest.mark.parametrize("event", EVERY_EVENT, ids=lambda event: type(event).__name__)
def test_an_event_reads_as_it_was_written(event: RunEvent) -> None:
    text = msgspec.json.encode(event)
    assert msgspec.json.decode(text)[0] == type(event).__struct_config__.tag
    assert msgspec.json.decode(text, type=RunEvent) == event
    with pytest.raises(msgspec.ValidationError, match="at most length"):
        msgspec.json.decode(text[:-1] + b",0]", type=RunEvent)


def test_events_nest() -> None:
    event = Nested("a", Nested("b", ToolFinished("c", "1")))
    result = b'["result","c","1",false,"",false,null,0.0,"",null,false]'
    assert msgspec.json.encode(event) == b'["nested","a",["nested","b",%b]]' % result
    assert msgspec.json.decode(msgspec.json.encode(event), type=RunEvent) == event


def test_an_event_knows_the_calls_that_lead_to_it() -> None:
    result = ToolFinished("c", "1")
    assert unnested(result) == ((), result)
    assert unnested(Nested("a", Nested("b", result))) == (("a", "b"), result)


def test_a_field_left_out_at_the_end_has_its_default() -> None:
    """So an event may get a new last field and older logs still read."""
    assert msgspec.json.decode('["result","c","1"]', type=RunEvent) == ToolFinished("c", "1")
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode('["stopped"]', type=RunEvent)
    assert msgspec.json.decode('["stopped","x"]', type=RunEvent) == Stopped("x")
