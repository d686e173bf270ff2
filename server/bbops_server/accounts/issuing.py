"""Keys of grants: codes that become tokens once, and refresh tokens that are new each time.

What is used a second time was stolen by one of the two who used it: the whole grant ends then.
Agents that share a refresh token may use it at once, so within ten seconds that is no theft.
Source: RFC 9700, sections 4.5 and 4.14.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from bbops_server.accounts.grant_tables import oauth_grants, oauth_tokens
from bbops_server.accounts.grants import Approval, add_grant
from bbops_server.accounts.keys import hash_key, make_grant_key
from bbops_server.accounts.store import Store

CODE_LASTS: Final = timedelta(minutes=1)
ACCESS_LASTS: Final = timedelta(hours=1)
REFRESH_LASTS: Final = timedelta(days=30)
"""From its last use on; who is away for longer signs in again."""
GRACE: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Issued:
    """New tokens, told once."""

    access: str
    refresh: str
    scopes: str
    expires_seconds: int = int(ACCESS_LASTS.total_seconds())


class Issuing:
    """Gives out the keys of grants and takes them back."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def approve(self, person: str, approval: Approval) -> str:
        """Keep what somebody agrees to, whose tokens are taken at once; return its id."""
        now = self._store.now()
        with self._store.writing() as connection:
            return add_grant(connection, person, approval, now, now + CODE_LASTS)

    def issue(self, grant: str) -> Issued:
        """Return the tokens of a grant that was just approved."""
        with self._store.writing() as connection:
            wanted = sa.select(oauth_grants.c.scopes).where(oauth_grants.c.id == grant)
            scopes = connection.execute(wanted).scalar_one()
            return add_tokens(connection, grant, scopes, self._store.now())


def add_tokens(connection: sa.Connection, grant: str, scopes: str, now: datetime) -> Issued:
    """Add tokens in a transaction that does more; their grant lasts as long as they."""
    issued = Issued(make_grant_key("bba"), make_grant_key("bbr"), scopes)
    mine, ends = oauth_tokens.c.grant_id == grant, now + REFRESH_LASTS
    connection.execute(oauth_tokens.delete().where(mine, oauth_tokens.c.refresh_expires <= now))
    connection.execute(
        oauth_tokens.insert().values(
            hash=hash_key(issued.access), refresh_hash=hash_key(issued.refresh), grant_id=grant,
            scopes=scopes, expires=now + ACCESS_LASTS, refresh_expires=ends,
        )
    )  # fmt: skip
    connection.execute(oauth_grants.update().where(oauth_grants.c.id == grant).values(expires=ends))
    return issued
