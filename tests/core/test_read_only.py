"""What is told to change nothing does, and what is doubtful is not."""

from __future__ import annotations

import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from agentsdk.core.read_only import is_read_only

YES = [
    "ls",
    "ls -la src",
    "cat a.py | head -n 20",
    "grep -rn 'def main' src && wc -l src/*.py; pwd",
    "cat 'a file' \"another\" || echo none",
    "echo 'a; rm b'",
    "ls;pwd",
    "ls&&pwd",
]
NO = [
    "rm a",
    "ls; rm a",
    "ls;rm a",
    "ls && rm a",
    "ls&rm a",
    "ls | tee a",
    "ls > a",
    "ls>a",
    "cat < a",
    "ls 2>&1",
    "cat <(rm a)",
    "echo $(rm a)",
    "echo `rm a`",
    'echo "$(rm a)"',
    "echo ${X:=$(rm a)}",
    "ls\nrm a",
    "ls\rrm a",
    "(rm a)",
    "(ls)",
    "{ rm a; }",
    "X=1 ls",
    "PATH=. ls",
    "env rm a",
    "xargs rm",
    "find . -delete",
    "find . -exec rm {} +",
    "sort -o a b",
    "sed -i s/a/b/ c",
    "git status",
    "./ls",
    "/tmp/cat a",
    "ls &",
    "ls |& cat",
    "ls ;; pwd",
    "| ls",
    "ls |",
    "ls &&",
    "! ls",
    "eval ls",
    "'ls' 'a",
    "echo a \\; rm a",
    "if true; then rm a; fi",
    "ls # ; rm",
    "",
    " ",
]


@pytest.mark.parametrize("command", YES)
def test_these_change_nothing(command: str) -> None:
    assert is_read_only({"commands": [command]})
    assert is_read_only({"commands": [command, "pwd"], "timeout_ms": 1000})


@pytest.mark.parametrize("command", NO)
def test_these_are_doubtful(command: str) -> None:
    assert not is_read_only({"commands": [command]})
    assert not is_read_only({"commands": ["ls", command]})


@pytest.mark.parametrize("arguments", [{}, {"commands": []}, {"commands": "ls"}, {"commands": [1]}, {"restart": True}])
def test_what_is_no_command_is_doubtful(arguments: dict[str, object]) -> None:
    assert not is_read_only(arguments)


def test_variables_make_any_command_doubtful() -> None:
    assert not is_read_only({"commands": ["ls"], "env": {"LD_PRELOAD": "a.so"}})
    assert not is_read_only({"commands": ["ls"], "restart": True})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose programs are the only ones: `ls` changes nothing, `rm` leaves a mark."""
    for name, body in {"ls": ":", "rm": 'echo > "$MARK"'}.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    return tmp_path


PIECES = [" ", ";", "|", "&", "'", '"', "\\", "\n", "$", "`", "<", ">", "(", ")", "~", "*", "#", "!", "=", "ls"]


@pytest.mark.parametrize("shell", [found for shell in ("sh", "bash") if (found := shutil.which(shell))])
def test_a_shell_starts_nothing_else_for_what_changes_nothing(shell: str, folder: Path) -> None:
    """Whatever stands between two programs, up to three pieces, and at their end."""
    between = ["".join(pieces) for length in range(4) for pieces in product(PIECES, repeat=length)]
    commands = [f"ls{pieces}rm{end}" for pieces in between for end in ("", "'", '"', "`", ")")]
    judged = [command for command in commands if is_read_only({"commands": [command]})]
    assert len(judged) > 50
    before, nothing = sorted(folder.iterdir()), subprocess.DEVNULL
    env = {"PATH": str(folder), "MARK": str(folder / "mark")}
    for command in judged:
        subprocess.run([shell, "-c", command], cwd=folder, env=env, stdin=nothing, stdout=nothing, stderr=nothing, check=False)
        assert sorted(folder.iterdir()) == before, command
