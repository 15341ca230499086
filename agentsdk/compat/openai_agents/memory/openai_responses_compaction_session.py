"""`OpenAIResponsesCompactionSession`: a session that OpenAI makes smaller when it grows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.items import plain as plain_item
from agentsdk.compat.openai_agents.memory.openai_conversations_session import OpenAIConversationsSession, client_of
from agentsdk.compat.openai_agents.memory.session import OpenAIResponsesCompactionArgs, Session, SessionABC
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.usage import usage_from

DEFAULT_COMPACTION_THRESHOLD = 10
OpenAIResponsesCompactionMode = Literal["previous_response_id", "input", "auto"]
_ALL = 2**31 - 1
_SOURCES = {"input_image": ("image_url", "file_id"), "input_file": ("file_data", "file_url", "file_id")}


def select_compaction_candidate_items(items: list[Any]) -> list[Any]:
    """The items that count as grown: neither the user's messages nor earlier compactions."""

    def counts(item: Any) -> bool:
        return item.get("type") != "compaction" and not (
            item.get("role") == "user" and item.get("type", "message") == "message"
        )

    return [item for item in items if counts(item)]


def default_should_trigger_compaction(context: dict[str, Any]) -> bool:
    """Whether a session has grown enough."""
    return len(context["compaction_candidate_items"]) >= DEFAULT_COMPACTION_THRESHOLD


def is_openai_model_name(model: str) -> bool:
    """Whether a name is one of OpenAI's models: `gpt-...`, `o3` and so on, or one that was tuned."""
    return re.fullmatch(r"(openai/)*(ft:)?(gpt-|o\d)\S*", model.strip()) is not None


class OpenAIResponsesCompactionSession(SessionABC):
    """Another session, whose items OpenAI's `responses.compact` replaces: after a run when they are enough, or when
    `run_compaction` is called.

    Where the new items cannot be written the old ones are put back. `max_rollback_items`: longer histories, which would have
    to be kept for that, are not made smaller.
    """

    def __init__(
        self,
        session_id: str,
        underlying_session: Session,
        *,
        client: Any = None,
        model: str = "gpt-4.1",
        compaction_mode: OpenAIResponsesCompactionMode = "auto",
        should_trigger_compaction: Callable[[dict[str, Any]], bool] | None = None,
        max_rollback_items: int | None = None,
    ) -> None:
        if isinstance(underlying_session, OpenAIConversationsSession):
            raise ValueError("OpenAIConversationsSession makes itself smaller; give another session")
        if not is_openai_model_name(model):
            raise ValueError(f"Unsupported model for OpenAI responses compaction: {model}")
        if max_rollback_items is not None and max_rollback_items <= 0:
            raise ValueError(f"max_rollback_items must be positive or None, not {max_rollback_items}")
        self.session_id = session_id
        self.underlying_session = underlying_session
        self.session_settings = getattr(underlying_session, "session_settings", None)
        self.model = model
        self.compaction_mode: OpenAIResponsesCompactionMode = compaction_mode
        self.should_trigger_compaction = should_trigger_compaction or default_should_trigger_compaction
        self.max_rollback_items = max_rollback_items
        self.changes = 0
        """How often it was changed: a run that finds others' changes since it began leaves the session as it is."""
        self._client = client
        self._lock = asyncio.Lock()
        self._response_id: str | None = None
        self._is_stored = True
        self._is_due = False

    @property
    def client(self) -> Any:
        """openai's client."""
        return client_of(self._client)

    async def run_compaction(
        self, args: OpenAIResponsesCompactionArgs | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> None:
        """Have OpenAI make the items fewer, where they are enough or `force` says so. It is counted in `wrapper`'s run."""
        async with self._lock:
            await self._compact(args or {}, wrapper)

    async def defer_compaction(self, args: OpenAIResponsesCompactionArgs) -> None:
        """Make the items fewer at the next call where they are enough now: a run has ended with a tool's output, which the
        model has not seen."""
        async with self._lock:
            mode = self._mode(args)
            items = await self.underlying_session.get_items()
            self._is_due = self._is_due or self.should_trigger_compaction(self._context(mode, items))

    def _mode(self, args: OpenAIResponsesCompactionArgs) -> str:
        """How the provider is told of the history: by its last response, where that is known and kept."""
        if "response_id" in args:
            self._response_id, self._is_stored = args["response_id"], True
        if "store" in args:
            self._is_stored = args["store"] is not False
        mode = args.get("compaction_mode") or self.compaction_mode
        if mode == "auto":
            return "previous_response_id" if self._response_id and self._is_stored else "input"
        if mode == "previous_response_id" and not self._response_id:
            raise ValueError("run_compaction was given no response_id, which previous_response_id compaction needs")
        return mode

    def _context(self, mode: str, items: list[Any]) -> dict[str, Any]:
        return {
            "response_id": self._response_id,
            "compaction_mode": mode,
            "compaction_candidate_items": select_compaction_candidate_items(items),
            "session_items": items,
        }

    async def _compact(self, args: OpenAIResponsesCompactionArgs, wrapper: RunContextWrapper[Any] | None) -> None:
        mode = self._mode(args)
        if self.max_rollback_items is not None:
            await self._history()
        items = await self.underlying_session.get_items()
        if not (args.get("force") or self._is_due or self.should_trigger_compaction(self._context(mode, items))):
            return
        self._is_due = False
        request: dict[str, Any] = {"input": items} if mode == "input" else {"previous_response_id": self._response_id}
        compacted = await self.client.responses.compact(model=self.model, **request)
        spent = getattr(compacted, "usage", None)
        if wrapper is not None and spent is not None:
            wrapper.usage.add(usage_from(spent))
        output = _storable([plain_item(item) for item in list[Any](compacted.output or [])])
        await self._replace(output)
        self._response_id = None

    async def _history(self) -> list[Any]:
        """All items, also those that the settings of the session beneath hide. Raises `ValueError` where they are too many."""
        most, settings = self.max_rollback_items, self.underlying_session.session_settings
        if most is None:
            is_limited = getattr(settings, "limit", None) is not None
            return list(await (self.underlying_session.get_items(_ALL) if is_limited else self.underlying_session.get_items()))
        items = list(await self.underlying_session.get_items(limit=most + 1))
        if len(items) > most:
            raise ValueError(f"the history of session {self.session_id!r} exceeds max_rollback_items, which is {most}")
        return items

    async def _replace(self, output: list[Any]) -> None:
        """Write the new items in place of the old ones, or leave these."""
        before = await self._history()
        self.changes += 1
        is_cleared = False
        try:
            await self.underlying_session.clear_session()
            is_cleared = True
            if output:
                await self.underlying_session.add_items(output)
        except BaseException:
            restoring = asyncio.ensure_future(self._restore(before, is_cleared))
            while not restoring.done():
                try:
                    await asyncio.shield(restoring)
                except asyncio.CancelledError:  # the history is put back first
                    continue
            restoring.result()
            raise

    async def _restore(self, before: list[Any], is_cleared: bool) -> None:
        if is_cleared:
            await self.underlying_session.clear_session()
        else:
            left = await self._history()
            if left == before:
                return
            if left:
                await self.underlying_session.clear_session()
        await self.underlying_session.add_items(before)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the latest `limit` of them."""
        return await self.underlying_session.get_items(limit)

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end."""
        async with self._lock:
            self.changes += 1
            await self.underlying_session.add_items(items)

    async def pop_item(self) -> Any | None:
        """Take the latest item away and give it; None where there is none."""
        async with self._lock:
            self.changes += 1
            return await self.underlying_session.pop_item()

    async def clear_session(self) -> None:
        """Take all items away."""
        async with self._lock:
            self.changes += 1
            await self.underlying_session.clear_session()
            self._response_id, self._is_stored, self._is_due = None, True, False


def _storable(output: list[Any]) -> list[Any]:
    """The provider's items as it takes them again: without empty fields in the user's media, and without the ids of messages
    whose reasoning it has left out."""
    has_reasoning = any(item.get("type") == "reasoning" for item in output)
    kept: list[Any] = []
    for item in output:
        if item.get("role") == "assistant" and not has_reasoning:
            item = {name: value for name, value in item.items() if name != "id"}
        content = item.get("content")
        if item.get("role") == "user" and isinstance(content, list):
            item = {**item, "content": [_part(part) for part in cast("list[Any]", content)]}
        kept.append(item)
    return kept


def _part(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    given = {name: value for name, value in cast("Mapping[str, Any]", part).items() if value is not None}
    sources = _SOURCES.get(str(given.get("type")), ())
    if sources and not any(given.get(name) for name in sources):
        names = f"{', '.join(sources[:-1])}{',' if len(sources) > 2 else ''} or {sources[-1]}"
        raise ValueError(f"Compaction {given['type']} item missing {names}.")
    return given


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
