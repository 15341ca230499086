"""A process killed in the middle of a program: a sample of `python -m benchmarks.code_kills`."""

from __future__ import annotations

import subprocess
import sys


def test_no_call_is_lost_or_repeated_and_all_doubt_is_said() -> None:
    # In a process of its own, which forks: this one has threads.
    command = [sys.executable, "-m", "benchmarks.code_kills", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    total = next(line for line in done.stdout.splitlines() if line.startswith("| all"))
    kills, lost, repeated, again, in_doubt = map(int, total.split("|")[2:-1])
    assert (kills, lost, repeated) == (5, 0, 0) and again > 0 and in_doubt > 0
