"""What the sessions in a database share: items and metadata as the JSON they keep, a database's errors as a session's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from agentsdk.types.errors import SessionBusyError, SessionError, StoreBusyError, StoreError
from agentsdk.types.items import InputItem, Item, items_from_input


def encode_items(items: Sequence[InputItem]) -> list[bytes]:
    """Each item as JSON. Raises `UserError` for an entry that is not an item."""
    return [msgspec.json.encode(item) for item in items_from_input(items)]


def decode_item(data: str | bytes, where: str) -> Item:
    """The item in `data`. Raises `SessionError` if there is none; `where` says what is read ("row 3 of ...")."""
    try:
        item: Item = msgspec.json.decode(data, type=Item)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SessionError(f"{where} is not an item: damaged, or of a newer version; remove it, or clear the session") from None
    return item


def encode_metadata(metadata: Mapping[str, str] | None) -> str:
    """Metadata as JSON, `{}` where there is none."""
    return msgspec.json.encode(dict(metadata or {})).decode()


def decode_metadata(data: str | bytes, where: str) -> dict[str, str]:
    """The metadata in `data`. Raises `SessionError` if there is none; `where` says what is read."""
    try:
        return msgspec.json.decode(data, type=dict[str, str])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SessionError(
            f"{where} holds no metadata: damaged, or of a newer version; update it, or clear the session"
        ) from None


def session_error(error: StoreError) -> SessionError:
    """A database's error as a session raises it."""
    return (SessionBusyError if isinstance(error, StoreBusyError) else SessionError)(str(error))
