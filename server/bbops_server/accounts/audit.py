"""The audit log: actions, their users and addresses. It only grows, and has no secrets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import audit

_LENGTHS = {"who": 254, "token": 32, "action": 200, "object": 300, "address": 64, "outcome": 64}


@dataclass(frozen=True, slots=True)
class Entry:
    """An action that was done or refused.

    Attributes:
        who: an e-mail address, `local`, or empty without a user.
        token: the id of the token of the request; empty for a session.
        object: the object of the action.
    """

    number: int
    at: datetime
    who: str
    token: str
    action: str
    object: str
    address: str
    outcome: str


class Audit:
    """Writes and reads entries, which never change."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(
        self, action: str, *, who: str = "", token: str = "", object: str = "",  # noqa: A002
        address: str = "", outcome: str = "done",
    ) -> None:  # fmt: skip
        """Write an entry; long texts are cut."""
        given = {
            "who": who, "token": token, "action": action, "object": object, "address": address,
            "outcome": outcome,
        }  # fmt: skip
        values = {name: text[: _LENGTHS[name]] for name, text in given.items()}
        with self._store.noting() as connection:
            connection.execute(audit.insert().values(at=self._store.now(), **values))

    def list(self, *, before: int | None = None, limit: int = 100) -> list[Entry]:
        """Return entries, newest first; `before` is the number of the last entry already read."""
        statement = sa.select(audit).order_by(audit.c.number.desc()).limit(limit)
        if before is not None:
            statement = statement.where(audit.c.number < before)
        with self._store.reading() as connection:
            return [_entry(row) for row in connection.execute(statement)]


def _entry(row: Any) -> Entry:
    return Entry(
        row.number, row.at, row.who, row.token, row.action, row.object, row.address, row.outcome
    )
