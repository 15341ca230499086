"""`TextEditorTool`: the tool with which a model views text files, and edits them by small changes."""

from __future__ import annotations

import inspect
import posixpath
from typing import Any, Literal, NamedTuple, TypeVar, Unpack

from agentsdk.define.context import ToolContext
from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import ToolOptions
from agentsdk.local_tools.editing import (
    MAX_FOUND,
    MAX_LINES,
    EditableFiles,
    below,
    change,
    create,
    inserted,
    listed,
    numbered_lines,
    replaced,
    text_of,
)
from agentsdk.ports.sandbox import SANDBOX, FileInfo, Sandbox
from agentsdk.types.declared import Fields, optional, whole
from agentsdk.types.errors import InvalidArgumentsError

T = TypeVar("T")

MAX_DEPTH = 2
"""How deep the view of a folder goes."""

_ARGUMENTS = """\
    view_range: For view: the first and the last line, from 1 on; -1 for the end of the file.
    file_text: For create: what the file is to hold.
    old_str: For str_replace: the text that is replaced. It must stand in the file once, to the letter.
    new_str: For str_replace: what comes in its place; nothing unless given.
    insert_line: For insert: the number of the line behind which it comes; 0 for the beginning of the file.
    insert_text: For insert: the lines.
"""

_FIELDS = Fields(
    "TextEditorTool",
    sandbox=SANDBOX,
    max_characters=optional(whole("how many characters of a file one view gives, 1 or more", 1)),
)


class TextEditorTool(FunctionTool[Any]):
    """Views, creates and edits the text files of a sandbox's workspace, by the commands of Anthropic's text editor.

    That provider's own tool (`text_editor_20250728`) is used where there is one; other models call a function of the same
    arguments. `max_characters`: the most that one view of a file gives, where that is to be less than 2,000 lines. `options`
    are those of every tool: an edit is made once, also where its call was cut. Raises `UserError` for a wrong one.
    """

    def __init__(self, sandbox: Sandbox, *, max_characters: int | None = None, **options: Unpack[ToolOptions[Any]]) -> None:
        _FIELDS.check_given(sandbox=sandbox, max_characters=max_characters)
        given: ToolOptions[Any] = {"effect": "idempotent", "sequential": True, **options, "kind": "text_editor"}
        if max_characters is not None:
            given["kind_settings"] = {**(given.get("kind_settings") or {}), "max_characters": max_characters}
        vars(self).update(vars(_of(Editor(sandbox.files, "", max_characters), given)))


def _of(editor: Editor, options: ToolOptions[Any]) -> FunctionTool[Any]:
    async def text_editor(
        context: ToolContext[Any],
        command: Literal["view", "create", "str_replace", "insert"],
        path: str,
        view_range: list[int] | None = None,
        file_text: str | None = None,
        old_str: str | None = None,
        new_str: str | None = None,
        insert_line: int | None = None,
        insert_text: str | None = None,
    ) -> str:
        """View and edit text files.

        Args:
            command: 'view' a file or folder, 'create' a file, 'str_replace' a text in one, or 'insert' lines into one.
            path: The file or folder, in the workspace.
        """
        given = EditorArguments(path, view_range, file_text, old_str, new_str, insert_line, insert_text)
        return await editor.run(command, given, context)

    return function_tool(described(text_editor), **options)


def described(function: T) -> T:
    """The function of a tool, whose docstring ends with its own arguments, with those of the editor's commands behind them."""
    function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n{_ARGUMENTS}"
    return function


def needed(name: str, value: T | None) -> T:
    """An argument that a command needs. Raises `InvalidArgumentsError` where it is not given."""
    if value is None:
        raise InvalidArgumentsError(f"{name} is missing, expected it for this command")
    return value


class EditorArguments(NamedTuple):
    """What a command of an editor is given, as the model calls it: `TextEditorTool` tells it what each is for."""

    path: str
    view_range: list[int] | None
    file_text: str | None
    old_str: str | None
    new_str: str | None
    insert_line: int | None
    insert_text: str | None


class Editor:
    """An editor's commands on files. The model knows their folder as `root`; `""` where paths are shown relative to it."""

    def __init__(self, files: EditableFiles, root: str, max_characters: int | None = None) -> None:
        self._files = files
        self._root = root
        self._max_characters = max_characters

    async def run(self, command: str, given: EditorArguments, context: ToolContext[Any]) -> str:
        """Carry out `view`, `create`, `str_replace` or `insert`, and say what came of it."""
        path = given.path
        if command == "view":
            return await self._view(path, given.view_range)
        if command == "create":
            await create(self._files, path, needed("file_text", given.file_text), context)
            return f"Created {path}"
        if command == "str_replace":
            old, new = needed("old_str", given.old_str), given.new_str or ""
            await change(self._files, path, lambda text: replaced(text, path, old, new), context)
        else:
            after, lines = needed("insert_line", given.insert_line), needed("insert_text", given.insert_text)
            await change(self._files, path, lambda text: inserted(text, path, after, lines), context)
        return f"Edited {path}"

    async def _view(self, path: str, view_range: list[int] | None) -> str:
        """A file's lines, or what is in a folder and the folders in it."""
        found = await self._files.stat(path)
        if found.kind == "directory":
            entries = await below(self._files, path, MAX_DEPTH, limit=MAX_FOUND)
            return listed([f"-\t{self._shown(found)}/", *map(self._line, entries)])
        first, last = (1, -1) if view_range is None else _pair(view_range)
        count = MAX_LINES if last == -1 else last - first + 1
        if first < 1 or count < 1:
            raise InvalidArgumentsError("view_range is no pair of lines, expected the first, from 1 on, and the last, or -1")
        return numbered_lines(await text_of(self._files, path), first, count, self._max_characters)

    def _line(self, entry: FileInfo) -> str:
        return f"-\t{self._shown(entry)}/" if entry.kind == "directory" else f"{_size(entry.size)}\t{self._shown(entry)}"

    def _shown(self, entry: FileInfo) -> str:
        return posixpath.normpath(posixpath.join(self._root, entry.path))


def _pair(given: list[int]) -> tuple[int, int]:
    return (given[0], given[1]) if len(given) == 2 else (0, 0)


def _size(count: int) -> str:
    return str(count) if count < 1024 else f"{count / 1024:.1f}K" if count < 1024**2 else f"{count / 1024**2:.1f}M"
