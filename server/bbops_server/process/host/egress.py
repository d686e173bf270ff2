"""The addresses that a project may connect to: public and allowed addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

SPECIAL_NETWORKS: Final[tuple[tuple[str, str], ...]] = (
    ("0.0.0.0/8", "RFC 791: this network"),
    ("10.0.0.0/8", "RFC 1918: private"),
    ("100.64.0.0/10", "RFC 6598: shared with a provider"),
    ("127.0.0.0/8", "RFC 1122: loopback"),
    ("169.254.0.0/16", "RFC 3927: link-local, where clouds serve credentials"),
    ("172.16.0.0/12", "RFC 1918: private"),
    ("192.0.0.0/24", "RFC 6890: protocol assignments, metadata of some clouds"),
    ("192.0.2.0/24", "RFC 5737: documentation"),
    ("192.88.99.0/24", "RFC 7526: relays of 6to4, deprecated"),
    ("192.168.0.0/16", "RFC 1918: private"),
    ("198.18.0.0/15", "RFC 2544: benchmarks"),
    ("198.51.100.0/24", "RFC 5737: documentation"),
    ("203.0.113.0/24", "RFC 5737: documentation"),
    ("224.0.0.0/4", "RFC 5771: multicast"),
    ("240.0.0.0/4", "RFC 1112: reserved, and the limited broadcast of RFC 919"),
    ("2001::/23", "RFC 2928: protocol assignments, Teredo, benchmarks, ORCHID"),
    ("2001:db8::/32", "RFC 3849: documentation"),
    ("2002::/16", "RFC 7526: 6to4, which wraps an IPv4 address"),
    ("3fff::/20", "RFC 9637: documentation"),
)
"""Networks that are not public, with their sources.

IPv6 addresses outside of `GLOBAL_UNICAST` are not public either: loopback, unique local (RFC 4193),
link-local, site-local (RFC 3879), discard-only (RFC 6666), segment routing (RFC 9602), local-use
translation (RFC 8215), multicast. Python's `ipaddress` is not used: its definition of global
differs between versions.
"""

GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
"""RFC 4291 section 2.4: all addresses that IANA has assigned."""

TRANSLATED: Final = IPv6Network("64:ff9b::/96")
"""RFC 6052: the last 32 bits are an IPv4 address, which must be public."""

_DEFAULT_PORTS: Final = frozenset({80, 443})
_NETWORKS: Final = tuple(ip_network(network) for network, _ in SPECIAL_NETWORKS)


class EgressPolicy:
    """The rules for outgoing connections: public addresses, and addresses in the settings."""

    def __init__(self, allow: Iterable[str] = (), *, only: Iterable[str] | None = None) -> None:
        """Create rules.

        Args:
            allow: addresses, networks such as 10.0.0.0/8, and host names.
            only: the only allowed hosts, `*.` for all below a name; None for all hosts. A host
                without a port (as in `name:8443`) has the default ports of HTTP and HTTPS.
        """
        self.only = None if only is None else frozenset(host.lower() for host in only)
        self.networks: list[IPv4Network | IPv6Network] = []
        self.names: set[str] = set()
        for entry in allow:
            try:
                self.networks.append(ip_network(entry))
            except ValueError:
                self.names.add(entry.lower())

    def knows(self, host: str, port: int) -> bool:
        """Return whether `only` contains a host and port. Addresses are not checked."""
        if self.only is None:
            return True
        ends = (f":{port}", "") if port in _DEFAULT_PORTS else (f":{port}",)
        names = [*_covering_names(host.lower().strip("[]"))]
        return any(name + end in self.only for name in names for end in ends)

    def allows(self, host: str, address: str) -> bool:
        """Return whether connections to `host` at one of its addresses are allowed."""
        ip = ip_address(address.partition("%")[0])
        if host.lower() in self.names or any(ip in network for network in self.networks):
            return True
        return is_public(address)


def _covering_names(name: str) -> Iterator[str]:
    """Yield a name, and the `*.` patterns that match it."""
    yield name
    _, dot, above = name.partition(".")
    while dot:
        yield f"*.{above}"
        _, dot, above = above.partition(".")


def is_public(address: str) -> bool:
    """Return whether an address is public. IPv4 addresses inside of IPv6 ones are checked, too."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped))
        if ip in TRANSLATED:
            return is_public(str(IPv4Address(int(ip) & 0xFFFF_FFFF)))
        if ip not in GLOBAL_UNICAST:
            return False
    return not any(ip in network for network in _NETWORKS)
