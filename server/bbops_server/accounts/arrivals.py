"""Users who pushed commits, which count as their work in every proposal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import arrivals

MOST_KEPT: Final = 500_000
"""The number of stored commits of all repositories; some 100 bytes each."""

_AT_ONCE: Final = 500


class Arrivals:
    """The users who pushed commits. An id belongs to one commit in all repositories."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, commits: Sequence[str], who: str) -> None:
        """Store the user who pushed commits that are new here; the oldest are deleted.

        Args:
            commits: whole ids.
            who: the e-mail address of the user.
        """
        if not commits:
            return
        at = self._store.now()
        with self._store.noting() as connection:
            known = _find(connection, commits, arrivals.c.who == who, arrivals.c.commit_id)
            rows = [{"commit_id": commit, "who": who, "at": at} for commit in {*commits} - known]
            if rows:
                connection.execute(arrivals.insert(), rows)
            _forget_old(connection)

    def claim(self, commits: Sequence[str], who: str) -> None:
        """Store a user for commits without one: they were made on this server."""
        with self._store.reading() as connection:
            known = _find(connection, commits, sa.true(), arrivals.c.commit_id)
        self.add([commit for commit in commits if commit not in known], who)

    def find(self, commits: Sequence[str]) -> frozenset[str]:
        """Return the e-mail addresses of all users who pushed some of these commits."""
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
