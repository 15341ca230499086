"""`HostRules`: which URLs and hosts a tool that a model steers may have, as whoever declares the tool says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsdk.local_tools.addresses import networks, resolved
from agentsdk.models.network import refuse_real_request
from agentsdk.types.declared import a_name, sequence_of
from agentsdk.types.errors import FetchError, UserError

if TYPE_CHECKING:
    import httpx

HOSTS = sequence_of(
    a_name("the name of a host; write 'docs.example.com', or '.example.com' for all below it"), "a list of names"
)
NETWORKS = sequence_of(a_name("an address or a network; write '10.0.0.0/8'"), "a list of networks")

PORTS = {"http": 80, "https": 443}
"""The schemes of URLs that are opened, and their ports."""


class HostRules:
    """`allowed_hosts` (all if empty) and `blocked_hosts` are names, `.example.com` those below it too.

    Addresses that are not public are reached where one of `allowed_networks` has them. Raises `UserError` for a wrong name.
    """

    def __init__(self, *, allowed_hosts: Sequence[str], blocked_hosts: Sequence[str], allowed_networks: Sequence[str]) -> None:
        self._allowed_hosts = tuple(map(_wire_name, allowed_hosts))
        self._blocked_hosts = tuple(map(_wire_name, blocked_hosts))
        self._allowed_networks = networks(allowed_networks)

    def parsed(self, url: str) -> httpx.URL:
        """The URL, if it is one of http or https and its host may be reached. Raises `FetchError`."""
        import httpx

        try:
            parsed = httpx.URL(url)
        except (httpx.InvalidURL, TypeError):
            raise FetchError("what was given is no URL, expected one that begins with https://") from None
        host = host_of(parsed).rstrip(".")
        if parsed.scheme not in PORTS or not host:
            raise FetchError(f"the URL's scheme is {parsed.scheme!r}, expected https or http, and a host")
        if parsed.userinfo:
            raise FetchError("the URL has a user name or a password in it, expected none; leave them out")
        self._check(host)
        return parsed

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, in the order to try them.

        Raises `FetchError` where it may not be reached, by its name or by one of them, `TransientToolError` for an unknown one.
        """
        self._check(host.rstrip(".").lower())
        refuse_real_request(f"http://{f'[{host}]' if ':' in host else host}/")
        return await resolved(host, port, self._allowed_networks)

    def _check(self, host: str) -> None:
        if _listed(host, self._blocked_hosts) or (self._allowed_hosts and not _listed(host, self._allowed_hosts)):
            raise FetchError(f"pages of {host!r} are not allowed here; use another source")


def host_of(url: httpx.URL) -> str:
    """The host as it is sent and looked up: `url.host` is what people read, `bücher.example` for `xn--bcher-kva.example`."""
    return url.raw_host.decode("ascii").lower()


def _wire_name(name: str) -> str:
    """The name of a host in a list as `host_of` has it."""
    if name.isascii():
        return name.rstrip(".").lower()
    import httpx

    try:
        inner = host_of(httpx.URL(f"http://{name.strip('.')}"))
    except httpx.InvalidURL:
        raise UserError(f"the list of hosts has {name!r}, expected the name of a host; write 'docs.example.com'") from None
    return f".{inner}" if name.startswith(".") else inner


def _listed(host: str, names: Sequence[str]) -> bool:
    return any(host == name.lstrip(".") or (name.startswith(".") and host.endswith(name)) for name in names)
