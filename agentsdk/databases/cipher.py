"""Authenticated encryption of records that are kept where others can read or change them.

A record is a version byte (1: bound to its owner and place; 2: also to the record before it), the id of its key (8 bytes), a
random nonce (12 bytes), the encrypted data and its tag (16 bytes): 37 bytes more than the data. It is AES-256-GCM, which every
processor in use speeds up and every build of OpenSSL has. Each owner's records have a key of their own (HKDF-Expand of the
given key), so the bound that random nonces set, 2**32 records for one key, is one for each run and each session.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsdk.types.errors import StateTamperedError, UserError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MIN_KEY_BYTES = 32
OVERHEAD = 37
"""Bytes a record has more than its data."""

_VERSION, _CHAINED = b"\x01", b"\x02"  # no JSON text begins with them
_TAG_BYTES = 16
_KEY_ID = slice(1, 9)
_NONCE = slice(9, 21)
_SEALED = slice(21, None)


class Cipher:
    """Seals records of one `kind` of owner ("run"). The first key seals, all of them open.

    Raises `UserError` without a key, for one that is not at least 32 bytes, and without the package `cryptography`.
    """

    def __init__(self, key: bytes | Sequence[bytes], kind: str) -> None:
        keys = _checked(key)
        try:
            self._keys = {_derived(one, "key id", 8): one for one in keys}
        except ImportError as error:
            raise UserError(
                "encryption needs the package 'cryptography', which is not installed; pip install 'agentsdk[encryption]'"
            ) from error
        self._kind = kind
        self._first = next(iter(self._keys))

    def seal(self, owner: str, place: str, data: bytes, *, after: bytes | None = None) -> bytes:
        """`data` as a record that opens only for this `owner` (the run's id) at this `place` in it ("event 3").

        With `after`, the `tag` of the record before it, or `b""` for the first one, it opens only behind that.
        """
        nonce = os.urandom(12)
        sealed = self._of(self._first, owner).encrypt(nonce, data, _bound(place, after))
        return (_VERSION if after is None else _CHAINED) + self._first + nonce + sealed

    def open(self, owner: str, place: str, record: bytes, *, after: bytes | None = None) -> bytes:
        """The data of a record; `after` counts for one that was sealed with it.

        Raises `StateTamperedError` for one that `seal` did not make for this owner and place, or not to come after that.
        """
        from cryptography.exceptions import InvalidTag

        name = f"{place} of {self._kind} {owner!r}"
        if record[:1] not in (_VERSION, _CHAINED) or len(record) < OVERHEAD:
            raise StateTamperedError(f"{name} is not encrypted, expected that it is; refuse it, or load an untouched copy")
        key_id = record[_KEY_ID]
        if key_id not in self._keys:
            raise StateTamperedError(
                f"{name} is encrypted with another key, expected one of the {len(self._keys)} given; add the key that wrote it"
            )
        try:
            bound = _bound(place, after if is_chained(record) else None)
            return self._of(key_id, owner).decrypt(record[_NONCE], record[_SEALED], bound)
        except InvalidTag as error:
            raise StateTamperedError(
                f"{name} was changed or belongs elsewhere, expected an untouched record; refuse it, or load an untouched copy"
            ) from error

    def _of(self, key_id: bytes, owner: str) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(_derived(self._keys[key_id], f"{self._kind} {owner}", 32))


def tag(record: bytes) -> bytes:
    """The digest of a record and of all that it is bound to: no two records have the same."""
    return record[-_TAG_BYTES:]


def is_chained(record: bytes) -> bool:
    """Whether a record is bound to the one before it."""
    return record[:1] == _CHAINED


def _bound(place: str, after: bytes | None) -> bytes:
    where = place.encode("utf-8", "surrogatepass")
    return where if after is None else b"%d:%b%b" % (len(where), where, after)


def _checked(key: bytes | Sequence[bytes]) -> list[bytes]:
    keys = list(key) if isinstance(key, Sequence) and not isinstance(key, bytes) else [key]
    if not keys:
        raise UserError("no encryption key is given, expected at least one; use secrets.token_bytes(32)")
    for position, one in enumerate(keys):
        what = f"has {len(one)} bytes" if isinstance(one, bytes) else f"is {type(one).__name__!r}"
        if not isinstance(one, bytes) or len(one) < MIN_KEY_BYTES:
            raise UserError(
                f"encryption key {position} {what}, expected at least {MIN_KEY_BYTES} bytes; use secrets.token_bytes(32)"
            )
    return keys


def _derived(key: bytes, purpose: str, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

    return HKDFExpand(SHA256(), length, f"agentsdk {purpose}".encode("utf-8", "surrogatepass")).derive(key)
