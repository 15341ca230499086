"""`PythonTool`: the tool with which a model runs Python in a sandbox, with numpy and files, and shows what it has drawn."""

from __future__ import annotations

import base64
import mimetypes
from typing import Any, Unpack

from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import ToolOptions
from agentsdk.local_tools.editing import below
from agentsdk.ports.sandbox import DEFAULT_TIMEOUT, SANDBOX, Completed, FileInfo, Sandbox
from agentsdk.types.declared import Fields, a_name, number, whole
from agentsdk.types.errors import SandboxFileError
from agentsdk.types.items import InputFile, InputImage, InputText, Part

OUTPUT = "output"
"""The folder of the workspace whose files are shown."""

_MAX_SEEN = 1_000
_DEPTH = 4
_START = ["sh", "-c", 'mkdir -p "$0" && exec "$@"', OUTPUT]
# Without the last two numpy starts a thread for each core, which may be more than a command may have.
_ENV = {"MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "4", "OMP_NUM_THREADS": "4"}
_KNOWN = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}

_FIELDS = Fields(
    "PythonTool",
    sandbox=SANDBOX,
    python=a_name("the path of an interpreter as the sandbox has it; write 'python3', say"),
    max_seconds=number("seconds above 0 that one program may take", above=0),
    max_files=whole("how many files one call shows, 0 or more", 0),
    max_file_bytes=whole("bytes that a file which is shown may have, 1 or more", 1),
)


class PythonTool(FunctionTool[Any]):
    """Runs a model's programs in real Python, in the workspace of `sandbox`, with all that `python` has installed.

    `python` is an interpreter that the sandbox can read: that of a virtual environment is named among its `readable` folders.
    A program has `max_seconds`. What it prints is the result, and with it the files that it has written to the folder `output`:
    images, texts and PDF as parts, `max_files` of at most `max_file_bytes`; others are named. `options` are those of every
    tool: a program takes effect once. Raises `UserError` for a wrong one.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        python: str = "python3",
        max_seconds: float = DEFAULT_TIMEOUT,
        max_files: int = 8,
        max_file_bytes: int = 2 * 1024 * 1024,
        **options: Unpack[ToolOptions[Any]],
    ) -> None:
        _FIELDS.check_given(
            sandbox=sandbox, python=python, max_seconds=max_seconds, max_files=max_files, max_file_bytes=max_file_bytes
        )
        given: ToolOptions[Any] = {"effect": "once", "sequential": True, **options}
        shown = Shown(sandbox, max_files, max_file_bytes)
        vars(self).update(vars(_of(sandbox, python, max_seconds, shown, given)))


def _of(sandbox: Sandbox, python: str, max_seconds: float, shown: Shown, options: ToolOptions[Any]) -> FunctionTool[Any]:
    async def run_python(code: str) -> object:
        """Run a Python program and see what it prints. Each is a program of its own: only files last from one to the next.

        Files that it writes to the folder 'output' are shown to the user and to you: plots as images (plt.savefig), texts, PDF.

        Args:
            code: The whole program.
        """
        before = await shown.there()
        done = await sandbox.run([*_START, python, "-"], stdin=code, env=_ENV, timeout=max_seconds)
        notes, parts = await shown.since(before)
        text = "\n".join([*_printed(done), *notes]) or "[nothing was printed]"
        return [InputText(text), *parts] if parts else text

    return function_tool(run_python, **options)


def _printed(done: Completed) -> list[str]:
    """What a program printed and how it ended, where that is worth a word."""
    lines = [done.stdout.removesuffix("\n")] if done.stdout else []
    if done.stderr:
        lines.append(f"[stderr]\n{done.stderr.removesuffix(chr(10))}")
    if done.timed_out:
        lines.append("[it took too long, and was ended]")
    elif done.exit_code:
        lines.append(f"[exit code {done.exit_code}]")
    return lines


class Shown:
    """The files of the output folder, as parts of a result."""

    def __init__(self, sandbox: Sandbox, max_files: int, max_file_bytes: int) -> None:
        self._files = sandbox.files
        self._max_files = max_files
        self._max_file_bytes = max_file_bytes

    async def there(self) -> set[FileInfo]:
        """The files that are there now."""
        try:
            entries = await below(self._files, OUTPUT, _DEPTH, limit=_MAX_SEEN)
        except SandboxFileError:  # no such folder yet
            return set()
        return {entry for entry in entries if entry.kind == "file"}

    async def since(self, before: set[FileInfo]) -> tuple[list[str], list[Part]]:
        """The files that are new or changed, as parts, and a line for each."""
        notes: list[str] = []
        parts: list[Part] = []
        for entry in sorted(await self.there() - before, key=lambda entry: entry.path):
            part = await self._part(entry) if len(parts) < self._max_files else None
            if part is not None:
                parts.append(part)
            notes.append(f"[wrote {entry.path}, {entry.size} bytes{'' if part else '; not shown'}]")
        return notes, parts

    async def _part(self, entry: FileInfo) -> Part | None:
        """A file as every provider takes it; None for one that is too large, or of another kind."""
        try:
            data = await self._files.read(entry.path, max_bytes=self._max_file_bytes)
        except SandboxFileError:
            return None
        if (media_type := _media_type(entry.path, data)) is None:
            return None
        url = f"data:{media_type};base64,{base64.b64encode(data).decode()}"
        if media_type.startswith("image/"):
            return InputImage(url)
        return InputFile(file_data=url, filename=entry.path.rpartition("/")[2])


def _media_type(path: str, data: bytes) -> str | None:
    """What a file is, by what it holds: of images, PDF and texts, which providers take; None for anything else."""
    for begin, media_type in _KNOWN.items():
        if data.startswith(begin):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    guessed = mimetypes.guess_type(path)[0] or ""
    return guessed if guessed.startswith("text/") else "text/plain"
