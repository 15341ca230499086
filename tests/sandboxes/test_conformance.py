"""Every sandbox holds against every probe and keeps every rule, as whoever runs the tests and as a user without rights.

The control is `LocalSandbox`, which isolates nothing: a probe that did not get out of it would prove nothing of the others.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentsdk.sandboxes import LocalSandbox, cgroups
from agentsdk.testing import sandbox_conformance
from agentsdk.testing.sandbox_conformance import CHECKS, Check, Outcome, check_sandbox, probes, try_checks
from benchmarks import as_nobody
from tests.sandboxes.sandboxes import SANDBOXES
from tests.sandboxes.whole_suite import UNAVAILABLE
from tests.shown import show

ROOT = Path(__file__).parents[2]


def named(*names: str) -> tuple[Check, ...]:
    return tuple(check for check in CHECKS if check.name in names)


@pytest.mark.anyio
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
@pytest.mark.parametrize("name", SANDBOXES)
async def test_it_keeps_the_rule(name: str, check: Check, available: None) -> None:
    await check(SANDBOXES[name])


@pytest.mark.parametrize("name", SANDBOXES)
def test_it_keeps_the_rules_for_a_user_without_rights(name: str, request: pytest.FixtureRequest) -> None:
    """Uid 65534, who owns nothing, and may make no control groups: the limits are each process's own."""
    command = as_nobody.command("tests.sandboxes.whole_suite", name)
    if isinstance(command, str):
        pytest.skip(command)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT, env={})
    lines = done.stdout.splitlines()
    if done.returncode == UNAVAILABLE:
        pytest.skip(lines[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    show(request.config, [f"{name} as uid 65534: {lines[-1]}"])


@pytest.mark.anyio
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root on Linux")
@pytest.mark.parametrize("name", SANDBOXES)
async def test_processes_are_limited_for_root_without_control_groups(
    name: str, available: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RLIMIT_NPROC does nothing for root: commands run as a user of the sandbox's own."""
    monkeypatch.setattr(cgroups, "_places", lambda: None)
    checks = named(
        "processes",
        "fork_bomb",
        "memory",
        "shared_memory",
        "background_process",
        "closed",
        "read_and_write",
        "shell_keeps_state",
    )
    outcomes = await try_checks(SANDBOXES[name], checks=checks)
    assert [outcome for outcome in outcomes if outcome.result != "passed"] == []


@pytest.mark.anyio
@pytest.mark.parametrize("name", SANDBOXES)
async def test_a_workspace_that_others_may_enter_gets_no_program_that_runs_as_its_owner(
    name: str, available: None, shared_folder: Path
) -> None:
    checks = named("setuid_file", "exit_codes", "missing_program", "shell_keeps_state")
    outcomes = await try_checks(lambda: SANDBOXES[name](shared_folder), checks=checks)
    assert [outcome for outcome in outcomes if outcome.result != "passed"] == []


# What needs root, a terminal or an inherited file to succeed, or lets the control harm the machine that runs the tests.
NOT_IN_THE_CONTROL = ("fork_bomb", "terminal", "inherited_files", "character_device", "closed", "cancelled")
NEEDS_ROOT = (
    *("bpf", "capabilities", "change_program", "chroot", "control_groups", "devices", "file_handle", "hostname", "mount"),
    *("join_namespace", "kernel_settings", "new_mount_calls", "password_file", "perf_events", "raw_socket", "userfaultfd"),
    "user_namespace",
)


def is_root_of_the_machine() -> bool:
    """Whether root may do what it may elsewhere: not in a container or a changed root, which refuse it user namespaces."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.anyio
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
async def test_every_probe_escapes_where_nothing_is_isolated(shared_folder: Path, request: pytest.FixtureRequest) -> None:
    without = NOT_IN_THE_CONTROL if is_root_of_the_machine() else (*NOT_IN_THE_CONTROL, *NEEDS_ROOT)
    checks = tuple(check for check in CHECKS if check.kind == "escape" and check.name not in without)
    outcomes = await try_checks(lambda: LocalSandbox(shared_folder, unsafe=True), checks=checks)
    assert [outcome.check for outcome in outcomes if outcome.result != "failed"] == []
    assert [outcome for outcome in outcomes if "did not run" in outcome.detail] == []
    assert len(checks) > 15
    if left_out := [check.name for check in CHECKS if check.name in without]:
        show(request.config, [f"probes that the control did not try here: {', '.join(left_out)}"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows gives open files to a process in another way")
def test_the_probe_of_inherited_files_sees_one_and_none_of_its_own() -> None:
    script = [sys.executable, "-c", f"import os; own = os.open('/', os.O_RDONLY)\n{probes.script(probes.INHERITED_FILES)}"]
    given, kept = os.pipe()
    try:
        said = [subprocess.run(script, capture_output=True, check=True, pass_fds=fds).stdout[:7] for fds in ((), (given,))]
    finally:
        os.close(given)
        os.close(kept)
    assert said == [b"HELD He", b"ESCAPED"]


@pytest.mark.anyio
async def test_a_sandbox_that_isolates_nothing_keeps_the_other_rules() -> None:
    checks = tuple(check for check in CHECKS if check.kind in ("command", "shell", "files"))
    outcomes = await try_checks(lambda: LocalSandbox(unsafe=True), checks=checks)
    assert [outcome for outcome in outcomes if outcome.result != "passed"] == []


def test_the_table_lists_every_check() -> None:
    doc = sandbox_conformance.__doc__ or ""
    listed = [
        (name.strip(" `"), cells[2].strip())
        for line in doc.splitlines()
        if line.startswith("| `")
        for cells in [line.split("|")]
        for name in cells[1].split(",")
    ]
    assert listed == [(check.name, check.kind) for check in CHECKS]


@pytest.mark.anyio
async def test_all_checks_are_run_and_those_that_fail_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    few = named("host_file", "exit_codes", "wrong_arguments")
    monkeypatch.setattr(sandbox_conformance, "CHECKS", few)
    lines: list[str] = []
    with pytest.raises(AssertionError, match=r"(?s)^1 of 3 checks failed:\nhost_file: saw that it escaped"):
        await check_sandbox(lambda: LocalSandbox(unsafe=True), progress=lines.append)
    assert [line.split("  ")[:2] for line in lines] == [
        ["failed", "host_file"],
        ["passed", "exit_codes"],
        ["passed", "wrong_arguments"],
    ]
    kept = await try_checks(lambda: LocalSandbox(unsafe=True), checks=few[1:])
    assert kept == (Outcome("exit_codes", "command", "passed"), Outcome("wrong_arguments", "command", "passed"))
