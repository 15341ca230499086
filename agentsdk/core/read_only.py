"""`is_read_only`: whether shell commands only look, as far as can be told from their text.

It errs towards no: what it does not know for certain to change nothing is not read-only. So it knows a few programs that
have no option by which they write or start something, joined by `|`, `&&`, `||` and `;`. Whatever makes a shell do more than
start them is refused: redirections, variables, substitutions, background, new lines. It judges the text only. A shell whose
PATH, aliases or functions an approved command has changed may start something else under these names.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import cast

_PROGRAMS = frozenset(
    [
        "basename",
        "cat",
        "cmp",
        "cut",
        "diff",
        "dirname",
        "du",
        "echo",
        "egrep",
        "false",
        "fgrep",
        "grep",
        "head",
        "id",
        "ls",
        "md5sum",
        "nl",
        "pwd",
        "realpath",
        "sha256sum",
        "stat",
        "tail",
        "test",
        "tr",
        "true",
        "uname",
        "wc",
        "which",
        "whoami",
    ]
)
_JOINS = frozenset(("|", "&&", "||", ";"))
_PUNCTUATION = frozenset("();<>|&")
_MORE_THAN_WORDS = frozenset("$`\n\r\0{}!#")


def is_read_only(arguments: Mapping[str, object]) -> bool:
    """Whether the calls of a shell tool with these arguments change nothing, for certain.

    For approvals: `ShellTool(sandbox, needs_approval=lambda ctx, arguments, call_id: not is_read_only(arguments))`.
    """
    commands = arguments.get("commands")
    if not isinstance(commands, list | tuple) or not commands or arguments.get("env") or arguments.get("restart"):
        return False
    return all(isinstance(command, str) and _only_looks(command) for command in cast("Sequence[object]", commands))


def _only_looks(command: str) -> bool:
    if _MORE_THAN_WORDS & set(command):
        return False
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:  # a quote without its end
        return False
    first = True
    for word in words:
        if word in _JOINS:
            if first:
                return False
            first = True
        elif _PUNCTUATION & set(word) and set(word) <= _PUNCTUATION:
            return False
        elif first:
            if word not in _PROGRAMS:
                return False
            first = False
    return bool(words) and not first
