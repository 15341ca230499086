"""Processes of a workflow that are killed: a sample of `python -m benchmarks.workflow_kills`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import postgres_server, redis_server


@pytest.mark.parametrize(("store", "every"), [("sqlite", 70), ("postgres", 90), ("redis", 90)])
def test_no_step_is_lost_or_repeated_and_all_doubt_is_said(store: str, every: int) -> None:
    if store == "postgres" and not postgres_server.installed():
        pytest.skip("needs PostgreSQL's programs")
    if store == "redis" and redis_server.program() is None:
        pytest.skip("needs Redis's program")
    # In a process of its own, which forks: this one has threads.
    command = [sys.executable, "-m", "benchmarks.workflow_kills", "--every", str(every), "--store", store]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    total = next(line for line in done.stdout.splitlines() if line.startswith(f"| {store} "))
    kills, lost, repeated, _again, in_doubt, said, _seconds = map(int, total.split("|")[2:-1])
    assert (lost, repeated) == (0, 0) and kills >= 5 and in_doubt == said
