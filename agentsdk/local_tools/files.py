"""`file_tools`: the tools with which a model reads, finds, writes and edits the files of a sandbox's workspace."""

from __future__ import annotations

import posixpath
from typing import Any

from agentsdk.define.context import ToolContext
from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.local_tools.editing import (
    MAX_FOUND,
    MAX_LINES,
    change,
    encoded,
    listed,
    numbered_lines,
    replaced,
    short_line,
    text_of,
)
from agentsdk.ports.sandbox import SANDBOX, Sandbox
from agentsdk.types.declared import Fields
from agentsdk.types.errors import InvalidArgumentsError, SandboxError

_FIELDS = Fields("file_tools", sandbox=SANDBOX)


def file_tools(sandbox: Sandbox) -> list[FunctionTool[Any]]:
    """`read_file`, `list_files`, `glob` and `grep`, which change nothing, `write_file` and `edit_file`.

    Paths are those of `Sandbox.files`: what leads out of the workspace is refused, and the model told. Take those that an agent
    should have, and change their options with `clone`: `needs_approval=True`, say. Raises `UserError` for what is no sandbox.
    """
    _FIELDS.check_given(sandbox=sandbox)
    return [*_reading(sandbox), *_finding(sandbox), *_writing(sandbox)]


def _reading(sandbox: Sandbox) -> list[FunctionTool[Any]]:
    @function_tool(effect="none")
    async def read_file(path: str, start_line: int = 1, lines: int = MAX_LINES) -> str:
        """Read lines of a text file, each with its number in front.

        Args:
            path: The file, relative to the workspace.
            start_line: The number of the first line, from 1.
            lines: How many.
        """
        if start_line < 1 or lines < 1:
            raise InvalidArgumentsError("start_line and lines are 1 or more")
        return numbered_lines(await text_of(sandbox.files, path), start_line, lines)

    @function_tool(effect="none")
    async def list_files(path: str = ".") -> str:
        """List a folder of the workspace; folders end in '/'.

        Args:
            path: The folder, relative to the workspace.
        """
        entries = await sandbox.files.list(path, max_entries=MAX_FOUND + 1)
        marks = {"directory": "/", "symlink": "@", "file": "", "other": "="}
        return listed([entry.path + marks[entry.kind] for entry in entries])

    return [read_file, list_files]


def _finding(sandbox: Sandbox) -> list[FunctionTool[Any]]:
    @function_tool(effect="none")
    async def glob(pattern: str, path: str = ".") -> str:
        """Find files by name.

        Args:
            pattern: What the name must fit, '*.py' say; with a '/' in it the path below the folder, where '*' is any text.
            path: The folder to look in, with all below it.
        """
        inside = (await sandbox.files.stat(path)).path
        test = ["-path", f"./{pattern}"] if "/" in pattern else ["-name", pattern]
        done = await sandbox.run(["find", ".", "-type", "f", *test, "-print0"], cwd=inside)
        if done.truncated:
            raise SandboxError("more files fit than can be listed, expected fewer; look in a folder further down")
        if done.timed_out or done.exit_code > 1 or (done.exit_code and not done.stdout):
            reason = "it took too long" if done.timed_out else f"exit code {done.exit_code}; {done.stderr.strip()[-200:]}"
            raise SandboxError(f"the files could not all be looked for ({reason}); look in a folder further down")
        found = sorted(posixpath.normpath(posixpath.join(inside, name)) for name in done.stdout.split("\0")[:-1])
        return listed(found) + ("\n[... not every folder could be read ...]" if done.exit_code else "")

    @function_tool(effect="none")
    async def grep(pattern: str, path: str = ".", files: str = "*") -> str:
        """Find lines by a regular expression (POSIX, extended); binary files are left out.

        Args:
            pattern: The expression.
            path: The file or folder to look in, with all below it.
            files: What the names of files must fit, '*.py' say.
        """
        matches = await sandbox.files.search(pattern, path, glob=files, max_matches=MAX_FOUND + 1)
        return listed([f"{match.path}:{match.line}:{short_line(match.text)}" for match in matches])

    return [glob, grep]


def _writing(sandbox: Sandbox) -> list[FunctionTool[Any]]:
    @function_tool(effect="idempotent", sequential=True)
    async def write_file(path: str, content: str) -> str:
        """Write a whole file; folders on the way are made, and a file that is there is replaced.

        Args:
            path: The file, relative to the workspace.
            content: All that it is to hold.
        """
        await sandbox.files.write(path, encoded(path, content))
        return f"Wrote {path}"

    @function_tool(effect="idempotent", sequential=True)
    async def edit_file(context: ToolContext[Any], path: str, old_text: str, new_text: str, replace_all: bool = False) -> str:
        """Replace a text of a file by another. The old one must stand there once, to the letter.

        Args:
            path: The file, relative to the workspace.
            old_text: What is replaced: whole lines, with enough around the change that they stand nowhere else.
            new_text: What comes in its place.
            replace_all: Replace it wherever it stands.
        """
        await change(sandbox.files, path, lambda text: replaced(text, path, old_text, new_text, every=replace_all), context)
        return f"Edited {path}"

    return [write_file, edit_file]
