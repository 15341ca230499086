"""Which addresses a tool that a model steers may connect to: public ones, and those of networks that were named.

A model may have its URLs from a page that somebody wrote on purpose. A host of one's own network, the loopback address, and a
cloud's metadata service must not answer it, under whatever name and in whatever form their address is written.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from agentsdk.types.errors import FetchError, TransientToolError, UserError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# What carries an IPv4 address in its last bits: NAT64 (RFC 6052, RFC 8215) and IPv4-compatible addresses (RFC 4291).
_HOLD_IPV4 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))


def networks(names: Iterable[str]) -> tuple[Network, ...]:
    """The networks of that notation: `10.0.0.0/8`, `127.0.0.1`, `fd00::/8`. Raises `UserError` for anything else."""
    found: list[Network] = []
    for name in names:
        try:
            found.append(ip_network(name))
        except ValueError:
            raise UserError(f"allowed_networks has {name!r}, expected an address or a network; write '10.0.0.0/8'") from None
    return tuple(found)


def may_be_reached(address: Address, allowed: Sequence[Network]) -> bool:
    """Whether the address is public or of an allowed network, and so is every address that it stands for."""
    return all(
        any(each in network for network in allowed) or (each.is_global and not each.is_multicast) for each in _meant(address)
    )


async def resolved(host: str, port: int, allowed: Sequence[Network]) -> list[str]:
    """The addresses of a host that may be reached, in the order to try them.

    Raises `FetchError` where one of them may not (a name that has both is a trap), `TransientToolError` for an unknown name.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise TransientToolError(f"the host {host!r} was not found; check its name") from None
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    for address in addresses:
        if not may_be_reached(ip_address(address.partition("%")[0]), allowed):
            raise FetchError(f"{host!r} is at an address that is not public, expected one that is; nothing was sent to it")
    return addresses


def _meant(address: Address) -> Iterable[Address]:
    yield address
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            yield address.ipv4_mapped
        if address.sixtofour is not None:
            yield address.sixtofour
        if address.teredo is not None:
            yield from address.teredo
        if any(address in network for network in _HOLD_IPV4):
            yield IPv4Address(int(address) & 0xFFFFFFFF)
