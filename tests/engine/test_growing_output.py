"""The final output of a streamed run as it grows: text, or what has come of a typed output."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from agentsdk import Agent, Message, ModelResponse, Runner
from agentsdk.testing import ScriptedModel, call
from tests.scenarios import World, tool_of

pytestmark = pytest.mark.anyio


async def test_text_is_shown_as_it_grows() -> None:
    run = Runner.run_streamed(Agent("main", model=ScriptedModel(["one two three"])), "go")
    shown = [value async for value in run.stream_output()]
    assert shown[-1] == "one two three" == run.final_output
    assert all(str(after).startswith(str(before)) for before, after in zip(shown, shown[1:], strict=False))
    assert len(shown) > 1


async def test_an_object_is_shown_as_it_grows() -> None:
    class Trip(BaseModel):
        city: str
        days: list[int]

    said = '{"city": "Rome by the sea", "days": [1, 2, 3]}'
    run = Runner.run_streamed(Agent("main", model=ScriptedModel([said]), output_type=Trip), "go")
    shown: list[Any] = [value async for value in run.stream_output()]
    assert shown[-1] == {"city": "Rome by the sea", "days": [1, 2, 3]}
    assert {"city": "Rome by"} in [{"city": str(value.get("city", ""))[:7]} for value in shown if set(value) == {"city"}]
    assert run.final_output == Trip(city="Rome by the sea", days=[1, 2, 3])


async def test_a_wrapped_output_is_shown_without_its_wrapper() -> None:
    run = Runner.run_streamed(Agent("main", model=ScriptedModel(['{"response": [1, 2, 3]}']), output_type=list[int]), "go")
    shown = [value async for value in run.stream_output()]
    assert shown[-1] == [1, 2, 3] == run.final_output


async def test_the_growing_output_starts_anew_with_each_turn_and_goes_on_after_a_length_stop() -> None:
    cut_short = ModelResponse((Message("assistant", "one "),), finish="length")
    model = ScriptedModel([call("read", x=1), cut_short, "two"])
    run = Runner.run_streamed(Agent("main", model=model, tools=[tool_of(World(), "read")]), "go")
    assert [value async for value in run.stream_output()][-1] == "one two" == run.final_output


async def test_dropping_the_growing_output_stops_the_run() -> None:
    # Longer than what the stream holds for a reader that does not read.
    async with Runner.run_streamed(Agent("main", model=ScriptedModel(["word " * 2_000])), "go") as run:
        async for _ in run.stream_output():
            break
    assert run.is_complete and not run.is_finished
