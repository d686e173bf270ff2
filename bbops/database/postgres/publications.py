"""The log of published messages and presence that the servers of one project share.

There is one writer at a time, so visible numbers have no gaps that are filled later. The tables are
not logged: messages survive every server of ours, and a crash of PostgreSQL begins a new epoch.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from typing import Any, Final

import asyncpg

from bbops.base.errors import DatabaseError
from bbops.database.postgres.connection import Connection, connect
from bbops.database.postgres.work import OWNER_LOCK
from bbops.database.schema.place import PostgresPlace
from bbops.runtime.realtime.shared import (
    CAME,
    GONE,
    LEFT,
    PASSING_SECONDS,
    Entry,
    Numbered,
    Present,
    Snapshot,
)

PUBLICATION_TABLES: Final = (
    """
CREATE UNLOGGED TABLE IF NOT EXISTS _bbops_publications (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner text NOT NULL, kind text NOT NULL,
  name text NOT NULL, client text NOT NULL, data bytea NOT NULL, size integer NOT NULL,
  seconds double precision NOT NULL, at double precision NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0)
""",
    """
CREATE INDEX IF NOT EXISTS _bbops_publications_kept ON _bbops_publications (name, seq)
WHERE kind = 'kept'
""",
    """
CREATE INDEX IF NOT EXISTS _bbops_publications_passing ON _bbops_publications (at)
WHERE kind <> 'kept'
""",
    # The dropped part of a topic's history. The row without a name holds the epoch, and the number
    # up to which messages may be missing in topics without a row.
    """
CREATE UNLOGGED TABLE IF NOT EXISTS _bbops_topics (
  name text PRIMARY KEY, dropped bigint NOT NULL, epoch text NOT NULL, at double precision NOT NULL
)
""",
    "CREATE INDEX IF NOT EXISTS _bbops_topics_at ON _bbops_topics (at)",
    """
CREATE UNLOGGED TABLE IF NOT EXISTS _bbops_present (
  owner text, name text, client text, shown bytea NOT NULL, PRIMARY KEY (owner, name, client)
)
""",
)

NEWEST: Final = "_bbops_present"
"""The newest of these tables."""

_KNOWN_SECONDS: Final = 90_000
_MOST_TOPICS: Final = 100_000
"""The most topics with a record of dropped messages, from the last day."""

_SETTINGS: Final = "SET synchronous_commit = off; SET idle_in_transaction_session_timeout = '5s'"
"""A server that stops in the middle of a transaction soon stops blocking the others."""

_AT_ONCE: Final = 500
_NOW: Final = "extract(epoch FROM clock_timestamp())"
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 7316104))"
_OWNER: Final = OWNER_LOCK.format("$1::text")
_WRITE: Final = f"""
INSERT INTO _bbops_publications (owner, kind, name, client, data, size, seconds, at)
SELECT $1, e.kind, e.name, e.client, e.data, e.size, e.seconds, {_NOW}
FROM unnest($2::text[], $3::text[], $4::text[], $5::bytea[], $6::integer[], $7::float8[])
  WITH ORDINALITY AS e(kind, name, client, data, size, seconds, place) ORDER BY e.place
"""
_READ: Final = f"""
SELECT seq, owner, {_NOW} - at, kind, name, client,
  CASE WHEN owner = $1 AND kind <> 'kept' THEN ''::bytea ELSE data END, size, seconds
FROM _bbops_publications WHERE seq > $2 ORDER BY seq LIMIT {_AT_ONCE}
"""
_COME: Final = """
INSERT INTO _bbops_present (owner, name, client, shown)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::bytea[]) ON CONFLICT DO NOTHING
"""
_LEAVE: Final = """
DELETE FROM _bbops_present USING unnest($2::text[], $3::text[]) AS gone(name, client)
WHERE owner = $1 AND _bbops_present.name = gone.name AND _bbops_present.client = gone.client
"""
_DROP: Final = """
DELETE FROM _bbops_publications AS one USING unnest($1::text[], $2::bigint[]) AS past(name, seq)
WHERE one.kind = 'kept' AND one.name = past.name AND one.seq <= past.seq
"""
_NOTE_DROPPED: Final = f"""
INSERT INTO _bbops_topics AS one (name, dropped, epoch, at)
SELECT name, seq, '', {_NOW} FROM unnest($1::text[], $2::bigint[]) AS past(name, seq)
ON CONFLICT (name) DO UPDATE
SET dropped = greatest(one.dropped, excluded.dropped), at = excluded.at
"""
_FORGET_TOPICS: Final = f"""
WITH old AS (
  DELETE FROM _bbops_topics WHERE name <> '' AND at < greatest({_NOW} - {_KNOWN_SECONDS},
    (SELECT at FROM _bbops_topics ORDER BY at DESC OFFSET {_MOST_TOPICS} LIMIT 1))
  RETURNING dropped
)
UPDATE _bbops_topics SET dropped = greatest(dropped, (SELECT max(dropped) FROM old))
WHERE name = '' AND EXISTS (SELECT FROM old)
"""
_FORGET_PASSING: Final = (
    "DELETE FROM _bbops_publications"
    f" WHERE kind <> 'kept' AND at < {_NOW} - {PASSING_SECONDS}"
)  # fmt: skip


@asynccontextmanager
async def share_publications(
    place: PostgresPlace, woken: Callable[[], None]
) -> AsyncIterator[PostgresLog]:
    """Join the log of a project, with a connection of its own.

    Args:
        woken: called when another server has written, and when the connection is lost.

    Raises:
        DatabaseError: it cannot be reached.
    """
    with _reached():
        connection = await connect(place)
    try:
        log = PostgresLog(connection, place.schema)
        await log.begin(woken)
        yield log
    finally:
        connection.terminate()


class PostgresLog:
    """See `bbops.runtime.realtime.shared.SharedLog`."""

    def __init__(self, connection: Connection, schema: str) -> None:
        """Use an exclusive connection."""
        self._connection, self.owner = connection, secrets.token_hex(8)
        self._channel = f"bbops_{sha256(schema.encode()).hexdigest()[:16]}"

    async def begin(self, woken: Callable[[], None]) -> None:
        """Hold the lock of a living server, and listen to the others."""
        connection = self._connection
        connection.add_termination_listener(lambda _: woken())
        with _reached():
            await connection.execute(_SETTINGS)
            await connection.fetch(f"SELECT pg_advisory_lock({_OWNER})", self.owner)
            await connection.add_listener(self._channel, lambda *_: woken())

    async def load(self) -> Snapshot:
        """Return the whole log; other servers may write again after the read."""
        connection, epoch = self._connection, secrets.token_hex(6)
        with _reached():
            async with connection.transaction():
                await connection.execute(_LOCK)
                await connection.execute(
                    "INSERT INTO _bbops_topics (name, dropped, epoch, at) VALUES ('', 0, $1, 0)"
                    " ON CONFLICT DO NOTHING", epoch,
                )  # fmt: skip
                return await self._load()

    async def _load(self) -> Snapshot:
        fetch = self._connection.fetch
        ((number,),) = await fetch(
            "SELECT CASE WHEN is_called THEN last_value ELSE 0 END"
            " FROM _bbops_publications_seq_seq"
        )  # fmt: skip
        topics = await fetch("SELECT name, dropped, epoch FROM _bbops_topics")
        ((floor, epoch),) = [(row["dropped"], row["epoch"]) for row in topics if not row["name"]]
        present = await fetch(
            "SELECT owner, name, client, shown FROM _bbops_present WHERE owner <> $1", self.owner
        )
        kept = await fetch(
            f"SELECT seq, owner, {_NOW} - at, kind, name, client, data, size, seconds"
            " FROM _bbops_publications WHERE kind = 'kept' ORDER BY seq"
        )
        return Snapshot(
            epoch, number, floor, {row["name"]: row["dropped"] for row in topics if row["name"]},
            [_numbered(row) for row in kept], [Present(*row) for row in present],
        )  # fmt: skip

    async def write(self, entries: Sequence[Entry]) -> None:
        """Append entries in one transaction, after those of others."""
        columns = zip(
            *(
                (entry.kind, entry.name, entry.client, entry.data, entry.size, entry.seconds)
                for entry in entries
            ),
            strict=True,
        )
        connection = self._connection
        with _reached():
            async with connection.transaction():
                await connection.execute(_LOCK)
                await connection.execute(_WRITE, self.owner, *columns)
                await self._note_present(entries)

    async def _note_present(self, entries: Sequence[Entry]) -> None:
        """Record the presence: the last entry of a client counts."""
        last = {
            (entry.name, entry.client): entry for entry in entries if entry.kind in {CAME, LEFT}
        }
        came = [(*who, entry.data) for who, entry in last.items() if entry.kind == CAME]
        left = [who for who, entry in last.items() if entry.kind == LEFT]
        for statement, rows in ((_COME, came), (_LEAVE, left)):
            if rows:
                await self._connection.execute(statement, self.owner, *zip(*rows, strict=True))

    async def notify(self) -> None:
        """Wake the other servers. Not in a transaction that writes: NOTIFY holds a lock."""
        with _reached():
            await self._connection.execute("SELECT pg_notify($1, '')", self._channel)

    async def read(self, after: int) -> list[Numbered]:
        """Return entries above a number, oldest first."""
        with _reached():
            rows = await self._connection.fetch(_READ, self.owner, after)
        return [_numbered(row) for row in rows]

    async def drop(self, dropped: Mapping[str, int]) -> None:
        """Remove expired entries, and record it, so that clients do not recover past them."""
        given, connection = (list(dropped), list(dropped.values())), self._connection
        with _reached():
            async with connection.transaction():
                await connection.execute(_LOCK)
                if dropped:
                    await connection.execute(_DROP, *given)
                    await connection.execute(_NOTE_DROPPED, *given)
                await connection.execute(_FORGET_TOPICS)
                await connection.execute(_FORGET_PASSING)

    async def bury(self, owners: Sequence[str]) -> None:
        """Record that servers are gone: those whose lock is free."""
        with _reached():
            for owner in owners:
                async with self._connection.transaction():
                    await self._bury(owner)

    async def _bury(self, owner: str) -> None:
        connection = self._connection
        if await connection.fetchval(f"SELECT pg_try_advisory_xact_lock({_OWNER})", owner):
            await connection.execute(_LOCK)
            await connection.execute("DELETE FROM _bbops_present WHERE owner = $1", owner)
            await connection.execute(
                _WRITE, self.owner, [GONE], [owner], [""], [b""], [0], [0.0]
            )  # fmt: skip


def _numbered(row: Any) -> Numbered:
    seq, owner, age, kind, name, client, data, size, seconds = row
    return Numbered(seq, owner, float(age), Entry(kind, name, client, data, size, seconds))


@contextmanager
def _reached() -> Iterator[None]:
    """Raise DatabaseError for any error of the connection."""
    try:
        yield
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DatabaseError(f"messages cannot be shared: {reason}") from None
