"""The port to a session: a conversation that outlives its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, cast, runtime_checkable

from agentsdk.types.declared import Fields, having, optional, shown
from agentsdk.types.errors import SessionError, UserError
from agentsdk.types.items import InputItem, Item
from agentsdk.types.session import METADATA, USER, SessionSummary


class Session(Protocol):
    """The items of one conversation, oldest first. Subclass it or just have its methods.

    A run reads the items before it starts and adds its own in one `add_items`, which is kept whole or not at all, also when two
    runs share the session or the task is cancelled. Raises `SessionError` where what keeps the items fails.
    """

    session_id: str

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items, or the latest `limit` of them. Raises `UserError` for a negative limit."""
        ...

    async def add_items(self, items: Sequence[InputItem]) -> None:
        """Append `items`, all or none. Raises `UserError` for an entry that is not an item."""
        ...

    async def pop_item(self) -> Item | None:
        """Remove the latest item and return it; `None` when there is none."""
        ...

    async def clear_session(self) -> None:
        """Remove every item."""
        ...


@runtime_checkable
class ReplacingSession(Session, Protocol):
    """A session that can correct its end. Of one that cannot, a run leaves what stands there and only adds to it."""

    async def replace_latest(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the latest items, if those are `expected`; in one step, also beside other runs.

        True if they were, and are replaced; False if not, and nothing has changed. Raises `UserError` for an entry that is not
        an item.
        """
        ...


@runtime_checkable
class ManagedSession(ReplacingSession, Protocol):
    """A session of which more is kept than its items, as of all of agentsdk's own. A run needs none of it."""

    async def summary(self) -> SessionSummary | None:
        """Whose the session is, when it began, how many items it holds; None for one that has not begun."""
        ...

    async def update(self, *, user: str | None = None, metadata: Mapping[str, str] | None = None) -> None:
        """Put another user and other metadata in the place of those kept; None leaves them. Begins the session if need be.

        Raises `UserError` for what is no text, a blank user, and metadata that is not a dict of texts.
        """
        ...

    async def branch(self, session_id: str, *, items: int | None = None) -> ManagedSession:
        """A new session that begins with the first `items` items of this one, or all, its user and its metadata; close it too.

        Neither changes the other from then on. Raises `SessionError` where a session of that id has begun, and `UserError` for
        a blank id and a negative number.
        """
        ...

    async def compact(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the first items, if those are `expected`; in one step, also beside other runs.

        True if they were, and are replaced; False if not, and nothing has changed. What follows them stays. What is replaced is
        kept, for `get_original_items`. Raises `UserError` for an entry that is not an item, and where either has none.
        """
        ...

    async def get_original_items(self) -> list[Item]:
        """Every item as it was added: those that `compact` has replaced, and not those that it has put in their place."""
        ...

    async def aclose(self) -> None:
        """Let go of connections, files and threads. A second call does nothing."""
        ...


SESSION = having(
    ("get_items", "add_items"), "a Session with a session_id; pass SQLiteSession('id', 'chats.db'), say", texts=("session_id",)
)


def check_session_id(session_id: str) -> str:
    """`session_id`, if it can name a conversation. Raises `UserError` for one that is blank, no text, or cannot be written.

    A blank one is what an application hands over that does not know who is there: all those would share a conversation.
    """
    given: object = session_id
    if not isinstance(given, str) or not given.strip():
        raise UserError(f"session_id is {shown(given)}, expected a text that is not blank; name the conversation")
    if any("\ud800" <= char <= "\udfff" for char in given):
        raise UserError(f"session_id is {shown(given)}, expected text without lone surrogates")
    return session_id


def check_limit(limit: int | None, name: str = "limit") -> None:
    """Raises `UserError` for a limit that is negative or no number; `name` is the argument's."""
    if limit is not None and (type(cast(object, limit)) is not int or limit < 0):
        raise UserError(f"{name} is {shown(limit)}, expected None or 0 and more")


def unchanged(expected: Sequence[Item], items: Sequence[Item]) -> int:
    """How many of the first of `expected` stay where `items` take their place."""
    pairs = zip(expected, items, strict=False)
    return next((number for number, (old, new) in enumerate(pairs) if old != new), min(len(expected), len(items)))


def check_compaction(expected: Sequence[Item], items: Sequence[InputItem]) -> None:
    """Raises `UserError` where nothing is to be replaced, or nothing to take its place."""
    if not (expected and items):
        raise UserError(
            f"a session was to have {len(items)} items in the place of {len(expected)}, expected at least one of each; "
            "use clear_session to remove all"
        )


def has_begun(session_id: str) -> SessionError:
    """Why there can be no branch of that id."""
    return SessionError(f"session {session_id!r} has begun already, expected a new one for a branch; choose another id")


_LABELS = Fields("Session", user=USER, metadata=optional(METADATA))


def check_labels(user: str | None, metadata: Mapping[str, str] | None) -> None:
    """Raises `UserError` for a user or metadata that cannot be kept with a session. None is none."""
    _LABELS.check_given(user=user, metadata=metadata)
