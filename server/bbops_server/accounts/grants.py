"""Grants: access of agents, approved by a user in the browser, and checked at every call.

A grant belongs to one user, one client and one address. Its tokens are valid only there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from bbops_server.accounts.keys import hash_key, make_id
from bbops_server.accounts.limits import Remembered
from bbops_server.accounts.members import roles_of
from bbops_server.accounts.rules import Caller, GrantScope, complete
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import oauth_grants, oauth_tokens, people

MOST_GRANTS: Final = 200
"""The number of one user's grants; the oldest are deleted."""
_USED_EVERY: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Granted:
    """The access of a token.

    Attributes:
        caller: its user; `key` is the id of the grant.
        client: the name that the agent's program states.
        project: the only valid project; empty for all that the user may read.
    """

    caller: Caller
    scopes: frozenset[str]
    client: str
    project: str


@dataclass(frozen=True, slots=True)
class _CachedGrant:
    granted: Granted
    audience: str
    expires: datetime


@dataclass(frozen=True, slots=True)
class Approval:
    """The access that a user approves.

    Attributes:
        client: the id of the client; `client_name` is the name that it states, unverified.
        resource: the address of its tokens.
        project: the only valid project; empty for all that the user may read.
    """

    client: str
    client_name: str
    scopes: frozenset[GrantScope]
    resource: str
    project: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant as its user sees it."""

    id: str
    client: str
    client_name: str
    scopes: tuple[GrantScope, ...]
    project: str
    created: datetime
    last_used: datetime | None


class Grants:
    """Finds grants by their tokens, and lists and revokes them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._remembered: Remembered[_CachedGrant] = Remembered()

    def find(self, token: str, resource: str) -> Granted | None:
        """Return the access of a token at an address.

        None if it is unknown, expired or for another address, if its grant was revoked, or if its
        user is disabled.
        """
        hashed = hash_key(token)
        edition, now = self._store.edition, self._store.now()
        known = self._remembered.get(hashed, edition, now)
        if known is None:
            known = self._read(hashed, now)
            if known is None:
                return None
            self._remembered.keep(hashed, known, edition, now, known.expires)
        return known.granted if is_meant_for(known.audience, resource) else None

    def recall(self, token: str, resource: str) -> Granted | None:
        """Return the result of a recent `find`, without blocking; None if there is none."""
        edition, now = self._store.edition, self._store.now()
        known = self._remembered.get(hash_key(token), edition, now)
        if known is None or not is_meant_for(known.audience, resource):
            return None
        return known.granted

    def list(self, person: str) -> list[Grant]:
        """Return the valid grants of a user, newest first."""
        wanted = (
            sa.select(oauth_grants).where(oauth_grants.c.person == person, *_is_good(self._store))
            .order_by(oauth_grants.c.created.desc())
        )  # fmt: skip
        with self._store.reading() as connection:
            return [_grant(row) for row in connection.execute(wanted)]

    def revoke(self, person: str, id: str) -> Grant | None:  # noqa: A002
        """Revoke a grant of a user and return it; None if it is not theirs."""
        mine = oauth_grants.c.person == person, oauth_grants.c.id == id
        with self._store.writing() as connection:
            wanted = sa.select(oauth_grants).where(*mine, *_is_good(self._store))
            row = connection.execute(wanted).one_or_none()
            if row is not None:
                end_grant(connection, id, self._store.now())
        return None if row is None else _grant(row)

    def _read(self, hashed: str, now: datetime) -> _CachedGrant | None:
        wanted = (
            sa.select(
                oauth_grants, people.c.email, people.c.name,
                oauth_tokens.c.scopes.label("token_scopes"), oauth_tokens.c.expires.label("ends"),
            )
            .select_from(oauth_tokens).join(oauth_grants).join(people)
            .where(
                oauth_tokens.c.hash == hashed, oauth_tokens.c.expires > now,
                oauth_grants.c.revoked.is_(None), people.c.disabled.is_(None),
            )
        )  # fmt: skip
        with self._store.reading() as connection:
            row = connection.execute(wanted).one_or_none()
            if row is None:
                return None
            role, projects = roles_of(connection, row.person)
        if row.last_used is None or now - row.last_used > _USED_EVERY:
            self._use(row.id, now)
        scopes = frozenset(map(GrantScope, row.token_scopes.split()))
        caller = Caller(
            "grant", row.person, row.email, row.name, role, projects, row.id,
            project=row.project, granted=scopes,
        )  # fmt: skip
        return _CachedGrant(
            Granted(caller, scopes, row.client_name, row.project), row.resource, row.ends
        )

    def _use(self, id: str, now: datetime) -> None:  # noqa: A002
        mine = oauth_grants.c.id == id
        with self._store.noting() as connection:
            connection.execute(oauth_grants.update().where(mine).values(last_used=now))


def is_meant_for(audience: str, resource: str) -> bool:
    """Return whether tokens for an address are valid at a resource: the same, or one below."""
    return resource == audience or resource.startswith(f"{audience}/p/")


def add_grant(
    connection: sa.Connection, person: str, approval: Approval, now: datetime, ends: datetime
) -> str:
    """Add a grant in a larger transaction; return its id.

    Args:
        ends: the deadline for its first tokens.
    """
    _make_room(connection, person, now)
    values = {
        "id": make_id(), "person": person, "client": approval.client,
        "client_name": approval.client_name, "scopes": write_scopes(approval.scopes),
        "resource": approval.resource, "project": approval.project, "created": now, "expires": ends,
    }  # fmt: skip
    connection.execute(oauth_grants.insert().values(**values))
    return str(values["id"])


def end_grant(connection: sa.Connection, id: str, now: datetime) -> bool:  # noqa: A002
    """Revoke a grant in a larger transaction; False if it was revoked already."""
    wanted = oauth_grants.update().where(oauth_grants.c.id == id, oauth_grants.c.revoked.is_(None))
    return bool(connection.execute(wanted.values(revoked=now)).rowcount)


def write_scopes(scopes: frozenset[GrantScope]) -> str:
    """Return scopes as text, with the scopes that they include."""
    whole = complete(scopes)
    return " ".join(scope for scope in GrantScope if scope in whole)


def _make_room(connection: sa.Connection, person: str, now: datetime) -> None:
    connection.execute(oauth_grants.delete().where(oauth_grants.c.expires <= now))
    kept = (
        sa.select(oauth_grants.c.id).where(oauth_grants.c.person == person)
        .order_by(oauth_grants.c.created.desc()).offset(MOST_GRANTS - 1).limit(MOST_GRANTS)
    )  # fmt: skip
    old = [row.id for row in connection.execute(kept)]
    connection.execute(oauth_grants.delete().where(oauth_grants.c.id.in_(old)))


def _is_good(store: Store) -> tuple[sa.ColumnElement[bool], ...]:
    return oauth_grants.c.revoked.is_(None), oauth_grants.c.expires > store.now()


def _grant(row: Any) -> Grant:
    scopes = tuple(map(GrantScope, row.scopes.split()))
    return Grant(
        row.id, row.client, row.client_name, scopes, row.project, row.created, row.last_used
    )
