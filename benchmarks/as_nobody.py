"""Modules run as uid 65534, who owns nothing and may do little, by a program that root has started."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig

NOBODY = 65534


def command(module: str, *given: str) -> list[str] | str:
    """What runs `python -m module` as that user, or why nothing can.

    Root's own interpreter may be in a folder that nobody else may enter; then the system's is taken, if it is the same.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux, to become another user"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    paths = f"sys.path[:0] = {[os.getcwd()]!r}; sys.path.append({sysconfig.get_path('purelib')!r})"
    script = f"import runpy, sys; {paths}; runpy.run_module({module!r}, run_name='__main__')"
    for python in (os.path.realpath(sys.executable), f"/usr/bin/{version}"):
        line = [*drop, python, "-c"]
        try:
            # The interpreter itself may start where its library cannot be read: setpriv keeps root's rights until then.
            subprocess.run([*line, "import sys; open(sys.executable)"], check=True, capture_output=True, timeout=30, cwd="/")
        except (OSError, subprocess.SubprocessError):
            continue
        return [*line, script, *given]
    return f"needs a {version} that uid {NOBODY} may run"
