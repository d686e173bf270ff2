"""Texts that open doors, such as refresh tokens and API keys: only their hashes are kept."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

_LENGTH: Final = 40
"""Characters of a-z and 0-9: 206 bits, so that a plain hash tells nobody anything."""


def make_secret(random: Any, prefix: str) -> tuple[str, str]:
    """Return a new secret text and the hash that is kept of it."""
    text = f"{prefix}_{random.token(_LENGTH)}"
    return text, hash_secret(text)


def hash_secret(text: str) -> str:
    """Return what is kept of a secret text, in hex.

    Looking a hash up tells nothing by its time: who can choose it does not know the text.
    """
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
