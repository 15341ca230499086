"""`OpenAIResponsesCompactionSession`: a session that OpenAI makes smaller when it grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.items import plain as plain_item
from agentsdk.compat.openai_agents.memory.openai_conversations_session import OpenAIConversationsSession, client_of
from agentsdk.compat.openai_agents.memory.session import OpenAIResponsesCompactionArgs, Session, SessionABC
from agentsdk.compat.openai_agents.memory.session_settings import SessionSettings

DEFAULT_COMPACTION_THRESHOLD = 10


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


class OpenAIResponsesCompactionSession(SessionABC):
    """Another session, whose items OpenAI's `responses.compact` replaces when `run_compaction` is called."""

    def __init__(
        self,
        session_id: str,
        underlying_session: Session,
        *,
        client: Any = None,
        model: str = "gpt-4.1",
        compaction_mode: Literal["previous_response_id", "input", "auto"] = "auto",
        should_trigger_compaction: Callable[[dict[str, Any]], bool] | None = None,
        **_: Any,
    ) -> None:
        if isinstance(underlying_session, OpenAIConversationsSession):
            raise ValueError("OpenAIConversationsSession makes itself smaller; give another session")
        self.session_id = session_id
        self.underlying_session = underlying_session
        self.model = model
        self.compaction_mode = compaction_mode
        self.should_trigger_compaction = should_trigger_compaction or default_should_trigger_compaction
        self._client = client

    @property
    def client(self) -> Any:
        """openai's client."""
        return client_of(self._client)

    @property
    def session_settings(self) -> SessionSettings | None:  # type: ignore[override]  # pyright: ignore
        """Those of the session beneath."""
        return self.underlying_session.session_settings

    async def run_compaction(self, args: OpenAIResponsesCompactionArgs | None = None) -> None:
        """Have OpenAI make the items fewer, where they are enough or `force` says so."""
        given = args or {}
        items = await self.underlying_session.get_items()
        mode = given.get("compaction_mode") or self.compaction_mode
        response_id = given.get("response_id")
        context = {
            "response_id": response_id,
            "compaction_mode": mode,
            "compaction_candidate_items": select_compaction_candidate_items(items),
            "session_items": items,
        }
        if not given.get("force") and not self.should_trigger_compaction(context):
            return
        use_id = response_id is not None and mode == "previous_response_id"
        request: dict[str, Any] = {"previous_response_id": response_id} if use_id else {"input": items}
        compacted = await self.client.responses.compact(model=self.model, **request)
        output: list[Any] = [plain_item(item) for item in list[Any](compacted.output or [])]
        await self.underlying_session.clear_session()
        if output:
            await self.underlying_session.add_items(output)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the latest `limit` of them."""
        return await self.underlying_session.get_items(limit)

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end."""
        await self.underlying_session.add_items(items)

    async def pop_item(self) -> Any | None:
        """Take the latest item away and give it; None where there is none."""
        return await self.underlying_session.pop_item()

    async def clear_session(self) -> None:
        """Take all items away."""
        await self.underlying_session.clear_session()


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
