"""The conformance suite of sandboxes: what each must hold and do, as checks that anyone can run on theirs.

No test framework is needed:

```python
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_my_sandbox(check: Check) -> None:
    await check(MySandbox)
```

or, for all of them, `await check_sandbox(MySandbox, progress=print)`. The factory makes another sandbox, with a workspace of
its own, with each call. The checks of kind *escape* run Python inside, the `python3` on its path unless `python` says another.
They put secrets, a process and sockets on this machine and try to reach them; on a sandbox elsewhere these hold by themselves.
What they do where they succeed is harmless, but run them as a user who may do little. A check that cannot be tried is skipped,
with the reason.

| check | kind | rule |
|---|---|---|
| `host_file` | escape | a file of the host's cannot be read |
| `host_folder` | escape | a folder of the host's cannot be listed |
| `password_file` | escape | nor /etc/shadow |
| `home_folder` | escape | nor the home of whoever runs the sandbox |
| `write_outside` | escape | what is written to /tmp, /etc, /usr/bin, /dev/shm, a home or elsewhere does not reach the host |
| `change_program` | escape | programs and the interpreter cannot be opened for writing |
| `environment` | escape | no environment, its own or a process's, has a secret of the host's |
| `process_files` | escape | /proc shows neither memory, environment, files nor folders of a process of the host's |
| `parent_files` | escape | nor those of the process that runs the sandbox |
| `signals` | escape | no signal reaches a process of the host's |
| `ptrace` | escape | no process of the host's can be traced |
| `process_memory` | escape | nor read by process_vm_readv |
| `loopback_tcp` | escape | a server on the host's loopback cannot be connected to |
| `loopback_udp` | escape | nor be sent a datagram |
| `unix_socket` | escape | nor one whose socket is a file |
| `abstract_socket` | escape | nor one whose socket is a name |
| `raw_socket` | escape | no packets can be read |
| `mount` | escape | nothing can be mounted |
| `new_mount_calls` | escape | nor by fsopen |
| `user_namespace` | escape | no user namespace can be made: it would give back what was dropped |
| `join_namespace` | escape | no namespace of the host's can be joined |
| `chroot` | escape | the root cannot be changed |
| `capabilities` | escape | there are none |
| `no_new_privileges` | escape | and a program that is started can gain none |
| `setuid_program` | escape | the set-user-ID bits of the host's programs have no effect |
| `setuid_file` | escape | no file that other users can reach gets such bits, by whatever call |
| `devices` | escape | no disk, memory or virtual machine device can be made or opened |
| `character_device` | escape | nor /dev/mem under another name |
| `symlink` | escape | a link to a file of the host's leads nowhere |
| `hard_link` | escape | none can be made |
| `io_uring` | escape | not to be had: its operations pass every filter |
| `bpf`, `perf_events`, `keyring`, `userfaultfd`, `file_handle` | escape | nor these calls |
| `kernel_settings` | escape | core_pattern and the like cannot be written |
| `control_groups` | escape | nor the files of control groups |
| `hostname` | escape | nor the host's name |
| `terminal` | escape | there is no terminal to put commands into |
| `inherited_files` | escape | no file is open but stdin, stdout and stderr |
| `shared_memory_file` | escape | shared memory of the host's cannot be opened |
| `background_process` | escape | a daemon ends with the command that made it |
| `timeout` | limit | a command ends with its time, whatever it ignores, and with all it has started |
| `endless_loop` | limit | as does one that computes |
| `memory`, `shared_memory`, `files_in_memory` | limit | no more of it than the limit says |
| `processes` | limit | no more of them, root or not |
| `fork_bomb` | limit | is ended |
| `file_size` | limit | no file grows past it |
| `output` | limit | the first and last part of what is printed are kept, and it is said what is missing |
| `endless_output` | limit | is read to the end of its time |
| `unread_stdin` | limit | holds nobody up |
| `cancelled` | limit | the command of a caller who is cancelled is gone when the caller is |
| `closed` | limit | closing the sandbox ends its commands, and removes its workspace |
| `exit_codes` | command | as in a shell, 128 + n for signal n |
| `missing_program` | command | 127 |
| `streams` | command | stdin, stdout and stderr arrive whole and apart; bytes that are no UTF-8 are replaced |
| `arguments` | command | any text, each as it was given |
| `variables` | command | those that are given, none of the host's |
| `folders` | command | cwd in the workspace; elsewhere is refused |
| `temporary_files` | command | TMPDIR and /dev/null can be written |
| `wrong_arguments` | command | `UserError` |
| `side_by_side` | command | 40 commands do not disturb each other |
| `closed_sandbox` | command | a second `aclose` does nothing, a command raises `SandboxError` |
| `shell_keeps_state` | shell | folder, variables and functions last |
| `shell_output` | shell | each command has its own, to the byte |
| `shell_goes_on` | shell | after wrong syntax, `exit`, a timeout and a restart |
| `shell_background` | shell | what is left in the background lives as long as the shell |
| `read_and_write` | files | any bytes under any name, seen by commands and made by them |
| `what_is_there` | files | kinds, sizes, links followed and not |
| `remove` | files | files, links, folders; a link's target stays |
| `remove_awkward` | files | also trees of any depth and without permissions |
| `search` | files | lines by an expression, in files by name |
| `paths_out` | files | no path, and no link that a command has made, leads out, for any operation |
| `links_without_end` | files | are refused |
| `what_is_no_file` | files | pipes, sockets, folders and files that are too long are refused at once |
| `swapped_folders` | files | also while a command swaps folders for links |
| `whole_writes` | files | who reads while a file is written sees the old or the new, never half |
| `snapshots` | files | give back files, links and permissions, here and elsewhere; half of one changes nothing |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal
from unittest import SkipTest

from msgspec import Struct

from agentsdk.testing.sandbox_conformance import commands, escapes, files, limits
from agentsdk.testing.sandbox_conformance.check import Check, Factory, Kind

__all__ = ["CHECKS", "Check", "Factory", "Kind", "Outcome", "check_sandbox", "try_checks"]

CHECKS: tuple[Check, ...] = tuple(
    one for module in (escapes, limits, commands, files) for one in vars(module).values() if isinstance(one, Check)
)
"""Every check, in the order of the table."""


class Outcome(Struct, frozen=True):
    """How a check went; `detail` says what was seen and what was expected, or why it was skipped."""

    check: str
    kind: Kind
    result: Literal["passed", "failed", "skipped"]
    detail: str = ""


async def try_checks(
    factory: Factory,
    *,
    python: str = "python3",
    progress: Callable[[str], None] | None = None,
    checks: Sequence[Check] | None = None,
) -> tuple[Outcome, ...]:
    """Run every check, or these, on sandboxes of `factory`, and say how each went; `progress` is given a line after each."""
    outcomes: list[Outcome] = []
    for check in CHECKS if checks is None else checks:
        try:
            await check(factory, python=python)
            outcome = Outcome(check.name, check.kind, "passed")
        except SkipTest as reason:
            outcome = Outcome(check.name, check.kind, "skipped", str(reason))
        except AssertionError as error:
            outcome = Outcome(check.name, check.kind, "failed", str(error))
        outcomes.append(outcome)
        if progress is not None:
            progress(f"{outcome.result}  {outcome.check}" + (f"  ({outcome.detail})" if outcome.detail else ""))
    return tuple(outcomes)


async def check_sandbox(
    factory: Factory, *, python: str = "python3", progress: Callable[[str], None] | None = None
) -> tuple[Outcome, ...]:
    """Run every check on sandboxes of `factory`; `progress` is given a line after each.

    Raises `AssertionError` that lists the checks that failed, and `SandboxUnavailableError` for a sandbox that cannot isolate.
    """
    outcomes = await try_checks(factory, python=python, progress=progress)
    failed = [outcome.detail for outcome in outcomes if outcome.result == "failed"]
    if failed:
        raise AssertionError(f"{len(failed)} of {len(CHECKS)} checks failed:\n" + "\n".join(failed))
    return outcomes
