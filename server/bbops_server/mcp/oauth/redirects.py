"""Which addresses a client may have its answers sent to.

They are compared sign by sign (RFC 9700, section 2.1). Only the port of a program on the person's
own computer may be another one each time (RFC 8252, section 7.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import SplitResult, urlsplit

from bbops.base.addresses import split

MOST_LENGTH: Final = 2_000
_PLAIN: Final = re.compile(r"[!#-)+-;=?-\[\]_a-z~%]+", re.IGNORECASE)
"""Printable ASCII without what no address has, and without `*`."""
_HERE: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_APPS: Final = frozenset({"cursor", "vscode", "vscode-insiders", "windsurf"})
"""Schemes of known programs; others' have a dot, as RFC 8252 section 7.1 asks."""


def is_registrable(uri: str) -> bool:
    """Return whether a client may name an address as its own."""
    parts = _split(uri)
    if parts is None or "#" in uri or parts.username is not None or parts.password is not None:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme == "http":
        return parts.hostname in _HERE
    return "." in parts.scheme or parts.scheme in _APPS


def allows(registered: Iterable[str], uri: str) -> bool:
    """Return whether an answer may be sent to an address, given those of its client."""
    known = tuple(registered)
    return uri in known or (is_here(uri) and any(_is_same_but_port(one, uri) for one in known))


def is_here(uri: str) -> bool:
    """Return whether an address is that of a program on the person's own computer."""
    parts = _split(uri)
    return parts is not None and parts.scheme == "http" and is_registrable(uri)


def place_of(uri: str) -> str:
    """Return what people are shown of an address: its host, or the scheme of a program."""
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in {"http", "https"} else f"{parts.scheme}:"


def _is_same_but_port(one: str, other: str) -> bool:
    if not is_here(one):
        return False
    pair = [urlsplit(uri) for uri in (one, other)]
    first, second = ((parts.hostname, parts.path, parts.query) for parts in pair)
    return first == second


def _split(uri: str) -> SplitResult | None:
    if len(uri) > MOST_LENGTH or not _PLAIN.fullmatch(uri):
        return None
    return split(uri)
