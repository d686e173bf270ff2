"""The address of a server, as somebody types it."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from bbops.errors import ServerError


def check_address(url: str) -> str:
    """Return an address without a slash at its end. Raises: ServerError: it is none."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        is_usable = False
    if not is_usable:
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
