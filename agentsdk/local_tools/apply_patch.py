"""`ApplyPatchTool`: the tool with which a model changes files, by diffs without line numbers.

A patch is all or nothing. What each file becomes is worked out before the first is written, a file is written in one step, and
what was written before one could not be is put back. Before the first is written the digests of all of them, as they are and as
they will be, are saved as the call's checkpoint. So a call that was cut in the middle knows when it runs again which files are
done, and does the others; where a file is neither as it was nor as it should be, it stops.

What a file becomes is made of what it was, or of the file that moves there. So files are removed last: as long as one is yet to
be written, what it is made of is still there.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any, Literal, Unpack

import msgspec

from agentsdk.core.patch import FileChange, created_text, parse_patch, patched_text
from agentsdk.define.context import ToolContext
from agentsdk.define.custom_tool import custom_tool
from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import ToolOptions
from agentsdk.local_tools.editing import digest
from agentsdk.ports.sandbox import SANDBOX, Sandbox, SandboxFiles
from agentsdk.types.declared import FLAG, Fields
from agentsdk.types.errors import PatchError, SandboxFileError

MAX_FILE_BYTES = 10 * 2**20
"""A larger file is not patched."""

_FIELDS = Fields("ApplyPatchTool", sandbox=SANDBOX, freeform=FLAG)
_PAST = {"create_file": "Created", "update_file": "Updated", "delete_file": "Deleted"}


class ApplyPatchTool(FunctionTool[Any]):
    """Changes files of a sandbox's workspace: creates, updates, moves and deletes them.

    A provider's own patch tool (`apply_patch`) is used where there is one; other models call it as a function, one file at a
    time. `freeform=True` makes it a custom tool whose input is a whole patch, `*** Begin Patch` to `*** End Patch`, of any
    number of files. `options` are those of every tool. Raises `UserError` for a wrong one.
    """

    def __init__(self, sandbox: Sandbox, *, freeform: bool = False, **options: Unpack[ToolOptions[Any]]) -> None:
        _FIELDS.check_given(sandbox=sandbox, freeform=freeform)
        given: ToolOptions[Any] = {"effect": "idempotent", "sequential": True, **options}
        made = _of_patches(sandbox, given) if freeform else _of_operations(sandbox, given)
        vars(self).update(vars(made))


def _of_operations(sandbox: Sandbox, options: ToolOptions[Any]) -> FunctionTool[Any]:
    async def apply_patch(
        context: ToolContext[Any],
        type: Literal["create_file", "update_file", "delete_file"],
        path: str,
        diff: str | None = None,
        move_to: str | None = None,
    ) -> str:
        """Create, update, move or delete one file.

        A diff has no line numbers. To update a file, write about three lines before and after each change, each with a space in
        front, and in between the lines that go, with '-' in front, and those that come, with '+'. '@@ ' and a line of the file,
        that of a class or function say, goes before a change whose lines stand in several places; '@@' alone parts changes.

        Args:
            type: What to do.
            path: The file, relative to the workspace.
            diff: The change. For a new file, all its lines with '+' in front. Leave it out to delete a file.
            move_to: The new path of a file that is updated, where it moves.
        """
        return await apply_changes(sandbox.files, [FileChange(type, path, diff or "", move_to)], context)

    given: ToolOptions[Any] = {**options, "kind": "apply_patch"}
    return function_tool(apply_patch, **given)


def _of_patches(sandbox: Sandbox, options: ToolOptions[Any]) -> FunctionTool[Any]:
    async def apply_patch(context: ToolContext[Any], patch: str) -> str:
        """Change files by a patch:

        *** Begin Patch
        *** Update File: src/shop.py
        *** Move to: src/till.py
        @@ class Shop:
             def total(self):
        -        return 0
        +        return sum(self.prices)
        *** Add File: README.md
        +# Shop
        *** Delete File: old.py
        *** End Patch

        There are no line numbers. Write about three lines before and after each change, each with a space in front; lines that
        go have '-' in front, those that come '+'. '@@ ' and a line of the file, that of a class or function say, goes before a
        change whose lines stand in several places; '@@' alone parts changes. '*** Move to:' is left out where a file stays.
        """
        return await apply_changes(sandbox.files, parse_patch(patch), context)

    return custom_tool(**options)(apply_patch)


async def apply_changes(files: SandboxFiles, changes: Sequence[FileChange], context: ToolContext[Any]) -> str:
    """Make the changes, all or none, and say which; or the rest of them, where the call of `context` was cut in the middle.

    Raises `PatchError` for what does not fit the files, `SandboxError` where they cannot be read or written.
    """
    plan = _Plan(files)
    if context.checkpoint:
        await plan.go_on(msgspec.json.decode(context.checkpoint, type=_Digests))
    for change in changes:
        await plan.add(change)
    await plan.carry_out(context)
    return "\n".join(f"{_PAST[change.type]} {change.move_to or change.path}" for change in changes)


_Digests = dict[str, tuple[str, str]]
"""Of each path the digest of its file before the patch and after it, `""` where there is none."""


class _Plan:
    """What files are to hold, None for those that are to go, and what they held when they were read, with their permissions."""

    def __init__(self, files: SandboxFiles) -> None:
        self._files = files
        self._before: dict[str, bytes | None] = {}
        self._after: dict[str, bytes | None] = {}
        self._modes: dict[str, int] = {}
        self._moved: set[str] = set()
        self._done: set[str] = set()

    async def go_on(self, digests: _Digests) -> None:
        """Take up a plan that was cut: of the files that are done nothing is to be done."""
        for path, (before, after) in digests.items():
            found = digest(await self._read(path))
            if found not in (before, after):
                raise PatchError(
                    f"{path!r} is neither as it was nor as the patch makes it, expected nobody else to change it meanwhile; "
                    "some of the patch may be done, so read the files and go on from there"
                )
            if found == after:
                self._done.add(path)

    async def add(self, change: FileChange) -> None:
        path = posixpath.normpath(change.path)
        target = posixpath.normpath(change.move_to) if change.move_to else path
        if self._moved & {path, target}:
            raise PatchError(f"the patch uses {path!r} again after a move, expected one change of a file that moves; use two")
        if target != path:
            self._moved |= {path, target}
        if target in self._done:
            if path not in self._done:
                self._after[path] = None  # it has moved, and was yet to be removed
                self._before[path] = await self._read(path)
            return
        held = await self._held(path)
        if change.type == "update_file":
            await self._update(path, target, held, change)
        elif change.type == "create_file":
            if held is not None:
                raise PatchError(f"{path!r} is there already, expected no file of that name; update it")
            self._after[path] = _encoded(path, created_text(change.diff))
        elif held is None:
            raise PatchError(f"{path!r} is not there, expected a file; nothing was deleted")
        else:
            self._after[path] = None

    async def _update(self, path: str, target: str, held: bytes | None, change: FileChange) -> None:
        if held is None:
            raise PatchError(f"{path!r} is not there, expected a file to update; create it")
        if target != path:
            if await self._held(target) is not None:
                raise PatchError(f"{target!r} is there already, expected no file where {path!r} moves to; name another")
            self._after[path] = None
            if path in self._modes:
                self._modes[target] = self._modes[path]
        self._after[target] = _encoded(target, patched_text(_text(path, held), change.diff))

    async def carry_out(self, context: ToolContext[Any]) -> None:
        """Write the files, or none: what was written before one could not be is put back."""
        steps = sorted(self._after.items(), key=lambda step: step[1] is None)
        if not context.checkpoint:
            digests: _Digests = {path: (digest(self._before[path]), digest(new)) for path, new in steps}
            await context.save_checkpoint(msgspec.json.encode(digests).decode())
        written: list[str] = []
        try:
            for path, new in steps:
                if await self._read(path) != self._before[path]:
                    raise PatchError(f"{path!r} has changed meanwhile, expected it as it was read; read it again")
                if new != self._before[path]:
                    written.append(path)
                    await self._put(path, new)
        except BaseException:
            for path in reversed(written):
                await self._put(path, self._before[path])
            raise

    async def _put(self, path: str, content: bytes | None) -> None:
        if content is not None:
            await self._files.write(path, content, mode=self._modes.get(path))
        elif await self._read(path) is not None:
            await self._files.remove(path)

    async def _held(self, path: str) -> bytes | None:
        """What the file holds once the changes so far are made."""
        if path in self._after:
            return self._after[path]
        if path not in self._before:
            self._before[path] = await self._read(path)
        return self._before[path]

    async def _read(self, path: str) -> bytes | None:
        try:
            found = await self._files.stat(path)
        except SandboxFileError:
            return None
        if found.kind != "file":
            raise PatchError(f"{path!r} is a {found.kind}, expected a file")
        self._modes.setdefault(path, found.mode)
        return await self._files.read(path, max_bytes=MAX_FILE_BYTES)


def _text(path: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise PatchError(f"{path!r} is no UTF-8 text, expected a text file; change it by a command") from None


def _encoded(path: str, text: str) -> bytes:
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise PatchError(f"the new text of {path!r} has lone surrogates, expected characters; leave them out") from None
    if len(content) > MAX_FILE_BYTES:
        raise PatchError(f"{path!r} would have {len(content)} bytes, expected {MAX_FILE_BYTES} at most; write less")
    return content
