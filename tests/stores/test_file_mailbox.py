"""What files add to mailboxes: lines that plain tools read, torn and damaged ones, and a file that tells of what is ready."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentsdk.types.errors import StoreError
from agentsdk.types.summary import RunQuery
from tests.stores.sqlite_runs import run
from tests.stores.test_file import EVENT, opened

pytestmark = pytest.mark.anyio


async def test_a_mailbox_is_lines_of_json_beside_the_log(tmp_path: Path) -> None:
    signals = [b'["send","hello"]', b"\xff", b'["send","again"]']
    async with opened(tmp_path / "runs") as store:
        await store.append("r", 0, [EVENT], run("r", 1, status="waiting"))
        log = (tmp_path / "runs" / "r" / "log.jsonl").read_bytes()
        assert not (tmp_path / "runs" / "r" / "mailbox.jsonl").exists()
        for signal in signals:
            await store.post("r", signal)
        assert (tmp_path / "runs" / "r" / "log.jsonl").read_bytes() == log
        summary = await store.summary("r")
    assert summary is not None and (summary.rev, summary.signals, summary.status) == (1, 3, "ready")
    lines = (tmp_path / "runs" / "r" / "mailbox.jsonl").read_bytes().splitlines()
    assert lines[0::2] == [signals[0], b'{"base64":"/w=="}', signals[2]]
    assert [json.loads(line)["summary"]["rev"] for line in lines[1::2]] == [1, 2, 3]


@pytest.mark.parametrize("cut", [1, 30, 500])
async def test_a_signal_that_a_killed_process_left_in_part_is_none(cut: int, tmp_path: Path) -> None:
    mailbox = tmp_path / "runs" / "r" / "mailbox.jsonl"
    async with opened(tmp_path / "runs") as store:
        await store.append("r", 0, [EVENT], run("r", 1, status="waiting"))
        await store.post("r", EVENT)
        whole = mailbox.stat().st_size
        await store.post("r", b"." * 400)
        os.truncate(mailbox, mailbox.stat().st_size - cut)
        summary = await store.summary("r")
        assert summary is not None and summary.signals == 1
        assert await store.signals("r") == [EVENT]
        assert await store.append("r", 1, [], run("r", 1)) == 1
        assert await store.post("r", EVENT) == 2
        assert await store.signals("r") == [EVENT, EVENT]
        assert mailbox.stat().st_size < 3 * whole


async def test_a_mailbox_that_was_changed_is_refused(tmp_path: Path) -> None:
    mailbox = tmp_path / "runs" / "r" / "mailbox.jsonl"
    async with opened(tmp_path / "runs") as store:
        await store.append("r", 0, [EVENT], run("r", 1))
        for _ in range(3):
            await store.post("r", EVENT)
        mailbox.write_bytes(mailbox.read_bytes().replace(EVENT, EVENT.replace(b"a", b"b"), 2))
        with pytest.raises(StoreError, match=r"the mailbox '.*mailbox\.jsonl' is damaged before byte"):
            await store.signals("r")


async def test_who_waits_for_work_in_files_looks_at_one_that_stays_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentsdk.stores.file_ready._MOST_BYTES", 3)
    async with opened(tmp_path / "runs") as store, opened(tmp_path / "runs") as other:
        seen = await store.wait_due(0, 3600.0)
        for number in range(10):
            await other.append(f"r{number}", 0, [EVENT], run(f"r{number}", 1, status="ready"))
            before, seen = seen, await store.wait_due(seen, 3600.0)
            assert seen != before
        assert (tmp_path / "runs" / ".ready").stat().st_size <= 3
        assert len(await store.list(RunQuery())) == 10


async def test_a_run_is_ready_though_nobody_can_be_told(tmp_path: Path) -> None:
    async with opened(tmp_path / "runs") as store:
        await store.append("r", 0, [EVENT], run("r", 1))
        (tmp_path / "runs" / ".ready").mkdir()
        await store.append("r", 1, [], run("r", 1, status="ready"))
        assert await store.summary("r") == run("r", 1, status="ready")
