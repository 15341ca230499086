"""The interface of sessions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, Protocol, TypeGuard, runtime_checkable

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents.memory.session_settings import SessionSettings


@runtime_checkable
class Session(Protocol):
    """The items of one conversation, oldest first."""

    session_id: str
    session_settings: SessionSettings | None = None

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the latest `limit` of them."""
        ...

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end."""
        ...

    async def pop_item(self) -> Any | None:
        """Take the latest item away and give it; None where there is none."""
        ...

    async def clear_session(self) -> None:
        """Take all items away."""
        ...


class SessionABC(ABC):
    """The same as a base class."""

    session_id: str
    session_settings: SessionSettings | None = None

    @abstractmethod
    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the latest `limit` of them."""

    @abstractmethod
    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end."""

    @abstractmethod
    async def pop_item(self) -> Any | None:
        """Take the latest item away and give it; None where there is none."""

    @abstractmethod
    async def clear_session(self) -> None:
        """Take all items away."""


class OpenAIResponsesCompactionArgs(TypedDict, total=False):
    """How a conversation is made smaller."""

    response_id: str
    compaction_mode: Literal["previous_response_id", "input", "auto"]
    store: bool
    force: bool


@runtime_checkable
class OpenAIResponsesCompactionAwareSession(Session, Protocol):
    """A session that OpenAI makes smaller."""

    async def run_compaction(self, args: OpenAIResponsesCompactionArgs | None = None) -> None:
        """Make it smaller."""
        ...


def is_openai_responses_compaction_aware_session(
    session: Session | None,
) -> TypeGuard[OpenAIResponsesCompactionAwareSession]:
    """Whether a session is one of them."""
    return session is not None and callable(getattr(session, "run_compaction", None))
