"""`MemoryTool`: the tool with which a model keeps what it has learned in files, from one run to the next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol, Unpack

from agentsdk.define.context import ToolContext
from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import ToolOptions
from agentsdk.local_tools.editing import EditableFiles, below
from agentsdk.local_tools.text_editor import Editor, EditorArguments, described, needed
from agentsdk.sandboxes.files import FolderFiles
from agentsdk.sandboxes.workspace import Workspace, workspace_at
from agentsdk.types.declared import Expected, Fields, whole
from agentsdk.types.errors import SandboxFileError, UserError

MEMORIES = "/memories"
"""Where the files are for the model, whatever their folder is."""

_FIELDS = Fields(
    "MemoryTool",
    folder=Expected(
        "the path of a folder; it is made where it is not there", lambda value: isinstance(value, str | Path) and value != ""
    ),
    max_file_bytes=whole("bytes that one file may have, 1 or more", 1),
    max_files=whole("how many files and folders there may be, 1 or more", 1),
)


class MemoryTool(FunctionTool[Any]):
    """Keeps notes in the files of `folder`, which the model knows as /memories, by the commands of Anthropic's memory tool.

    That provider's own tool (`memory_20250818`) is used where there is one; other models call a function of the same arguments.
    No path leads out of the folder, which is made where it is not there. A file is written in one step; it has at most
    `max_file_bytes`, and there are at most `max_files` with their folders. `options` are those of every tool: a change is made
    once, also where its call was cut. Raises `UserError` for a wrong one, and a folder that holds more than memories may.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        max_file_bytes: int = 64 * 1024,
        max_files: int = 256,
        **options: Unpack[ToolOptions[Any]],
    ) -> None:
        _FIELDS.check_given(folder=folder, max_file_bytes=max_file_bytes, max_files=max_files)
        given: ToolOptions[Any] = {"effect": "idempotent", "sequential": True, **options, "kind": "memory"}
        files = MemoryFiles(folder, max_file_bytes, max_files)
        vars(self).update(vars(memory_tool(lambda: files, given)))


class NoteFiles(EditableFiles, Protocol):
    """Files that a memory's commands work on: `FolderFiles` says more."""

    async def has(self, path: str) -> bool:
        """Whether something is there."""
        ...

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove what is there."""
        ...

    async def rename(self, path: str, new_path: str) -> None:
        """Give it another path."""
        ...


class MemoryFiles(FolderFiles):
    """The files of a memory: a folder that does not grow without end."""

    def __init__(self, folder: str | Path, max_file_bytes: int, max_files: int) -> None:
        try:
            path = Path(folder).expanduser()
            path.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError, ValueError) as error:
            why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
            raise UserError(f"the folder of a MemoryTool cannot be made{why}, expected a path that can be written") from error
        super().__init__(Workspace(workspace_at(path), MEMORIES))
        self._max_file_bytes = max_file_bytes
        self._max_files = max_files

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """See `SandboxFiles.write`. Raises `SandboxFileError` for what there is no room for."""
        if len(data) > self._max_file_bytes:
            raise SandboxFileError(
                f"file {path!r} would have {len(data)} bytes, expected {self._max_file_bytes} at most; keep less, or use two",
                path=path,
            )
        if not await self.has(path):
            await self._check_room(path)
        await super().write(path, data, mode=mode)

    async def rename(self, path: str, new_path: str) -> None:
        """See `FolderFiles.rename`. Raises `SandboxFileError` where there is no room for folders on the way."""
        await self._check_room(new_path)
        await super().rename(path, new_path)

    async def has(self, path: str) -> bool:
        """Whether something is there."""
        try:
            await self.stat(path)
        except SandboxFileError:
            return False
        return True

    async def _check_room(self, path: str) -> None:
        made = len([part for part in self._workspace.relative(path).split("/") if part])  # at most
        there = await below(self, ".", self._max_files, limit=self._max_files, hidden=True)
        if len(there) + made > self._max_files:
            raise SandboxFileError(
                f"there is no room for {path!r}, expected {self._max_files} files and folders at most; delete some",
                path=path,
            )


def memory_tool(files_of_call: Callable[[], NoteFiles], options: ToolOptions[Any]) -> FunctionTool[Any]:
    """The tool whose commands work on the files that it is given for each call."""

    async def memory(
        context: ToolContext[Any],
        command: Literal["view", "create", "str_replace", "insert", "delete", "rename"],
        path: str | None = None,
        view_range: list[int] | None = None,
        file_text: str | None = None,
        old_str: str | None = None,
        new_str: str | None = None,
        insert_line: int | None = None,
        insert_text: str | None = None,
        old_path: str | None = None,
        new_path: str | None = None,
    ) -> str:
        """Keep what is worth remembering in text files below /memories, which are there in later conversations too.

        View /memories before you begin with a task, and note what you learn and how far you are: all else may be forgotten.

        Args:
            command: 'view' a file or folder, 'create' a file, 'str_replace' a text in one, 'insert' lines into one, 'delete' a
                file or folder, or 'rename' one.
            path: The file or folder: '/memories', or a path below it. For rename leave it out.
            old_path: For rename: the path it has.
            new_path: For rename: the path it gets.
        """
        files = files_of_call()
        if command == "rename":
            return await _rename(files, needed("old_path", old_path), needed("new_path", new_path), context)
        path = needed("path", path)
        if command == "delete":
            return await _delete(files, path, context)
        given = EditorArguments(path, view_range, file_text, old_str, new_str, insert_line, insert_text)
        return await Editor(files, MEMORIES).run(command, given, context)

    return function_tool(described(memory), **options)


async def _delete(files: NoteFiles, path: str, context: ToolContext[Any]) -> str:
    if not context.checkpoint or await files.has(path):
        await context.save_checkpoint("delete")
        await files.remove(path, recursive=True)
    return f"Deleted {path}"


async def _rename(files: NoteFiles, path: str, new_path: str, context: ToolContext[Any]) -> str:
    if not context.checkpoint or await files.has(path):
        await context.save_checkpoint("rename")
        await files.rename(path, new_path)
    return f"Renamed {path} to {new_path}"
