"""`EncryptedSession`: another session, whose items are encrypted."""

from __future__ import annotations

import base64
import json
from typing import Any, cast

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents.memory.session import Session, SessionABC


class EncryptedEnvelope(TypedDict):
    """An item as the session beneath keeps it."""

    __enc__: int
    v: int
    kid: str
    payload: str


class EncryptedSession(SessionABC):
    """Encrypts items with a key made of `encryption_key` and the session's id; those older than `ttl` seconds are left out."""

    def __init__(self, session_id: str, underlying_session: Session, encryption_key: str, ttl: int = 600) -> None:
        from cryptography.fernet import Fernet
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        self.session_id = session_id
        self.underlying_session = underlying_session
        self.session_settings = getattr(underlying_session, "session_settings", None)
        self.ttl = ttl
        try:
            master = base64.urlsafe_b64decode(encryption_key)
            master = master if len(master) == 32 else encryption_key.encode()
        except ValueError:
            master = encryption_key.encode()
        derive = HKDF(algorithm=hashes.SHA256(), length=32, salt=session_id.encode(), info=b"agents.session-store.hkdf.v1")
        self.cipher = Fernet(base64.urlsafe_b64encode(derive.derive(master)))

    def _sealed(self, item: Any) -> dict[str, Any]:
        dump = getattr(item, "model_dump", None)
        plain = dump(exclude_unset=True) if dump is not None else item
        token = self.cipher.encrypt(json.dumps(plain).encode()).decode()
        return {"__enc__": 1, "v": 1, "kid": "hkdf-v1", "payload": token}

    def _opened(self, given: Any) -> Any | None:
        from cryptography.fernet import InvalidToken

        item: Any = given

        fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        if "__enc__" not in fields:
            return item
        try:
            payload: Any = fields["payload"]
            return json.loads(self.cipher.decrypt(str(payload).encode(), ttl=self.ttl))
        except (InvalidToken, KeyError, ValueError):
            return None

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items that can be read, or the latest `limit` of them."""
        found = [self._opened(item) for item in await self.underlying_session.get_items(limit)]
        return [item for item in found if item is not None]

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end."""
        await self.underlying_session.add_items([self._sealed(item) for item in items])

    async def pop_item(self) -> Any | None:
        """Take the latest item that can be read away and give it; None where there is none."""
        while (item := await self.underlying_session.pop_item()) is not None:
            opened = self._opened(item)
            if opened is not None:
                return opened
        return None

    async def clear_session(self) -> None:
        """Take all items away."""
        await self.underlying_session.clear_session()
