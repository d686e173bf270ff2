"""Clients: the programs of agents. Their metadata is not verified.

A client registers here, or publishes a document at the address that is its id.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

import sqlalchemy as sa

from bbops_server.accounts.keys import make_id
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import oauth_clients

UNUSED_LASTS: Final = timedelta(days=1)
LASTS: Final = timedelta(days=365)
"""The time since its last sign-in."""
MOST: Final = 5_000
"""The number of clients that were never used; the oldest are deleted."""

Kind = Literal["registered", "document"]


@dataclass(frozen=True, slots=True)
class Described:
    """A client: `metadata` is JSON, which was checked at `checked`."""

    id: str
    metadata: str
    checked: datetime


class Clients:
    """Stores and finds clients."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def register(self, metadata: str) -> str:
        """Store a new client; return its id."""
        id = make_id()  # noqa: A001
        self._keep(id, "registered", metadata)
        return id

    def keep_document(self, address: str, metadata: str) -> None:
        """Store the metadata of a document in place of the earlier one."""
        self._keep(address, "document", metadata)

    def find(self, id: str) -> Described | None:  # noqa: A002
        """Return a client by its id."""
        wanted = sa.select(oauth_clients).where(oauth_clients.c.id == id)
        with self._store.reading() as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else Described(row.id, row.metadata, row.checked)

    def use(self, id: str) -> None:  # noqa: A002
        """Store the time of a sign-in with a client."""
        mine = oauth_clients.update().where(oauth_clients.c.id == id)
        with self._store.noting() as connection:
            connection.execute(mine.values(used=self._store.now()))

    def is_fresh(self, client: Described, lasts: timedelta) -> bool:
        """Return whether a client was checked within the time `lasts`."""
        return self._store.now() - client.checked < lasts

    def _keep(self, id: str, kind: Kind, metadata: str) -> None:  # noqa: A002
        now, mine = self._store.now(), oauth_clients.c.id == id
        values = {"kind": kind, "metadata": metadata, "checked": now}
        with self._store.noting() as connection:
            _make_room(connection, now)
            changed = connection.execute(oauth_clients.update().where(mine).values(**values))
            if not changed.rowcount:
                connection.execute(oauth_clients.insert().values(id=id, **values))


def _make_room(connection: sa.Connection, now: datetime) -> None:
    known = oauth_clients.c
    forgotten = sa.or_(
        sa.and_(known.used.is_(None), known.checked <= now - UNUSED_LASTS),
        known.used <= now - LASTS,
    )
    connection.execute(oauth_clients.delete().where(forgotten))
    kept = (
        sa.select(known.id).where(known.used.is_(None)).order_by(known.checked.desc())
        .offset(MOST - 1).limit(MOST)
    )  # fmt: skip
    old = [row.id for row in connection.execute(kept)]
    connection.execute(oauth_clients.delete().where(known.id.in_(old)))
