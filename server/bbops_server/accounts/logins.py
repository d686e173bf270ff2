"""Sign-ins that are approved in a browser: of the command line and of devices."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import timedelta
from time import monotonic
from typing import Any, Final, Literal

import sqlalchemy as sa

from bbops_server.accounts.grants import Approval, add_grant, write_scopes
from bbops_server.accounts.issuing import Issued, add_tokens
from bbops_server.accounts.keys import hash_key, make_grant_key, make_key
from bbops_server.accounts.rules import GrantScope, Scope
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import oauth_devices
from bbops_server.process.host.system import SystemRandom

LASTS_SECONDS: Final = 600
# ---- Devices that show a short code, which a user enters in the browser
# Source: RFC 8628.

MOST: Final = 2_000
_SIGNS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so no words; no letters that look like digits."""

_random = SystemRandom()


@dataclass(frozen=True, slots=True)
class Login:
    """A sign-in. `client` is the name that the other machine states, unverified."""

    code: str
    client: str
    address: str
    scopes: tuple[Scope, ...]
    at: float
    outcome: Literal["pending", "approved", "denied"] = "pending"
    person: str = ""
    email: str = ""


class Logins:
    """Sign-ins in this process; the oldest are dropped. Safe to use from threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Login] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, client: str, address: str, scopes: tuple[Scope, ...]) -> tuple[str, Login]:
        """Return the key of the other machine, and the sign-in to approve."""
        key = make_key("bbd")
        login = Login(make_code(), client, address, scopes, monotonic())
        with self._lock:
            self._kept[hash_key(key)] = login
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return key, login

    def find(self, code: str) -> Login | None:
        """Return the waiting sign-in of a code; case and spaces are ignored."""
        wanted = code.strip().upper().replace(" ", "-")
        with self._lock:
            found = [one for one in self._kept.values() if one.code == wanted]
        return next((one for one in found if _waits(one)), None)

    def decide(self, login: Login, *, person: str, email: str, approve: bool) -> None:
        """Store a decision; a second one changes nothing."""
        with self._lock:
            for key, one in self._kept.items():
                if one == login:
                    outcome: Literal["approved", "denied"] = "approved" if approve else "denied"
                    self._kept[key] = replace(one, outcome=outcome, person=person, email=email)

    def take(self, key: str) -> Login | None:
        """Return the sign-in of a key, a decided one only once; None without one."""
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
    """Return a code to type on another device: 34 bits."""
    signs = "".join(_SIGNS[_random.integer(0, len(_SIGNS) - 1)] for _ in range(8))
    return f"{signs[:4]}-{signs[4:]}"


LASTS: Final = timedelta(minutes=15)
INTERVAL_SECONDS: Final = 5
MOST_DEVICES: Final = 5_000
"""The oldest sign-ins make room."""

Outcome = Literal["pending", "approved", "denied", "used"]


@dataclass(frozen=True, slots=True)
class Device:
    """A sign-in of a device that waits or has waited.

    Attributes:
        wish: the requested access.
        address: the address of the device.
        is_over: whether its time has passed.
        grant: the id of the approved grant.
    """

    key_hash: str
    user_code: str
    wish: Approval
    address: str
    outcome: Outcome
    is_over: bool
    grant: str


class Devices:
    """Stores sign-ins of devices, and the decisions about them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, wish: Approval, address: str) -> tuple[str, str]:
        """Return the key that a device asks by, and the code that it shows."""
        key, code, now = make_grant_key("bbd"), make_code(), self._store.now()
        values = {
            "hash": hash_key(key), "user_code": code, "client": wish.client,
            "client_name": wish.client_name, "scopes": write_scopes(wish.scopes),
            "resource": wish.resource, "project": wish.project, "address": address[:64],
            "expires": now + LASTS, "interval_seconds": INTERVAL_SECONDS, "outcome": "pending",
        }  # fmt: skip
        with self._store.noting() as connection:
            _make_room(connection, now - LASTS)
            connection.execute(oauth_devices.insert().values(**values))
        return key, code

    def find(self, user_code: str) -> Device | None:
        """Return the waiting sign-in of a code; case, blanks and dashes do not matter."""
        device = self._read(oauth_devices.c.user_code == tidy_code(user_code))
        is_waiting = device is not None and device.outcome == "pending" and not device.is_over
        return device if is_waiting else None

    def decide(self, device: Device, person: str, *, approve: bool) -> bool:
        """Store a decision; False if there is a decision already, or it is too late."""
        now, known = self._store.now(), oauth_devices.c
        waiting = oauth_devices.update().where(
            known.hash == device.key_hash, known.outcome == "pending", known.expires > now
        )
        outcome: Outcome = "approved" if approve else "denied"
        with self._store.writing() as connection:
            is_first = bool(connection.execute(waiting.values(outcome=outcome)).rowcount)
            if is_first and approve:
                grant = add_grant(connection, person, device.wish, now, now + LASTS)
                mine = oauth_devices.update().where(known.hash == device.key_hash)
                connection.execute(mine.values(grant_id=grant))
        return is_first

    def look(self, key: str) -> Device | None:
        """Return the device of a key."""
        return self._read(oauth_devices.c.hash == hash_key(key))

    def is_hasty(self, device: Device) -> bool:
        """Return whether a waiting device polls too soon; its interval then grows."""
        now, mine = self._store.now(), oauth_devices.c.hash == device.key_hash
        wanted = sa.select(oauth_devices.c.asked, oauth_devices.c.interval_seconds).where(mine)
        with self._store.noting() as connection:
            asked, interval = connection.execute(wanted).one()
            is_hasty = asked is not None and now - asked < timedelta(seconds=interval)
            more = interval + (INTERVAL_SECONDS if is_hasty else 0)
            values = {"asked": now, "interval_seconds": min(more, 60)}
            connection.execute(oauth_devices.update().where(mine).values(**values))
        return is_hasty

    def redeem(self, device: Device, issued: Issued) -> bool:
        """Store the tokens of an approved device; False if it has tokens already."""
        known = oauth_devices.c
        spent = oauth_devices.update().where(
            known.hash == device.key_hash, known.outcome == "approved"
        )
        with self._store.noting() as connection:
            is_first = bool(connection.execute(spent.values(outcome="used")).rowcount)
            if is_first:
                add_tokens(connection, device.grant, issued, self._store.now())
        return is_first

    def _read(self, wanted: sa.ColumnElement[bool]) -> Device | None:
        with self._store.reading() as connection:
            row = connection.execute(sa.select(oauth_devices).where(wanted)).one_or_none()
        return None if row is None else self._device(row)

    def _device(self, row: Any) -> Device:
        scopes = frozenset(map(GrantScope, row.scopes.split()))
        wish = Approval(row.client, row.client_name, scopes, row.resource, row.project)
        is_over = row.expires <= self._store.now()
        return Device(
            row.hash, row.user_code, wish, row.address, row.outcome, is_over, row.grant_id or ""
        )


def tidy_code(text: str) -> str:
    """Return a typed code in its stored form, without blanks and dashes."""
    letters = "".join(sign for sign in text.upper() if sign.isascii() and sign.isalpha())
    return f"{letters[:4]}-{letters[4:12]}"


def _make_room(connection: sa.Connection, begun: Any) -> None:
    connection.execute(oauth_devices.delete().where(oauth_devices.c.expires <= begun))
    kept = (
        sa.select(oauth_devices.c.hash).order_by(oauth_devices.c.expires.desc())
        .offset(MOST_DEVICES - 1).limit(MOST_DEVICES)
    )  # fmt: skip
    old = [row.hash for row in connection.execute(kept)]
    connection.execute(oauth_devices.delete().where(oauth_devices.c.hash.in_(old)))
