"""The control database as a schema of PostgreSQL: what only PostgreSQL knows.

One write at a time, as in a file: who writes holds a lock of the whole schema.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from bbops.base.errors import DatabaseError
from bbops.database.schema.place import PostgresPlace
from bbops_server.accounts.file import WRITES

_SETTINGS: Final = "-clock_timeout=10s -cstatement_timeout=30s -cTimeZone=UTC"
_CONNECT_SECONDS: Final = 5


def open_schema(place: PostgresPlace) -> sa.Engine:
    """Return the engine of a schema; nothing is connected to yet.

    Raises:
        DatabaseError: the driver is not installed.
    """
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        raise DatabaseError(
            "PostgreSQL needs a driver", hint="pip install 'bbops[postgres]'"
        ) from None

    def connect() -> psycopg.Connection[object]:
        return psycopg.connect(
            place.url, connect_timeout=_CONNECT_SECONDS, application_name="bbops control",
            options=f"-csearch_path={place.schema} {_SETTINGS}",
        )  # fmt: skip

    def begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get(WRITES):
            lock = sa.text("SELECT pg_advisory_xact_lock(hashtext(:name))")
            connection.execute(lock, {"name": f"bbops control:{place.schema}"})

    engine = sa.create_engine(
        "postgresql+psycopg://", creator=connect, pool_size=2, max_overflow=6, pool_pre_ping=True
    )
    sa.event.listen(engine, "begin", begin)
    return engine


def make_schema(connection: sa.Connection, place: PostgresPlace) -> None:
    """Make the schema where it is missing, in a transaction that holds its lock."""
    connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{place.schema}"')
