"""Devices that wait for somebody: they show a short code, and a person types it in a browser.

Source: RFC 8628.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

import sqlalchemy as sa

from bbops_server.accounts.grants import Approval, add_grant, write_scopes
from bbops_server.accounts.issuing import Issued, add_tokens
from bbops_server.accounts.keys import hash_key, make_grant_key
from bbops_server.accounts.logins import make_code
from bbops_server.accounts.rules import GrantScope
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import oauth_devices

LASTS: Final = timedelta(minutes=15)
INTERVAL_SECONDS: Final = 5
MOST: Final = 5_000
"""The ones that began first make room."""

Outcome = Literal["pending", "approved", "denied", "used"]


@dataclass(frozen=True, slots=True)
class Device:
    """One that waits, or has waited.

    Attributes:
        wish: what it asks for.
        address: where it asked from.
        is_over: whether it has waited for too long.
        grant: what it got, once it is approved.
    """

    key_hash: str
    user_code: str
    wish: Approval
    address: str
    outcome: Outcome
    is_over: bool
    grant: str


class Devices:
    """Remembers them, and what somebody decided."""

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
        """Return the one that waits under a code; case, blanks and dashes do not count."""
        device = self._read(oauth_devices.c.user_code == tidy_code(user_code))
        is_waiting = device is not None and device.outcome == "pending" and not device.is_over
        return device if is_waiting else None

    def decide(self, device: Device, person: str, *, approve: bool) -> bool:
        """Keep somebody's decision; False when there was one, or it came too late."""
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
        """Return whether a device that waits asks again too soon; it is to wait longer then."""
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
        """Keep the tokens of an approved device; False when it got them already."""
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
    """Return a code as it is kept, whatever somebody typed between its letters."""
    letters = "".join(sign for sign in text.upper() if sign.isascii() and sign.isalpha())
    return f"{letters[:4]}-{letters[4:12]}"


def _make_room(connection: sa.Connection, begun: Any) -> None:
    connection.execute(oauth_devices.delete().where(oauth_devices.c.expires <= begun))
    kept = (
        sa.select(oauth_devices.c.hash).order_by(oauth_devices.c.expires.desc())
        .offset(MOST - 1).limit(MOST)
    )  # fmt: skip
    old = [row.hash for row in connection.execute(kept)]
    connection.execute(oauth_devices.delete().where(oauth_devices.c.hash.in_(old)))
