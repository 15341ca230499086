"""The scripts that try to escape: each a function's body in Python, run inside the sandbox.

A script that comes to its end has escaped. One that holds raises: an `OSError` of a call that was refused, or `Held`. What
cannot be judged from inside is judged by the check that runs the script. They are harmless where they succeed, as they do in
`LocalSandbox`, the control: what they change they change back, and what they reach is the suite's own.
"""

from __future__ import annotations

from textwrap import indent

_PRELUDE = '''
import ctypes, errno, os, socket, stat, sys, time
args = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"

class Held(Exception):
    pass

def call(x86, arm, *given):
    """A system call by its number."""
    if (ARM and arm is None) or os.uname().machine not in ("x86_64", "aarch64"):
        raise Held("no such call here")
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in given]
    done = libc.syscall(ctypes.c_long(arm if ARM else x86), *given)
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done

def reaches(x86, arm, *given):
    """Whether a call gets further than to be refused."""
    try:
        call(x86, arm, *given)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            raise

def any_of(attempts, *given):
    """Tries one after the other; holds if all do."""
    reasons = []
    for attempt in attempts:
        try:
            attempt(*given)
            return
        except (OSError, Held) as error:
            reasons.append(str(error))
    raise Held("; ".join(dict.fromkeys(reasons))[:300])
'''

_VERDICT = """
try:
    probe()
except (OSError, Held, MemoryError) as error:
    print("HELD", type(error).__name__, error)
else:
    print("ESCAPED")
"""


def script(body: str) -> str:
    """A whole script, which prints HELD or ESCAPED."""
    return f"{_PRELUDE}\ndef probe():\n{indent(body.strip(), '    ')}\n{_VERDICT}"


READ = """
with open(args[0]) as file:
    file.read()
"""
LIST = """
if not os.listdir(args[0]):
    raise Held("it looks empty")
"""
# Written inside, it may be a file of the sandbox's own: the check looks for it outside.
WRITE = """
wrote = 0
for folder in args[1:]:
    try:
        with open(os.path.join(folder, args[0]), "w") as file:
            wrote += 1
    except OSError as error:
        reason = error
if not wrote:
    raise reason
"""
CHANGE_PROGRAM = """
for program in ("/usr/bin/env", "/bin/sh", sys.executable):
    try:
        os.close(os.open(os.path.realpath(program), os.O_WRONLY | os.O_APPEND))
        return
    except OSError as error:
        reason = error
raise reason
"""
ENVIRONMENT = """
texts = [os.environb]
for entry in os.listdir("/proc"):
    if entry.isdigit():
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                texts.append(file.read())
        except OSError:
            pass
if not any(args[0].encode() in (b"".join(text.values()) if hasattr(text, "values") else text) for text in texts):
    raise Held("not in any environment")
"""
PROCESS_FILES = """
def look(name):
    with open(f"/proc/{args[0]}/{name}", "rb") as file:
        if name != "environ" or args[1].encode() in file.read():
            return
    raise Held("another process has this id")

any_of([lambda: look("environ"), lambda: look("mem"), lambda: os.listdir(f"/proc/{args[0]}/root/"),
        lambda: os.listdir(f"/proc/{args[0]}/cwd/"), lambda: os.listdir(f"/proc/{args[0]}/fd/")])
"""
# The check looks whether it lives.
SIGNAL = """
os.kill(int(args[0]), 9)
"""
PTRACE = """
seize = 0x4206
call(101, 117, seize, int(args[0]), 0, 0)
"""
PROCESS_MEMORY = """
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]

room = ctypes.create_string_buffer(1)
ours, theirs = Vector(ctypes.addressof(room), 1), Vector(0, 1)
try:
    call(310, 270, int(args[0]), ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
except OSError as error:
    if error.errno != errno.EFAULT:  # what it may read, but is not there
        raise
"""
CONNECT_TCP = """
with socket.create_connection(("127.0.0.1", int(args[0])), timeout=5):
    pass
"""
SEND_UDP = """
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
    sending.sendto(b"x", ("127.0.0.1", int(args[0])))
raise Held("sent; the check knows whether it was heard")
"""
CONNECT_UNIX = """
with socket.socket(socket.AF_UNIX) as connecting:
    connecting.settimeout(5)
    connecting.connect(args[0].replace("@", "\\0"))
"""
RAW_SOCKET = """
socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)).close()
"""
MOUNT = """
where = args[0].encode()
os.makedirs(where, exist_ok=True)
call(165, 40, b"tmpfs", where, b"tmpfs", 0, None)
call(166, 39, where, 2)
"""
NEW_MOUNT_CALLS = """
os.close(call(430, 430, b"tmpfs", 0))
"""
USER_NAMESPACE = """
new_user = 0x10000000
call(272, 97, new_user)
"""
JOIN_NAMESPACE = """
for name in ("mnt", "net", "pid"):
    try:
        with open(f"/proc/{args[0]}/ns/{name}") as outer:
            call(308, 268, outer.fileno(), 0)
            return
    except OSError as error:
        reason = error
raise reason
"""
CHROOT = """
os.chroot(".")
"""
CAPABILITIES = """
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
sets = (ctypes.c_uint32 * 6)()
call(125, 90, ctypes.byref(header), ctypes.byref(sets))
if not any(sets[index] for index in (0, 1, 3, 4)):  # effective and permitted, low and high half
    raise Held("no capabilities")
"""
NO_NEW_PRIVILEGES = """
if libc.prctl(39, 0, 0, 0, 0) == 1:
    raise Held("no_new_privs is set")
"""
# A program of the host that takes its owner's rights, if one can be found.
SETUID_PROGRAM = """
import subprocess
for program in ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/chsh", "/usr/bin/newgrp"):
    try:
        if not os.stat(program).st_mode & stat.S_ISUID:
            continue
    except OSError:
        continue
    flags = os.statvfs(program).f_flag
    if not flags & os.ST_NOSUID and libc.prctl(39, 0, 0, 0, 0) != 1:
        return
raise Held("none has an effect")
"""
SETUID_FILE = """
with open("setid", "w"):
    pass

def by_openat2():
    how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)
    os.close(call(437, 437, -100, b"setid4", how, ctypes.sizeof(how)))
    if not os.stat("setid4").st_mode & 0o6000:
        raise Held("the bits are not set")

any_of([by_openat2, lambda: os.chmod("setid", 0o4755), lambda: os.chmod("setid", 0o2755),
        lambda: os.close(os.open("setid2", os.O_CREAT | os.O_WRONLY, 0o6755)),
        lambda: os.fchmod(os.open("setid", os.O_RDONLY), 0o6755),
        lambda: call(452, 452, -100, b"setid", 0o4755, 0),
        lambda: os.mknod("setid3", 0o104755)])
if not any(os.stat(name).st_mode & 0o6000 for name in ("setid", "setid2", "setid3", "setid4") if os.path.exists(name)):
    raise Held("the bits are not set")
"""
DEVICES = """
def open_disks():
    for line in open("/proc/partitions").read().split("\\n")[2:]:
        if line:
            major, minor, _, name = line.split()
            node = os.path.abspath("disk-" + name)
            os.mknod(node, 0o600 | stat.S_IFBLK, os.makedev(int(major), int(minor)))
            os.close(os.open(node, os.O_RDONLY))
            return
    raise Held("no disk is named")

def open_listed():
    for name in os.listdir("/dev"):
        if stat.S_ISBLK(os.stat(f"/dev/{name}").st_mode):
            os.close(os.open(f"/dev/{name}", os.O_RDONLY))
            return
    raise Held("no disk is listed")

def opened(name):
    return lambda: os.close(os.open(name, os.O_RDONLY | os.O_NONBLOCK))

any_of([open_disks, open_listed, *map(opened, ("/dev/mem", "/dev/kmsg", "/dev/port", "/dev/kvm", "/dev/fuse", "/dev/vda",
                                               "/dev/sda", "/dev/nvme0n1", "/dev/mapper/control"))])
"""
CHARACTER_DEVICE = """
os.mknod("memory", 0o600 | stat.S_IFCHR, os.makedev(1, 1))
os.close(os.open("memory", os.O_RDONLY))
"""
SYMLINK = """
os.symlink(args[0], "link")
with open("link") as file:
    file.read()
"""
HARD_LINK = """
os.link(args[0], "linked")
with open("linked") as file:
    file.read()
"""
IO_URING = """
parameters = ctypes.create_string_buffer(120)
os.close(call(425, 425, 4, parameters))
"""
BPF = """
attributes = ctypes.create_string_buffer(bytes((2, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0)), 120)
os.close(call(321, 280, 0, attributes, 120))
"""
PERF_EVENTS = """
attributes = ctypes.create_string_buffer(bytes((1, 0, 0, 0, 120, 0, 0, 0)), 120)
os.close(call(298, 241, attributes, 0, -1, -1, 0))
"""
KEYRING = """
process_keyring = -2
call(248, 217, b"user", b"agentsdk", b"x", 1, process_keyring)
"""
USERFAULTFD = """
os.close(call(323, 282, 0))
"""
FILE_HANDLE = """
handle = ctypes.create_string_buffer(bytes((8, 0, 0, 0, 1, 0, 0, 0)) + bytes(8), 128)
here = os.open(".", os.O_RDONLY)
reaches(304, 265, here, handle, os.O_RDONLY)
"""
KERNEL_SETTINGS = """
def opened(name):
    return lambda: os.close(os.open(name, os.O_WRONLY))

any_of([opened(name) for name in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
                                  "/proc/sys/vm/drop_caches", "/sys/kernel/uevent_helper", "/sys/power/state")])
"""
CGROUPS = """
for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified"):
    for name in ("cgroup.procs", "release_agent", "tasks"):
        try:
            os.close(os.open(f"{top}/{name}", os.O_WRONLY))
            return
        except OSError as error:
            reason = error
raise reason
"""
HOSTNAME = """
name = socket.gethostname().encode()
call(170, 161, name, len(name))
"""
TERMINAL = """
os.close(os.open("/dev/tty", os.O_RDWR))
"""
INHERITED_FILES = """
import fcntl
found = []
for number in range(3, 1024):
    try:
        # What this process opened itself is closed when it becomes another program: libffi keeps its own file open for ctypes.
        if not fcntl.fcntl(number, fcntl.F_GETFD) & fcntl.FD_CLOEXEC:
            found.append(number)
    except OSError:
        pass
if not found:
    raise Held("only 0, 1 and 2 were inherited")
"""
SHARED_MEMORY_FILE = """
with open(f"/dev/shm/{args[0]}") as file:
    file.read()
"""
