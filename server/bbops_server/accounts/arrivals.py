"""Who brought which commits: their own work, whoever proposes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import arrivals

MOST_KEPT: Final = 500_000
"""The newest, of all repositories together; some 100 bytes each."""

_AT_ONCE: Final = 500


class Arrivals:
    """Writes and reads who pushed commits. An id names one commit, in whatever repository it is."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, commits: Sequence[str], who: str) -> None:
        """Remember who brought commits, which nobody else had here; the oldest are forgotten.

        Args:
            commits: whole ids.
            who: their e-mail address.
        """
        if not commits:
            return
        at = self._store.now()
        with self._store.noting() as connection:
            known = _find(connection, commits, arrivals.c.who == who, arrivals.c.commit_id)
            rows = [{"commit_id": one, "who": who, "at": at} for one in {*commits} - known]
            if rows:
                connection.execute(arrivals.insert(), rows)
            _forget_old(connection)

    def claim(self, commits: Sequence[str], who: str) -> None:
        """Remember commits as somebody's that nobody has brought: they were made here."""
        with self._store.reading() as connection:
            known = _find(connection, commits, sa.true(), arrivals.c.commit_id)
        self.add([one for one in commits if one not in known], who)

    def find(self, commits: Sequence[str]) -> frozenset[str]:
        """Return the e-mail addresses of all who brought some of these commits."""
        with self._store.reading() as connection:
            return frozenset(_find(connection, commits, sa.true(), arrivals.c.who))


def _find(
    connection: sa.Connection, commits: Sequence[str], where: sa.ColumnElement[bool],
    column: sa.Column[str],
) -> set[str]:  # fmt: skip
    found: set[str] = set()
    for start in range(0, len(commits), _AT_ONCE):
        some = arrivals.c.commit_id.in_(commits[start : start + _AT_ONCE])
        wanted = sa.select(column).where(some, where).distinct()
        found |= set(connection.scalars(wanted))
    return found


def _forget_old(connection: sa.Connection) -> None:
    newest = sa.select(arrivals.c.at).order_by(arrivals.c.at.desc())
    last = connection.scalar(newest.offset(MOST_KEPT).limit(1))
    if last is not None:
        connection.execute(arrivals.delete().where(arrivals.c.at <= last))
