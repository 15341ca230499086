"""The suite passes a sound store, and each check finds the bugs that are its own."""

from __future__ import annotations

import functools
import pickle
import re
from pathlib import Path
from unittest import SkipTest

import pytest

from agentsdk.stores.memory import MemoryRunStore
from agentsdk.testing import store_conformance
from agentsdk.testing.store_conformance import CHECKS, Check, Factory, check_store, race, waiting
from agentsdk.types.errors import StoreError, UserError
from tests.testing import broken_mailboxes, broken_stores
from tests.testing.broken_stores import FileRunStore, NoCompareAndSet, NoPage

pytestmark = pytest.mark.anyio

PLANTED = broken_stores.PLANTED | broken_mailboxes.PLANTED
NAMED = {check.name: check for check in CHECKS}


def factory_of(kind: type[MemoryRunStore], tmp_path: Path) -> Factory:
    return functools.partial(kind, tmp_path / "runs") if issubclass(kind, FileRunStore) else kind


def test_the_table_names_every_check() -> None:
    doc = store_conformance.__doc__ or ""
    rows = re.findall(r"^\| `(\w+)`( [*+])? \| (\w+) \|", doc, re.MULTILINE)
    assert [(name, bool(mark), kind) for name, mark, kind in rows] == [(one.name, one.shared, one.kind) for one in CHECKS]


def test_bugs_are_planted_for_every_check() -> None:
    assert set(PLANTED) == set(NAMED)


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, kinds in PLANTED.items() for kind in kinds])
async def test_a_planted_bug_is_found(
    name: str, kind: type[MemoryRunStore], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.5)  # those that never wake shall be found soon
    shared = issubclass(kind, FileRunStore)
    with pytest.raises(AssertionError, match=rf"^{name}: .*saw .*, expected ") as caught:
        await NAMED[name](factory_of(kind, tmp_path), shared=shared, workers=2, rounds=5)
    assert len(str(caught.value)) < 1500


async def test_a_sound_store_passes_and_is_left_as_it_was(tmp_path: Path) -> None:
    lines: list[str] = []
    outcomes = await check_store(factory_of(FileRunStore, tmp_path), workers=2, rounds=3, progress=lines.append)
    assert [(one.check, one.result) for one in outcomes] == [(check.name, "passed") for check in CHECKS]
    assert lines == [f"passed  {check.name}" for check in CHECKS]
    assert pickle.loads((tmp_path / "runs").read_bytes()) == ({}, {}, {}, {})


async def test_a_store_of_one_process_skips_what_needs_several() -> None:
    lines: list[str] = []
    outcomes = await check_store(MemoryRunStore, shared=False, progress=lines.append)
    assert [one.result for one in outcomes] == ["skipped" if check.shared else "passed" for check in CHECKS]
    assert "skipped  killed_writer  (the store is not shared)" in lines
    with pytest.raises(SkipTest, match="the store is not shared"):
        await NAMED["killed_writer"](MemoryRunStore, shared=False)


async def test_all_that_failed_is_told_at_the_end() -> None:
    lines: list[str] = []
    with pytest.raises(AssertionError, match=r"checks failed:\n(.*\n)*list_pages: ") as caught:
        await check_store(NoPage, shared=False, progress=lines.append)
    failed = [line.split()[1] for line in lines if line.startswith("failed")]
    assert "list_pages" in failed
    assert str(caught.value).startswith(f"{len(failed)} of {len(CHECKS)} checks failed:\n")


async def test_a_race_counts_the_winners(tmp_path: Path) -> None:
    assert await race(factory_of(FileRunStore, tmp_path), 2, 5) == [1] * 5
    assert await race(factory_of(FileRunStore, tmp_path), 2, 5, lease=True) == [1] * 5
    assert await race(factory_of(NoCompareAndSet, tmp_path), 2, 5) == [2] * 5


@pytest.mark.parametrize("name", ["process_race", "killed_writer"])
async def test_a_factory_that_cannot_be_sent_is_the_callers_error(name: str, tmp_path: Path) -> None:
    check: Check = NAMED[name]
    with pytest.raises(UserError, match="cannot be pickled"):
        await check(lambda: FileRunStore(tmp_path / "runs"))


async def test_a_factory_of_the_main_script_is_the_callers_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import __main__

    monkeypatch.setattr(FileRunStore, "__module__", "__main__")
    monkeypatch.setattr(__main__, "FileRunStore", FileRunStore, raising=False)
    with pytest.raises(UserError, match="is in the main script"):
        await NAMED["process_race"](functools.partial(FileRunStore, tmp_path / "runs"))


def broken_elsewhere(path: Path, here: int) -> FileRunStore:
    import os

    if os.getpid() != here:
        raise StoreError("no such luck")
    return FileRunStore(path)


async def test_an_error_in_a_process_is_told_here(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import os

    factory = functools.partial(broken_elsewhere, tmp_path / "runs", os.getpid())
    with pytest.raises(AssertionError, match=r"process_race: a process of its own: saw StoreError: no such luck, expected"):
        await NAMED["process_race"](factory, workers=2)
    assert "Traceback" in capfd.readouterr().err
