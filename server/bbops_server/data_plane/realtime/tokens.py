"""Tokens of connections: when a client should fetch a newer one, and whose page sends a cookie."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any, Final

import msgspec

EARLY_SECONDS: Final = 10.0
"""How long before its token ends a client is asked for a newer one."""

_MOST_TOKEN: Final = 8 << 10


def has_expired(token: str, now: float) -> bool:
    """Return whether a token that does not count says itself that it is over.

    Its client is told to fetch a newer one; whether it was ever valid is not looked at.
    """
    parts = token.split(".")
    if len(token) > _MOST_TOKEN or len(parts) != 3:
        return False
    try:
        claims = msgspec.json.decode(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return bool(claims["exp"] <= now)
    except (ValueError, TypeError, KeyError, RecursionError, msgspec.MsgspecError):
        return False


def may_use_cookie(scope: Any, origins: Mapping[str, bool]) -> bool:
    """Return whether the page that a request comes from may use the project's cookies.

    It is of the same origin, or of one that a channel lists with credentials. A browser tells
    `origin` with every websocket, and with what one page asks of another origin.
    """
    headers: dict[bytes, bytes] = dict(scope["headers"])
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin", b"").lower()
    if site in {b"same-origin", b"none"} or origins.get(origin.decode("latin-1"), False):
        return True
    is_own = origin.partition(b"//")[2] == headers.get(b"host", b"").lower()
    return site is None and (not origin or is_own)
