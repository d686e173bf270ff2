"""Take the client's address and scheme from proxies that are known, and from nobody else.

Anybody can send `x-forwarded-for`: of the addresses in it, the last one that no known proxy has is
the client, for what stands before it is the client's own word.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Final

MAX_HOPS: Final = 32
_MAX_REMEMBERED: Final = 4_096
_SCHEMES: Final = {b"http": "http", b"https": "https"}


class Proxies:
    """The proxies in front of a data plane, as addresses and networks."""

    def __init__(self, networks: Sequence[str]) -> None:
        """Raises: ValueError: one of them is neither."""
        self._networks: list[IPv4Network | IPv6Network] = [ip_network(one) for one in networks]
        self._known: dict[str, bool | None] = {}

    def apply(self, scope: Any) -> None:
        """Change client and scheme of a request that a known proxy has passed on."""
        client = scope.get("client")
        if client is None or not self._is_known(client[0]):
            return
        headers = scope["headers"]
        hops = [v for name, v in headers if name == b"x-forwarded-for"]
        if hops:
            scope["client"] = (self._client(b",".join(hops), client[0]), 0)
        schemes = [v for name, v in headers if name == b"x-forwarded-proto"]
        if schemes:
            said = schemes[-1].rpartition(b",")[2].strip().lower()
            scope["scheme"] = _SCHEMES.get(said, scope["scheme"])

    def _client(self, hops: bytes, peer: str) -> str:
        """Return the last address that is no known proxy's; the proxy before what is none."""
        found = peer
        for hop in hops.decode("latin-1").split(",")[: -MAX_HOPS - 1 : -1]:
            address = hop.strip().removeprefix("[").partition("]")[0]
            is_known = self._is_known(address)
            if is_known is None:
                return found
            found = address
            if not is_known:
                return found
        return found

    def _is_known(self, address: str) -> bool | None:
        """Return whether an address is a known proxy's; None when it is no address."""
        if address not in self._known:
            if len(self._known) >= _MAX_REMEMBERED:
                self._known.clear()
            self._known[address] = self._look_up(address)
        return self._known[address]

    def _look_up(self, address: str) -> bool | None:
        try:
            found = ip_address(address)
        except ValueError:
            return None
        found = getattr(found, "ipv4_mapped", None) or found
        return any(found in network for network in self._networks)
