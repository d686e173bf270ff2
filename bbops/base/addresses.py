"""The address of a server as a user types it."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from bbops.base.errors import ServerError


def split(url: str) -> SplitResult | None:
    """Return the parts of an address; None for a text that is not an address.

    The problem is not reported: Python's message repeats a password in it.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port, parts.hostname
    except ValueError:
        return None
    return parts


def check_address(url: str) -> str:
    """Return an address without a trailing slash. Raises: ServerError: it is not an address."""
    parts = split(url)
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ServerError(
            f"'{url}' is not the address of a server", hint="for example http://127.0.0.1:8001"
        )
    return url.rstrip("/")


def is_https(url: str) -> bool:
    """Return whether certificates are needed: reading them takes 25 ms."""
    return urlsplit(url).scheme != "http"


def is_here(url: str) -> bool:
    """Return whether it leads only to this machine, so that no other can read the traffic."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
