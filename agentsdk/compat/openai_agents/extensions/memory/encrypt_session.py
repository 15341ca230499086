"""`EncryptedSession`: another session, whose items are encrypted."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents.memory.session import Session, SessionABC
from agentsdk.databases.finished import finished


class EncryptedEnvelope(TypedDict):
    """An item as the session beneath keeps it."""

    __enc__: int
    v: int
    kid: str
    payload: str


def _is_envelope(item: Any) -> bool:
    fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    return fields.get("__enc__") == 1 and all(name in fields for name in ("v", "kid", "payload"))


class EncryptedSession(SessionABC):
    """Encrypts items with a key made of `encryption_key` and the session's id; those older than `ttl` seconds are left out.

    What is no encrypted item, or was encrypted with another key, is left out as well: who can write to the session beneath
    cannot put words into the history. With `max_scan_items` a read looks at so many items of it at most. What else is asked
    of the session is asked of the one beneath, but for `run_compaction`, which would see encrypted items there.
    """

    def __init__(
        self,
        session_id: str,
        underlying_session: Session,
        encryption_key: str,
        ttl: int = 600,
        max_scan_items: int | None = None,
    ) -> None:
        from cryptography.fernet import Fernet
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        if not encryption_key:
            raise ValueError(
                "EncryptedSession was given no encryption_key, expected a secret text; Fernet.generate_key() makes one"
            )
        if max_scan_items is not None and max_scan_items <= 0:
            raise ValueError(f"EncryptedSession(max_scan_items={max_scan_items}), expected a positive number or None")
        self.session_id = session_id
        self.underlying_session = underlying_session
        self.ttl = ttl
        self.max_scan_items = max_scan_items
        try:
            master = base64.urlsafe_b64decode(encryption_key)
            master = master if len(master) == 32 else encryption_key.encode()
        except ValueError:
            master = encryption_key.encode()
        derive = HKDF(algorithm=hashes.SHA256(), length=32, salt=session_id.encode(), info=b"agents.session-store.hkdf.v1")
        self.cipher = Fernet(base64.urlsafe_b64encode(derive.derive(master)))

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name in ("underlying_session", "run_compaction"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self.underlying_session, name)

        @property
        def session_settings(self):
            """Those of the session beneath."""
            return getattr(self.underlying_session, "session_settings", None)

        @session_settings.setter
        def session_settings(self, value):
            self.underlying_session.session_settings = value

    def _sealed(self, item: Any) -> dict[str, Any]:
        dump = getattr(item, "model_dump", None)
        plain = dump(exclude_unset=True) if dump is not None else item
        token = self.cipher.encrypt(json.dumps(plain, default=str).encode()).decode()
        return {"__enc__": 1, "v": 1, "kid": "hkdf-v1", "payload": token}

    def _opened(self, item: Any) -> Any | None:
        from cryptography.fernet import InvalidToken

        if not _is_envelope(item):
            return None
        try:
            return json.loads(self.cipher.decrypt(str(item["payload"]).encode(), ttl=self.ttl))
        except (InvalidToken, ValueError):
            return None

    def _require_own(self, item: Any) -> None:
        """Raises `InvalidToken` for an item that was encrypted with another key. One that is too old is this session's all the
        same."""
        if _is_envelope(item):
            self.cipher.extract_timestamp(str(item["payload"]).encode())

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items that can be read, or the latest `limit` of them.

        Raises `RuntimeError` where `max_scan_items` ends the search for them, and `ValueError` for a limit below 0 beside it.
        """
        wanted = limit if limit is not None else getattr(self.session_settings, "limit", None)
        left = self.max_scan_items
        if left is not None and wanted is not None and wanted < 0:
            raise ValueError(f"the limit is {wanted}, expected 0 or more beside max_scan_items")
        if (left is None and (wanted is None or wanted <= 0)) or wanted == 0:
            return self._readable(await self.underlying_session.get_items(limit))
        window = min(size for size in (wanted, left) if size is not None)
        while True:
            stored = await self.underlying_session.get_items(window)
            found = self._readable(stored)
            if wanted is not None and len(found) >= wanted:
                return found[-wanted:]
            if len(stored) < window:
                return found
            wider = 2 * window
            if left is not None:
                left -= len(stored)
                wider = min(wider, left)
            if wider <= window:
                raise RuntimeError(
                    f"session {self.session_id!r} was read up to max_scan_items={self.max_scan_items}, expected all that was "
                    "asked for within it; give a larger one, or clear what is old"
                )
            window = wider

    def _readable(self, stored: list[Any]) -> list[Any]:
        return [item for item in map(self._opened, stored) if item is not None]

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end."""
        await self.underlying_session.add_items([self._sealed(item) for item in items])

    async def pop_item(self) -> Any | None:
        """Take the latest item that can be read away and give it; None where there is none.

        Raises `cryptography.fernet.InvalidToken` at an item that was encrypted with another key, which stays where it is.
        """
        from cryptography.fernet import InvalidToken

        while latest := await self.underlying_session.get_items(1):
            self._require_own(latest[-1])
            taken = await self.underlying_session.pop_item()
            if taken is None:
                break
            try:
                self._require_own(taken)
            except InvalidToken:  # another program has added it in between
                await finished(asyncio.ensure_future(self.underlying_session.add_items([taken])))
                raise
            opened = self._opened(taken)
            if opened is not None:
                return opened
        return None

    async def clear_session(self) -> None:
        """Take all items away."""
        await self.underlying_session.clear_session()
