"""A sign-in that has begun: kept in a cookie of the browser that began it, and nowhere else.

What goes to the provider is derived from the cookie's secret by a key of the project: state, nonce
and the verifier of PKCE. So nothing is stored for a visitor who never comes back, and a cookie of
another project, provider, draft or browser leads to other values.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

LASTS_SECONDS: Final = 600.0
MOST_RETURN: Final = 1_000
_SECRET_LENGTH: Final = 32
_RETURN: Final = re.compile(r"/(?![/~])[!-\[\]-~]*").fullmatch


def is_return_path(text: object) -> bool:
    """Return whether a text is a path of the project's own: no other host, nothing to decode."""
    return type(text) is str and len(text) <= MOST_RETURN and _RETURN(text) is not None


@dataclass(frozen=True, slots=True)
class Started:
    """One sign-in under way.

    Attributes:
        back: the path to which it leads.
        id: names it, and tells nothing of it.
    """

    back: str
    id: str
    state: str
    nonce: str
    verifier: str

    @property
    def challenge(self) -> str:
        """What PKCE shows of the verifier (RFC 7636 section 4.2)."""
        return _text(sha256(self.verifier.encode()).digest())


class Seal:
    """Begins sign-ins of one provider at one address, and knows them again."""

    __slots__ = ("_key", "cookie")

    def __init__(self, signing_key: str, base_url: str, provider: str, *, is_secure: bool) -> None:
        where = f"{base_url}\0{provider}"
        self._key = hmac.digest(signing_key.encode(), f"sign-in\0{where}".encode(), "sha256")
        tag = sha256(where.encode()).hexdigest()[:12]
        # no sibling host can plant one of this name, and make somebody sign in as somebody else
        self.cookie = f"{'__Host-' if is_secure else ''}bbops-auth-{tag}"

    def begin(self, random: Any, now: float, back: str) -> tuple[Started, str]:
        """Return a new sign-in, and the value of its cookie."""
        head = f"{random.token(_SECRET_LENGTH)}.{int(now)}.{_text(back.encode())}"
        return self._started(head, back), f"{head}.{self._mac('cookie', head)}"

    def read(self, cookie: str | None, now: float) -> Started | None:
        """Return the sign-in of a cookie; None for one that is not ours, or too old."""
        head, _, mac = (cookie or "").rpartition(".")
        if not hmac.compare_digest(mac.encode(), self._mac("cookie", head).encode()):
            return None
        _, began, back = head.split(".")
        if not 0 <= now - int(began) < LASTS_SECONDS:
            return None
        return self._started(head, urlsafe_b64decode(back + "=" * (-len(back) % 4)).decode())

    def _started(self, head: str, back: str) -> Started:
        words = ("id", "state", "nonce", "verifier")
        return Started(back, *(self._mac(word, head) for word in words))

    def _mac(self, word: str, text: str) -> str:
        return _text(hmac.digest(self._key, f"{word}\0{text}".encode(), "sha256"))


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
