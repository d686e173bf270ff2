"""What lets somebody into a draft: a token that says who and until when, signed for it alone.

Pure: the control plane makes them, a data-plane process checks them, and neither remembers any.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Collection, Mapping
from typing import Final

PREFIX: Final = "bbd_"
_FORM: Final = re.compile(r"bbd_(([0-9a-f]{1,12})_([0-9a-f]{16})?)_([A-Za-z0-9_-]{43})").fullmatch

Marks = Mapping[str, Collection[str]]
"""The marks of all members, by project; those of the whole workspace under an empty name."""


def mark_of(person: str) -> str:
    """Return what stands for somebody in a token, by the id of their account."""
    return hashlib.sha256(person.encode()).hexdigest()[:16] if person else ""


def derive_key(server_key: bytes, draft: str, branch: str) -> bytes:
    """Return the key of one draft: who has it knows nothing of another's."""
    return hmac.digest(server_key, f"{draft}\0{branch}".encode(), "sha256")


def make_token(key: bytes, expires_at: float, mark: str = "") -> str:
    """Return a token that is good until `expires_at`, in seconds since 1970.

    Args:
        mark: of the person it is for; empty for the server itself and its owner.
    """
    said = f"{int(expires_at):x}_{mark}"
    return f"{PREFIX}{said}_{_sign(key, said)}"


def find_mark(token: str, key: bytes, now: float) -> str | None:
    """Return the mark in a token that was made with this key and has not expired, else None.

    Constant time. Whether that person may still see the draft is another question.
    """
    found = _FORM(token)
    if found is None or not hmac.compare_digest(_sign(key, found[1]), found[4]):
        return None
    return (found[3] or "") if int(found[2], 16) > now else None


def _sign(key: bytes, said: str) -> str:
    return urlsafe_b64encode(hmac.digest(key, said.encode(), "sha256")).decode().rstrip("=")
