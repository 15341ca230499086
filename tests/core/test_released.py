"""Runs that released versions saved: they load, and go on to the same end, for ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from agentsdk import Agent, Runner, RunState
from agentsdk.core import codec
from agentsdk.core.codec import VERSION
from agentsdk.core.migrations import STEPS
from agentsdk.core.run_state import SEAL
from agentsdk.core.state import UNKNOWN_OUTCOME
from agentsdk.types.errors import StateTamperedError, UserError
from agentsdk.types.events import RunEvent, RunStarted
from agentsdk.types.items import FunctionCallOutput
from agentsdk.types.usage import Usage
from tests.core.histories import unpaired
from tests.core.released import EVERY_EVENT, FIXTURES, KEY, RELEASED, SCENARIOS, Desk, agent, resume, schema

SAVED = sorted(FIXTURES.glob("v*/*.json"))
RUNS = [path for path in SAVED if path.stem != "every_event"]


def unsealed(text: str) -> str:
    """A saved run as one whose seal was taken off."""
    data: dict[str, Any] = json.loads(text)
    del data["seal"]
    return json.dumps(data)


def name(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("version", range(1, RELEASED + 1))
def test_every_scenario_is_kept_in_every_released_version(version: int) -> None:
    assert {path.stem for path in SAVED if path.parent.name == f"v{version}"} == {*SCENARIOS, "every_event"}


def test_the_shape_of_what_is_recorded_changes_with_the_version_only() -> None:
    """A struct that is recorded was changed: see the docstring of `agentsdk.core.migrations`."""
    assert RELEASED <= VERSION <= RELEASED + 1
    advice = (
        f"schema version {VERSION} is released with another shape: raise codec.VERSION, see agentsdk/core/migrations.py"
        if VERSION == RELEASED
        else "run `python -m tests.core.released` (after a merge conflict too, on either side) and commit the new schema.txt"
    )
    assert schema() == shape_of(VERSION), advice


@pytest.mark.parametrize("version", range(1, VERSION))
def test_the_shape_of_a_version_is_in_that_of_the_next(version: int) -> None:
    """Events may be new, with more fields at their end that have defaults. Else there is work for its step."""
    before, after = (fields_of(shape_of(number)) for number in (version, version + 1))
    assert set(before) <= set(after)
    for kind, lines in before.items():
        names, more = [line.split(":")[0] for line in lines], after[kind][len(lines) :]
        assert [line.split(":")[0] for line in after[kind][: len(lines)]] == names, f"{kind}: a field was renamed or moved"
        assert all(" = " in line for line in more), f"{kind}: a new field has no default"
    data = {"version": version, "log": [["turn"]], "more": 1}
    assert STEPS[version](data) == {**data, "version": version + 1}


def test_limits_of_version_1_have_the_names_of_version_2() -> None:
    log = [
        ["near", "repeats", "2", "3"],
        ["limit", "turns", "3", "3"],
        ["nested", "a", ["nested", "b", ["limit", "working_time"]]],
    ]
    taken = STEPS[1]({"version": 1, "log": log, "decisions": [["raised", "repeats", "9"]]})
    assert taken["log"] == [
        ["near", "repeated_rounds", "2", "3"],
        ["limit", "turns", "3", "3"],
        ["nested", "a", ["nested", "b", ["limit", "active_time"]]],
    ]
    assert taken["decisions"] == [["raised", "repeated_rounds", "9"]]


def shape_of(version: int) -> str:
    return (FIXTURES / f"v{version}" / "schema.txt").read_text(encoding="utf-8")


def fields_of(shape: str) -> dict[str, list[str]]:
    """The lines of each struct, the one that says how it is written among them."""
    structs: dict[str, list[str]] = {}
    for line in shape.splitlines():
        if not line.startswith(" "):
            kind = line.split(":")[0]
            structs[kind] = []
        structs[kind].append(line)
    return structs


@pytest.mark.anyio
@pytest.mark.parametrize("path", RUNS, ids=name)
async def test_a_saved_run_goes_on_to_its_end(path: Path) -> None:
    scenario = SCENARIOS[path.stem]
    desk = Desk()
    waiting, result = await resume(scenario, path.read_text(encoding="utf-8"), desk)
    assert [item.call_id for item in waiting.interruptions] == list(scenario.waits_for)
    assert desk.effects == list(scenario.effects), "nothing that was done is done again"
    assert (result.final_output, result.turns) == (scenario.output, scenario.turns)
    assert unpaired(result.to_state().items()) == []
    assert UNKNOWN_OUTCOME not in [item.output for item in result.to_state().items() if isinstance(item, FunctionCallOutput)]


@pytest.mark.parametrize("path", SAVED, ids=name)
def test_a_saved_run_is_read_the_same_sealed_or_not(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    clerk = agent()
    sealed = RunState.from_string(clerk, text, state_key=KEY)
    plain = RunState.from_string(clerk, unsealed(text))
    assert plain.pieces() == sealed.pieces()
    started = plain.value.log[0]
    if isinstance(started, RunStarted) and SEAL in started.guards:
        with pytest.raises(UserError, match="begun with a state_key"):
            plain.to_string()
    else:
        again = RunState.from_string(clerk, plain.to_string())
        assert again.value == plain.value
    if path.parent.name == f"v{VERSION}":
        assert json.loads(sealed.to_string()) == json.loads(text)


def test_a_log_of_every_event_has_every_event() -> None:
    assert {type(event) for event in EVERY_EVENT} == set(get_args(RunEvent))


@pytest.mark.parametrize("path", [path for path in SAVED if path.stem == "every_event"], ids=name)
def test_a_log_of_every_event_is_read_whole(path: Path) -> None:
    state = RunState.from_string(agent(), path.read_text(encoding="utf-8"), state_key=KEY)
    if path.parent.name == f"v{VERSION}":
        assert list(state.value.log) == EVERY_EVENT
    assert (state.turns, state.usage, state.is_finished) == (3, Usage(5, 51, 21, 4, 3, 2, False), True)
    assert [type(item).__name__ for item in state.items()] == [
        *("Message", "Message", "Reasoning", "Message", "FunctionCall", "FunctionCall", "FunctionCall"),
        *("FunctionCallOutput", "FunctionCallOutput", "FunctionCallOutput", "Message"),
        *("FunctionCall", "FunctionCallOutput", "Message", "Message"),
    ]
    assert unpaired(state.items()) == []


@pytest.mark.anyio
async def test_an_approval_does_not_cover_other_arguments() -> None:
    """In a state that nothing seals, the call that was approved is exchanged for another."""
    path = FIXTURES / f"v{RELEASED}" / "approval_decided.json"
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    text = json.dumps(data).replace('\\"amount\\": 3', '\\"amount\\": 3000')
    assert text != json.dumps(data)
    clerk: Agent[Any, str] = agent("done")
    with pytest.raises(StateTamperedError):
        RunState.from_string(clerk, text, state_key=KEY)
    desk = Desk()
    with pytest.raises(StateTamperedError, match="'c2' is not for tool 'pay' with these arguments"):
        await Runner.run(clerk, RunState.from_string(clerk, unsealed(text)), context=desk)
    assert desk.effects == []


@pytest.mark.anyio
async def test_one_approval_for_the_whole_tool_covers_its_later_calls() -> None:
    path = FIXTURES / f"v{RELEASED}" / "approval.json"
    again = [codec.decode(path.read_bytes(), KEY).log[-2]]
    reply = again[0].response.output[1]  # type: ignore[union-attr]
    clerk: Agent[Any, str] = agent(reply, "done")
    state = RunState.from_string(clerk, path.read_text(encoding="utf-8"), state_key=KEY)
    state.approve(state.interruptions[0], always_approve=True)
    desk = Desk()
    result = await Runner.run(clerk, state, context=desk)
    assert (result.final_output, desk.effects) == ("done", ["pay Ada 3"] * 2)
