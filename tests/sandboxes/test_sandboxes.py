"""What the sandboxes of this machine do beside the rules of the suite: what they refuse, choose and leave behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import ANY
from uuid import uuid4

import pytest

from agentsdk.ports.sandbox import MIB, SandboxLimits
from agentsdk.sandboxes import (
    BubblewrapSandbox,
    Completed,
    LocalSandbox,
    SandlockSandbox,
    best_sandbox,
    cgroups,
    sandlock,
    seccomp,
)
from agentsdk.sandboxes.output import HeadTail
from agentsdk.testing.sandbox_conformance.check import left_running
from agentsdk.types.errors import SandboxError, SandboxFileError, SandboxUnavailableError, UserError
from tests.sandboxes.sandboxes import SANDBOXES, missing

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
BOTH = pytest.mark.parametrize("name", SANDBOXES)


async def until(holds: Callable[[], bool]) -> None:
    """What another process does cannot be waited for otherwise."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_the_best_sandbox_is_the_first_that_isolates(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in (("bubblewrap", BubblewrapSandbox), ("sandlock", SandlockSandbox)):
        if missing(name):
            continue
        async with await best_sandbox() as sandbox:
            assert type(sandbox) is kind
            assert (await sandbox.run(["echo", "there"])).stdout == "there\n"
        break
    else:
        pytest.skip(f"{missing('bubblewrap')}; {missing('sandlock')}")


async def test_without_a_sandbox_nothing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sandlock.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SandboxUnavailableError) as refused:
        await best_sandbox()
    for word in (
        "no bwrap on the path",
        "apt install bubblewrap",
        "sandlock is not installed",
        "pip install 'agentsdk[sandbox]'",
    ):
        assert word in str(refused.value)
    sandbox = BubblewrapSandbox()
    with pytest.raises(SandboxUnavailableError):
        await sandbox.run(["true"])
    with pytest.raises(SandboxUnavailableError):
        await sandbox.shell().run("true")
    await sandbox.aclose()


async def test_a_sandbox_that_does_not_isolate_is_found_out() -> None:
    class Open(LocalSandbox):
        prove = BubblewrapSandbox.prove

    async with Open(unsafe=True) as sandbox:
        with pytest.raises(SandboxUnavailableError, match=r"^Open cannot isolate here \(a file outside could be read\)"):
            await sandbox.run(["true"])


IMPORTED = """
import sys

STARTS = ("subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "os.system")
started = []
sys.addaudithook(lambda event, _: started.append(event) if event in STARTS else None)
from agentsdk.sandboxes import BubblewrapSandbox, LocalSandbox, SandlockSandbox, best_sandbox
print(started, "sandlock" in sys.modules)
"""


def test_nothing_is_started_by_an_import() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True, env=env)
    assert done.stdout == "[] False\n"


def test_no_isolation_must_be_asked_for() -> None:
    for unsafe in (False, 1, "yes"):
        with pytest.raises(UserError, match="expected unsafe=True"):
            LocalSandbox(unsafe=unsafe)  # type: ignore[arg-type]


@pytest.mark.parametrize("workspace", ["/", "/etc", "/usr", "/proc", "/dev/shm", str(Path.home()), "missing", "", __file__])
def test_a_folder_that_holds_more_is_no_workspace(workspace: str) -> None:
    with pytest.raises(UserError, match="workspace"):
        BubblewrapSandbox(workspace)


@BOTH
async def test_a_workspace_that_was_given_stays(name: str, available: None, shared_folder: Path) -> None:
    async with SANDBOXES[name](shared_folder) as sandbox:
        assert sandbox.workdir == str(shared_folder)
        await sandbox.run(["sh", "-c", "echo made > file"])
    assert (shared_folder / "file").read_text() == "made\n"


@BOTH
async def test_the_interpreter_is_there_wherever_it_is_installed(name: str, available: None) -> None:
    """A Python under a home folder is none of the system's programs; one that the user may not reach is left out."""
    async with SANDBOXES[name]() as sandbox:
        done = await sandbox.run(["python3", "-c", "import sys; print(sys.prefix)"])
        expected = sandbox.path_folders()[0].removesuffix("/bin").removesuffix("/local")
        assert (done.stdout.strip(), done.stderr) == (expected, "")


@BOTH
async def test_a_folder_can_be_shown(name: str, available: None, shared_folder: Path) -> None:
    (shared_folder / "data").write_text("shown")
    async with SANDBOXES[name](readable=[shared_folder]) as sandbox:
        done = await sandbox.run(["sh", "-c", 'cat "$0/data"; echo x > "$0/data"', str(shared_folder)])
        assert (done.stdout, done.exit_code != 0) == ("shown", True)
    assert (shared_folder / "data").read_text() == "shown"


@BOTH
async def test_variables_are_not_in_the_list_of_processes(name: str, available: None) -> None:
    nonce = uuid4().hex
    async with SANDBOXES[name]() as sandbox:
        running = asyncio.create_task(sandbox.run(["sh", "-c", "touch ready; sleep 600"], env={"KEY": nonce}))
        await until(lambda: Path(sandbox.workdir, "ready").exists())
        assert left_running(nonce) == []
        running.cancel()
        await asyncio.wait((running,))


@BOTH
async def test_variables_of_a_command_act_on_no_program_outside(name: str, available: None, tmp_path: Path) -> None:
    """The loader of every program that is given them writes a file. The control is a sandbox that hides nothing."""
    env = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(tmp_path / "loaded")}
    async with SANDBOXES[name]() as sandbox:
        done = await sandbox.run(["echo", "ran"], env=env)
        assert (done.exit_code, done.stdout.endswith("ran\n")) == (0, True)
    assert list(tmp_path.iterdir()) == []
    async with LocalSandbox(unsafe=True) as control:
        await control.run(["true"], env=env)
    assert list(tmp_path.iterdir()) != []


def shared_objects(user: int) -> list[str]:
    """What of System V shared memory and semaphores a user owns: it outlives every process."""
    lines = [line for kind in ("shm", "sem") for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]]
    return [line for line in lines if f" {user} " in line]


KILLED = """
import asyncio, sys
from tests.sandboxes.sandboxes import SANDBOXES

async def main() -> None:
    sandbox = SANDBOXES[sys.argv[1]]()
    print(sandbox.workdir, flush=True)
    await asyncio.gather(*(sandbox.run(["sh", "-c", "touch ready$1; setsid sleep 600", sys.argv[2], str(n)]) for n in range(3)))

asyncio.run(main())
"""


@BOTH
async def test_a_program_that_is_killed_leaves_no_process_and_no_shared_memory(name: str, available: None) -> None:
    nonce = uuid4().hex
    line = [sys.executable, "-c", KILLED, name, nonce]
    program = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert program.stdout is not None
    workspace = Path(program.stdout.readline().strip())
    await until(lambda: len(list(workspace.glob("ready*"))) == 3)
    assert left_running(nonce) != []
    user = workspace.stat().st_uid
    program.kill()
    program.wait()
    program.stdout.close()
    await until(lambda: left_running(nonce) == [])
    await until(lambda: user == os.geteuid() or shared_objects(user) == [])
    shutil.rmtree(workspace.parent)


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
@BOTH
async def test_a_sandbox_leaves_no_shared_memory(name: str, available: None) -> None:
    async with SANDBOXES[name]() as sandbox:
        await asyncio.gather(*(sandbox.run(["true"]) for _ in range(3)))
        user = Path(sandbox.workdir).stat().st_uid
        assert name != "sandlock" or shared_objects(user) != []
    assert user == os.geteuid() or shared_objects(user) == []


LEFT = """
import subprocess, sys
from agentsdk.sandboxes import sandlock_server

sandlock_server._CHILDREN = sys.argv[1]
for _ in range(3):
    subprocess.Popen(["sleep", "600"], start_new_session=True)
sandlock_server._end_children()
print(sandlock_server._children())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
@pytest.mark.parametrize("lists", ["children", "not-there"])
def test_what_a_command_leaves_is_ended_also_where_the_kernel_lists_no_children(lists: str) -> None:
    line = [sys.executable, "-W", "ignore", "-c", LEFT, lists]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("[]\n", "")


WRITER = """
import asyncio, sys
from agentsdk.sandboxes import LocalSandbox

async def main() -> None:
    sandbox = LocalSandbox(sys.argv[1], unsafe=True)
    number = 0
    while True:
        number += 1
        await sandbox.files.write("file", str(number % 10).encode() * 1_000_000)
        print(number, flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("after", [1, 2, 5])
async def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new(after: int, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=env)
    assert writer.stdout is not None
    for _ in range(after):
        writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    written = (tmp_path / "file").read_bytes()
    assert (len(written), len(set(written))) == (1_000_000, 1)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root on Linux")
async def test_as_root_on_roots_folder_without_control_groups_it_refuses(
    shared_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There, nothing would limit the processes."""
    if reason := missing("bubblewrap"):
        pytest.skip(reason)
    monkeypatch.setattr(cgroups, "_places", lambda: None)
    async with BubblewrapSandbox(shared_folder) as sandbox:
        with pytest.raises(SandboxUnavailableError, match="give the workspace to another user"):
            await sandbox.run(["true"])
    os.chown(shared_folder, 12345, 12345)
    async with BubblewrapSandbox(shared_folder) as sandbox:
        await sandbox.run(["touch", "made"])
        await sandbox.files.write("written", b"")
    assert {path.stat().st_uid for path in shared_folder.iterdir()} == {12345}


@pytest.mark.skipif(cgroups._places() is None, reason="needs control groups that this user may make")
async def test_groups_that_a_killed_program_left_are_removed() -> None:
    places = cgroups._places()
    assert places is not None
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = [folder / f"agentsdk-{dead.pid}-0123456789ab" for folder in dict.fromkeys(places.values())]
    for folder in left:
        folder.mkdir()
    cgroups._places.cache_clear()
    assert cgroups._places() == places
    assert [folder for folder in left if folder.exists()] == []


async def test_commands_reach_the_hosts_they_may() -> None:
    if reason := missing("sandlock"):
        pytest.skip(reason)
    heard = asyncio.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.set()
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    other = await asyncio.start_server(connected, "127.0.0.1", 0)
    port, closed = (one.sockets[0].getsockname()[1] for one in (server, other))
    script = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5).close()"
    async with server, other, SandlockSandbox(allow_net=[f"127.0.0.1:{port}"]) as sandbox:
        assert (await sandbox.run(["python3", "-c", script, str(closed)])).exit_code == 1
        assert not heard.is_set()
        assert (await sandbox.run(["python3", "-c", script, str(port)])).exit_code == 0
        await heard.wait()


@pytest.mark.parametrize("hosts", ["pypi.org:443", ["pypi.org"], ["*:443"], [":443"], [443], ["pypi.org:https"]])
def test_what_is_no_host_and_port_is_refused(hosts: object) -> None:
    with pytest.raises(UserError, match="allow_net"):
        SandlockSandbox(allow_net=hosts)  # type: ignore[arg-type]


async def test_where_bwrap_fails_its_reason_is_told(shared_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = shared_folder / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shared_folder}:{os.environ['PATH']}")
    async with BubblewrapSandbox() as sandbox:
        with pytest.raises(SandboxUnavailableError, match="No permissions to create new namespace"):
            await sandbox.run(["true"])


def test_an_architecture_without_known_numbers_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    for machine, known in (("x86_64", True), ("aarch64", True), ("riscv64", False)):
        monkeypatch.setattr(seccomp.platform, "machine", lambda machine=machine: machine)
        assert (seccomp.full() is not None, seccomp.no_setid() is not None) == (known, known)


@pytest.mark.parametrize("size", [2, 3, 10, 1000])
@pytest.mark.parametrize("chunk", [1, 7, 400, 5000])
def test_the_first_and_the_last_part_of_output_are_kept(size: int, chunk: int) -> None:
    data = bytes(65 + number % 26 for number in range(3000))
    kept = HeadTail(size)
    for start in range(0, len(data), chunk):
        kept.feed(data[start : start + chunk])
    head, note, tail = kept.text().split("\n")
    half = size // 2
    assert (head.encode(), tail.encode()) == (data[:half], data[-half:])
    assert note == f"[... {3000 - 2 * half} bytes left out ...]"
    assert kept.truncated


def open_files() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_command_that_is_cancelled_leaves_no_file_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async with LocalSandbox(unsafe=True) as sandbox:
        await sandbox.run(["true"])
        before = open_files()
        for steps in range(12):
            running = asyncio.create_task(sandbox.run(["true"]))
            for _ in range(steps):
                await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait((running,))
            await until(lambda: open_files() == before)
        real, made = os.pipe, 0

        def pipe() -> tuple[int, int]:
            nonlocal made
            made += 1
            if made == 3:
                raise OSError(24, "Too many open files")
            return real()

        monkeypatch.setattr(os, "pipe", pipe)
        with pytest.raises(SandboxError, match="no pipe could be made: Too many open files"):
            await sandbox.run(["true"])
        assert open_files() == before


async def test_a_command_that_starts_while_the_sandbox_closes_is_ended() -> None:
    starting, go = asyncio.Event(), asyncio.Event()

    class Slow(LocalSandbox):
        async def start(self, *arguments: Any) -> Any:
            starting.set()
            await go.wait()
            return await super().start(*arguments)

    nonce = uuid4().hex
    sandbox = Slow(unsafe=True)
    running = asyncio.create_task(sandbox.run(["sh", "-c", "sleep 600", nonce]))
    await starting.wait()
    closing = asyncio.create_task(sandbox.aclose())
    await asyncio.sleep(0)
    go.set()
    await closing
    assert left_running(nonce) == []
    with pytest.raises(SandboxError, match="the sandbox is closed"):
        await running
    assert not Path(sandbox.workdir).exists()


async def test_closing_goes_on_where_its_caller_is_cancelled() -> None:
    sandbox = LocalSandbox(unsafe=True)
    running = asyncio.create_task(sandbox.run(["sh", "-c", "touch ready; sleep 600"]))
    await until(Path(sandbox.workdir, "ready").exists)
    closing = asyncio.create_task(sandbox.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait((closing,))
    await sandbox.aclose()
    with suppress(SandboxError):  # it was still being started when the sandbox was closed
        await running
    assert not Path(sandbox.workdir).exists()


async def test_a_shell_that_is_closed_ends_its_command() -> None:
    async with LocalSandbox(unsafe=True) as sandbox:
        shell = sandbox.shell()
        running = asyncio.create_task(shell.run("touch ready; sleep 600"))
        waiting = asyncio.create_task(shell.run("echo next"))
        await until(Path(sandbox.workdir, "ready").exists)
        await shell.aclose()
        for task in (running, waiting):
            with pytest.raises(SandboxError, match="the shell is closed"):
                await task


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 10])
async def test_a_shell_that_is_closed_while_it_starts_is_ended(steps: int) -> None:
    async with LocalSandbox(unsafe=True) as sandbox:
        shell = sandbox.shell()
        running = asyncio.create_task(shell.run("sleep 600"))
        for _ in range(steps):
            await asyncio.sleep(0)
        await shell.aclose()
        with pytest.raises(SandboxError, match="the shell is closed"):
            await running


async def test_a_shell_that_died_between_two_commands_is_a_new_one() -> None:
    """Its exit code is not the next command's, which did not run."""
    async with LocalSandbox(unsafe=True) as sandbox:
        shell = sandbox.shell()
        pid = int((await shell.run("echo $$")).stdout)
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not any(task.get_name() == "agentsdk sandbox shell" for task in asyncio.all_tasks()))
        assert await shell.run("echo there") == Completed(0, "there\n", duration=ANY)


@BOTH
async def test_a_temporary_folder_that_is_shown_is_no_proof_against_it(
    name: str, available: None, shared_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(shared_folder))
    shared_folder.chmod(0o777)
    async with SANDBOXES[name](readable=[shared_folder]) as sandbox:
        assert (await sandbox.run(["ls", str(shared_folder)])).exit_code == 0


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root on Linux")
@BOTH
async def test_as_root_commands_can_change_what_was_written_before_the_first(
    name: str, available: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "_places", lambda: None)
    async with SANDBOXES[name]() as sandbox:
        await sandbox.files.write("inner/file", b"one\n", mode=0o600)
        done = await sandbox.run(["sh", "-c", "echo two >> inner/file; echo new > inner/other; cat inner/file"])
        assert done == Completed(0, "one\ntwo\n", duration=ANY)


async def test_a_path_is_named_in_its_error(tmp_path: Path) -> None:
    async with LocalSandbox(tmp_path, unsafe=True) as sandbox:
        with pytest.raises(SandboxFileError, match=r"'missing' is not there") as error:
            await sandbox.files.read("missing")
    assert error.value.path == "missing"


async def test_a_search_that_is_cut_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found until it was killed, or what is left of too much, is not all there is."""
    grep = tmp_path / "grep"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    async with LocalSandbox(unsafe=True) as sandbox:
        await sandbox.files.write("long", b"x" * 100 + b"\n")
        await sandbox.files.write("wide", b"x" * 5 * MIB + b"\n")
        with pytest.raises(SandboxError, match="bytes of lines fit the pattern, expected fewer"):
            await sandbox.files.search("x")
        grep.write_text("#!/bin/sh\nkill -9 $$\n")
        grep.chmod(0o755)
        with pytest.raises(SandboxError, match="the search was cut off"):
            await sandbox.files.search("x", "long")


async def test_a_search_has_the_limits_of_its_sandbox() -> None:
    if reason := missing("bubblewrap"):
        pytest.skip(reason)
    async with BubblewrapSandbox(limits=SandboxLimits(memory=24 * MIB)) as sandbox:
        await sandbox.files.write("wide", b"x" * 64 * MIB)
        with pytest.raises((SandboxError, UserError), match=r"memory|cut off"):
            await sandbox.files.search("nothing")


async def test_a_snapshot_that_was_changed_writes_nothing_outside(tmp_path: Path) -> None:
    import io
    import tarfile

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        link = tarfile.TarInfo("out")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        archive.addfile(link)
        file = tarfile.TarInfo("out/written")
        file.size = 1
        archive.addfile(file, io.BytesIO(b"x"))
    async with LocalSandbox(unsafe=True) as sandbox:
        with pytest.raises(SandboxError):
            await sandbox.restore(packed.getvalue())
        for name in ("../written", "/written"):
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w:gz") as archive:
                archive.addfile(tarfile.TarInfo(name))
            with pytest.raises(SandboxError, match="what no workspace does"):
                await sandbox.restore(packed.getvalue())
    assert list(tmp_path.iterdir()) == []


def test_limits_that_start_no_program_are_refused() -> None:
    for field, value in (("memory", MIB), ("processes", 1), ("file_size", -1), ("output", 0)):
        with pytest.raises(UserError, match=textwrap.shorten(field, 20)):
            SandboxLimits(**{field: value})
