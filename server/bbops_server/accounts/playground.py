"""The requests that a user has sent from the Playground: the last 50 of each endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import playground_calls as calls

MAX_CALLS: Final = 50


@dataclass(frozen=True, slots=True)
class PlaygroundCall:
    """A sent request.

    Attributes:
        draft: the branch of the draft; empty for live.
        form: the filled form as JSON, without secrets.
    """

    number: int
    at: datetime
    draft: str
    status: int
    milliseconds: float
    form: str


@dataclass(frozen=True, slots=True)
class CallOwner:
    """The user and the endpoint of calls; `who` is an email address."""

    who: str
    project: str
    endpoint: str


class PlaygroundCalls:
    """Reads and writes calls; each user sees their own only."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(
        self, owner: CallOwner, *, draft: str, status: int, milliseconds: float, form: str
    ) -> None:
        """Add a call, and delete the oldest beyond MAX_CALLS."""
        values = {
            "who": owner.who, "project": owner.project, "endpoint": owner.endpoint,
            "at": self._store.now(), "draft": draft, "status": status,
            "microseconds": round(milliseconds * 1000), "form": form,
        }  # fmt: skip
        newest = (
            sa.select(calls.c.number)
            .where(*_of(owner))
            .order_by(calls.c.number.desc())
            .limit(MAX_CALLS)
        )
        with self._store.noting() as connection:
            connection.execute(calls.insert().values(values))
            kept = connection.execute(newest).scalars().all()
            connection.execute(calls.delete().where(*_of(owner), calls.c.number < min(kept)))

    def list(self, owner: CallOwner) -> list[PlaygroundCall]:
        """Return the calls, newest first."""
        statement = sa.select(calls).where(*_of(owner)).order_by(calls.c.number.desc())
        with self._store.reading() as connection:
            return [_call(row) for row in connection.execute(statement.limit(MAX_CALLS))]

    def find(self, owner: CallOwner, number: int) -> PlaygroundCall | None:
        """Return a call of this owner."""
        statement = sa.select(calls).where(*_of(owner), calls.c.number == number)
        with self._store.reading() as connection:
            row = connection.execute(statement).first()
        return None if row is None else _call(row)

    def forget(self, owner: CallOwner) -> int:
        """Delete all calls of this owner; return their number."""
        with self._store.noting() as connection:
            return connection.execute(calls.delete().where(*_of(owner))).rowcount


def _of(owner: CallOwner) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        calls.c.who == owner.who, calls.c.project == owner.project,
        calls.c.endpoint == owner.endpoint,
    )  # fmt: skip


def _call(row: Any) -> PlaygroundCall:
    return PlaygroundCall(
        row.number, row.at, row.draft, row.status, row.microseconds / 1000, row.form
    )
