"""Make what opens a door, and the hash that is kept of it: 200 bits need no slow hash."""

from __future__ import annotations

import hashlib
from typing import Final, Literal

from bbops_server.process.host.system import SystemRandom

Kind = Literal["bbp", "bbs", "bbi", "bbl", "bbd", "bbv", "bba", "bbr", "bbc", "bbw"]
"""A token of a person, a session, an invitation, this machine's user, a device, a visit.

Of a grant: an access token, a refresh token, a code. `bbw` is the token of a workflow.
"""

_LENGTH: Final = 40
_GRANT_LENGTH: Final = 50
_ID_LENGTH: Final = 16
_random = SystemRandom()


def make_key(kind: Kind) -> str:
    """Return a new key with the prefix that secret scanners know: 206 bits nobody can guess."""
    return f"{kind}_{_random.token(_LENGTH)}"


def make_grant_key(kind: Literal["bba", "bbr", "bbc", "bbd"]) -> str:
    """Return a new key of an agent, with 258 bits that nobody can guess."""
    return f"{kind}_{_random.token(_GRANT_LENGTH)}"


def make_id() -> str:
    """Return a new id, which opens nothing."""
    return _random.token(_ID_LENGTH)


def hash_key(key: str) -> str:
    """Return what is kept of a key: looking it up by this leaks nothing of its time."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()
