"""Texts that open doors, such as refresh tokens and API keys: only their hashes are kept."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any, Final

_LENGTH: Final = 40
"""Characters of a-z and 0-9: 206 bits, so that a plain hash tells nobody anything."""
_SIGNS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


def make_secret(random: Any, prefix: str) -> tuple[str, str]:
    """Return a new secret text and the hash that is kept of it."""
    text = f"{prefix}_{random.token(_LENGTH)}"
    return text, hash_secret(text)


def derive_secret(text: str, salt: str, prefix: str) -> tuple[str, str]:
    """Return the secret text that follows from another by a salt, and the hash that is kept of it.

    Who has but one of the two, the text or the salt, learns nothing of it.
    """
    mac = hmac.digest(text.encode("utf-8", "surrogatepass"), salt.encode(), "sha256")
    number, signs = int.from_bytes(mac), []
    for _ in range(_LENGTH):
        number, sign = divmod(number, len(_SIGNS))
        signs.append(_SIGNS[sign])
    made = f"{prefix}_{''.join(signs)}"
    return made, hash_secret(made)


def hash_secret(text: str) -> str:
    """Return what is kept of a secret text, in hex.

    Looking a hash up tells nothing by its time: who can choose it does not know the text.
    """
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
