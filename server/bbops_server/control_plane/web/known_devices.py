"""Browsers that somebody has signed in with before: attempts of others do not lock them out."""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path
from typing import Final

from bbops_server.accounts.keys import make_id
from bbops_server.accounts.text_rules import fold_email
from bbops_server.process.host.files import keep_key

LASTS_SECONDS: Final = 180 * 86_400
"""How long a browser is known; each sign-in starts again."""

_FILE: Final = "devices.key"
_KEY_BYTES: Final = 32


class KnownDevices:
    """Makes and checks what such a browser keeps in a cookie; it proves no more than that."""

    def __init__(self, state: Path) -> None:
        """The key is kept in the state folder, and made when it is needed first."""
        self._file = state / _FILE
        self._key = b""

    def make(self, email: str) -> str:
        """Return what the browser of an account keeps. Raises: ServerError: no key can be kept."""
        device = make_id()
        return f"{device}.{self._sign(email, device)}"

    def find(self, cookie: str, email: str) -> str:
        """Return the id of the device, empty where it is not known for this account.

        Raises:
            ServerError: the key cannot be read.
        """
        device, _, signature = cookie.partition(".")
        if not signature or len(cookie) > 200:
            return ""
        right = self._sign(email, device)
        return device if hmac.compare_digest(signature.encode(), right.encode()) else ""

    def _sign(self, email: str, device: str) -> str:
        if not self._key:
            self._key = keep_key(self._file, lambda: secrets.token_bytes(_KEY_BYTES))
        said = f"{device}\0{fold_email(email)}"
        return hmac.digest(self._key, said.encode(errors="replace"), "sha256").hex()
