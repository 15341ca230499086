"""Sessions of the program, whose items are dicts, behind the port of agentsdk."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, cast

from agentsdk.compat.openai_agents._bridge.scope import NOTHING, RunScope
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.guardrail import OutputGuardrailResult
from agentsdk.compat.openai_agents.memory.openai_responses_compaction_session import OpenAIResponsesCompactionSession
from agentsdk.compat.openai_agents.memory.session import OpenAIResponsesCompactionArgs
from agentsdk.compat.openai_agents.run_config import OutputGuardrailBlockedMessageArgs
from agentsdk.types.items import InputItem, Item


class BridgedSession:
    """A session of the program. `new` is the input of a run that begins, None for one that goes on."""

    def __init__(self, session: Any, scope: RunScope, new: list[Any] | None = None) -> None:
        self._session = session
        self._scope = scope
        self._new = new
        self.session_id = _id_of(session)
        self._limit = _limit(session, scope)
        self._instead: list[Any] | None = None
        self._merged = 0
        self._seen: int | None = None
        self._filtered = 0  # handoffs whose turn is written, as their filter left it

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """The items as the run beneath has them."""
        if self._instead is not None:
            return []
        entries = await self.entries()
        if self._new is not None:
            self._scope.original_input = [*entries, *self._new]  # results, guardrails and filters are told of all of it
        return [self._scope.originals.item(entry, "an item of the session") for entry in entries]

    async def entries(self) -> list[Any]:
        """The items as they are."""
        self._seen = self._changes()
        return list(
            await self._session.get_items(limit=self._limit) if self._limit is not None else await self._session.get_items()
        )

    async def add_items(self, items: Sequence[InputItem]) -> None:
        """Add items of the run beneath."""
        added: Sequence[Any] = items
        entries = [self._scope.originals.entry(item) for item in added]
        for filtered in list(self._scope.handed.values())[self._filtered :]:
            entries = filtered.entries(entries)
        self._filtered = len(self._scope.handed)
        if (message := blocked_message(self._scope)) is not None:
            for entry in reversed(entries):
                if not str(entry.get("type")).endswith("_output"):
                    break
                entry["output"] = message
        if self._instead is not None:
            entries = [*self._instead, *entries[self._merged :]]
            self._instead, self._merged = [], 0
        if entries:
            is_alone = self._seen == self._changes()
            await self._session.add_items(entries)
            is_input = entries[-1].get("role") in ("user", "system", "developer")
            if is_alone and not is_input and hasattr(self._session, "run_compaction") and not self._scope.is_waiting(items):
                await self._compact(entries)
            self._seen = self._changes() if is_alone else None

    async def keep_input(self) -> None:
        """Add the input alone: a guardrail has stopped the run on it."""
        new, self._new = self._new, None
        kept = new if self._instead is None else self._instead
        if new is not None and kept:
            await self._session.add_items(kept)

    def _changes(self) -> int | None:
        return getattr(self._session, "changes", None)

    async def _compact(self, entries: list[Any]) -> None:
        """Have the session made smaller, where nothing of it is hidden from the run: what is hidden would be lost."""
        if self._limit is not None and len(await self._session.get_items(limit=self._limit + 1)) > self._limit:
            return
        scope, args = self._scope, OpenAIResponsesCompactionArgs()
        if scope.last is not None and scope.last[1].response_id:
            request, reply = scope.last
            args["response_id"] = reply.response_id
            if request.settings.store is False:
                args["store"] = False
        ends_with_output = str(entries[-1].get("type")).endswith("_output")
        if ends_with_output and (defer := getattr(self._session, "defer_compaction", None)) is not None:
            await defer(args)
        elif not ends_with_output:
            more = {"wrapper": scope.wrapper} if isinstance(self._session, OpenAIResponsesCompactionSession) else {}
            await self._session.run_compaction(args, **more)

    async def pop_item(self) -> Item | None:
        """Take the latest item away."""
        entry = await self._session.pop_item()
        return None if entry is None else self._scope.originals.item(entry)

    async def clear_session(self) -> None:
        """Take all items away."""
        await self._session.clear_session()

    async def merged(self, new: list[Any]) -> list[Any]:
        """The run's input as the `session_input_callback` makes it of the history and the new items.

        What it makes is sent; of it, what is not of the history is kept.
        """
        callback = self._scope.config.session_input_callback
        assert callback is not None
        history = await self.entries()
        given = callback(list(history), list(new))
        answer: Any = await given if inspect.isawaitable(given) else given
        if not isinstance(answer, list):
            raise UserError(f"session_input_callback returned {type(answer).__name__!r}, expected a list of items")
        made = cast("list[Any]", answer)
        old = [*history]
        kept: list[Any] = []
        for entry in made:
            if _has(new, entry) or entry not in old:
                kept.append(entry)
            else:
                old.remove(entry)
        self._instead, self._merged = kept, len(made)
        self._scope.original_input = made
        return made


def _has(entries: list[Any], entry: Any) -> bool:
    """Whether this very entry is among those: a new one may say what an old one says."""
    return any(entry is one for one in entries)


_BLOCKED = "The output was blocked by a guardrail."


def blocked_message(scope: RunScope) -> str | None:
    """What the session keeps in place of a tool's output that was the final one and that an output guardrail has blocked; None
    where none was. A formatter that raises, or gives no text, has the default kept."""
    tripped = scope.tripped
    if not isinstance(tripped, OutputGuardrailResult) or scope.final_output is NOTHING:
        return None
    given = scope.config.output_guardrail_blocked_message
    if callable(given):
        args = OutputGuardrailBlockedMessageArgs(_BLOCKED, tripped.guardrail.get_name(), tripped.agent, scope.wrapper)
        try:
            given = given(args)
        except Exception:
            given = None
    return given if isinstance(given, str) and given else _BLOCKED


def _id_of(session: Any) -> str:
    """Its id; `"session"` where it has none, or none yet."""
    try:
        return str(session.session_id or "session")
    except (AttributeError, ValueError):
        return "session"


def _limit(session: Any, scope: RunScope) -> int | None:
    """The number of items that are read: as the run says, else as the session does."""
    of_run = getattr(scope.config.session_settings, "limit", None)
    return of_run if of_run is not None else getattr(getattr(session, "session_settings", None), "limit", None)
