"""Tokens of workflows: each is for one project, ends after ten minutes, and is kept as a hash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from bbops_server.accounts.keys import hash_key, make_id, make_key
from bbops_server.accounts.rules import Caller
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import ci_assertions, ci_tokens
from bbops_server.settings.repositories import CiTrust

PREFIX: Final = "bbw_"
LASTS: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """The run of a workflow that a token is for: `sha` is its commit, `actor` its user."""

    repository: str
    ref: str
    sha: str
    run: str
    actor: str

    @property
    def label(self) -> str:
        """The run as the user of audit entries."""
        return f"{self.repository} (CI)"

    def __str__(self) -> str:
        return f"run {self.run} by {self.actor} at {self.sha[:12]} of {self.ref}"


@dataclass(frozen=True, slots=True)
class IssuedCiToken:
    """A new token, in the only value that has it."""

    key: str
    id: str
    expires: datetime


class CiTokens:
    """Issues tokens for identity tokens that were verified, and finds their callers."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def now(self) -> datetime:
        """Return the time of the server's clock."""
        return self._store.now()

    def issue(
        self, trust: CiTrust, run: WorkflowRun, *, assertion: str, until: datetime
    ) -> IssuedCiToken | None:
        """Return a new token; None if the identity token was exchanged already.

        Args:
            trust: the trust that the identity token meets.
            run: the run of the identity token.
            assertion: what identifies the identity token among those of all issuers.
            until: the time from which the identity token is rejected anyway.
        """
        key, now = make_key("bbw"), self._store.now()
        issued = IssuedCiToken(key, make_id(), now + LASTS)
        values = {
            "hash": hash_key(key), "id": issued.id, "trust": trust.digest,
            "project": trust.project, "repository": run.repository, "ref": run.ref,
            "sha": run.sha, "run": run.run, "actor": run.actor, "created": now,
            "expires": issued.expires,
        }  # fmt: skip
        with self._store.noting() as connection:
            _forget_ended(connection, now)
            if not _add_assertion(connection, hash_key(assertion), until):
                return None
            connection.execute(ci_tokens.insert().values(**values))
        return issued

    def find(self, key: str, trusts: Iterable[CiTrust]) -> Caller | None:
        """Return the caller of a token; None if it is unknown or has ended.

        Args:
            trusts: the current trusts; a token ends with its trust.
        """
        wanted = sa.select(ci_tokens).where(
            ci_tokens.c.hash == hash_key(key), ci_tokens.c.expires > self._store.now()
        )
        with self._store.reading() as connection:
            row = connection.execute(wanted).one_or_none()
        if row is None or (row.project, row.trust) not in _identify(trusts):
            return None
        run = _read_run(row)
        return Caller("ci", email=run.label, name=str(run), key=row.id, project=row.project)


def _identify(trusts: Iterable[CiTrust]) -> set[tuple[str, str]]:
    return {(trust.project, trust.digest) for trust in trusts}


def _forget_ended(connection: sa.Connection, now: datetime) -> None:
    for table in (ci_assertions, ci_tokens):
        connection.execute(table.delete().where(table.c.expires <= now))


def _add_assertion(connection: sa.Connection, hashed: str, until: datetime) -> bool:
    """Record an identity token; False if it is recorded. No other write comes between."""
    known = sa.select(ci_assertions.c.hash).where(ci_assertions.c.hash == hashed)
    if connection.execute(known).one_or_none() is not None:
        return False
    connection.execute(ci_assertions.insert().values(hash=hashed, expires=until))
    return True


def _read_run(row: Any) -> WorkflowRun:
    return WorkflowRun(row.repository, row.ref, row.sha, row.run, row.actor)
