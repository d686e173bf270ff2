"""Random keys and their stored hashes: keys of 200 bits need no slow hash."""

from __future__ import annotations

import hashlib
from typing import Final, Literal

from bbops_server.process.host.system import SystemRandom

Kind = Literal["bbp", "bbs", "bbi", "bbl", "bbd", "bbv", "bba", "bbr", "bbc", "bbw"]
"""In order: a user's token, a session, an invitation, this machine's user, a device, a visit; an
access token, a refresh token and a code of a grant; and the token of a workflow.
"""

_LENGTH: Final = 40
_GRANT_LENGTH: Final = 50
_ID_LENGTH: Final = 16
_random = SystemRandom()


def make_key(kind: Kind) -> str:
    """Return a new key of 206 random bits, with a prefix for secret scanners."""
    return f"{kind}_{_random.token(_LENGTH)}"


def make_grant_key(kind: Literal["bba", "bbr", "bbc", "bbd"]) -> str:
    """Return a new key of a grant, with 258 random bits."""
    return f"{kind}_{_random.token(_GRANT_LENGTH)}"


def make_id() -> str:
    """Return a new id, which is not a secret."""
    return _random.token(_ID_LENGTH)


def hash_key(key: str) -> str:
    """Return the stored hash of a key; a lookup by it leaks nothing through its time."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()
