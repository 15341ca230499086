"""Older saved runs: each version is lifted step by step to the present one."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from agentsdk.core import codec, migrations
from agentsdk.core.migrations import migrated
from agentsdk.types.errors import StateCorruptError, StateError, StateTamperedError, StateVersionError


def text(**fields: Any) -> str:
    return json.dumps({"log": [], **fields})


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two versions before version 3: one named a field differently, the other lacked one."""
    renamed = {1: lambda data: {"version": 2, "log": data["events"]}, 2: lambda data: {**data, "version": 3, "more": []}}
    monkeypatch.setattr(migrations, "STEPS", renamed)


def test_the_present_version_is_left_untouched() -> None:
    given = text(version=1)
    assert migrated(given, 1) is given


@pytest.mark.usefixtures("steps")
def test_every_step_from_the_version_on_is_taken_in_order() -> None:
    lifted = {"version": 3, "log": [1], "more": []}
    assert msgspec.json.decode(migrated(json.dumps({"version": 1, "events": [1]}), 3)) == lifted
    assert msgspec.json.decode(migrated(json.dumps({"version": 2, "log": [1]}), 3)) == lifted


def test_a_newer_version_is_refused_with_what_to_do() -> None:
    with pytest.raises(StateVersionError, match="version 7, expected at most 1; resume it with the newer agentsdk"):
        migrated(text(version=7), 1)


@pytest.mark.parametrize("version", [10**400, -(10**400)])
def test_a_damaged_version_is_not_repeated_in_full(version: int) -> None:
    with pytest.raises(StateError) as refused:
        migrated(text(version=version), 1)
    assert len(str(refused.value)) < 200


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("version", [0, -1, -(2**70)])
def test_a_version_that_never_was_is_corruption(version: int) -> None:
    with pytest.raises(StateCorruptError, match="which never existed"):
        migrated(text(version=version), 3)


def test_an_older_run_reads_sealed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seal is checked on what was written, before the run is lifted: it outlives the schema it was made under."""
    key = bytes(32)
    old = {"version": 1, "events": []}
    seal = codec._seal(old, key)
    monkeypatch.setattr(migrations, "STEPS", {1: lambda data: {"version": 2, "log": data["events"]}})
    monkeypatch.setattr(codec, "VERSION", 2)
    assert codec.decode(json.dumps(old), None) == codec.SavedRun(2, ())
    assert codec.decode(json.dumps({**old, "seal": seal}), key).log == ()
    with pytest.raises(StateTamperedError):
        codec.decode(json.dumps({**old, "seal": seal[::-1]}), key)
