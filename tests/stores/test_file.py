"""What files add to a run store: logs that plain tools read, torn and damaged ones, locks, and what an append costs."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, RunConfig, Runner, function_tool
from agentsdk.databases import log_file
from agentsdk.databases.log_file import locked
from agentsdk.stores import file as file_module
from agentsdk.stores.encrypted import EncryptedRunStore
from agentsdk.stores.file import FileRunStore
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.errors import (
    RunConflictError,
    RunNotFoundError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
    UserError,
)
from agentsdk.types.summary import RunQuery
from tests.stores.sqlite_runs import python, run

pytestmark = pytest.mark.anyio

SECRET = "correct horse battery staple"
EVENT = b'[2,["note",{"text":"a"}]]'


@contextlib.asynccontextmanager
async def opened(path: Path, **settings: Any) -> AsyncIterator[FileRunStore]:
    async with contextlib.aclosing(FileRunStore(path, **settings)) as store:
        yield store


async def test_a_log_is_lines_of_json_for_plain_tools(tmp_path: Path) -> None:
    def pay() -> str:
        return "receipt 77"

    agent = Agent[Any, str](name="a", tools=[function_tool(pay)], model=ScriptedModel([call("pay"), "done"]))
    async with opened(tmp_path / "runs") as store:
        await Runner.run(agent, "go", run_config=RunConfig(store=store, run_id="order-7"))
        events = await store.read("order-7")
        summary = await store.summary("order-7")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == ["runs/order-7/log.jsonl"]
    lines = (tmp_path / "runs" / "order-7" / "log.jsonl").read_bytes().splitlines()
    assert [line for line in lines if line.startswith(b"[")] == events, "an event is its own line, as the port has it"
    commits = [json.loads(line) for line in lines if line.startswith(b"{")]
    assert summary is not None and commits[-1]["summary"]["status"] == summary.status == "finished"
    assert len([line for line in lines if b"receipt 77" in line]) >= 1


async def test_what_is_no_line_of_json_is_wrapped(tmp_path: Path) -> None:
    awkward = [
        b"[1",
        b"[1]\n",
        b'["\xff"]',
        b'{"version":1,"summary":{},"bytes":0,"crc32":0}',
        b'{"base64":"AAAA"}',
        b"[" * 100_000,
        b"",
        b"\n",
        b'["\\ud800"]',
    ]
    async with opened(tmp_path) as store, contextlib.aclosing(EncryptedRunStore(store, bytes(32))) as encrypted:
        await store.append("r", 0, awkward, run("r", len(awkward)))
        assert await store.read("r") == awkward
        await encrypted.append("e", 0, [EVENT], run("e", 1))
        assert await encrypted.read("e") == [EVENT]
        for name in ("r", "e"):
            for line in (tmp_path / name / "log.jsonl").read_bytes().split(b"\n")[:-1]:
                json.loads(line)


async def test_names_are_plain_short_and_different_on_every_file_system(tmp_path: Path) -> None:
    ids = [
        "a",
        "A",
        "../../x",
        "/etc/passwd",
        ".",
        "..",
        "é",
        "e\u0301",
        "a.",
        ".a",
        "-rf",
        "~",
        "日本" * 100,
        "x" * 200,
        "a b",
    ]
    async with opened(tmp_path / "runs") as store:
        for run_id in ids:
            await store.append(run_id, 0, [EVENT], run(run_id, 1))
            await store.attach(run_id, run_id, run_id.encode())
        for run_id in ids:
            assert await store.attachment(run_id, run_id) == run_id.encode()
        assert {found.run_id for found in await store.list(RunQuery())} == set(ids)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    names = [path.name for path in (tmp_path / "runs").iterdir()]
    assert len({name.lower() for name in names}) == len(ids)
    assert all(name.isascii() and name == name.lower() and len(name) <= 100 and name[0] not in ".-~" for name in names)
    assert "a" in names, "a plain id is the name of its folder"


async def test_what_is_new_is_its_owners_only(tmp_path: Path) -> None:
    async with opened(tmp_path / "runs") as store:
        await store.append("r", 0, [EVENT], run("r", 1))
        await store.attach("r", "n", b"x")
    for path in [tmp_path / "runs", *(tmp_path / "runs").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0


async def three_appends(path: Path) -> list[bytes]:
    """The log of run `r` after each of three appends."""
    logs: list[bytes] = []
    async with opened(path) as store:
        for rev in range(0, 6, 2):
            events = [b'[%d,"x"]' % rev, b"\xff" * 20]
            await store.append("r", rev, events, run("r", rev + 2))
            logs.append((path / "r" / "log.jsonl").read_bytes())
    return logs


async def test_an_append_cut_at_any_byte_is_never_read_and_the_next_one_repairs_it(tmp_path: Path) -> None:
    _, before, after = await three_appends(tmp_path)
    log = tmp_path / "r" / "log.jsonl"
    async with opened(tmp_path, synchronous="NORMAL") as store:
        for cut in range(len(before), len(after)):
            log.write_bytes(after[:cut])
            assert len(await store.read("r")) == 4 and len(await store.read("r", 3)) == 1
            assert await store.summary("r") == run("r", 4) == (await store.list(RunQuery()))[0]
            await store.append("r", 4, [b'[4,"x"]', b"\xff" * 20], run("r", 6))
            assert log.read_bytes() == after


async def test_a_first_append_that_was_cut_leaves_no_run(tmp_path: Path) -> None:
    first, *_ = await three_appends(tmp_path)
    log = tmp_path / "r" / "log.jsonl"
    async with opened(tmp_path) as store:
        for cut in (0, 1, 10, len(first) - 1):
            log.write_bytes(first[:cut])
            assert await store.summary("r") is None and await store.list(RunQuery()) == []
            for refused in (store.read("r"), store.attach("r", "n", b"x")):
                with pytest.raises(RunNotFoundError):
                    await refused
            with pytest.raises(RunConflictError):
                await store.append("r", 2, [EVENT], run("r", 3))
        await store.append("r", 0, [EVENT], run("r", 1))
        assert await store.read("r") == [EVENT]
        log.write_bytes(b"")
        await store.delete("r")
        assert not log.parent.exists()


async def test_of_what_a_power_loss_left_of_the_last_append_nothing_is_read(tmp_path: Path) -> None:
    _, before, after = await three_appends(tmp_path)
    log = tmp_path / "r" / "log.jsonl"
    async with opened(tmp_path) as store:
        for at in range(len(before), len(after) - 1):
            log.write_bytes(after[:at] + b"\0" + after[at + 1 :])
            assert len(await store.read("r")) == 4
            assert await store.summary("r") == run("r", 4)


async def test_damage_before_the_last_append_is_an_error_and_never_given_out(tmp_path: Path) -> None:
    first, before, after = await three_appends(tmp_path)
    log = tmp_path / "r" / "log.jsonl"
    async with opened(tmp_path) as store:
        damaged = [after[:at] + b"\0" + after[at + 1 :] for at in range(len(before))]
        for content in (*damaged, after[len(first) :], first + after[len(before) :], before + before[len(first) :]):
            log.write_bytes(content)
            with pytest.raises(StoreError, match=r"log\.jsonl' is damaged before byte \d+, .* restore a backup"):
                await store.read("r")
        log.write_bytes(damaged[0])
        assert await store.read("r", 4) == [b'[4,"x"]', b"\xff" * 20], "what was not asked for is not read"


def of_a_newer_version(log: Path) -> None:
    import zlib

    lines, _, commit = log.read_bytes().rpartition(b'{"version":')
    head = b'{"version":2,' + commit[2:].rpartition(b',"crc32":')[0]
    log.write_bytes(lines + head + b',"crc32":%d}\n' % zlib.crc32(head, zlib.crc32(lines)))


def renamed(log: Path) -> None:
    log.parent.rename(log.parent.parent / "s")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (of_a_newer_version, "written by a newer version of agentsdk, expected logs of version 1 at most; upgrade"),
        (renamed, "holds run 'r', expected that in a folder named 'r': it was renamed or copied"),
    ],
)
async def test_logs_that_cannot_be_used_are_a_typed_error(change: Callable[[Path], None], says: str, tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.append("r", 0, [EVENT], run("r", 1))
        await asyncio.to_thread(change, tmp_path / "r" / "log.jsonl")
        with pytest.raises(StoreError, match=says):
            await store.list(RunQuery())


async def test_what_is_not_a_run_in_the_directory_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    async with opened(tmp_path) as store:
        assert await store.list(RunQuery()) == []
        assert await store.prune(9.0) == 0
        await store.delete("empty")
    assert {path.name for path in tmp_path.iterdir()} == {"notes.txt", "empty"}


async def test_what_a_killed_deletion_left_goes_with_the_next_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        for run_id in ("r", "s"):
            await store.append(run_id, 0, [EVENT], run(run_id, 1))
            await store.attach(run_id, "n", b"x")
        (tmp_path / ".deleted").mkdir()
        (tmp_path / "r").rename(tmp_path / ".deleted" / "left")
        assert [found.run_id for found in await store.list(RunQuery())] == ["s"]
        await store.delete("s")
    assert [path.name for path in tmp_path.rglob("*")] == [".deleted"]


async def test_a_lock_held_too_long_is_a_busy_store_and_keeps_no_reader_out(tmp_path: Path) -> None:
    async with opened(tmp_path, busy_timeout=0.01) as store:
        await store.append("r", 0, [EVENT], run("r", 1))
        with locked(str(tmp_path / "r" / "log.jsonl"), timeout=1.0):
            for refused in (
                store.append("r", 1, [SECRET.encode()], run("r", 2)),
                store.attach("r", "n", SECRET.encode()),
                store.delete("r"),
            ):
                with pytest.raises(StoreBusyError, match=r"log\.jsonl' stayed locked for 0\.01 s") as caught:
                    await refused
                assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
            assert await store.read("r") == [EVENT]
            await store.append("other", 0, [EVENT], run("other", 1))
        await store.append("r", 1, [EVENT], run("r", 2))


FORKED = """
import warnings
from agentsdk.databases.log_file import locked

warnings.simplefilter("ignore")  # of a fork with threads, from Python 3.12 on
with locked(sys.argv[1], timeout=1.0, create=True) as file:
    child = os.fork()
    if child == 0:
        try:
            os.fstat(file)
        except OSError:
            with locked(sys.argv[1], timeout=10.0):  # the parent's, until it lets go
                os._exit(7)
        os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
async def test_a_forked_child_holds_no_lock_of_its_parent(tmp_path: Path) -> None:
    process = await python(FORKED, str(tmp_path / "log"))
    assert await process.wait() == 0


async def test_a_cancelled_append_has_ended_when_the_cancel_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.append("r", 0, [EVENT], run("r", 1))
        with locked(str(tmp_path / "r" / "log.jsonl"), timeout=1.0):
            append = asyncio.create_task(store.append("r", 1, [EVENT], run("r", 2)))
            for _ in range(3):
                await asyncio.sleep(0.01)
                append.cancel()
            await asyncio.sleep(0)
            assert not append.done(), "the append waits for the lock, so its outcome is still open"
        with pytest.raises(asyncio.CancelledError):
            await append
        assert await store.read("r") == [EVENT, EVENT]


async def test_a_disk_that_fails_changes_nothing_and_the_store_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite = os.pwrite

    def full(file: int, data: memoryview, at: int) -> int:
        if len(data) < 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(file, data[:-99], at)

    def broken(file: int, length: int = 0) -> None:
        raise OSError(errno.EIO, "Input/output error")

    async with opened(tmp_path) as store:
        await store.append("r", 0, [EVENT], run("r", 1))
        before = (tmp_path / "r" / "log.jsonl").read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", full)
            with pytest.raises(StoreError, match=r"the disk is full; make room and try again \(ENOSPC\)") as caught:
                await store.append("r", 1, [SECRET.encode()], run("r", 2))
            assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
        assert (tmp_path / "r" / "log.jsonl").read_bytes() == before
        with monkeypatch.context() as patched:
            patched.setattr(log_file, "synced", broken)
            with pytest.raises(StoreError, match=r"cannot be read or written.* \(EIO\)"):
                await store.append("r", 1, [EVENT], run("r", 2))
            assert (tmp_path / "r" / "log.jsonl").read_bytes() == before
            patched.setattr(os, "ftruncate", broken)
            with pytest.raises(StoreUnavailableError, match="can neither be written nor cut back"):
                await store.append("r", 1, [EVENT], run("r", 2))
        assert await store.read("r") == [EVENT, EVENT], "it may have been done, and was"


@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
async def test_how_far_an_append_waits_is_the_callers_choice(
    synchronous: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def sync(file: int) -> None:
        size = os.fstat(file).st_size if not os.path.isdir(f"/dev/fd/{file}") else -1
        synced.append("folder" if size < 0 else f"log of {size > 0}")

    monkeypatch.setattr(log_file, "synced", sync)
    monkeypatch.setattr(file_module, "synced", sync)
    async with opened(tmp_path / "runs", synchronous=synchronous) as store:
        await store.append("r", 0, [EVENT], run("r", 1))
        begun, synced[:] = list(synced), []
        await store.append("r", 1, [EVENT], run("r", 2))
    if synchronous == "NORMAL":
        assert begun == synced == []
    else:
        assert begun == ["folder", "folder", "folder", "log of True"], "the folders before the first append"
        assert synced == ["log of True"]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each `pread` and `pwrite` was of, from now on."""
    counts: list[int] = []
    pread, pwrite = os.pread, os.pwrite

    def read(file: int, length: int, at: int) -> bytes:
        counts.append(length)
        return pread(file, length, at)

    def write(file: int, data: memoryview, at: int) -> int:
        counts.append(len(data))
        return pwrite(file, data, at)

    monkeypatch.setattr(os, "pread", read)
    monkeypatch.setattr(os, "pwrite", write)
    return counts


async def test_an_append_and_a_list_cost_as_much_with_a_long_log_as_with_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = b'["%b"]' % (b"x" * 500)
    async with opened(tmp_path, synchronous="NORMAL") as store:
        for run_id, rev in (("short", 100), ("long", 10_000)):
            for at in range(0, rev, 100):
                await store.append(run_id, at, [line] * 100, run(run_id, at + 100))
            await store.append(run_id, rev, [line], run(run_id, rev + 1))
        counts = counted(monkeypatch)
        costs: list[int] = []
        for run_id, rev in (("short", 101), ("long", 10_001)):
            await store.append(run_id, rev, [line] * 3, run(run_id, rev + 3))
            await store.read(run_id, rev)
            costs.append(sum(counts))
            counts.clear()
        assert costs[1] < costs[0] * 1.01 < 40_000
        await store.list(RunQuery())
        assert sum(counts) < 40_000, "the end of each"
        counts.clear()
        assert len(await store.read("long")) == 10_004
        assert sum(counts) < (tmp_path / "long" / "log.jsonl").stat().st_size + 1


async def test_a_summary_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        for summary, says in (
            (run("r", 2), "is of run 'r' at revision 2, expected of 'r' at 1"),
            (run("s", 1), "is of run 's' at revision 1, expected of 'r' at 1"),
            (run("r", 1, started_at=float("inf")), "finite times"),
            (run("r", 1, agent="\ud800"), "lone surrogates"),
        ):
            with pytest.raises(StoreError, match=says):
                await store.append("r", 0, [EVENT], summary)
        assert await store.list(RunQuery()) == []


def test_settings_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ("", "a\0b", "\ud800", 7):
        with pytest.raises(UserError, match=r"FileRunStore\(directory="):
            FileRunStore(path)  # type: ignore[arg-type]
    for timeout in (-1.0, float("nan"), float("inf")):
        with pytest.raises(UserError, match=f"busy_timeout={timeout}"):
            FileRunStore("runs", busy_timeout=timeout)
    with pytest.raises(UserError, match="synchronous='OFF'"):
        FileRunStore("runs", synchronous="OFF")  # type: ignore[arg-type]
    monkeypatch.setattr(file_module, "locking", lambda: None)
    with pytest.raises(UserError, match=r"cannot lock files on .*, expected a platform with fcntl .*; use SQLiteRunStore"):
        FileRunStore("runs")


async def test_a_directory_is_made_in_a_folder_that_exists(tmp_path: Path) -> None:
    async with opened(tmp_path / "none" / "runs") as store:
        assert await store.list(RunQuery()) == []
        with pytest.raises(StoreError, match="expected a path in a folder that exists"):
            await store.append("r", 0, [EVENT], run("r", 1))
    (tmp_path / "file").write_text("mine")
    async with opened(tmp_path / "file") as store:
        with pytest.raises(StoreError, match=r"\(ENOTDIR\)"):
            await store.append("r", 0, [EVENT], run("r", 1))


async def test_closing_is_final_and_leaves_no_thread(tmp_path: Path) -> None:
    store = FileRunStore(tmp_path / "closing")
    assert repr(store) == f"FileRunStore({os.path.realpath(tmp_path / 'closing')!r})"
    await store.append("r", 0, [EVENT], run("r", 1))
    assert any("agentsdk closing" in thread.name for thread in threading.enumerate())
    await store.aclose()
    await store.aclose()
    assert not any("agentsdk closing" in thread.name for thread in threading.enumerate())
    with pytest.raises(StoreError, match="is closed; make a new one"):
        await store.summary("r")


async def test_a_run_whose_files_are_deleted_does_not_finish_as_if_it_were_kept(tmp_path: Path) -> None:
    def lose() -> str:
        import shutil

        shutil.rmtree(tmp_path / "runs" / "r")
        return "ok"

    agent = Agent[Any, str](name="a", tools=[function_tool(lose)], model=ScriptedModel([call("lose"), "done"]))
    async with opened(tmp_path / "runs") as store:
        with pytest.raises(RunConflictError):
            await Runner.run(agent, "go", run_config=RunConfig(store=store, run_id="r"))
