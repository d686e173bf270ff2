"""A book of accounts for tests, on each database, with a clock that is told the time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bbops.database.schema.place import PostgresPlace
from bbops_server.accounts.book import Book
from bbops_server.accounts.people import NewPerson, Person
from bbops_server.accounts.rules import Role
from tests.support.postgres import DATABASES, place_of


class Clock:
    """Stands still until it is told to wait."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def wait(self, time: timedelta) -> bool:
        self.time += time
        return True


@pytest.fixture
def clock() -> Clock:
    """Return the clock of the book."""
    return Clock()


@pytest.fixture(params=DATABASES)
def book(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Book]:
    """A book in a file, and one in a schema; what is about files says so by `ON_FILE`."""
    with place_of(request, tmp_path) as place:
        found = Book.open(tmp_path, clock, place if isinstance(place, PostgresPlace) else None)
        yield found
        found.close()


ON_FILE = pytest.mark.parametrize("book", ["sqlite"], indirect=True)


def add(book: Book, email: str = "ada@example.com", role: Role | None = Role.OWNER) -> Person:
    """Make somebody's account."""
    return book.people.add(NewPerson(email, "Ada", "Engines", "$2b$a-hash", role=role))


def begin(book: Book, person: Person) -> str:
    """Return the key of a new session."""
    return book.sessions.begin(person.id, user_agent="Browser", address="192.0.2.1")
