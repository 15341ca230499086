"""What starts the commands of a `SandlockSandbox`: a process of its own, which has sandlock loaded and forks for each command.

A script of its own too, started as `python -I -S sandlock_server.py SOCKET FOLDER [USER] [own]`: it imports nothing of this
package, so that it is small and starts fast. FOLDER is where sandlock is installed, USER the id of whom commands run as where
that is another than this program's. Sandlock forks, and the process it forks from should have one thread only; what supervises
a command then has none of the program's secrets in its memory, and can be another user's.

For each user that it runs as, sandlock keeps a registry in System V shared memory and semaphores, which outlive every process,
and of which a machine has some thousands (SHMMNI). With `own` the user is of this sandbox alone: they are removed at the end.

Each message on the socket brings five open files: the request as JSON, the command's stdin, stdout and stderr, and a socket of
the command's own. On that one it says how the command ended; its other end being closed, or shut for writing, ends the command.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_SET_DUMPABLE, _DROP_BOUND, _SET_SECUREBITS, _SET_SUBREAPER, _NO_NEW_PRIVS = 4, 24, 28, 36, 38
_NO_ROOT_LOCKED = 0b11  # SECBIT_NOROOT and its lock: being root gives no capabilities
_CAPABILITY_VERSION = 0x20080522
_CHILDREN = "children"


def main() -> None:
    """Serve until the socket is closed."""
    listening = socket.socket(fileno=int(sys.argv[1]))
    sys.path.append(sys.argv[2])
    user = int(sys.argv[3]) if len(sys.argv) > 3 else None
    importlib.import_module("sandlock")  # once, here, and not in each command
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes that are forked here
    while True:
        message, fds, _, _ = socket.recv_fds(listening, 1, 5)
        if not message:
            break
        if os.fork() == 0:
            listening.close()
            _command(user, *fds)
        for fd in fds:
            os.close(fd)
    if user is not None and sys.argv[4:] == ["own"]:
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)  # as SIGCHLD is ignored, until the last command has ended
        _remove_shared(user)


def _remove_shared(user: int) -> None:
    """Remove the System V objects that are the user's, as that user: root of a container may have no right to."""
    os.setresuid(user, user, user)
    for kind, name, control in (("shm", "shmid", _libc.shmctl), ("sem", "semid", _libc.semctl)):
        with suppress(OSError):  # a kernel without them has no list
            columns, *lines = map(str.split, Path(f"/proc/sysvipc/{kind}").read_text().splitlines())
            for line in lines:
                if int(line[columns.index("uid")]) == user:
                    control(int(line[columns.index(name)]), 0, 0)  # IPC_RMID is 0, and so is what else is asked for


def _command(user: int | None, request: int, stdin: int, stdout: int, stderr: int, control: int) -> None:
    told = socket.socket(fileno=control)
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with open(request, encoding="utf-8") as file:
            asked = json.load(file)
        for target, fd in enumerate((stdin, stdout, stderr)):
            os.dup2(fd, target)
            os.close(fd)
        told.send(json.dumps(_run(asked, user, told)).encode())
    except BaseException as error:
        told.send(json.dumps({"error": f"{type(error).__name__}: {error}"[:2000]}).encode())
    finally:
        os._exit(0)


def _run(asked: dict[str, Any], user: int | None, told: socket.socket) -> dict[str, int]:
    sandlock: Any = importlib.import_module("sandlock")  # it has no types
    for name, value in asked["rlimits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    _become(user)
    _check(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    _check(_libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0))  # what the command leaves behind becomes a child of this process
    sandbox = sandlock.Sandbox(**asked["policy"])
    inherit = sandlock.StdioMode.INHERIT
    process = sandbox.popen(asked["argv"], stdin=inherit, stdout=inherit, stderr=inherit)

    def watch() -> None:
        told.recv(1)  # nothing is sent: it returns when the other end is gone
        process.kill()

    threading.Thread(target=watch, daemon=True).start()
    result = process.wait()
    _end_children()
    if result.reason == sandlock.ExitReason.EXITED:
        return {"exit_code": result.exit_code}
    return {"exit_code": 128 + (result.signal if result.signal > 0 else signal.SIGKILL)}


def _end_children() -> None:
    """Kill what the command has left running, and wait until it is gone."""
    while True:
        for child in _children():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if ended == 0:
            time.sleep(0.001)


def _children() -> list[int]:
    lists = list(Path("/proc/self/task").glob(f"*/{_CHILDREN}"))
    found: list[int] = []
    for listed in lists:
        with suppress(OSError):  # of a thread that has ended
            found += map(int, listed.read_text().split())
    return found if lists else _children_by_parent()


def _children_by_parent() -> list[int]:
    """Where the kernel keeps no lists (CONFIG_PROC_CHILDREN), each process is asked for its parent."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # of one that has ended
            if int(stat.read_bytes().rpartition(b")")[2].split()[1]) == os.getpid():
                found.append(int(stat.parent.name))
    return found


def _become(user: int | None) -> None:
    """Another user; or root without what makes it root."""
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        _check(_libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0))  # it was cleared, and sandlock reaches into its own child
    elif os.geteuid() == 0:
        number = 0
        while _libc.prctl(_DROP_BOUND, number, 0, 0, 0) == 0:
            number += 1
        _check(_libc.prctl(_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0))
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
        _check(_libc.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())))


_libc = ctypes.CDLL(None, use_errno=True)


def _check(done: int) -> None:
    if done != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main()
