"""A session whose items only the holder of a key can read or change."""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping, Sequence

import msgspec

from agentsdk.databases.cipher import Cipher, tag
from agentsdk.ports.session import (
    SESSION,
    ManagedSession,
    ReplacingSession,
    Session,
    check_compaction,
    check_limit,
    check_session_id,
)
from agentsdk.types.declared import Fields
from agentsdk.types.errors import SessionError, StateTamperedError, UserError
from agentsdk.types.items import InputItem, Item, ProviderItem, items_from_input
from agentsdk.types.session import SessionSummary

_PROVIDER = "agentsdk.encrypted"
_PLACE = "item"


class _Sealed(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a record holds: the item, its number in the session, and the tag of the one it was added behind.

    `after` is `""` for the first item, and None in a record of version 0.1.0, which was bound to its number only. The last of
    those that a compaction writes `replaces` others: their tags are what the next one may have been added behind, `""` stands
    for one of version 0.1.0.
    """

    number: int
    item: Item
    after: str | None = None
    replaces: tuple[str, ...] = ()


_decoder = msgspec.json.Decoder(_Sealed)


_FIELDS = Fields("EncryptedSession", session=SESSION)


class EncryptedSession(ManagedSession):
    """Keeps a conversation in `session`, encrypted: `EncryptedSession(SQLiteSession("user-1", "chat.db"), key)`.

    `key` is 32 secret bytes or more (`secrets.token_bytes(32)`), or several: the first encrypts, all decrypt. `session` stays
    the caller's to close, and is used through this one only: a conversation begun without encryption cannot be read here.

    Items that were changed, reordered, repeated, left out, copied from another session, or put behind others than they were
    added behind raise `SessionError`; so do a wrong key and an item that is not encrypted. What is not protected from someone
    who can read or write `session` itself: its id, user, metadata and times, and how many items there are and of what size.
    Items can be left out at the end, and a conversation put back as it once was, without notice; with a `limit` items can also
    be left out before it, and where two runs added at the same time one's can be. Of the originals of a compacted conversation
    any can be left out. Items added by version 0.1.0 are bound to their numbers only.

    A `session` that is no `ReplacingSession` must not be added to while something else pops from it or clears it.

    Raises `UserError` for a bad key, and without the package `cryptography`.
    """

    def __init__(self, session: Session, key: bytes | Sequence[bytes]) -> None:
        _FIELDS.check_given(session=session)
        self.session_id = check_session_id(session.session_id)
        self._session = session
        self._cipher = Cipher(key, "session")

    def __repr__(self) -> str:
        return f"EncryptedSession({self._session!r})"

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items, or the latest `limit` of them. Raises `UserError` for a negative limit."""
        opened = self._opened(await self._session.get_items(limit))
        if limit is None and opened and opened[0].number != 0 and opened[0].after != "":
            raise self._out_of_order()
        return [one.item for one in opened]

    async def add_items(self, items: Sequence[InputItem]) -> None:
        """Append `items`, all or none. Raises `UserError` for an entry that is not an item."""
        given = items_from_input(items)
        while given:
            latest = await self._session.get_items(1)
            number = self._opened(latest)[0].number + 1 if latest else 0
            sealed = self._sealed(given, number, _tag(self._record(latest[0])) if latest else "")
            if not latest or not isinstance(self._session, ReplacingSession):
                await self._session.add_items(sealed)
                return
            # What the numbers follow must still stand there; if it does not, another run got in between.
            if await self._session.replace_latest(latest, [*latest, *sealed]):
                return

    async def pop_item(self) -> Item | None:
        """Remove the latest item and return it; `None` when there is none."""
        await self.get_items(1)  # what this key cannot read is not lost to it
        stored = await self._session.pop_item()
        return None if stored is None else self._opened([stored])[0].item

    async def replace_latest(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the latest items, if those are `expected`.

        True if they were; False if not, or if the session within cannot replace: nothing has changed then. Raises `UserError`
        for an entry that is not an item.
        """
        wanted = list(items_from_input(expected))
        given = items_from_input(items)
        if not isinstance(self._session, ReplacingSession):
            return False
        if not wanted:
            await self.add_items(given)
            return True
        stored = await self._session.get_items(len(wanted))
        opened = self._opened(stored)
        if [one.item for one in opened] != wanted:
            return False
        first = opened[0]
        return await self._session.replace_latest(stored, self._sealed(given, first.number, first.after))

    async def clear_session(self) -> None:
        """Remove every item, readable or not, and what else is kept of the session."""
        await self._session.clear_session()

    async def summary(self) -> SessionSummary | None:
        """What the session within knows of itself, which is not encrypted. Raises `UserError` if it is no `ManagedSession`."""
        return await self._managed().summary()

    async def update(self, *, user: str | None = None, metadata: Mapping[str, str] | None = None) -> None:
        """Put another user and other metadata in the place of those kept, not encrypted. Raises `UserError` as `summary`."""
        await self._managed().update(user=user, metadata=metadata)

    async def branch(self, session_id: str, *, items: int | None = None) -> EncryptedSession:
        """A new session that begins with the first `items` items of this one, or all, encrypted anew for it.

        It is written in two steps: a process that dies between them leaves an empty session. Raises `SessionError` where a
        session of that id has begun, and `UserError` as `summary`.
        """
        check_limit(items, "items")
        copied = (await self.get_items())[:items]
        branch = copy.copy(self)
        branch.session_id = session_id
        branch._session = inner = await self._managed().branch(session_id, items=0)
        try:
            await branch.add_items(copied)
        except BaseException:
            await inner.clear_session()
            raise
        return branch

    async def compact(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the first items, if those are `expected`. What they were is kept, encrypted as it was.

        True if they were; False if not, and nothing has changed. Raises `UserError` for an entry that is not an item, and as
        `summary`.
        """
        check_compaction(expected, items)
        inner, wanted, given = self._managed(), list(items_from_input(expected)), items_from_input(items)
        while True:
            stored = (await inner.get_items())[: len(wanted)]
            opened = self._opened(stored)
            if [one.item for one in opened] != wanted:
                return False
            last = opened[-1]
            # What follows the last one stays: the new last one has its number, and stands for it.
            replaces = (_tag(self._record(stored[-1])), *last.replaces, *([""] if last.after is None else []))
            if await inner.compact(stored, self._sealed(given, last.number - len(given) + 1, "", replaces)):
                return True

    async def get_original_items(self) -> list[Item]:
        """Every item as it was added: those that `compact` has replaced, and not those that it has put in their place.

        Each is checked, their order is not. Raises `UserError` as `summary`.
        """
        return [self._held(self._record(item)).item for item in await self._managed().get_original_items()]

    async def aclose(self) -> None:
        """Close the session within, if it is a `ManagedSession`: a branch's is nobody else's to close."""
        if isinstance(self._session, ManagedSession):
            await self._session.aclose()

    def _managed(self) -> ManagedSession:
        if not isinstance(self._session, ManagedSession):
            raise UserError(
                f"{self!r} holds a {type(self._session).__name__!r}, expected a ManagedSession for what is kept beside "
                "its items; use SQLiteSession, say"
            )
        return self._session

    def _sealed(self, items: Sequence[Item], number: int, after: str | None, replaces: tuple[str, ...] = ()) -> list[Item]:
        """`items` as opaque ones. Each holds its number and the tag of the one before: they open only in this order."""
        sealed: list[Item] = []
        end = number + len(items) - 1
        for position, item in enumerate(items, number):
            held = _Sealed(position, item, after, replaces if position == end else ())
            record = self._cipher.seal(self.session_id, _PLACE, msgspec.json.encode(held))
            after = _tag(record)
            sealed.append(_stored(record))
        return sealed

    def _opened(self, stored: Sequence[Item]) -> list[_Sealed]:
        """What the records hold. None may leave a number out; runs that added at the same time have used the same ones."""
        opened: list[_Sealed] = []
        tags: dict[int, set[str]] = {}
        seen: set[bytes] = set()
        is_chained = False
        for one in stored:
            record = self._record(one)
            held = self._held(record)
            before = tags.get(held.number - 1)
            is_moved = is_chained if held.after is None else before is not None and held.after not in before
            if record in seen or is_moved or (opened and held.number > opened[-1].number + 1):
                raise self._out_of_order()
            is_chained = held.after is not None and "" not in held.replaces
            seen.add(record)
            tags.setdefault(held.number, set()).update((_tag(record), *held.replaces))
            opened.append(held)
        return opened

    def _held(self, record: bytes) -> _Sealed:
        try:
            return _decoder.decode(self._cipher.open(self.session_id, _PLACE, record))
        except StateTamperedError as error:
            raise SessionError(str(error)) from error
        except msgspec.DecodeError:
            raise SessionError(
                f"session {self.session_id!r} holds an encrypted item of another version, expected one of this version; "
                "read it with the agentsdk that wrote it"
            ) from None

    def _record(self, item: Item) -> bytes:
        text = item.data.get("sealed") if isinstance(item, ProviderItem) else None
        try:
            record = base64.b64decode(text) if isinstance(text, str) else b""
        except ValueError:
            record = b""
        if item != _stored(record):  # several texts read as the same bytes: only the one written counts
            raise SessionError(
                f"session {self.session_id!r} holds an item that is not encrypted, expected those added through "
                f"{type(self).__name__}; clear it, or read it without encryption"
            )
        return record

    def _out_of_order(self) -> SessionError:
        return SessionError(
            f"items of session {self.session_id!r} are missing, repeated or out of order, expected them as they were added; "
            "restore an untouched copy, or clear the session"
        )


def _tag(record: bytes) -> str:
    return base64.b64encode(tag(record)).decode()


def _stored(record: bytes) -> ProviderItem:
    """A record as an item that every session can keep."""
    return ProviderItem(_PROVIDER, {"sealed": base64.b64encode(record).decode()})
