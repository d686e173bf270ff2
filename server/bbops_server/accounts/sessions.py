"""Sessions of browsers: each starts at a sign-in, has a key, and expires or is ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from bbops_server.accounts.keys import hash_key, make_id, make_key
from bbops_server.accounts.members import roles_of
from bbops_server.accounts.rules import Caller
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import people, sessions

IDLE: Final = timedelta(days=7)
LONGEST: Final = timedelta(days=30)
MOST_SESSIONS: Final = 20
"""The number of one user's sessions; the least recently used are ended."""

_SEEN_EVERY: Final = timedelta(minutes=1)
_MOST_AGENT: Final = 200


@dataclass(frozen=True, slots=True)
class Session:
    """A session as its user sees it."""

    id: str
    created: datetime
    last_seen: datetime
    expires: datetime
    user_agent: str
    address: str


class Sessions:
    """Begins, finds and ends sessions."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, person: str, *, user_agent: str, address: str) -> str:
        """Sign a user in; return the key for the cookie, of which only the hash is stored."""
        key, now = make_key("bbs"), self._store.now()
        values = {
            "id": make_id(), "hash": hash_key(key), "person": person, "created": now,
            "last_seen": now, "expires": now + LONGEST,
            "user_agent": user_agent[:_MOST_AGENT], "address": address[:64],
        }  # fmt: skip
        with self._store.writing() as connection:
            _make_room(connection, person, now)
            connection.execute(sessions.insert().values(**values))
            signed_in = people.update().where(people.c.id == person).values(last_sign_in=now)
            connection.execute(signed_in)
        return key

    def find(self, key: str) -> Caller | None:
        """Return the user of a session key; None if the session has ended or never existed."""
        now = self._store.now()
        statement = (
            sa.select(sessions, people.c.email, people.c.name).join(people)
            .where(
                sessions.c.hash == hash_key(key), people.c.disabled.is_(None),
                sessions.c.expires > now, sessions.c.last_seen > now - IDLE,
            )
        )  # fmt: skip
        with self._store.reading() as connection:
            row = connection.execute(statement).one_or_none()
            if row is None:
                return None
            role, projects = roles_of(connection, row.person)
        if now - row.last_seen > _SEEN_EVERY:
            self._see(row.id, now)
        return Caller("session", row.person, row.email, row.name, role, projects, row.id)

    def list(self, person: str) -> list[Session]:
        """Return the sessions of a user, newest first."""
        statement = (
            sa.select(sessions).where(sessions.c.person == person)
            .where(sessions.c.expires > self._store.now())
            .order_by(sessions.c.last_seen.desc())
        )  # fmt: skip
        with self._store.reading() as connection:
            return [
                Session(
                    row.id, row.created, row.last_seen, row.expires, row.user_agent, row.address
                )
                for row in connection.execute(statement)
            ]

    def end(self, person: str, id: str) -> bool:  # noqa: A002
        """End a session of a user; False if it is not theirs."""
        wanted = sessions.delete().where(sessions.c.person == person, sessions.c.id == id)
        with self._store.writing() as connection:
            return bool(connection.execute(wanted).rowcount)

    def end_all(self, person: str, *, but: str = "") -> None:
        """End all sessions of a user, except one."""
        wanted = sessions.delete().where(sessions.c.person == person, sessions.c.id != but)
        with self._store.writing() as connection:
            connection.execute(wanted)

    def _see(self, id: str, now: datetime) -> None:  # noqa: A002
        with self._store.noting() as connection:
            connection.execute(sessions.update().where(sessions.c.id == id).values(last_seen=now))


def _make_room(connection: sa.Connection, person: str, now: datetime) -> None:
    ended = sa.or_(sessions.c.expires <= now, sessions.c.last_seen <= now - IDLE)
    connection.execute(sessions.delete().where(ended))
    kept = (
        sa.select(sessions.c.id).where(sessions.c.person == person)
        .order_by(sessions.c.last_seen.desc()).offset(MOST_SESSIONS - 1).limit(MOST_SESSIONS)
    )  # fmt: skip
    old = [row.id for row in connection.execute(kept)]
    connection.execute(sessions.delete().where(sessions.c.id.in_(old)))
