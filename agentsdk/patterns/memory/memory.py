"""`Memory`: what is worth knowing of earlier conversations, in a file that a restricted agent keeps."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Unpack

from agentsdk.core.run_state import RunState
from agentsdk.databases.sqlite import SQLiteDatabase
from agentsdk.define.agent import Agent
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.run_config import RunConfig
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import ToolOptions
from agentsdk.engine.run import input_of
from agentsdk.engine.window.count_tokens import count
from agentsdk.local_tools.memory import memory_tool
from agentsdk.models.facts import counter_of
from agentsdk.patterns.memory import keeper, recall
from agentsdk.patterns.memory.change import MemoryChange
from agentsdk.patterns.memory.conversation import began_at, new_items, said_in
from agentsdk.patterns.memory.ledger import TABLES, Draft, Ledger
from agentsdk.patterns.memory.note_file import NoteFile
from agentsdk.patterns.memory.redact import without_secrets
from agentsdk.patterns.memory.tool_files import ToolFiles
from agentsdk.ports.clock import read as read_clock
from agentsdk.ports.model import MODEL, Model
from agentsdk.result import RunResult, RunResultStreaming
from agentsdk.stores.file_names import file_name
from agentsdk.types.declared import CALLABLE, FLAG, Expected, Fields, a, any_text, either, number, optional, whole
from agentsdk.types.errors import (
    CallbackError,
    MemoryBusyError,
    MemoryFileError,
    MemoryRefusedError,
    StepFailedError,
    UserError,
    WorkflowFailedError,
)
from agentsdk.types.items import Message
from agentsdk.types.text import clean_text
from agentsdk.workflow.flow import flow
from agentsdk.workflow.scope import current_scope
from agentsdk.workflow.step import Step
from agentsdk.workflow.workflow import Workflow

MOST_BYTES, MOST_BYTES_A_TOKEN = 128 * 1024, 16
"""What a file may have: more than its tokens take, as somebody may edit it, and no more than a model can be shown."""

_STATE, _DATABASE = ".state", ".state/memory.db"

_ATTEMPTS = 3
"""How often a dream is begun where others change the file meanwhile."""

_TURNS = 40
_BUSY_TIMEOUT = 10.0

_FIELDS = Fields(
    "Memory",
    folder=Expected(
        "the path of a folder; it is made where it is not there", lambda value: isinstance(value, str | Path) and value != ""
    ),
    user=optional(Expected("an id that is not blank, or None", lambda value: isinstance(value, str) and bool(value.strip()))),
    model=optional(either(any_text(""), MODEL, what="a model or its name")),
    max_tokens=whole("tokens that the memory may have, 100 or more", 100),
    after_runs=optional(whole("after how many runs it dreams, 1 or more", 1)),
    after_seconds=optional(number("seconds since the last dream, 0 or more", least=0)),
    untrusted=FLAG,
    redact=optional(CALLABLE),
    keep_changes=whole("how many changes can be undone, 1 or more", 1),
    run_config=optional(a(RunConfig, "a RunConfig")),
    text=any_text("a str"),
    run=a((RunResult, RunResultStreaming, RunState), "the result of a run, or its RunState"),
    dream=optional(FLAG),
)


class Memory:
    """What is worth knowing of earlier conversations: a file of at most `max_tokens` tokens, kept by an agent of `model`.

    The file is `MEMORY.md` in `folder`, or that of `user` in its folder `users`; whatever a user is called, no path leads out.
    `remember` takes in a run, and dreams when there have been `after_runs` runs that no dream has seen, or one and
    `after_seconds` seconds since the last dream (None: never by itself). Beside the files, in `.state`, is kept what no dream
    has seen, and the last `keep_changes` changes of each. Any number of processes may use a folder.

    Without `untrusted`, of a tainted run only what its user said is remembered. With it everything is, and what the memory is
    shown to is tainted. `redact`, called with each text before it is kept, takes out what no one should keep, besides the keys
    and passwords that always are. `run_config` is that of the dreams: limits, a store, a token counter. Raises `UserError` for
    an argument that is wrong, and a folder that cannot be made.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        user: str | None = None,
        model: str | Model | None = None,
        max_tokens: int = 2_000,
        after_runs: int | None = 3,
        after_seconds: float | None = 1_800.0,
        untrusted: bool = False,
        redact: Callable[[str], str] | None = None,
        keep_changes: int = 20,
        run_config: RunConfig | None = None,
    ) -> None:
        _FIELDS.check_given(
            folder=folder,
            user=user,
            model=model,
            max_tokens=max_tokens,
            after_runs=after_runs,
            after_seconds=after_seconds,
            untrusted=untrusted,
            redact=redact,
            keep_changes=keep_changes,
            run_config=run_config,
        )
        root = _made(folder)
        below, name = ("", keeper.NAME) if user is None else ("users", f"{file_name(user)}.md")
        self.user = user
        self.untrusted = untrusted
        self.max_tokens = max_tokens
        self._model = model
        self._after_runs = after_runs
        self._after_seconds = after_seconds
        self._redact = redact
        self._config = dataclasses.replace(run_config or RunConfig(), run_id=None)
        self._name = f"{below}/{name}".lstrip("/")
        self._file = NoteFile(root, below, name, max(MOST_BYTES, MOST_BYTES_A_TOKEN * max_tokens))
        database = SQLiteDatabase(root / _DATABASE, TABLES, busy_timeout=_BUSY_TIMEOUT, synchronous="FULL")
        self._database = database
        self._ledger = Ledger(database, self._file, self._name, keep_changes)
        self._shown: tuple[object, str] = (None, "")

    def __repr__(self) -> str:
        return f"Memory({str(self.path)!r})"

    @property
    def path(self) -> Path:
        """The file: to be read and edited by hand too."""
        return self._file.path

    async def recall(self) -> list[Message]:
        """What is remembered, as a message to put in front of an input; none where nothing is.

        It has at most `max_tokens` tokens: of a longer file what is marked as important, then the newest, and how much is left
        out. It is told to be data between marks that no line of it can forge. It is untrusted where the memory is. Raises
        `MemoryFileError`.
        """
        _require_outside("recall")
        text = await self._block()
        return [Message("user", text, untrusted=self.untrusted)] if text else []

    def instructions(self, text: str = "") -> Callable[[RunContextWrapper[Any], Agent[Any, Any]], Awaitable[str]]:
        """Instructions for an agent: `text`, and what is remembered, as `recall` gives it.

        Raises `UserError` for an untrusted memory, which must come as a message: instructions taint no run.
        """
        _FIELDS.check_given("Memory.instructions", text=text)
        if self.untrusted:
            raise UserError(
                "an untrusted Memory was asked for instructions, expected it to be given as a message, which taints the run; "
                "put `await memory.recall()` in front of the input"
            )

        async def with_memory(context: RunContextWrapper[Any], agent: Agent[Any, Any]) -> str:
            return "\n\n".join(filter(None, [text, await self._block()]))

        return with_memory

    async def remember(
        self, run: RunResult[Any] | RunResultStreaming[Any] | RunState, *, dream: bool | None = None
    ) -> MemoryChange | None:
        """Take in what was said in a run, and dream if it is time to; `dream=` says whether it is. What a dream has changed.

        What was said is on the disk before the dream begins. A run that is remembered again adds what it has more since: of a
        run that waits, say, and is finished later. Raises as `dream` does: the conversation is kept for the next one then.
        """
        _require_outside("remember")
        _FIELDS.check_given("Memory.remember", run=run, dream=dream)
        state = run if isinstance(run, RunState) else run.to_state()
        value, items = state.value, state.items()
        first = new_items(items, value.history, len(input_of(value)))
        only_user = value.taint is not None and not self.untrusted
        now = self._now()
        await self._ledger.add(
            value.run_id,
            len(items),
            min(now, began_at(state)),
            lambda seen: said_in(items[max(first, seen) :], self._clean, only_user=only_user),
        )
        return await self.dream() if (await self._is_time(now) if dream is None else dream) else None

    async def dream(self) -> MemoryChange | None:
        """Have an agent take in the conversations that no dream has seen, and merge, drop and date what the file holds.

        None where that changes nothing; no model is asked where no conversation is new and the file is as the last dream left
        it. In a workflow its steps are the workflow's, and what it spends too; elsewhere it is a run of its own.

        The file is replaced in one step at the end. Where others change it meanwhile, the dream begins anew, and gives up with
        `MemoryBusyError` the third time. Raises `MemoryRefusedError` for a result that is too large or loses too much, once the
        model was told so three times, `MemoryFileError` for a file that cannot be used, and what a run raises. In a workflow
        these are the `error_type` of a `StepFailedError`.
        """
        if current_scope() is not None:
            return await self._dream_of(self._name)
        try:
            return (await Workflow(self._dream_of, "dream").run(self._name, run_config=self._config)).final_output
        except WorkflowFailedError as error:
            failed = error.__cause__
            if not isinstance(failed, StepFailedError) or failed.error_type not in _ERRORS:
                raise
            kind = _ERRORS[failed.error_type]
            raise kind(f"a dream of memory {str(self.path)!r} came to nothing: {failed.detail}") from error

    async def undo(self) -> MemoryChange | None:
        """Put back the file as it was before the last change that is not undone; None where there is none.

        What it held is in `history()`. Conversations that a dream has taken in stay seen. Raises `MemoryFileError`.
        """
        _require_outside("undo")
        return await self._ledger.undo(self._now())

    async def history(self) -> list[MemoryChange]:
        """The changes that are kept, the oldest first. Edits by hand are part of what the next one found."""
        _require_outside("history")
        return await self._ledger.changes()

    def tool(self, **options: Unpack[ToolOptions[Any]]) -> FunctionTool[Any]:
        """A tool by which a model views and edits the file itself, as /memories/MEMORY.md: the provider's own memory tool where
        it has one, as `MemoryTool`. What it may write is what a dream may. `options` are those of every tool."""
        given: ToolOptions[Any] = {"effect": "idempotent", "sequential": True, "untrusted": self.untrusted, **options}
        given["kind"] = "memory"
        return memory_tool(
            lambda: ToolFiles(self._ledger, most=self.max_tokens, count=self._count, clean=self._clean, now=self._now), given
        )

    async def aclose(self) -> None:
        """Let go of what is kept beside the file; a memory that is dropped does too, some time later."""
        await self._database.aclose()

    async def _dream_of(self, memory: str) -> MemoryChange | None:
        """The program of a dream: draft by draft until no conversation is left."""
        open_draft = Step(self._open_draft, effect="idempotent", retry=0, name="open_draft", untrusted=self.untrusted)
        commit_draft = Step(self._commit_draft, effect="idempotent", retry=0, name="commit_draft")
        changes: list[MemoryChange] = []
        attempt = 1
        while (draft := await open_draft(await flow.new_id())) is not None:
            now = await flow.now()
            agent = keeper.keeper(
                self._ledger, draft, model=self._model, most=self.max_tokens, count=self._count, clean=self._clean
            )
            await flow.agent(agent, keeper.task(draft, now), max_turns=_TURNS)
            try:
                change = await commit_draft(draft.id, now)
            except StepFailedError as failed:
                if failed.error_type != MemoryBusyError.__name__ or attempt == _ATTEMPTS:
                    raise
                attempt += 1
            else:
                attempt = 1
                changes += [change] if change is not None else []
        if not changes:
            return None
        return dataclasses.replace(changes[-1], before=changes[0].before)

    async def _open_draft(self, draft_id: str) -> Draft | None:
        return await self._ledger.open_draft(draft_id, self._now(), self._clean)

    async def _commit_draft(self, draft_id: str, at: float) -> MemoryChange | None:
        return await self._ledger.commit(draft_id, at, self._clean)

    async def _block(self) -> str:
        """What a model is told. Of a file that is as it was, it is known."""
        found = await asyncio.to_thread(self._file.end)
        if self._shown[0] != found:
            self._shown = (found, await recall.block(*found, self.max_tokens, self._count))
        return self._shown[1]

    async def _is_time(self, now: float) -> bool:
        waiting, since = await self._ledger.waiting()
        if not waiting:
            return False
        by_runs = self._after_runs is not None and waiting >= self._after_runs
        return by_runs or (self._after_seconds is not None and now - since >= self._after_seconds)

    async def _count(self, text: str) -> int:
        counter = self._config.token_counter
        if counter is None:
            counter = counter_of(
                self._model if isinstance(self._model, str) else "" if self._model is None else self._model.name
            )
        return (await count(counter, [Message("user", text)]))[0] if text else 0

    def _clean(self, text: str) -> str:
        text = without_secrets(text)
        if self._redact is None:
            return text
        try:
            redacted: object = self._redact(text)
        except Exception as error:
            raise CallbackError(f"redact of a Memory raised {type(error).__name__}, expected a text; fix it") from error
        if not isinstance(redacted, str):
            raise CallbackError(f"redact of a Memory gave a {type(redacted).__name__!r}, expected a text; return one")
        return clean_text(redacted)

    def _now(self) -> float:
        clock = self._config.clock
        return time.time() if clock is None else read_clock(clock)


_ERRORS: dict[str, type[MemoryFileError]] = {
    "MemoryBusyError": MemoryBusyError,
    "MemoryFileError": MemoryFileError,
    "InvalidOutputError": MemoryRefusedError,
}


def _require_outside(method: str) -> None:
    """A program awaits nothing but steps: what else it does is not recorded."""
    if current_scope() is not None:
        raise UserError(
            f"Memory.{method} was called in a workflow's program, expected that of steps only; call it in a step. "
            "dream() is made of steps"
        )


def _made(folder: str | Path) -> Path:
    """The folder of memories, which only its user can read where it is made."""
    try:
        path = Path(folder).expanduser()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = path.resolve(strict=True)
        (path / _STATE).mkdir(mode=0o700, exist_ok=True)
        if any((path / place).is_symlink() for place in (_STATE, _DATABASE)):
            raise OSError(errno.ELOOP, "what is kept beside the memories is a link")
    except (OSError, RuntimeError, ValueError) as error:
        why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        raise UserError(f"the folder of a Memory cannot be made{why}, expected a path that can be written") from error
    return path
