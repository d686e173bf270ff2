"""What lets somebody into a draft: a token that says until when, signed for that draft alone.

Pure: the control plane makes them, a data-plane process checks them, and neither remembers any.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64encode
from typing import Final

PREFIX: Final = "bbd_"
_FORM: Final = re.compile(r"bbd_([0-9a-f]{1,12})_([A-Za-z0-9_-]{43})").fullmatch


def derive_key(server_key: bytes, draft: str, branch: str) -> bytes:
    """Return the key of one draft: who has it knows nothing of another's."""
    return hmac.digest(server_key, f"{draft}\0{branch}".encode(), "sha256")


def make_token(key: bytes, expires_at: float) -> str:
    """Return a token that is good until `expires_at`, in seconds since 1970."""
    until = f"{int(expires_at):x}"
    return f"{PREFIX}{until}_{_sign(key, until)}"


def is_good(token: str, key: bytes, now: float) -> bool:
    """Return whether a token was made with this key and has not expired. Constant time."""
    found = _FORM(token)
    if found is None:
        return False
    is_signed = hmac.compare_digest(_sign(key, found[1]), found[2])
    return is_signed and int(found[1], 16) > now


def _sign(key: bytes, until: str) -> str:
    return urlsafe_b64encode(hmac.digest(key, until.encode(), "sha256")).decode().rstrip("=")
