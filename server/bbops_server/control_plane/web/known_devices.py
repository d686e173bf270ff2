"""Browsers with which an account has signed in before: attempts elsewhere do not lock them out."""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path
from typing import Final

from bbops_server.accounts.keys import make_id
from bbops_server.accounts.text_rules import fold_email
from bbops_server.process.host.files import keep_key

LASTS_SECONDS: Final = 180 * 86_400
"""The time for which a browser is known; each sign-in renews it."""

_FILE: Final = "devices.key"
_KEY_BYTES: Final = 32


class KnownDevices:
    """Creates and verifies the device cookie of a browser; it does not authenticate a user."""

    def __init__(self, state: Path) -> None:
        """The key is created in the state folder on first use."""
        self._file = state / _FILE
        self._key = b""

    def make(self, email: str) -> str:
        """Return a device cookie for an account. Raises: ServerError: the key cannot be written."""
        device = make_id()
        return f"{device}.{self._sign(email, device)}"

    def find(self, cookie: str, email: str) -> str:
        """Return the id of the device; empty if the cookie is not valid for this account.

        Raises:
            ServerError: the key cannot be read.
        """
        device, _, signature = cookie.partition(".")
        if not signature or len(cookie) > 200:
            return ""
        expected = self._sign(email, device)
        return device if hmac.compare_digest(signature.encode(), expected.encode()) else ""

    def _sign(self, email: str, device: str) -> str:
        if not self._key:
            self._key = keep_key(self._file, lambda: secrets.token_bytes(_KEY_BYTES))
        text = f"{device}\0{fold_email(email)}"
        return hmac.digest(self._key, text.encode(errors="replace"), "sha256").hex()
