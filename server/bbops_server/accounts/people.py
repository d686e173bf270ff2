"""The users of a server, their accounts and identities."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bbops_server.accounts.keys import make_id
from bbops_server.accounts.rules import Role
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import identities, memberships, people, sessions
from bbops_server.accounts.text_rules import AccountError, fold_email, tidy_email, tidy_text
from bbops_server.accounts.workspace import WORKSPACE

MOST_PEOPLE = 100_000

Identity = tuple[str, str]
"""The name of a provider, and its id of a user."""


@dataclass(frozen=True, slots=True)
class Person:
    """A user with an account.

    Attributes:
        is_verified: whether the e-mail address is verified.
        disabled: the time since which the user may not sign in; None for an enabled user.
        has_password: whether the user can sign in by password.
    """

    id: str
    email: str
    name: str
    company: str
    is_verified: bool
    created: datetime
    last_sign_in: datetime | None
    disabled: datetime | None
    has_password: bool


@dataclass(frozen=True, slots=True)
class NewPerson:
    """The data of a new account. `password_hash` is of bcrypt; None for a sign-in elsewhere."""

    email: str
    name: str = ""
    company: str = ""
    password_hash: str | None = None
    is_verified: bool = False
    role: Role | None = None


class People:
    """Adds, finds and changes people."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def exist(self) -> bool:
        """Return whether there are any accounts."""
        with self._store.reading() as connection:
            return connection.scalar(sa.select(people.c.id).limit(1)) is not None

    def add(
        self, new: NewPerson, *, only_first: bool = False, identity: Identity | None = None
    ) -> Person:  # fmt: skip
        """Create an account.

        Args:
            only_first: whether to refuse if there are accounts.
            identity: the identity for a sign-in elsewhere.

        Raises:
            AccountError: the address is taken or not valid, or there are accounts.
        """
        with self._store.writing() as connection:
            if only_first and connection.scalar(sa.select(people.c.id).limit(1)) is not None:
                raise AccountError("this server is already set up", hint="sign in")
            person = add_person(connection, new, self._store.now())
            if identity is not None:
                add_identity(connection, person.id, *identity, self._store.now())
        return person

    def get(self, id_or_email: str) -> Person | None:
        """Return a user by id or e-mail address."""
        wanted = people.c.id == id_or_email
        if "@" in id_or_email:
            wanted = people.c.email_folded == fold_email(id_or_email)
        with self._store.reading() as connection:
            row = connection.execute(sa.select(people).where(wanted)).one_or_none()
        return None if row is None else _person(row)

    def get_hash(self, email: str) -> tuple[Person | None, str | None]:
        """Return an enabled user with the hash of the password; two Nones without one."""
        wanted = people.c.email_folded == fold_email(email)
        with self._store.reading() as connection:
            row = connection.execute(sa.select(people).where(wanted)).one_or_none()
        if row is None or row.disabled is not None:
            return None, None
        return _person(row), row.password_hash

    def list(self, limit: int = 1_000) -> list[Person]:
        """Return all users by e-mail address."""
        statement = sa.select(people).order_by(people.c.email_folded).limit(limit)
        with self._store.reading() as connection:
            return [_person(row) for row in connection.execute(statement)]

    def set_profile(self, id: str, name: str, company: str) -> None:  # noqa: A002
        """Change the profile of a user."""
        changes = {
            "name": tidy_text(name, "name", required=True), "company": tidy_text(company, "company")
        }  # fmt: skip
        with self._store.writing() as connection:
            connection.execute(people.update().where(people.c.id == id).values(**changes))

    def set_password(self, id: str, password_hash: str) -> None:  # noqa: A002
        """Change the password of a user; all their sessions end."""
        with self._store.writing() as connection:
            change = people.update().where(people.c.id == id).values(password_hash=password_hash)
            connection.execute(change)
            connection.execute(sessions.delete().where(sessions.c.person == id))

    def disable(self, id: str, *, disabled: bool = True) -> None:  # noqa: A002
        """Disable or enable a user; their data stays.

        Raises:
            AccountError: the server would have no owner.
        """
        with self._store.writing() as connection:
            since = self._store.now() if disabled else None
            connection.execute(people.update().where(people.c.id == id).values(disabled=since))
            if disabled:
                connection.execute(sessions.delete().where(sessions.c.person == id))
            require_owner(connection)

    # ---- identities
    def find_identity(self, provider: str, subject: str) -> Person | None:
        """Return the user of an identity."""
        statement = (
            sa.select(people).join(identities)
            .where(identities.c.provider == provider, identities.c.subject == subject)
        )  # fmt: skip
        with self._store.reading() as connection:
            row = connection.execute(statement).one_or_none()
        return None if row is None else _person(row)

    def find_subject(self, email: str, provider: str) -> str:
        """Return the id of a user at a provider of sign-in; empty without one."""
        statement = (
            sa.select(identities.c.subject).join(people)
            .where(people.c.email_folded == fold_email(email), identities.c.provider == provider)
            .limit(1)
        )  # fmt: skip
        with self._store.reading() as connection:
            return connection.scalar(statement) or ""

    def add_identity(self, id: str, provider: str, subject: str) -> None:  # noqa: A002
        """Add an identity to a user."""
        with self._store.writing() as connection:
            add_identity(connection, id, provider, subject, self._store.now())


def add_person(connection: sa.Connection, new: NewPerson, now: datetime) -> Person:
    """Add a user in a larger transaction. Raises as `People.add`."""
    email = tidy_email(new.email)
    folded = fold_email(email)
    known = sa.select(people.c.id).where(people.c.email_folded == folded)
    if connection.scalar(known) is not None:
        raise AccountError("an account with this e-mail address already exists", hint="sign in")
    if (connection.scalar(sa.select(sa.func.count()).select_from(people)) or 0) >= MOST_PEOPLE:
        raise AccountError(f"this server has {MOST_PEOPLE:,} accounts, which is the maximum")
    values = {
        "id": make_id(), "email": email, "email_folded": folded, "is_verified": new.is_verified,
        "name": tidy_text(new.name, "name"), "company": tidy_text(new.company, "company"),
        "password_hash": new.password_hash, "created": now,
    }  # fmt: skip
    connection.execute(people.insert().values(**values))
    if new.role is not None:
        member = {"person": values["id"], "workspace": WORKSPACE, "role": new.role.value}
        connection.execute(memberships.insert().values(**member))
    return _person(connection.execute(sa.select(people).where(people.c.id == values["id"])).one())


def add_identity(
    connection: sa.Connection, person: str, provider: str, subject: str, now: datetime
) -> None:
    """Add an identity in a larger transaction."""
    values = {"person": person, "provider": provider, "subject": subject, "created": now}
    connection.execute(identities.insert().values(**values))


def require_owner(connection: sa.Connection) -> None:
    """Refuse a change that leaves no owner.

    Raises:
        AccountError: the change does.
    """
    statement = (
        sa.select(people.c.id).join(memberships)
        .where(memberships.c.role == Role.OWNER.value, people.c.disabled.is_(None)).limit(1)
    )  # fmt: skip
    if connection.scalar(statement) is None:
        raise AccountError(
            "a server needs at least one owner who can sign in",
            hint="make another user an owner first",
        )


def _person(row: Any) -> Person:
    return Person(
        row.id, row.email, row.name, row.company, row.is_verified, row.created, row.last_sign_in,
        row.disabled, row.password_hash is not None,
    )  # fmt: skip
