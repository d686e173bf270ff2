"""The address of a server, as somebody types it."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from bbops.base.errors import ServerError


def split(url: str) -> SplitResult | None:
    """Return the parts of an address, None of a text that has none.

    What is wrong with it is not told: Python's own words repeat a password that is in it.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port, parts.hostname
    except ValueError:
        return None
    return parts


def check_address(url: str) -> str:
    """Return an address without a trailing slash. Raises: ServerError: it is none."""
    parts = split(url)
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ServerError(
            f"'{url}' is not the address of a server", hint="for example http://127.0.0.1:8001"
        )
    return url.rstrip("/")


def is_https(url: str) -> bool:
    """Return whether certificates matter: reading them takes 25 ms, which http has no use for."""
    return urlsplit(url).scheme != "http"


def is_here(url: str) -> bool:
    """Return whether it leads to this machine alone, so that nobody listens on the way."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
