"""`OpenAIConversationsSession`: a session that OpenAI keeps."""

from __future__ import annotations

from typing import Any

from agentsdk.compat.openai_agents._config import Defaults
from agentsdk.compat.openai_agents.memory.session import SessionABC
from agentsdk.compat.openai_agents.memory.session_settings import (
    SessionSettings,
    coerce_session_settings,
    resolve_session_limit,
)


def client_of(given: Any) -> Any:
    """openai's client: the one given, that of the process, or a new one."""
    if given is not None or Defaults.client is not None:
        return Defaults.client if given is None else given
    from openai import AsyncOpenAI

    return AsyncOpenAI(api_key=Defaults.key)


async def start_openai_conversations_session(openai_client: Any = None) -> str:
    """Begin a conversation: its id."""
    conversation = await client_of(openai_client).conversations.create(items=[])
    return str(conversation.id)


class OpenAIConversationsSession(SessionABC):
    """A conversation that OpenAI keeps, under its id; without one a new one is begun."""

    def __init__(
        self,
        *,
        conversation_id: str | None = None,
        openai_client: Any = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self._id = conversation_id
        self._client = openai_client
        self.session_settings = coerce_session_settings(session_settings or SessionSettings())

    @property
    def session_id(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The conversation's id. Raises `ValueError` before it has begun."""
        if self._id is None:
            raise ValueError("the conversation has not begun, so it has no id; add items or read them first")
        return self._id

    @session_id.setter
    def session_id(self, value: str) -> None:  # pyright: ignore
        self._id = value

    async def _begun(self) -> str:
        if self._id is None:
            self._id = await start_openai_conversations_session(self._client)
        return self._id

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the latest `limit` of them."""
        most = resolve_session_limit(limit, self.session_settings)
        order = "asc" if most is None else "desc"
        found: list[Any] = []
        options: dict[str, Any] = {} if most is None else {"limit": min(most, 100)}
        async for item in client_of(self._client).conversations.items.list(
            conversation_id=await self._begun(), order=order, **options
        ):
            found.append(item.model_dump(exclude_unset=True))
            if most is not None and len(found) >= most:
                break
        return found if most is None else found[::-1]

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end."""
        place = await self._begun()
        for start in range(0, len(items), 20):
            await client_of(self._client).conversations.items.create(conversation_id=place, items=items[start : start + 20])

    async def pop_item(self) -> Any | None:
        """Take the latest item away and give it; None where there is none."""
        items = await self.get_items(limit=1)
        if not items:
            return None
        await client_of(self._client).conversations.items.delete(conversation_id=await self._begun(), item_id=items[0]["id"])
        return items[0]

    async def clear_session(self) -> None:
        """Delete the conversation; the next one is new."""
        await client_of(self._client).conversations.delete(conversation_id=await self._begun())
        self._id = None
