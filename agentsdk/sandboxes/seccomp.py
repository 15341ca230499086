"""Filters of system calls, as seccomp programs (classic BPF), for what namespaces and Landlock leave open.

A program is run by the kernel at each system call of a sandboxed command. It sees the call's number and its arguments as
numbers, not what they point to. `full` refuses what a command has no need of and what reaches far into the kernel: other
processes' memory, mounts, io_uring (whose operations no filter sees), keys, BPF, and memory that no limit counts. `no_setid`
refuses only to set the set-user-ID and set-group-ID bits of a file: such a file in the workspace would let other users of this
machine run what a command has written, as whom it belongs to. A call of another architecture's numbering ends the process.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable

# struct seccomp_data: int nr; __u32 arch; __u64 instruction_pointer; __u64 args[6]
_NUMBER, _ARCH = 0, 4


def _argument(index: int) -> int:
    return 16 + 8 * index  # its low half: both architectures are little-endian


_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_SETID_BITS = 0o6000
_CREATES = 0o100 | 0o20000000  # O_CREAT, __O_TMPFILE: without one of them open's mode is what happened to be there
_X32 = 0x40000000

_Numbers = dict[str, tuple[int | None, int | None]]

# By name: the numbers on x86_64 and on aarch64 (None: the call is not there), from the kernel's tables.
_REFUSED: _Numbers = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
# Programs take these for missing, and do without.
_MISSING: _Numbers = {
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "openat2": (437, 437),
    "shmget": (29, 194),
}
# Where a call has the mode of a file, and where the flags that say whether it counts.
_MODES: dict[str, tuple[int | None, int | None, int, int | None]] = {
    "chmod": (90, None, 1, None),
    "creat": (85, None, 1, None),
    "fchmod": (91, 52, 1, None),
    "fchmodat": (268, 53, 2, None),
    "fchmodat2": (452, 452, 2, None),
    "mknod": (133, None, 1, None),
    "mknodat": (259, 33, 2, None),
    "open": (2, None, 2, 1),
    "openat": (257, 56, 3, 2),
}

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def full() -> bytes | None:
    """The filter for a command that nothing else filters; None on an architecture whose numbers are not known here."""
    return _program(_REFUSED, _MISSING)


def no_setid() -> bytes | None:
    """The filter for a command that has another filter already; None as in `full`."""
    return _program({}, {"openat2": _MISSING["openat2"]})


def _program(refused: _Numbers, missing: _Numbers) -> bytes | None:
    known = _ARCHITECTURES.get(platform.machine())
    if known is None:
        return None
    column, arch = known
    code = [_step(_LOAD, _ARCH), _step(_EQUAL, arch, yes=1), _step(_RETURN, _KILL), _step(_LOAD, _NUMBER)]
    if column == 0:
        code += [_step(_AT_LEAST, _X32, no=1), _step(_RETURN, _KILL)]
    for calls, error in ((refused, errno.EPERM), (missing, errno.ENOSYS)):
        for number in _present(calls.values(), column):
            code += [_step(_EQUAL, number, no=1), _step(_RETURN, _ERRNO | error)]
    for on_x86, on_arm, mode, flags in _MODES.values():
        for number in _present([(on_x86, on_arm)], column):
            code += _mode_rule(number, mode, flags)
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _mode_rule(number: int, mode: int, flags: int | None) -> list[bytes]:
    """Refuse the call if its mode has a set-ID bit; what it ends with is `allow`, as nothing else holds for it."""
    rule = [_step(_LOAD, _argument(mode)), _step(_ANY_BIT, _SETID_BITS, no=1), _step(_RETURN, _ERRNO | errno.EPERM)]
    if flags is not None:
        rule = [_step(_LOAD, _argument(flags)), _step(_ANY_BIT, _CREATES, no=len(rule)), *rule]
    rule.append(_step(_RETURN, _ALLOW))
    return [_step(_EQUAL, number, no=len(rule)), *rule]


def _present(numbers: Iterable[tuple[int | None, int | None]], column: int) -> list[int]:
    return [number for pair in numbers if (number := pair[column]) is not None]


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One instruction: struct sock_filter. A comparison skips `yes` or `no` further ones."""
    return struct.pack("<HBBI", code, yes, no, value)
