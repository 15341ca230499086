"""`python -m benchmarks.sandbox`: what gets out of each sandbox, what a command costs, whether many disturb each other.

The escape table has a row for each probe of `agentsdk.testing.sandbox_conformance`, and a column for each sandbox and user: who
runs this, best root, and uid 65534. `held` is what should stand there. `LocalSandbox` is the control: it isolates nothing, so a
probe that does not get out of it proves nothing of the others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agentsdk.ports.sandbox import Sandbox
from agentsdk.sandboxes import BubblewrapSandbox, LocalSandbox, SandlockSandbox
from agentsdk.sandboxes.host import HostSandbox
from agentsdk.testing.sandbox_conformance import CHECKS, Check, try_checks
from agentsdk.types.errors import SandboxUnavailableError
from benchmarks import as_nobody

CONTROL = "local"
HARMLESS_IN_THE_CONTROL = tuple(check for check in CHECKS if check.name not in ("fork_bomb", "closed"))
COMMANDS = 200
ROUNDS = 60

WORDS = {"passed": "held", "failed": "ESCAPED", "skipped": "-"}


def sandboxes(folder: Path) -> dict[str, Callable[[], HostSandbox]]:
    """Those that are compared. The control gets `folder`, which others may enter: else a probe would have no host to reach."""
    return {
        "bubblewrap": BubblewrapSandbox,
        "sandlock": SandlockSandbox,
        CONTROL: lambda: LocalSandbox(folder, unsafe=True),
    }


async def probed(name: str) -> dict[str, str]:
    """How each probe and limit went; empty where the sandbox cannot be had."""
    kinds = ("escape", "limit")
    checks: list[Check] = [check for check in (HARMLESS_IN_THE_CONTROL if name == CONTROL else CHECKS) if check.kind in kinds]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        workspace = Path(folder, "workspace")
        os.mkdir(workspace)
        try:
            outcomes = await try_checks(sandboxes(workspace)[name], checks=checks)
        except SandboxUnavailableError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return {}
    return {outcome.check: WORDS[outcome.result] for outcome in outcomes}


def table() -> None:
    """Print the escape table."""
    columns: dict[str, dict[str, str]] = {}
    for name in ("bubblewrap", "sandlock", CONTROL):
        columns[f"{name} uid {os.geteuid()}"] = asyncio.run(probed(name))
        line = as_nobody.command("benchmarks.sandbox", "--probe", name)
        if isinstance(line, str):
            print(f"{name} as another user: {line}", file=sys.stderr)
            continue
        done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=os.getcwd(), env={})
        columns[f"{name} uid {as_nobody.NOBODY}"] = json.loads(done.stdout.splitlines()[-1])
    print(f"{'':<20}" + "".join(f"{column:>22}" for column in columns))
    for check in CHECKS:
        if check.kind in ("escape", "limit"):
            print(f"{check.name:<20}" + "".join(f"{column.get(check.name, '-'):>22}" for column in columns.values()))
    escaped = [list(column.values()).count("ESCAPED") for column in columns.values()]
    print(f"{'escaped':<20}" + "".join(f"{number:>22}" for number in escaped))


async def costs(name: str, make: Callable[[], Sandbox]) -> None:
    """Print what a command costs, and whether many side by side lose anything."""
    async with make() as sandbox:
        begun = time.perf_counter()
        await sandbox.run(["true"])
        first = time.perf_counter() - begun
        taken: list[float] = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            await sandbox.run(["true"])
            taken.append(time.perf_counter() - begun)
        shell = sandbox.shell()
        await shell.run("true")
        begun = time.perf_counter()
        for _ in range(ROUNDS):
            await shell.run("true")
        in_shell = (time.perf_counter() - begun) / ROUNDS
        begun = time.perf_counter()
        done = await asyncio.gather(*(sandbox.run(["sh", "-c", f"cat; echo {n}"], stdin=f"{n} ") for n in range(COMMANDS)))
        together = time.perf_counter() - begun
        whole = sum(one.stdout == f"{n} {n}\n" and one.exit_code == 0 for n, one in enumerate(done))
    print(
        f"{name:<12} first {first * 1e3:6.1f} ms   command median {statistics.median(taken) * 1e3:5.1f} ms, least "
        f"{min(taken) * 1e3:5.1f}   in a shell {in_shell * 1e3:4.2f} ms   {COMMANDS} side by side {together:5.2f} s, "
        f"{COMMANDS - whole} lost"
    )


async def much_output(name: str, make: Callable[[], Sandbox]) -> None:
    """Print what 10 GB of output cost this process."""
    async with make() as sandbox:
        await sandbox.run(["true"])
        before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
        done = await sandbox.run(["head", "-c", "10G", "/dev/zero"], timeout=300)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    took = time.perf_counter() - begun
    print(f"{name:<12} 10 GB of output: {took:.1f} s, {grown:.1f} MiB more memory, truncated={done.truncated}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probe", metavar="SANDBOX", help="only try to escape from this one, and print what happened as JSON")
    parser.add_argument("--no-table", action="store_true", help="measure only")
    given = parser.parse_args()
    if given.probe:
        print(json.dumps(asyncio.run(probed(given.probe))))
        return
    if not given.no_table:
        table()
    with tempfile.TemporaryDirectory() as folder:
        for name, make in sandboxes(Path(folder)).items():
            try:
                asyncio.run(costs(name, make))
                asyncio.run(much_output(name, make))
            except SandboxUnavailableError as error:
                print(f"{name}: {error}")


if __name__ == "__main__":
    main()
