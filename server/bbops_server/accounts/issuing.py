"""Keys of grants: codes, which give tokens once, and refresh tokens, which change at each use.

A second use means that a key was stolen, so it revokes the grant. Within ten seconds, agents that
share a refresh token may use it at the same time.
Source: RFC 9700, sections 4.5 and 4.14.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

import sqlalchemy as sa

from bbops_server.accounts.grants import Approval, add_grant, end_grant
from bbops_server.accounts.keys import hash_key, make_grant_key
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import oauth_codes, oauth_grants, oauth_tokens, people

CODE_LASTS: Final = timedelta(minutes=1)
ACCESS_LASTS: Final = timedelta(hours=1)
REFRESH_LASTS: Final = timedelta(days=30)
"""The time since its last use; after that, the user signs in again."""
GRACE: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Held:
    """The grant of a code, a refresh token or an access token.

    Attributes:
        key_hash: the hash of the code or refresh token.
        scopes: the approved scopes.
        redirect_uri, challenge: of a code; empty otherwise.
    """

    key_hash: str
    grant: str
    client: str
    scopes: str
    resource: str
    redirect_uri: str = ""
    challenge: str = ""


@dataclass(frozen=True, slots=True)
class Issued:
    """New tokens; `refresh` is empty for a client without refresh tokens."""

    access: str
    refresh: str
    scopes: str


class Replayed(Exception):
    """A key was used a second time, and its grant has ended."""

    def __init__(self, row: Any, what: str) -> None:
        """`row` is of the grant and its user."""
        super().__init__(what)
        self.what, self.grant, self.email, self.client = what, row.id, row.email, row.client_name


class Issuing:
    """Issues and revokes the keys of grants."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def approve(self, person: str, approval: Approval, redirect_uri: str, challenge: str) -> str:
        """Store an approval; return the code that its client exchanges for tokens.

        Args:
            challenge: the SHA-256 of a secret of the client, in the form of RFC 7636.
        """
        key, now = make_grant_key("bbc"), self._store.now()
        ends = now + CODE_LASTS
        with self._store.writing() as connection:
            grant = add_grant(connection, person, approval, now, ends)
            values = {
                "hash": hash_key(key), "grant_id": grant, "redirect_uri": redirect_uri,
                "challenge": challenge, "expires": ends,
            }  # fmt: skip
            connection.execute(oauth_codes.insert().values(**values))
        return key

    def find_code(self, code: str) -> Held | None:
        """Return the grant of a code; None if it is unknown, expired or revoked.

        Raises:
            Replayed: it was used already.
        """
        row = self._find(oauth_codes, oauth_codes.c.hash == hash_key(code))
        if row is None:
            return None
        if row.used is not None:
            self._end(row, "code")
        if row.key_expires <= self._store.now():
            return None
        return Held(
            row.hash, row.id, row.client, row.scopes, row.resource, row.redirect_uri, row.challenge
        )

    def redeem_code(self, held: Held, issued: Issued) -> bool:
        """Store the tokens of a code; False if the code has ended meanwhile.

        Raises:
            Replayed: another request was faster.
        """
        code = oauth_codes.c
        spent = oauth_codes.update().where(code.hash == held.key_hash, code.used.is_(None))
        now = self._store.now()
        with self._store.noting() as connection:
            is_first = connection.execute(spent.values(used=now)).rowcount
            if is_first:
                add_tokens(connection, held.grant, issued, now)
        if not is_first:
            row = self._find(oauth_codes, code.hash == held.key_hash)
            if row is not None:
                self._end(row, "code")
        return bool(is_first)

    def find_refresh(self, refresh: str) -> Held | None:
        """Return the grant of a refresh token; None as for `find_code`.

        Raises:
            Replayed: it was used more than ten seconds ago.
        """
        row = self._find(oauth_tokens, oauth_tokens.c.refresh_hash == hash_key(refresh))
        now = self._store.now()
        if row is None or row.refresh_expires <= now:
            return None
        if row.rotated is not None and now - row.rotated > GRACE:
            self._end(row, "refresh token")
        return Held(row.refresh_hash, row.id, row.client, row.scopes, row.resource)

    def rotate(self, held: Held, issued: Issued) -> None:
        """Store the tokens of a refresh token."""
        now, token = self._store.now(), oauth_tokens.c
        rotated = oauth_tokens.update().where(
            token.refresh_hash == held.key_hash, token.rotated.is_(None)
        )
        with self._store.noting() as connection:
            connection.execute(rotated.values(rotated=now))
            add_tokens(connection, held.grant, issued, now)

    def find_token(self, token: str) -> Held | None:
        """Return the grant of an access or refresh token, used ones included."""
        hashed, known = hash_key(token), oauth_tokens.c
        row = self._find(oauth_tokens, sa.or_(known.hash == hashed, known.refresh_hash == hashed))
        return None if row is None else Held(hashed, row.id, row.client, row.scopes, row.resource)

    def end(self, held: Held) -> str:
        """Revoke a grant; return the e-mail address of its user."""
        wanted = sa.select(people.c.email).join(oauth_grants).where(oauth_grants.c.id == held.grant)
        with self._store.writing() as connection:
            end_grant(connection, held.grant, self._store.now())
            return str(connection.execute(wanted).scalar_one())

    def _find(self, table: sa.Table, wanted: sa.ColumnElement[bool]) -> Any:
        """Return a key with its grant and user, if the grant is valid and the user enabled."""
        keys = [column for column in table.c if column.name not in {"expires", "scopes"}]
        statement = (
            sa.select(oauth_grants, people.c.email, table.c.expires.label("key_expires"), *keys)
            .select_from(table).join(oauth_grants).join(people)
            .where(wanted, oauth_grants.c.revoked.is_(None), people.c.disabled.is_(None))
        )  # fmt: skip
        with self._store.reading() as connection:
            return connection.execute(statement).one_or_none()

    def _end(self, row: Any, what: str) -> NoReturn:
        with self._store.writing() as connection:
            end_grant(connection, row.id, self._store.now())
        raise Replayed(row, what)


def make_tokens(scopes: str, *, with_refresh: bool = True) -> Issued:
    """Return new tokens, which are valid once they are stored."""
    return Issued(make_grant_key("bba"), make_grant_key("bbr") if with_refresh else "", scopes)


def add_tokens(connection: sa.Connection, grant: str, issued: Issued, now: datetime) -> None:
    """Store tokens in a larger transaction; their grant lasts as long as they do."""
    expires = now + ACCESS_LASTS
    ends = now + REFRESH_LASTS if issued.refresh else expires
    mine = oauth_tokens.c.grant_id == grant
    connection.execute(oauth_tokens.delete().where(mine, oauth_tokens.c.refresh_expires <= now))
    values = {
        "hash": hash_key(issued.access), "grant_id": grant, "scopes": issued.scopes,
        "refresh_hash": hash_key(issued.refresh) if issued.refresh else None,
        "expires": expires, "refresh_expires": ends,
    }  # fmt: skip
    connection.execute(oauth_tokens.insert().values(**values))
    connection.execute(oauth_grants.update().where(oauth_grants.c.id == grant).values(expires=ends))
