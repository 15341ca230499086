"""The conformance suite as uid 65534: `python -m tests.sandboxes.as_nobody NAME`, started as root by a test.

Root's own interpreter may be in a folder that nobody else may enter; then the system's is taken, if it is of the same version.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import sysconfig

from agentsdk.testing.sandbox_conformance import try_checks
from tests.sandboxes.sandboxes import SANDBOXES, missing

NOBODY = 65534
UNAVAILABLE = 77


def command(name: str) -> list[str] | str:
    """What runs the suite, or why nothing can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux, to become another user"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    run = f"runpy.run_module({__name__!r}, run_name='__main__')"
    script = f"import runpy, sys; sys.path.append({sysconfig.get_path('purelib')!r}); {run}"
    for python in (os.path.realpath(sys.executable), f"/usr/bin/{version}"):
        line = [*drop, python, "-c"]
        try:
            subprocess.run([*line, "import sys; open(sys.executable)"], check=True, capture_output=True, timeout=30, cwd="/")
        except (OSError, subprocess.SubprocessError):
            continue
        return [*line, script, name]
    return f"needs a {version} that uid {NOBODY} may run"


async def _main(name: str) -> int:
    outcomes = await try_checks(SANDBOXES[name], progress=lambda line: print(line, flush=True))
    counted = {result: sum(outcome.result == result for outcome in outcomes) for result in ("passed", "failed", "skipped")}
    print(", ".join(f"{number} {result}" for result, number in counted.items()))
    return 1 if counted["failed"] else 0


if __name__ == "__main__":
    os.environ.pop("HOME", None)
    if reason := missing(sys.argv[1]):
        print(reason)
        sys.exit(UNAVAILABLE)
    sys.exit(asyncio.run(_main(sys.argv[1])))
