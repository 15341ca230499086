"""What a command is given, and what is said of how it ended; the shell that lives on."""

from __future__ import annotations

import asyncio

import msgspec

from agentsdk.ports.sandbox import Completed, SandboxLimits
from agentsdk.testing.sandbox_conformance.check import SECRET, VARIABLE, Ground, expect, expect_error, rule
from agentsdk.types.errors import SandboxError, SandboxFileError, UserError


@rule("command")
async def exit_codes(ground: Ground) -> None:
    for code in (0, 1, 2, 77, 255):
        expect((await ground.run(f"exit {code}")).exit_code, code, "an exit code")
    expect((await ground.run("kill -9 $$")).exit_code, 137, "the exit code of a command that SIGKILL ended")
    expect((await ground.run("kill -15 $$")).exit_code, 143, "the exit code of a command that SIGTERM ended")


@rule("command")
async def missing_program(ground: Ground) -> None:
    expect((await ground.sandbox.run(["agentsdk-no-such-program"])).exit_code, 127, "the exit code of what is no program")


@rule("command")
async def streams(ground: Ground) -> None:
    done = await ground.sandbox.run(["sh", "-c", "cat; echo error >&2; exit 3"], stdin="a\nü\u2028\U0001f600")
    expect((done.stdout, done.stderr, done.exit_code), ("a\nü\u2028\U0001f600", "error\n", 3), "stdout, stderr, exit code")
    expect((done.timed_out, done.truncated), (False, False), "whether it timed out, and was cut")
    expect(done.duration > 0, True, "whether its duration is above 0")
    binary = await ground.run(r"printf '\377\376a\000b'")
    expect(binary.stdout, "\ufffd\ufffda\0b", "output that is no UTF-8")
    expect(msgspec.json.decode(msgspec.json.encode(done), type=Completed), done, "what came of it, by way of JSON")


@rule("command")
async def arguments(ground: Ground) -> None:
    awkward = ["", " ", "a b", "'", '"', "$HOME", "`id`", "*", "-n", "--", "\n", "\\", "ü\U0001f600", "x" * 100_000]
    script = r'for word in "$@"; do printf "%s\0" "$word"; done'
    done = await ground.sandbox.run(["sh", "-c", script, "sh", *awkward], limits=SandboxLimits(output=300_000))
    expect(done.stdout.split("\0"), [*awkward, ""], "arguments as the command got them")


@rule("command")
async def variables(ground: Ground) -> None:
    given = {"NAME": "a value", "EMPTY": "", "LINES": "a\nb", "LD_PRELOAD": "/nowhere.so", "UNICODE": "ü"}
    done = await ground.sandbox.run(["env", "-0"], env=given)
    seen: dict[str, str] = {}
    for entry in done.stdout.rstrip("\0").split("\0"):
        name, _, seen[name] = entry.partition("=")
    expect({name: seen.get(name) for name in given}, given, "the variables that were given")
    expect(seen.get("HOME"), ground.sandbox.workdir, "HOME")
    expect(VARIABLE in seen or SECRET in done.stdout, False, "whether a variable of the host's is there")


@rule("command")
async def folders(ground: Ground) -> None:
    await ground.sandbox.files.write("a/b/file", b"")
    for cwd, expected in ((".", ""), ("a", "/a"), ("a/b/..", "/a"), (f"{ground.sandbox.workdir}/a/b", "/a/b")):
        done = await ground.sandbox.run(["pwd"], cwd=cwd)
        expect(done.stdout, f"{ground.sandbox.workdir}{expected}\n", f"the folder of a command with cwd={cwd!r}")
    for cwd in ("..", "/", "/etc", "missing", "a/b/file"):
        await expect_error(SandboxFileError, ground.sandbox.run(["pwd"], cwd=cwd), f"a command with cwd={cwd!r}")


@rule("command")
async def temporary_files(ground: Ground) -> None:
    done = await ground.run(
        'file="${TMPDIR:-/tmp}/own.$$" && echo x > "$file" && cat "$file" && rm "$file" && echo y > /dev/null'
    )
    expect((done.exit_code, done.stdout), (0, "x\n"), "a file in TMPDIR")


@rule("command")
async def wrong_arguments(ground: Ground) -> None:
    run = ground.sandbox.run
    await expect_error(UserError, run([]), "no argv")
    await expect_error(UserError, run("ls"), "a text for argv")
    await expect_error(UserError, run(["a\0b"]), "a NUL in argv")
    await expect_error(UserError, run(["a", "\ud800"]), "a lone surrogate in argv")
    await expect_error(UserError, run(["ls"], env={"A=B": "c"}), "a variable with '=' in its name")
    await expect_error(UserError, run(["ls"], env={"A": "a\0"}), "a variable with a NUL")
    await expect_error(UserError, run(["ls"], timeout=0), "a timeout of 0")
    await expect_error(UserError, run(["ls"], timeout=float("nan")), "a timeout that is no number")


@rule("command")
async def side_by_side(ground: Ground) -> None:
    async def one(number: int) -> str:
        script = f"cat; echo {number}; echo {number} > file{number}"
        return (await ground.sandbox.run(["sh", "-c", script], stdin=f"in {number}\n")).stdout

    seen = await asyncio.gather(*map(one, range(40)))
    expect(seen, [f"in {number}\n{number}\n" for number in range(40)], "what 40 commands side by side printed")
    expect(len(await ground.sandbox.files.list()), 40, "the files they made")


@rule("command")
async def closed_sandbox(ground: Ground) -> None:
    sandbox = ground.factory()
    await sandbox.run(["true"])
    await sandbox.aclose()
    await sandbox.aclose()
    await expect_error(SandboxError, sandbox.run(["true"]), "a command in a closed sandbox")


@rule("shell")
async def shell_keeps_state(ground: Ground) -> None:
    shell = ground.sandbox.shell()
    await shell.run("mkdir inner; cd inner; NAME='a value'; export OTHER=b; greet() { echo hello $1; }")
    done = await shell.run('pwd; echo "$NAME"; sh -c "echo \\$OTHER"; greet you; echo error >&2; false')
    expect(done.stdout, f"{ground.sandbox.workdir}/inner\na value\nb\nhello you\n", "what the second command saw of the first")
    expect((done.stderr, done.exit_code), ("error\n", 1), "stderr and exit code")


@rule("shell")
async def shell_output(ground: Ground) -> None:
    shell = ground.sandbox.shell()
    for command, expected in (
        ("printf a", "a"),
        ("printf 'a\\n'", "a\n"),
        ("true", ""),
        ("printf '\\n'", "\n"),
        ("cat", ""),
        ("echo 'it''s'; # a comment", "its\n"),
        ("cat <<'X'\na\n'\nX", "a\n'\n"),
        ("head -c 70000 /dev/zero | tr '\\0' x | wc -c", "70000\n"),
    ):
        expect((await shell.run(command)).stdout, expected, f"the output of {command!r}")
    cut = await shell.run("head -c 5000000 /dev/zero | tr '\\0' x; printf END")
    expect((cut.truncated, cut.stdout[:3], cut.stdout[-4:]), (True, "xxx", "xEND"), "output of 5 MB")


@rule("shell")
async def shell_goes_on(ground: Ground) -> None:
    shell = ground.sandbox.shell()
    expect((await shell.run("if")).exit_code != 0, True, "whether wrong syntax has an exit code")
    expect((await shell.run("exit 3")).exit_code, 3, "the exit code of a shell that ended")
    expect((await shell.run("echo there")).stdout, "there\n", "the output of the command after it")
    await shell.run("X=1")
    slow = await shell.run("echo before; sleep 600", timeout=0.5)
    expect((slow.timed_out, slow.stdout), (True, "before\n"), "a command whose time was over")
    ground.expect_nothing_left("a shell whose time was over")
    expect((await shell.run("echo ${X:-new}")).stdout, "new\n", "a variable in the next shell")
    await shell.run("X=1")
    await shell.restart()
    expect((await shell.run("echo ${X:-new}")).stdout, "new\n", "a variable after a restart")


@rule("shell")
async def shell_background(ground: Ground) -> None:
    shell = ground.sandbox.shell()
    await shell.run(f"sh -c 'sleep 600; : {ground.nonce}' > /dev/null 2>&1 &")
    expect(
        (await shell.run("kill -0 $! && echo lives")).stdout, "lives\n", "what was left in the background, in the next command"
    )
    await shell.aclose()
    await shell.aclose()
    ground.expect_nothing_left("a shell that was closed")
    await expect_error(SandboxError, shell.run("true"), "a command in a closed shell")
