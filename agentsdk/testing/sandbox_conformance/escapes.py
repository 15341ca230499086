"""What a command may not reach. Each check runs one of the `probes` inside, and looks outside for what it did."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import tempfile
from pathlib import Path
from unittest import SkipTest

from agentsdk.testing.sandbox_conformance import probes
from agentsdk.testing.sandbox_conformance.check import SECRET, Check, Ground, expect, is_there, rule


async def held(ground: Ground, probe: str, *given: object) -> None:
    """Raises `AssertionError` unless the probe ran, and held."""
    done = await ground.run_python(probes.script(probe), *given)
    if not done.stdout.startswith("HELD"):
        broke = f"the probe did not run: exit code {done.exit_code}, {done.stderr[-300:]}"
        raise AssertionError(f"saw that {'it escaped' if 'ESCAPED' in done.stdout else broke}, expected that it is held")


def simple(name: str, probe: str) -> Check:
    """A check that needs nothing of the host."""

    async def body(ground: Ground) -> None:
        await held(ground, probe)

    return Check(name, "escape", body)


@rule("escape")
async def host_file(ground: Ground) -> None:
    await held(ground, probes.READ, ground.outside / "secret")


@rule("escape")
async def host_folder(ground: Ground) -> None:
    await held(ground, probes.LIST, ground.outside)


@rule("escape")
async def password_file(ground: Ground) -> None:
    await held(ground, probes.READ, "/etc/shadow")


@rule("escape")
async def home_folder(ground: Ground) -> None:
    with tempfile.NamedTemporaryFile(dir=_home(), prefix="agentsdk-conformance-") as file:
        os.fchmod(file.fileno(), 0o644)
        await held(ground, probes.READ, file.name)


@rule("escape")
async def write_outside(ground: Ground) -> None:
    marker = f"agentsdk-conformance-{ground.nonce}"
    folders = [str(ground.outside), "/tmp", "/var/tmp", "/etc", "/usr/bin", "/dev/shm", str(Path.home())]
    for folder in folders:
        ground.remove_later(Path(folder, marker))
    await ground.run_python(probes.script(probes.WRITE), marker, *folders)
    wrote = [folder for folder in folders if is_there(folder, marker)]
    expect(wrote, [], "folders of the host with a file of the command's")


change_program = simple("change_program", probes.CHANGE_PROGRAM)


@rule("escape")
async def environment(ground: Ground) -> None:
    ground.start_victim()
    await held(ground, probes.ENVIRONMENT, SECRET)


@rule("escape")
async def process_files(ground: Ground) -> None:
    await held(ground, probes.PROCESS_FILES, ground.start_victim(), SECRET)


@rule("escape")
async def parent_files(ground: Ground) -> None:
    await held(ground, probes.PROCESS_FILES, os.getpid(), SECRET)


@rule("escape")
async def signals(ground: Ground) -> None:
    await ground.run_python(probes.script(probes.SIGNAL), ground.start_victim())
    # Without input it ends by itself, but not before a signal that it was sent: it may have had no time to die of that yet.
    await asyncio.to_thread(ground.victim.communicate)
    expect(ground.victim.returncode, 0, "how a process of the host ended that a command has sent SIGKILL")


@rule("escape")
async def ptrace(ground: Ground) -> None:
    await held(ground, probes.PTRACE, ground.start_victim())


@rule("escape")
async def process_memory(ground: Ground) -> None:
    await held(ground, probes.PROCESS_MEMORY, ground.start_victim())


@rule("escape")
async def loopback_tcp(ground: Ground) -> None:
    await ground.listen()
    await held(ground, probes.CONNECT_TCP, ground.port)
    expect(ground.heard, [], "what was heard on the host's loopback")


@rule("escape")
async def loopback_udp(ground: Ground) -> None:
    await ground.listen()
    await held(ground, probes.SEND_UDP, ground.port)
    expect(ground.heard, [], "what was heard on the host's loopback")


@rule("escape")
async def unix_socket(ground: Ground) -> None:
    await ground.listen()
    await held(ground, probes.CONNECT_UNIX, ground.outside / "socket")


@rule("escape")
async def abstract_socket(ground: Ground) -> None:
    _need_linux()
    await ground.listen()
    await held(ground, probes.CONNECT_UNIX, f"@{ground.name}")


raw_socket = simple("raw_socket", probes.RAW_SOCKET)


@rule("escape")
async def mount(ground: Ground) -> None:
    await held(ground, probes.MOUNT, ground.outside / "empty")


new_mount_calls = simple("new_mount_calls", probes.NEW_MOUNT_CALLS)
user_namespace = simple("user_namespace", probes.USER_NAMESPACE)


@rule("escape")
async def join_namespace(ground: Ground) -> None:
    await held(ground, probes.JOIN_NAMESPACE, ground.start_victim())


chroot = simple("chroot", probes.CHROOT)
capabilities = simple("capabilities", probes.CAPABILITIES)
no_new_privileges = simple("no_new_privileges", probes.NO_NEW_PRIVILEGES)
setuid_program = simple("setuid_program", probes.SETUID_PROGRAM)


@rule("escape")
async def setuid_file(ground: Ground) -> None:
    await ground.run_python(probes.script(probes.SETUID_FILE))
    found = _setid_files(ground.sandbox.workdir)
    expect(found, [], "files that a command made run as their owner, and that other users of this machine can reach")


@rule("escape")
async def devices(ground: Ground) -> None:
    await held(ground, probes.DEVICES)


character_device = simple("character_device", probes.CHARACTER_DEVICE)


@rule("escape")
async def symlink(ground: Ground) -> None:
    await held(ground, probes.SYMLINK, ground.outside / "secret")


@rule("escape")
async def hard_link(ground: Ground) -> None:
    await held(ground, probes.HARD_LINK, ground.outside / "secret")


io_uring = simple("io_uring", probes.IO_URING)
bpf = simple("bpf", probes.BPF)
perf_events = simple("perf_events", probes.PERF_EVENTS)
keyring = simple("keyring", probes.KEYRING)
userfaultfd = simple("userfaultfd", probes.USERFAULTFD)
file_handle = simple("file_handle", probes.FILE_HANDLE)
kernel_settings = simple("kernel_settings", probes.KERNEL_SETTINGS)
control_groups = simple("control_groups", probes.CGROUPS)
hostname = simple("hostname", probes.HOSTNAME)
terminal = simple("terminal", probes.TERMINAL)


@rule("escape")
async def inherited_files(ground: Ground) -> None:
    with tempfile.TemporaryFile() as secret:
        os.set_inheritable(secret.fileno(), True)
        await held(ground, probes.INHERITED_FILES)


@rule("escape")
async def shared_memory_file(ground: Ground) -> None:
    with tempfile.NamedTemporaryFile(dir=_shared_memory(), prefix="agentsdk-conformance-") as file:
        os.fchmod(file.fileno(), 0o644)
        await held(ground, probes.SHARED_MEMORY_FILE, Path(file.name).name)


@rule("escape")
async def background_process(ground: Ground) -> None:
    daemon = (
        "import os, time\n"
        "ready, tell = os.pipe()\n"
        "if os.fork():\n    os.read(ready, 1)\n    os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork():\n    os._exit(0)\n"
        "os.close(1), os.close(2), os.write(tell, b'x')\n"
        "time.sleep(600)\n"
    )
    done = await ground.run_python(daemon)
    expect(done.exit_code, 0, "the exit code of a command that leaves a daemon")
    ground.expect_nothing_left("a command with a daemon")


def _home() -> str:
    home = Path.home()
    if not (home.is_dir() and os.access(home, os.W_OK)):
        raise SkipTest("this user has no home folder")
    return str(home)


def _shared_memory() -> str:
    if not os.path.isdir("/dev/shm"):
        raise SkipTest("the system has no /dev/shm")
    return "/dev/shm"


def _setid_files(folder: str) -> list[str]:
    """None where the workspace is on another machine, or in a folder that other users may not enter."""
    above = Path(folder)
    if not above.is_dir() or not all(place.stat().st_mode & stat.S_IXOTH for place in (above, *above.parents)):
        return []
    return [entry.name for entry in os.scandir(folder) if entry.stat(follow_symlinks=False).st_mode & 0o6000]


def _need_linux() -> None:
    if sys.platform != "linux":
        raise SkipTest("only Linux has abstract sockets")
