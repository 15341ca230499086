"""What a command may not use up: time, memory, processes, files, output."""

from __future__ import annotations

import asyncio

from agentsdk.ports.sandbox import MIB, SandboxLimits
from agentsdk.testing.sandbox_conformance.check import Ground, expect, is_there, rule

_LITTLE = SandboxLimits(memory=128 * MIB, processes=32, file_size=MIB, output=1000)
_MUCH = 512
_DETACHED = "for i in 1 2 3 4 5 6 7 8; do setsid sh -c 'sleep 600; :' \"$0\" & done; touch started; sleep 600"

_PRIVATE_MEMORY = f"""
kept = []
for _ in range({_MUCH}):
    kept.append(bytearray(b"x") * {MIB})
print("GOT IT")
"""
_SHARED_MEMORY = f"""
import mmap
kept = []
for _ in range({_MUCH}):
    kept.append(mmap.mmap(-1, {MIB}))
    kept[-1].write(b"x" * {MIB})
print("GOT IT")
"""
_FILES_IN_MEMORY = f"""
import os
kept, wrote = [], 0
def some():
    for folder in ("/dev/shm", "/tmp"):
        if os.statvfs(folder).f_blocks and any(line.split()[1:3] == [folder, "tmpfs"] for line in open("/proc/self/mounts")):
            for number in range({_MUCH}):
                yield open(f"{{folder}}/{{number}}", "wb", buffering=0)
    if hasattr(os, "memfd_create"):
        for number in range({_MUCH}):
            yield open(os.memfd_create("x"), "wb", buffering=0)
try:
    for file in some():
        kept.append(file)
        for _ in range(16):
            wrote += file.write(b"x" * 65536)
except OSError:
    pass
print("GOT IT" if wrote >= {_MUCH * MIB} else wrote)
"""
_FORKS = """
import os, time
children = 0
try:
    while children < 400:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        children += 1
except OSError:
    pass
print(children, flush=True)
os._exit(0)
"""
_FORK_BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
_BIG_FILE = f"""
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open("big", "wb", buffering=0) as file:
    for _ in range(64):
        if file.write(b"x" * {MIB // 4}) == 0:
            break
"""


@rule("limit")
async def timeout(ground: Ground) -> None:
    done = await ground.run("trap '' TERM INT HUP; setsid sleep 600 & sleep 600", timeout=0.5)
    expect((done.exit_code, done.timed_out), (137, True), "a command whose time is over, and what it says")
    ground.expect_nothing_left("a command whose time was over")


@rule("limit")
async def endless_loop(ground: Ground) -> None:
    done = await ground.run_python("while True: pass", timeout=0.5)
    expect(done.timed_out, True, "whether an endless loop timed out")


async def _refused(ground: Ground, script: str, what: str) -> None:
    done = await ground.run_python(script, limits=_LITTLE, timeout=60)
    expect(
        "GOT IT" in done.stdout, False, f"whether a command got {_MUCH} MiB of {what}, of {_LITTLE.memory // MIB} it may have"
    )


@rule("limit")
async def memory(ground: Ground) -> None:
    await _refused(ground, _PRIVATE_MEMORY, "memory")


@rule("limit")
async def shared_memory(ground: Ground) -> None:
    await _refused(ground, _SHARED_MEMORY, "shared memory")


@rule("limit")
async def files_in_memory(ground: Ground) -> None:
    await _refused(ground, _FILES_IN_MEMORY, "files in memory")


@rule("limit")
async def processes(ground: Ground) -> None:
    done = await ground.run_python(_FORKS, limits=_LITTLE)
    if not done.stdout.strip().isdigit():
        raise AssertionError(f"a command that forks: saw {done}, expected that it says how often")
    made = int(done.stdout)
    if not 2 <= made <= _LITTLE.processes:
        raise AssertionError(f"saw {made} processes made, expected at most {_LITTLE.processes}, and 2 at least")
    ground.expect_nothing_left("a command that forked")


@rule("limit")
async def fork_bomb(ground: Ground) -> None:
    done = await ground.run_python(_FORK_BOMB, limits=_LITTLE, timeout=1)
    expect(done.timed_out or done.exit_code != 0, True, "whether a fork bomb was ended")
    ground.expect_nothing_left("a fork bomb")


@rule("limit")
async def file_size(ground: Ground) -> None:
    await ground.run_python(_BIG_FILE, limits=_LITTLE)
    size = (await ground.sandbox.files.stat("big")).size
    if size > _LITTLE.file_size:
        raise AssertionError(f"saw a file of {size} bytes, expected at most {_LITTLE.file_size}")


@rule("limit")
async def output(ground: Ground) -> None:
    script = "head -c 5000000 /dev/zero | tr '\\0' x; echo END; head -c 3000 /dev/zero | tr '\\0' y >&2"
    done = await ground.run(script, limits=_LITTLE)
    expect(done.truncated, True, "whether the output of 5 MB is marked as cut")
    expect((done.stdout[:100], done.stdout[-5:]), ("x" * 100, "xEND\n"), "its first and its last part")
    if len(done.stdout) > _LITTLE.output + 100 or len(done.stderr) > _LITTLE.output + 100:
        raise AssertionError(f"saw {len(done.stdout)} and {len(done.stderr)} characters, expected about {_LITTLE.output} each")
    short = await ground.run("head -c 1000 /dev/zero | tr '\\0' x", limits=_LITTLE)
    expect((short.stdout, short.truncated), ("x" * 1000, False), "output that just fits")


@rule("limit")
async def endless_output(ground: Ground) -> None:
    start = (await ground.run("true")).duration  # a container takes longer than what it has to print here
    done = await ground.run("yes", timeout=0.5 + 3 * start, limits=_LITTLE)
    expect((done.timed_out, done.truncated), (True, True), "a command that prints without end")


@rule("limit")
async def unread_stdin(ground: Ground) -> None:
    done = await ground.sandbox.run(["true"], stdin="x" * 5_000_000)
    expect(done.exit_code, 0, "the exit code of a command that reads nothing of 5 MB")
    slow = await ground.sandbox.run(["sleep", "600"], stdin="x" * 5_000_000, timeout=0.5)
    expect(slow.timed_out, True, "whether a command that does not read was ended")


@rule("limit")
async def cancelled(ground: Ground) -> None:
    task = asyncio.create_task(ground.run(_DETACHED))
    try:
        await ground.wait_for("started")
        task.cancel()
        await asyncio.wait((task,))
        expect(task.cancelled(), True, "whether the cancelled caller was cancelled")
        ground.expect_nothing_left("a command whose caller was cancelled")
    finally:
        task.cancel()


@rule("limit")
async def closed(ground: Ground) -> None:
    sandbox = ground.factory()
    task = asyncio.create_task(sandbox.run(["sh", "-c", "touch started; sleep 600", ground.nonce]))
    try:
        await ground.wait_for("started", sandbox)
        await sandbox.aclose()
        ground.expect_nothing_left("a sandbox that was closed")
        expect(is_there(sandbox.workdir), False, "whether the workspace that the sandbox made is there still")
        await sandbox.aclose()
    finally:
        task.cancel()
        await asyncio.wait((task,))
