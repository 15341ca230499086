"""What is told to change nothing does, and what is doubtful is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@given(
    st.lists(
        st.sampled_from(["ls", " ", ";", "|", "&", "rm x", "'", '"', "\\", "\n", "$", "`", ">", "a", "&&", "("]), max_size=12
    )
)
def test_no_other_program_is_ever_started(parts: list[str]) -> None:
    """Where a shell would start `rm`, quotes and all: then it stands first, or behind something that joins commands."""
    command = "".join(parts)
    if is_read_only({"commands": [command]}):
        import shlex

        lexer = shlex.shlex(command, posix=False, punctuation_chars=True)
        words = list(lexer)
        starts = [word for before, word in zip([";", *words], words, strict=False) if before in (";", "|", "||", "&&")]
        assert "rm" not in starts
