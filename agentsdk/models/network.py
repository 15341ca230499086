"""Where requests may go: the global lock of test suites, and the addresses and headers that can be used at all."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from agentsdk.types.declared import shown
from agentsdk.types.errors import UserError

_locks: list[object] = []


def lock_network() -> object:
    """Refuse every request that would leave this machine until `unlock_network` is called with the token."""
    token = object()
    _locks.append(token)
    return token


def unlock_network(token: object) -> None:
    """Take one lock away."""
    _locks.remove(token)


def refuse_real_request(url: str) -> None:
    """Raise `UserError` if the network is locked and `url` is not on this machine."""
    if _locks and not is_loopback(url):
        raise UserError(
            f"a request to {urlsplit(url).hostname!r} was refused because no_real_requests() is on; "
            "give the agent a ScriptedModel or the base_url of a FakeOpenAIServer"
        )


def is_loopback(url: str) -> bool:
    """Whether `url` names this machine, by its name or a loopback address."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_url(url: str) -> str:
    """`url` without a trailing slash. Raises `UserError` unless it is http(s) with a host, without user, query or fragment."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good, parts = False, urlsplit("")
    if "://" not in url and not {"@", "?", "#"} & {*url}:
        raise UserError(f"base_url is {shown(url)}, expected it with its scheme; write 'http://...' or 'https://...'")
    if not good or parts.username is not None or parts.query or parts.fragment:
        raise UserError("base_url must be like 'https://host/v1', without user, query or fragment")
    return url.rstrip("/")


def check_header(name: str, value: str) -> None:
    """Raise `UserError`, without the value, if it cannot be sent as a header."""
    if not (value.isascii() and value.isprintable()) or value != value.strip():
        raise UserError(
            f"{name} holds characters that a header cannot carry; expected printable ASCII without spaces around it"
        )


class RequestHeaders:
    """The headers of a request. They hold keys: nothing prints them, and they become plain only where they are sent."""

    __slots__ = ("_more", "_values")

    def __init__(self, values: Mapping[str, str], more_secrets: Sequence[str] = ()) -> None:
        self._values = dict(values)
        self._more = tuple(more_secrets)  # of the request's body

    def __repr__(self) -> str:
        return f"RequestHeaders({', '.join(self._values)})"

    def plain(self) -> dict[str, str]:
        """Names and values. Keep them in no variable: a traceback may be printed with its locals."""
        return dict(self._values)

    def without(self, *names: str) -> RequestHeaders:
        """Those with other names."""
        return RequestHeaders({name: value for name, value in self._values.items() if name not in names}, self._more)

    def with_secrets(self, secrets: Sequence[str]) -> RequestHeaders:
        """These, and what else of the request no error may repeat."""
        return RequestHeaders(self._values, (*self._more, *secrets))

    def adding(self, values: Mapping[str, str]) -> RequestHeaders:
        """These, and `values` in the place of others of their names."""
        return RequestHeaders({**self._values, **values}, self._more)

    def joined(self, name: str, value: str) -> RequestHeaders:
        """These with one more value of a header that is a list; the same for `""`."""
        if not value:
            return self
        values = {**self._values, name: ",".join(filter(None, (self._values.get(name), value)))}
        return RequestHeaders(values, self._more)

    def secrets(self) -> list[str]:
        """What must not be repeated in an error: every value that may be a key, longer ones first."""
        values = [*self._more, *[value for name, value in self._values.items() if name not in _NO_SECRETS]]
        values += [value.rpartition(" ")[2] for value in values]  # of "Bearer KEY" the key
        values += [value.rpartition("Signature=")[2] for value in values]
        return sorted({value for value in values if len(value) >= _SHORTEST_SECRET}, key=len, reverse=True)


_SHORTEST_SECRET = 8
_NO_SECRETS = (
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "idempotency-key",
    "openai-beta",
    "user-agent",
    "x-amz-date",
)
