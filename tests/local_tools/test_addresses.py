"""Which addresses are public: no form of a private one is."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk import UserError
from agentsdk.local_tools.addresses import may_be_reached, networks

PRIVATE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "240.0.0.1",
    "255.255.255.255", "192.0.2.1", "198.18.0.1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_none_in_whatever_form(address: str) -> None:
    four = int(IPv4Address(address))
    forms = [
        IPv6Address(f"::ffff:{address}"),
        IPv6Address(int(IPv6Address("64:ff9b::")) + four),
        IPv6Address(int(IPv6Address("64:ff9b:1::")) + four),
        IPv6Address(int(IPv6Address("2002::")) + (four << 80)),
        IPv6Address(int(IPv6Address("2001::")) + (four ^ 0xFFFFFFFF)),
        IPv6Address(four),
    ]
    for form in [IPv4Address(address), *forms]:
        assert not may_be_reached(form, ()), form


@pytest.mark.parametrize("address", ["::1", "::", "fe80::1", "fc00::1", "ff02::1", "2001:db8::1"])
def test_nor_are_those_of_ipv6(address: str) -> None:
    assert not may_be_reached(ip_address(address), ())


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are_reached(address: str) -> None:
    assert may_be_reached(ip_address(address), ())


@given(st.ip_addresses())
def test_an_address_of_an_allowed_network_is_reached_and_no_other_private_one(address: IPv4Address | IPv6Address) -> None:
    assert may_be_reached(address, networks(["0.0.0.0/0", "::/0"]))
    if not address.is_global:
        assert not may_be_reached(address, networks(["203.0.113.7"])) or str(address) == "203.0.113.7"


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(UserError, match="allowed_networks has 'intranet', expected an address or a network"):
        networks(["intranet"])
