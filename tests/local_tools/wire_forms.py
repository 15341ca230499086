"""Providers' own calls of a shell, a patch, an editor and a memory: what is declared, what comes, and what goes back.

Each is for a workspace that holds `hello.txt` with the line `hello`, which is the memory's folder too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Form:
    """One call in a provider's own form. `arguments` are what a tool's body is given, whoever the provider is.

    `holds` is what all files hold afterwards.
    """

    name: str
    protocol: Literal["responses", "anthropic"]
    tool: str
    declared: dict[str, Any]
    called: dict[str, Any]
    arguments: dict[str, Any]
    result: dict[str, Any]
    holds: dict[str, str]

    def __str__(self) -> str:
        return self.name


_AS_IT_WAS = {"hello.txt": "hello\n"}


def _ran(stdout: str, code: int = 0) -> dict[str, Any]:
    return {"stdout": stdout, "stderr": "", "outcome": {"type": "exit", "exit_code": code}}


def _patch(operation: dict[str, Any], printed: str, holds: dict[str, str]) -> Form:
    called = {"type": "apply_patch_call", "id": "apc_1", "call_id": "c1", "status": "completed", "operation": operation}
    result = {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed", "output": printed}
    declared = {"type": "apply_patch"}
    return Form(f"apply_patch {operation['type']}", "responses", "apply_patch", declared, called, operation, result, holds)


def _tool_use(
    tool: str, declared: dict[str, Any], given: dict[str, Any], printed: str, holds: dict[str, str], arguments: Any = None
) -> Form:
    called = {"type": "tool_use", "id": "c1", "name": declared["name"], "input": given}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": printed}
    name = f"{tool} {given['command']}" if "path" in given or "old_path" in given else f"bash {next(iter(given))}"
    return Form(name, "anthropic", tool, declared, called, arguments or given, result, holds)


_SHELL = {"type": "shell", "environment": {"type": "local"}}
_BASH = {"type": "bash_20250124", "name": "bash"}
_EDITOR = {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}
_MEMORY = {"type": "memory_20250818", "name": "memory"}


def _edits(tool: str, declared: dict[str, Any], path: str, other: str) -> list[Form]:
    """The commands that an editor and a memory have in common."""
    view = {"command": "view", "path": path, "view_range": [1, -1]}
    create = {"command": "create", "path": other, "file_text": "new\n"}
    replace = {"command": "str_replace", "path": path, "old_str": "hello", "new_str": "good day"}
    insert = {"command": "insert", "path": path, "insert_line": 1, "insert_text": "world"}
    return [
        _tool_use(tool, declared, view, "     1\thello", _AS_IT_WAS),
        _tool_use(tool, declared, create, f"Created {other}", {**_AS_IT_WAS, "new.txt": "new\n"}),
        _tool_use(tool, declared, replace, f"Edited {path}", {"hello.txt": "good day\n"}),
        _tool_use(tool, declared, insert, f"Edited {path}", {"hello.txt": "hello\nworld\n"}),
    ]


FORMS = [
    Form(
        "shell",
        "responses",
        "shell",
        _SHELL,
        {
            "type": "shell_call",
            "id": "sh_1",
            "call_id": "c1",
            "status": "completed",
            "action": {"commands": ["cat hello.txt", "exit 3"], "timeout_ms": 20_000, "max_output_length": 1_000},
            "environment": {"type": "local"},
        },
        {"commands": ["cat hello.txt", "exit 3"], "timeout_ms": 20_000, "max_output_length": 1_000},
        {
            "type": "shell_call_output",
            "call_id": "c1",
            "output": [_ran("hello\n"), _ran("", 3)],
            "max_output_length": 1_000,
        },
        _AS_IT_WAS,
    ),
    Form(
        "local_shell",
        "responses",
        "shell",
        _SHELL,
        {
            "type": "local_shell_call",
            "id": "lsh_1",
            "call_id": "c1",
            "status": "completed",
            "action": {"type": "exec", "command": ["sh", "-c", "echo $X > out.txt"], "env": {"X": "it's"}},
        },
        {"commands": ["sh -c 'echo $X > out.txt'"], "env": {"X": "it's"}},
        {
            "type": "local_shell_call_output",
            "id": "c1",
            "output": '{"output": [{"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}',
        },
        {**_AS_IT_WAS, "out.txt": "it's\n"},
    ),
    _patch({"type": "create_file", "path": "new.txt", "diff": "+new"}, "Created new.txt", {**_AS_IT_WAS, "new.txt": "new"}),
    _patch({"type": "update_file", "path": "hello.txt", "diff": "-hello\n+you"}, "Updated hello.txt", {"hello.txt": "you\n"}),
    _patch({"type": "delete_file", "path": "hello.txt"}, "Deleted hello.txt", {}),
    _tool_use(
        "shell",
        _BASH,
        {"command": "cat hello.txt"},
        '{"output": [{"stdout": "hello\\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}',
        _AS_IT_WAS,
        {"commands": ["cat hello.txt"]},
    ),
    _tool_use("shell", _BASH, {"restart": True}, "The shell is a new one.", _AS_IT_WAS),
    *_edits("text_editor", _EDITOR, "hello.txt", "new.txt"),
    *_edits("memory", _MEMORY, "/memories/hello.txt", "/memories/new.txt"),
    _tool_use("memory", _MEMORY, {"command": "delete", "path": "/memories/hello.txt"}, "Deleted /memories/hello.txt", {}),
    _tool_use(
        "memory",
        _MEMORY,
        {"command": "rename", "old_path": "/memories/hello.txt", "new_path": "/memories/moved.txt"},
        "Renamed /memories/hello.txt to /memories/moved.txt",
        {"moved.txt": "hello\n"},
    ),
]
