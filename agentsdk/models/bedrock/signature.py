"""Signatures of Amazon Web Services, version 4: the headers that say who sends a request, and that nobody changed it."""

from __future__ import annotations

import hmac
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote, urlsplit

_PORTS = {"http": 80, "https": 443}


class Keys(NamedTuple):
    """Credentials as they are at a moment; nothing prints them. `token` is `""` for keys that never expire."""

    access: str
    secret: str
    token: str

    def __repr__(self) -> str:
        return "Keys(...)"


class Signer:
    """Signs for one service in one region. The key that a day's signatures are made with is kept."""

    def __init__(self, service: str, region: str) -> None:
        self._service = service
        self._region = region
        self._signing: tuple[str, str, hmac.HMAC] | None = None  # of a secret on a day

    def headers(self, method: str, url: str, content_type: str, digest: str, keys: Keys, now: datetime) -> dict[str, str]:
        """The headers to add to a request whose body has the SHA-256 `digest`."""
        (host, path, query), stamp = _place(url), now.strftime("%Y%m%dT%H%M%SZ")
        signed = {"content-type": content_type, "host": host, "x-amz-date": stamp}
        if not content_type:
            del signed["content-type"]
        if keys.token:
            signed["x-amz-security-token"] = keys.token
        names, lines = ";".join(signed), [f"{name}:{' '.join(value.split())}" for name, value in signed.items()]
        request = "\n".join([method, path, query, *lines, "", names, digest])
        scope = f"{stamp[:8]}/{self._region}/{self._service}/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{sha256(request.encode()).hexdigest()}"
        signature = self._key(keys.secret, stamp[:8])
        signature.update(text.encode())
        told = f"AWS4-HMAC-SHA256 Credential={keys.access}/{scope}, SignedHeaders={names}, Signature={signature.hexdigest()}"
        added = {"x-amz-date": stamp, "authorization": told}
        return {**added, "x-amz-security-token": keys.token} if keys.token else added

    def _key(self, secret: str, day: str) -> hmac.HMAC:
        """What signs a text that is added to it."""
        known = self._signing
        if known is None or known[:2] != (secret, day):
            key = f"AWS4{secret}".encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            known = self._signing = secret, day, hmac.new(key, digestmod=sha256)
        return known[2].copy()


@lru_cache(maxsize=64)
def _place(url: str) -> tuple[str, str, str]:
    """Host, path and query as they are signed."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    if parts.port is not None and parts.port == _PORTS.get(parts.scheme):
        host = host.rpartition(":")[0]
    pairs = [pair.partition("=") for pair in parts.query.split("&") if pair]
    query = "&".join(f"{name}={value}" for name, _, value in sorted(pairs, key=lambda pair: (pair[0], pair[2])))
    return host, quote(parts.path or "/", safe="/~"), query
