"""Sign-ins of the command line: begun there, approved in a browser, taken up within ten minutes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final, Literal

from bbops_server.accounts.keys import hash_key, make_key
from bbops_server.accounts.rules import Scope
from bbops_server.process.host.system import SystemRandom

LASTS_SECONDS: Final = 600
MOST: Final = 2_000
_SIGNS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so no words; nothing that is read as a digit."""

_random = SystemRandom()


@dataclass(frozen=True, slots=True)
class Login:
    """One of them. `client` is what the other machine calls itself, which proves nothing."""

    code: str
    client: str
    address: str
    scopes: tuple[Scope, ...]
    at: float
    outcome: Literal["pending", "approved", "denied"] = "pending"
    person: str = ""
    email: str = ""


class Logins:
    """Remembers them in this process; the oldest make room. Safe to use from threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Login] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, client: str, address: str, scopes: tuple[Scope, ...]) -> tuple[str, Login]:
        """Return the key that the other machine asks by, and what is to be approved."""
        key = make_key("bbd")
        login = Login(make_code(), client, address, scopes, monotonic())
        with self._lock:
            self._kept[hash_key(key)] = login
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return key, login

    def find(self, code: str) -> Login | None:
        """Return the one of a code that waits for an approval; case and blanks do not count."""
        wanted = code.strip().upper().replace(" ", "-")
        with self._lock:
            found = [one for one in self._kept.values() if one.code == wanted]
        return next((one for one in found if _waits(one)), None)

    def decide(self, login: Login, *, person: str, email: str, approve: bool) -> None:
        """Keep somebody's decision; a second one changes nothing."""
        with self._lock:
            for key, one in self._kept.items():
                if one == login:
                    outcome: Literal["approved", "denied"] = "approved" if approve else "denied"
                    self._kept[key] = replace(one, outcome=outcome, person=person, email=email)

    def take(self, key: str) -> Login | None:
        """Return how it is with a key's; one that is decided is told once. None: there is none."""
        hashed = hash_key(key)
        with self._lock:
            found = self._kept.get(hashed)
            if found is None or monotonic() - found.at > LASTS_SECONDS:
                self._kept.pop(hashed, None)
                return None
            if found.outcome != "pending":
                del self._kept[hashed]
        return found


def _waits(login: Login) -> bool:
    return login.outcome == "pending" and monotonic() - login.at <= LASTS_SECONDS


def make_code() -> str:
    """Return a code that is read from one screen and typed at another: 34 bits."""
    signs = "".join(_SIGNS[_random.integer(0, len(_SIGNS) - 1)] for _ in range(8))
    return f"{signs[:4]}-{signs[4:]}"
