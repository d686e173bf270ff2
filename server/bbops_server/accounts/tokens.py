"""Personal access tokens for the API and git: shown once, stored as hashes, with scopes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from bbops_server.accounts.keys import hash_key, make_id, make_key
from bbops_server.accounts.members import roles_of
from bbops_server.accounts.rules import Caller, Scope
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import people, tokens
from bbops_server.accounts.text_rules import AccountError, tidy_text

MOST_TOKENS: Final = 100
MOST_DAYS: Final = 366
DEFAULT_DAYS: Final = 90
_SHOWN: Final = 8
_USED_EVERY: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret; `prefix` is the part that is shown."""

    id: str
    name: str
    prefix: str
    scopes: tuple[Scope, ...]
    project: str
    created: datetime
    expires: datetime | None
    last_used: datetime | None
    revoked: datetime | None


class Tokens:
    """Creates, finds and revokes tokens."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def make(
        self, person: str, name: str, scopes: Iterable[Scope], *, project: str = "",
        days: int = DEFAULT_DAYS,
    ) -> tuple[str, Token]:  # fmt: skip
        """Create a token; return the secret, which is never shown again, and its record.

        Args:
            project: the only valid project; empty for all.
            days: the days until it expires, 1 to 366.

        Raises:
            AccountError: it has no name or scope, lasts too long, or there are too many.
        """
        chosen = sorted(set(scopes), key=list(Scope).index)
        if not chosen:
            raise AccountError("a token needs a scope", hint=f"one of {', '.join(Scope)}")
        if not 1 <= days <= MOST_DAYS:
            raise AccountError(f"a token lasts 1 to {MOST_DAYS} days")
        key, now = make_key("bbp"), self._store.now()
        values = {
            "id": make_id(), "hash": hash_key(key), "person": person,
            "name": tidy_text(name, "name of the token", required=True), "prefix": key[:_SHOWN],
            "scopes": " ".join(chosen), "project": tidy_text(project, "name of the project"),
            "created": now, "expires": now + timedelta(days=days),
        }  # fmt: skip
        with self._store.writing() as connection:
            _require_room(connection, person, now)
            connection.execute(tokens.insert().values(**values))
            row = connection.execute(sa.select(tokens).where(tokens.c.id == values["id"])).one()
        return key, _token(row)

    def find(self, key: str) -> Caller | None:
        """Return the caller of a token; None if it is unknown, revoked or expired."""
        now = self._store.now()
        statement = (
            sa.select(tokens, people.c.email, people.c.name.label("person_name")).join(people)
            .where(
                tokens.c.hash == hash_key(key), people.c.disabled.is_(None),
                tokens.c.revoked.is_(None),
                sa.or_(tokens.c.expires.is_(None), tokens.c.expires > now),
            )
        )  # fmt: skip
        with self._store.reading() as connection:
            row = connection.execute(statement).one_or_none()
            if row is None:
                return None
            role, projects = roles_of(connection, row.person)
        if row.last_used is None or now - row.last_used > _USED_EVERY:
            self._use(row.id, now)
        return Caller(
            "token", row.person, row.email, row.person_name, role, projects, row.id,
            frozenset(map(Scope, row.scopes.split())), row.project,
        )  # fmt: skip

    def list(self, person: str) -> list[Token]:
        """Return the valid tokens of a user, newest first."""
        statement = (
            sa.select(tokens).where(tokens.c.person == person, *_is_good(self._store.now()))
            .order_by(tokens.c.created.desc())
        )  # fmt: skip
        with self._store.reading() as connection:
            return [_token(row) for row in connection.execute(statement)]

    def revoke(self, person: str, id: str) -> bool:  # noqa: A002
        """Revoke a token of a user; False if it is not theirs."""
        now = self._store.now()
        wanted = tokens.update().where(
            tokens.c.person == person, tokens.c.id == id, tokens.c.revoked.is_(None)
        )
        with self._store.writing() as connection:
            return bool(connection.execute(wanted.values(revoked=now)).rowcount)

    def _use(self, id: str, now: datetime) -> None:  # noqa: A002
        with self._store.noting() as connection:
            connection.execute(tokens.update().where(tokens.c.id == id).values(last_used=now))


def _is_good(now: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    lasts = sa.or_(tokens.c.expires.is_(None), tokens.c.expires > now)
    return tokens.c.revoked.is_(None), lasts


def _require_room(connection: sa.Connection, person: str, now: datetime) -> None:
    counted = (
        sa.select(sa.func.count()).select_from(tokens)
        .where(tokens.c.person == person, *_is_good(now))
    )  # fmt: skip
    if (connection.scalar(counted) or 0) >= MOST_TOKENS:
        raise AccountError(f"there are {MOST_TOKENS} tokens already", hint="revoke one first")


def _token(row: Any) -> Token:
    return Token(
        row.id, row.name, row.prefix, tuple(map(Scope, row.scopes.split())), row.project,
        row.created, row.expires, row.last_used, row.revoked,
    )  # fmt: skip
