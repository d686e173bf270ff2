"""A book of proposals, with a clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bbops.database.schema.place import PostgresPlace
from bbops.source.git.proposals import Wish
from bbops_server.accounts.book import Book
from tests.support.postgres import DATABASES, place_of

AT = datetime(2026, 1, 1, tzinfo=UTC)


WISH = Wish("a" * 40, "main", "cart", "ada@example.com", "A cart", "For all of it")


class Clock:
    def __init__(self) -> None:
        self.time = AT

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


@pytest.fixture(params=DATABASES)
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Book]:
    with place_of(request, tmp_path) as place:
        found = Book.open(tmp_path, Clock(), place if isinstance(place, PostgresPlace) else None)
        yield found
        found.close()
