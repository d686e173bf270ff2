"""Invitations: a link for one e-mail address, valid once and for a week."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from bbops_server.accounts.keys import hash_key, make_id, make_key
from bbops_server.accounts.members import set_role
from bbops_server.accounts.people import Identity, NewPerson, Person, add_identity, add_person
from bbops_server.accounts.rules import Role
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import invitations, people
from bbops_server.accounts.text_rules import AccountError, fold_email, tidy_email, tidy_text

LASTS: Final = timedelta(days=7)
MOST_OPEN: Final = 1_000


@dataclass(frozen=True, slots=True)
class Invitation:
    """The right to create an account with a role: in `project`, or everywhere."""

    id: str
    email: str
    role: Role
    project: str
    invited_by: str
    created: datetime
    expires: datetime


class Invitations:
    """Creates, lists and accepts invitations."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def make(
        self, email: str, role: Role, *, invited_by: str, project: str = ""
    ) -> tuple[str, Invitation]:
        """Create an invitation; return the key of its link, of which only the hash is stored.

        Raises:
            AccountError: the address is not valid or has an account, or too many are open.
        """
        key, now, email = make_key("bbi"), self._store.now(), tidy_email(email)
        values = {
            "id": make_id(), "hash": hash_key(key), "email": email, "role": role.value,
            "project": tidy_text(project, "name of the project"), "invited_by": invited_by,
            "created": now, "expires": now + LASTS,
        }  # fmt: skip
        with self._store.writing() as connection:
            _require_new(connection, email, now)
            connection.execute(invitations.insert().values(**values))
            found = sa.select(invitations).where(invitations.c.id == values["id"])
            return key, _invitation(connection.execute(found).one())

    def find(self, key: str) -> Invitation | None:
        """Return the open invitation of a key; None if it was used, withdrawn or has expired."""
        with self._store.reading() as connection:
            return _find(connection, key, self._store.now())

    def list(self) -> list[Invitation]:
        """Return the open invitations, newest first."""
        statement = (
            sa.select(invitations).where(*_is_open(self._store.now()))
            .order_by(invitations.c.created.desc())
        )  # fmt: skip
        with self._store.reading() as connection:
            return [_invitation(row) for row in connection.execute(statement)]

    def withdraw(self, id: str) -> bool:  # noqa: A002
        """Withdraw an invitation; False if it is not open."""
        now = self._store.now()
        wanted = invitations.update().where(invitations.c.id == id, *_is_open(now))
        with self._store.writing() as connection:
            return bool(connection.execute(wanted.values(used=now)).rowcount)

    def accept(self, key: str, new: NewPerson, identity: Identity | None = None) -> Person:
        """Create the account of an invitation, which is then used.

        Raises:
            AccountError: it is for another address, is not open, or the account exists.
        """
        with self._store.writing() as connection:
            now = self._store.now()
            found = _find(connection, key, now)
            if found is None or fold_email(found.email) != fold_email(new.email):
                raise AccountError(
                    "this invitation is invalid or has expired", hint="ask for a new one"
                )
            role = None if found.project else found.role
            person = add_person(connection, replace(new, is_verified=True, role=role), now)
            if found.project:
                set_role(connection, person.id, found.role, found.project)
            if identity is not None:
                add_identity(connection, person.id, *identity, now)
            used = invitations.update().where(invitations.c.id == found.id).values(used=now)
            connection.execute(used)
        return person


def _is_open(now: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    return invitations.c.used.is_(None), invitations.c.expires > now


def _find(connection: sa.Connection, key: str, now: datetime) -> Invitation | None:
    wanted = sa.select(invitations).where(invitations.c.hash == hash_key(key), *_is_open(now))
    row = connection.execute(wanted).one_or_none()
    return None if row is None else _invitation(row)


def _require_new(connection: sa.Connection, email: str, now: datetime) -> None:
    known = sa.select(people.c.id).where(people.c.email_folded == fold_email(email))
    if connection.scalar(known) is not None:
        raise AccountError(f"'{email}' has an account", hint="give it a role instead")
    counted = sa.select(sa.func.count()).select_from(invitations).where(*_is_open(now))
    if (connection.scalar(counted) or 0) >= MOST_OPEN:
        raise AccountError(f"{MOST_OPEN:,} invitations are open", hint="withdraw some")


def _invitation(row: Any) -> Invitation:
    return Invitation(
        row.id, row.email, Role(row.role), row.project, row.invited_by, row.created, row.expires
    )
