"""The port to a sandbox: where commands run that nobody vouches for, around one workspace of files.

What a command prints comes back as text, cut in the middle where it is long; files go by `Sandbox.files`. Everything given and
returned is plain data, so that a sandbox may be another machine's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, Self, cast

from msgspec import Struct

from agentsdk.types.declared import Fields, having, is_real, shown, whole
from agentsdk.types.errors import UserError

MIB = 2**20

DEFAULT_TIMEOUT = 60.0
"""Seconds that a command has if nobody says otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxLimits:
    """What one command may use, with all the processes it starts. Sizes are in bytes.

    `memory` is that of all processes together where the sandbox can count it so, else of each (docs/sandbox.md says which can).
    `processes` are those alive together, threads included where the system counts them. `file_size` is that of one file.
    `output` is how much of stdout, and of stderr, is kept: of more than that the first and the last part. Raises `UserError`
    naming the field that is wrong.
    """

    memory: int = 1024 * MIB
    processes: int = 128
    file_size: int = 256 * MIB
    output: int = 64 * 1024

    def __post_init__(self) -> None:
        _LIMITS.check(self)


_LIMITS = Fields(
    "SandboxLimits",
    memory=whole(f"bytes, {16 * MIB} or more: less starts no program", 16 * MIB),
    processes=whole("how many processes, 4 or more: a shell needs a few", 4),
    file_size=whole("bytes, 0 or more", 0),
    output=whole("bytes, 2 or more", 2),
)


class Completed(Struct, frozen=True):
    """A command that has ended.

    `exit_code` is 128 + n where signal n ended it, as in a shell. `timed_out`: it was killed as its time was over.
    `truncated`: the middle of stdout or of stderr is left out, and a line there says how much. Text is UTF-8; bytes that are
    not are replaced. `duration` is in seconds.
    """

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    truncated: bool = False
    duration: float = 0.0


FileKind = Literal["file", "directory", "symlink", "other"]


class FileInfo(Struct, frozen=True):
    """What is at a path of the workspace.

    `size` is in bytes, `modified` a Unix timestamp, `mode` the permissions: 0o755, say.
    """

    path: str
    kind: FileKind
    size: int = 0
    modified: float = 0.0
    mode: int = 0o644


class Match(Struct, frozen=True):
    """A line that a search found; `line` counts from 1."""

    path: str
    line: int
    text: str


class SandboxFiles(Protocol):
    """The files of a workspace, as whoever holds the sandbox sees them.

    A path is relative to the workspace, or an absolute one below `Sandbox.workdir`. Symbolic links and `..` are followed
    within the workspace only, whatever a command changes meanwhile. Every method raises `SandboxFileError` for a path that
    leads out of it, or to nothing, or to something of another kind, and `SandboxError` for anything else.
    """

    async def read(self, path: str, *, max_bytes: int = 10 * MIB) -> bytes:
        """The content of a file of at most `max_bytes`. Devices, pipes and sockets are refused."""
        ...

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Make `data` the content of a file, in one step: whoever looks, whenever, sees the old content or the new.

        Folders on the way are made. The file gets the permissions `mode`, of at most 0o777; by default it keeps those it has,
        and a new one gets 0o644.
        """
        ...

    async def list(self, path: str = ".", *, max_entries: int = 10_000) -> list[FileInfo]:
        """What a folder holds, by name, links not followed; the first `max_entries`."""
        ...

    async def stat(self, path: str) -> FileInfo:
        """What is at `path`, links followed."""
        ...

    async def search(self, pattern: str, path: str = ".", *, glob: str = "*", max_matches: int = 200) -> Sequence[Match]:
        """The first lines below `path` that fit `pattern`, an extended regular expression (POSIX), in files whose name fits
        `glob`. Binary files are left out. It runs in the sandbox. Raises `UserError` for what is no pattern."""
        ...

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link (not what it leads to), or an empty folder; with `recursive`, one with all that it holds."""
        ...


class SandboxShell(Protocol):
    """A shell that lives on: folder, variables and functions of one command are there in the next. Use it by one task."""

    async def run(self, command: str, *, timeout: float = DEFAULT_TIMEOUT) -> Completed:
        """Run a command line and wait for it; its stdin is empty. What it left in the background runs on.

        A command that takes longer than `timeout` seconds ends the shell, as does `exit`: the next command gets a new one,
        also where the shell has ended in between.
        """
        ...

    async def restart(self) -> None:
        """End the shell and all it started; the next command gets a new one."""
        ...

    async def aclose(self) -> None:
        """End it. A second call does nothing; any other raises `SandboxError` then, and so does a command that was running."""
        ...


class Sandbox(Protocol):
    """Runs commands that can reach one folder, the workspace, and nothing else of the host: docs/sandbox.md has the list.

    Subclass it or just have its methods; `agentsdk.testing.sandbox_conformance` tries to escape from yours. Commands may run
    side by side. Raises `SandboxUnavailableError` from the first call on where it cannot isolate, `SandboxError` where it
    failed itself, and `UserError` for arguments that are wrong.
    """

    workdir: str
    """The absolute path of the workspace, as commands see it. They begin there, and it is their HOME."""

    @property
    def files(self) -> SandboxFiles:
        """The files of the workspace."""
        ...

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str = ".",
        timeout: float = DEFAULT_TIMEOUT,
        limits: SandboxLimits | None = None,
    ) -> Completed:
        """Run a program and wait until it has ended, and with it every process it has started.

        It gets `stdin` and the variables of `env`, beside a PATH, a HOME and a locale; none of the host's. `cwd` is a folder
        of the workspace. After `timeout` seconds it is killed. `limits` stand in place of the sandbox's own. A caller that is
        cancelled leaves nothing running. A program that does not exist has exit code 127.
        """
        ...

    def shell(self) -> SandboxShell:
        """A shell in the sandbox; it starts with its first command."""
        ...

    async def snapshot(self) -> bytes:
        """The files, folders and links of the workspace, with their permissions, as a gzipped tar file.

        Pipes, sockets and devices are left out.
        """
        ...

    async def restore(self, snapshot: bytes) -> None:
        """Make the workspace what it was when `snapshot` was taken, here or elsewhere. Nothing should run meanwhile."""
        ...

    async def aclose(self) -> None:
        """End what runs, and remove the workspace if the sandbox made it. A second call does nothing; any other raises then."""
        ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


SANDBOX = having(("run", "shell", "snapshot", "restore", "aclose"), "a Sandbox; await best_sandbox(), say", texts=("workdir",))


def check_command(argv: Sequence[str], stdin: str, env: Mapping[str, str] | None, cwd: str, timeout: float) -> None:
    """Raises `UserError` for what cannot be the arguments of `Sandbox.run`."""
    given: object = argv
    if isinstance(given, str | bytes) or not isinstance(given, Sequence) or not given:
        raise UserError(f"argv is {shown(given)}, expected a list of texts, the program first; ['sh', '-c', 'ls | wc'], say")
    for position, word in enumerate(cast("Sequence[object]", given)):
        _check_word(f"argv[{position}]", word)
    if not argv[0]:
        raise UserError("argv[0] is '', expected the name of a program")
    _check_word("cwd", cwd)
    for name, value in _pairs(env):
        _check_word("a name in env", name)
        _check_word(f"env[{name!r}]", value)
        if not name or "=" in name:
            raise UserError(f"env has a variable {shown(name)}, expected a name without '='")
    if not isinstance(cast(object, stdin), str) or not _is_utf8(stdin):
        raise UserError(f"stdin is a {type(stdin).__name__} that is no valid text, expected a str; write bytes to a file")
    check_seconds(timeout)


def check_seconds(timeout: float) -> None:
    """Raises `UserError` for what cannot be the time a command has."""
    if not (is_real(timeout) and timeout > 0):
        raise UserError(f"timeout is {shown(timeout)}, expected seconds above 0")


def check_limits(limits: SandboxLimits | None) -> None:
    """Raises `UserError` for what are no limits."""
    if limits is not None and not isinstance(cast(object, limits), SandboxLimits):
        raise UserError(f"limits is {shown(limits)}, expected SandboxLimits(...) or None")


def _pairs(env: Mapping[str, str] | None) -> list[tuple[str, str]]:
    given: object = {} if env is None else env
    if not isinstance(given, Mapping):
        raise UserError(f"env is {shown(given)}, expected a mapping of names to texts, or None")
    return list(cast("Mapping[str, str]", given).items())


def _check_word(what: str, word: object) -> None:
    if not isinstance(word, str) or "\0" in word or not _is_utf8(word):
        raise UserError(f"{what} is no text that a program can be given, expected a str without NUL and lone surrogates")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
