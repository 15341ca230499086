"""The files of the workspace, from outside, while hostile commands change them."""

from __future__ import annotations

import asyncio

from agentsdk.ports.sandbox import FileInfo, Match
from agentsdk.testing.sandbox_conformance.check import SECRET, Ground, expect, expect_error, rule
from agentsdk.types.errors import SandboxError, SandboxFileError, UserError

AWKWARD_NAMES = ("a b", "-rf", "ü\U0001f600", "new\nline", "'", '"', "*", "\\", ".hidden", "a" * 200)


@rule("files")
async def read_and_write(ground: Ground) -> None:
    files = ground.sandbox.files
    for data in (b"", b"\0\xff\r\n", bytes(range(256)) * 4096):
        await files.write("inner/file", data)
        expect(await files.read("inner/file"), data, "a file as it was written")
    expect((await ground.run("wc -c < inner/file")).stdout.strip(), str(256 * 4096), "its size, to a command")
    await ground.run("echo from inside > made; chmod 755 made")
    expect(await files.read("made"), b"from inside\n", "a file that a command has made")
    await files.write("made", b"new")
    expect((await ground.run("test -x made && cat made; echo more >> made && cat made")).stdout, "newnewmore\n", "it, written")
    expect((await files.stat("made")).mode, 0o755, "its permissions")
    await files.write("made", b"", mode=0o640)
    await files.write("tool", b"echo runs", mode=0o700)
    expect((await ground.run("stat -c %a made tool; ./tool")).stdout, "640\n700\nruns\n", "permissions, to a command")
    await files.remove("tool")
    for mode in (-1, 0o1000, True, "755"):
        await expect_error(UserError, files.write("made", b"", mode=mode), f"the permissions {mode!r}")  # type: ignore[arg-type]
    for name in AWKWARD_NAMES:
        await files.write(name, name.encode())
        expect(await files.read(f"./{name}"), name.encode(), f"the file {name!r}")
    names = sorted([*AWKWARD_NAMES, "inner", "made"])
    expect([entry.path for entry in await files.list()], names, "the names in the workspace")


@rule("files")
async def what_is_there(ground: Ground) -> None:
    files = ground.sandbox.files
    await ground.run("mkdir -p a/b; echo 12345 > a/file; ln -s file a/link; ln -s ../../.. a/out; mkfifo a/pipe")
    seen = {entry.path: (entry.kind, entry.size if entry.kind == "file" else 0) for entry in await files.list("a")}
    expected = {
        "a/b": ("directory", 0),
        "a/file": ("file", 6),
        "a/link": ("symlink", 0),
        "a/out": ("symlink", 0),
        "a/pipe": ("other", 0),
    }
    expect(seen, expected, "what a folder holds")
    expect(len(await files.list("a", max_entries=2)), 2, "how many entries come of 5, if 2 are asked for")
    found = await files.stat("a/link")
    expect((found.path, found.kind, found.size), ("a/link", "file", 6), "what a link leads to")
    expect((await files.stat(".")).kind, "directory", "what the workspace is")
    expect(isinstance(found, FileInfo) and found.modified > 1e9, True, "whether its time is one")
    expect(await files.read(f"{ground.sandbox.workdir}/a/link"), b"12345\n", "a file by its absolute path and a link")


@rule("files")
async def remove(ground: Ground) -> None:
    files = ground.sandbox.files
    await ground.run("mkdir -p a/b c; touch a/b/file c/kept; ln -s ../c a/link; ln -s c link")
    await expect_error(SandboxFileError, files.remove("a"), "the removal of a folder that is not empty")
    await files.remove("a", recursive=True)
    await files.remove("link")
    expect([entry.path for entry in await files.list()], ["c"], "what is left")
    expect([entry.path for entry in await files.list("c")], ["c/kept"], "what is left where a removed link led")
    for path in (".", "missing", ""):
        await expect_error(SandboxFileError, files.remove(path, recursive=True), f"the removal of {path!r}")


@rule("files")
async def remove_awkward(ground: Ground) -> None:
    await ground.run_python(
        "import os\nos.mkdir('deep')\nos.chdir('deep')\nfor _ in range(1200):\n os.mkdir('d')\n os.chdir('d')\n"
    )
    await ground.run("mkdir -p shut/inner; touch shut/inner/file; chmod 0 shut/inner shut")
    await ground.sandbox.files.remove("deep", recursive=True)
    await ground.sandbox.files.remove("shut", recursive=True)
    expect(await ground.sandbox.files.list(), [], "what is left of folders deep and shut")


@rule("files")
async def search(ground: Ground) -> None:
    files = ground.sandbox.files
    await files.write("a/one.py", b"import os\nprint(os.name)\n")
    await files.write("a/b/two.py", b"x = 1\nimport sys\n")
    await files.write("new\nline.txt", b"import nothing")
    await files.write("binary", b"\0import")
    seen = await files.search("^import [a-z]+", glob="*.py")
    expect(seen, [Match("a/b/two.py", 2, "import sys"), Match("a/one.py", 1, "import os")], "lines that fit")
    expect([match.path for match in await files.search("import")], ["a/b/two.py", "a/one.py", "new\nline.txt"], "all of them")
    expect(len(await files.search("import", max_matches=1)), 1, "how many lines come if one is asked for")
    expect(await files.search("import", "a/b"), [Match("a/b/two.py", 2, "import sys")], "lines below a folder")
    expect(await files.search("absent"), [], "a search that finds nothing")
    await expect_error(UserError, files.search("a("), "a search for what is no pattern")
    await expect_error(SandboxFileError, files.search("root", "/etc"), "a search outside")


@rule("files")
async def paths_out(ground: Ground) -> None:
    files, secret = ground.sandbox.files, ground.outside / "secret"
    up = "../" * 20 + str(secret).lstrip("/")
    await ground.run(
        f'mkdir a; ln -s "$1" link; ln -s "$2" a/folder; ln -s .. a/up; ln -s link again; ln -s {up} relative',
        secret,
        ground.outside,
    )
    ways = (
        str(secret),
        up,
        f"a/../../{up}",
        "link",
        "again",
        "relative",
        "a/folder/secret",
        "a/up/../secret",
        f"{ground.sandbox.workdir}/../x",
    )
    for path in ways:
        await expect_error(SandboxFileError, files.read(path), f"the reading of {path!r}")
        await expect_error(SandboxFileError, files.stat(path), f"the stat of {path!r}")
        await expect_error(SandboxFileError, files.write(path, b"overwritten"), f"the writing of {path!r}")
    for path in ("a/folder", "/", "..", str(ground.outside), f"{ground.sandbox.workdir}-other"):
        await expect_error(SandboxFileError, files.list(path), f"the list of {path!r}")
    for path in ("a/folder/secret", "..", up, str(secret)):
        await expect_error(SandboxFileError, files.remove(path, recursive=True), f"the removal of {path!r}")
    await files.remove("a", recursive=True)
    expect(secret.read_text().split()[0], SECRET, "the file outside, after all of it")


@rule("files")
async def links_without_end(ground: Ground) -> None:
    await ground.run("ln -s b a; ln -s a b; ln -s . here")
    await expect_error(SandboxFileError, ground.sandbox.files.read("a"), "a link to itself")
    await expect_error(SandboxFileError, ground.sandbox.files.read("here/" * 50 + "file"), "fifty links on one path")


@rule("files")
async def what_is_no_file(ground: Ground) -> None:
    files = ground.sandbox.files
    await ground.run_python(
        "import os, socket\nos.mkfifo('pipe')\nsocket.socket(socket.AF_UNIX).bind('socket')\nos.mkdir('folder')"
    )
    for path in ("pipe", "socket", "folder", "missing", "missing/file", ""):
        await expect_error(SandboxFileError, files.read(path), f"the reading of {path!r}")
    for path in ("pipe", "folder", ".", "pipe/file"):
        await expect_error(SandboxFileError, files.write(path, b"x"), f"the writing of {path!r}")
    await files.write("big", b"x" * 1001)
    await expect_error(SandboxFileError, files.read("big", max_bytes=1000), "the reading of a file that is too long")
    await expect_error(SandboxFileError, files.read("n" * 300), "the reading of a name that is too long")
    await expect_error(UserError, files.read("a\0b"), "a path with a NUL")
    await expect_error(UserError, files.write("x", "text"), "a text for the content")  # type: ignore[arg-type]


@rule("files")
async def swapped_folders(ground: Ground) -> None:
    """A command puts a link where a folder is, and back, as fast as it can."""
    swap = (
        "import os, sys\nos.makedirs('a', exist_ok=True)\nopen('a/secret', 'w').write('inside')\n"
        "os.symlink(sys.argv[1], 'link')\nopen('ready', 'w').close()\n"
        "while True:\n os.rename('a', 'b')\n os.rename('link', 'a')\n os.rename('a', 'link')\n os.rename('b', 'a')\n"
    )
    swapping = asyncio.create_task(ground.run_python(swap, ground.outside))
    try:
        files = ground.sandbox.files
        await ground.wait_for("ready")
        for _ in range(300):
            try:
                expect(await files.read("a/secret"), b"inside", "a file below a folder that is swapped")
                await files.write("a/written", b"x")
            except SandboxFileError:
                pass
    finally:
        swapping.cancel()
        await asyncio.wait((swapping,))
    expect((ground.outside / "written").exists(), False, "whether a file was written outside")


@rule("files")
async def whole_writes(ground: Ground) -> None:
    files = ground.sandbox.files
    await files.write("file", b"0" * 300_000)
    script = (
        "import os\nopen('ready', 'w').close()\n"
        "while not os.path.exists('stop'):\n"
        " text = open('file', 'rb').read()\n"
        " if len(text) != 300000 or len(set(text)) != 1:\n  print('HALF', len(text))\n"
    )
    reading = asyncio.create_task(ground.run_python(script))
    try:
        await ground.wait_for("ready")
        for number in range(60):
            await files.write("file", str(number % 10).encode() * 300_000)
        await files.write("stop", b"")
        done = await reading
    finally:
        reading.cancel()
        await asyncio.wait((reading,))
    expect((done.stdout, done.exit_code), ("", 0), "what a command saw that read all the while")


@rule("files")
async def snapshots(ground: Ground) -> None:
    sandbox, files = ground.sandbox, ground.sandbox.files
    await ground.run(
        'mkdir -p a/b empty; echo one > a/b/file; chmod 755 a/b/file; ln -s b/file a/link; ln -s "$1" out; mkfifo pipe',
        ground.outside,
    )
    snapshot = await sandbox.snapshot()
    await ground.run("rm -r a; echo new > new; echo two > empty/file; rm out; mkdir out")
    await sandbox.restore(snapshot)
    expect([entry.path for entry in await files.list()], ["a", "empty", "out"], "the workspace, restored")
    expect(await files.read("a/link"), b"one\n", "a file by a link, restored")
    expect(
        (await ground.run("test -x a/b/file; echo $?; echo more >> a/b/file && cat a/b/file")).stdout,
        "0\none\nmore\n",
        "its permissions",
    )
    expect(await files.list("empty"), [], "an empty folder, restored")
    for wrong in (b"", b"no archive", snapshot[: len(snapshot) // 2]):
        await expect_error(SandboxError, sandbox.restore(wrong), "the restoring of what is no snapshot")
    expect([entry.path for entry in await files.list()], ["a", "empty", "out"], "the workspace after that")
    expect(
        [path.name for path in ground.outside.iterdir() if path.name not in ("secret", "empty", "socket")], [], "files outside"
    )
    other = ground.factory()
    try:
        await other.restore(snapshot)
        expect(await other.files.read("a/link"), b"one\n", "a file in another sandbox")
    finally:
        await other.aclose()
