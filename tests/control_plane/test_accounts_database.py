"""The control database: opened, shared, moved into PostgreSQL, and not there."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from bbops.base.errors import DatabaseError
from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import PostgresPlace
from bbops_server.accounts.book import Book
from bbops_server.accounts.people import NewPerson, Person
from bbops_server.accounts.rules import Role
from bbops_server.accounts.text_rules import AccountError, ControlAway
from tests.support.accounts import ON_FILE, add, begin, book, clock

__all__ = ["book", "clock"]


# ---- the database
@ON_FILE
def test_the_database_is_its_owners_alone(book: Book, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "control.sqlite").stat().st_mode) == 0o600


@ON_FILE
def test_a_database_of_a_newer_version_is_refused(book: Book, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "control.sqlite") as raw:
        raw.execute("INSERT INTO schema_steps VALUES (99, 0)")
    raw.close()
    with pytest.raises(DatabaseError, match="newer bbops"):
        Book.open(tmp_path)


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "control.sqlite").write_bytes(b"x" * 5_000)
    with pytest.raises(DatabaseError, match="cannot open the control database"):
        Book.open(tmp_path)


@ON_FILE
def test_it_is_opened_again_with_what_it_held(book: Book, tmp_path: Path) -> None:
    add(book)
    again = Book.open(tmp_path)
    assert again.people.exist()
    again.close()


def test_of_several_who_set_up_at_once_one_is_first(book: Book) -> None:
    outcomes: list[object] = []

    def set_up(number: int) -> None:
        try:
            new = NewPerson(f"p{number}@example.com", role=Role.OWNER)
            outcomes.append(book.people.add(new, only_first=True))
        except AccountError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=set_up, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [isinstance(one, Person) for one in outcomes].count(True) == 1
    assert len(book.people.list()) == 1


SWITCH = """
import sys
from pathlib import Path
from bbops_server.accounts.book import Book
book = Book.open(Path(sys.argv[1]))
book.workspaces.set_feature("restChannels", on=False)
book.close()
"""


@ON_FILE
def test_what_another_process_changed_is_seen_also_after_opening_twice(
    book: Book, tmp_path: Path
) -> None:
    book.workspaces.get()
    second = Book.open(tmp_path)
    second.workspaces.get()
    subprocess.run([sys.executable, "-c", SWITCH, str(tmp_path)], check=True)
    assert (tmp_path / "control.sqlite-wal").exists()
    for one in (book, second):
        assert one.workspaces.get().features == {"restChannels": False}
    second.close()


# ---- in PostgreSQL
def test_servers_that_begin_at_once_make_one_schema(schema: PostgresPlace, tmp_path: Path) -> None:
    place = replace(schema, schema=f"{schema.schema}__control")
    books = [Book.open(tmp_path, postgres=place) for _ in range(6)]
    with ThreadPoolExecutor(6) as threads:
        assert not any(threads.map(lambda book: book.people.exist(), books))
        outcomes = threads.map(lambda one: _begun(one[1], one[0]), enumerate(books))
        assert sorted(outcomes) == [False] * 5 + [True]
    for one in books:
        assert len(one.people.list()) == 1
        one.close()
    drop_schema(place)


def _begun(book: Book, number: int) -> bool:
    try:
        book.people.add(NewPerson(f"p{number}@example.com", role=Role.OWNER), only_first=True)
    except AccountError:
        return False
    return True


def test_a_new_schema_gets_what_the_file_held(schema: PostgresPlace, tmp_path: Path) -> None:
    with closing(Book.open(tmp_path)) as file:
        ada = add(file)
        key = begin(file, ada)
        file.audit.add("first")
        file.audit.add("second")
    with closing(Book.open(tmp_path, postgres=schema)) as book:
        assert [one.id for one in book.people.list()] == [ada.id]
        assert book.sessions.find(key) is not None
        book.audit.add("third")
        assert [one.action for one in book.audit.list()] == ["third", "second", "first"]
    with closing(Book.open(tmp_path)) as file:
        file.people.disable(add(file, "bob@example.com", None).id)
    with closing(Book.open(tmp_path, postgres=schema)) as book:
        assert len(book.people.list()) == 1, "it is asked once"


def test_a_schema_of_a_newer_version_is_refused(schema: PostgresPlace, tmp_path: Path) -> None:
    with closing(Book.open(tmp_path, postgres=schema)) as book:
        assert not book.people.exist()
    with psycopg.connect(schema.address, autocommit=True) as raw:
        raw.execute("INSERT INTO schema_steps VALUES (99, 0)")
    with (
        closing(Book.open(tmp_path, postgres=schema)) as book,
        pytest.raises(DatabaseError, match=f"in schema '{schema.schema}' of .*newer bbops"),
    ):
        book.people.exist()


@pytest.fixture
def opened() -> Iterator[list[int]]:
    """Return the backends of the connections that this process opens; others share the server."""
    pids = list[int]()

    def note(made: psycopg.Connection[object], _: object) -> None:
        pids.append(made.info.backend_pid)

    sa.event.listen(sa.Pool, "connect", note)
    yield pids
    sa.event.remove(sa.Pool, "connect", note)


def test_a_server_that_comes_back_is_asked_again(
    schema: PostgresPlace, tmp_path: Path, opened: list[int]
) -> None:
    with closing(Book.open(tmp_path, postgres=schema)) as book:
        add(book)
        assert opened
        with psycopg.connect(schema.url, autocommit=True) as raw:
            kill = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"  # and wait
            raw.execute(f"{kill} WHERE pid = ANY(%s)".encode(), [opened])
        assert book.people.exist()


def test_a_server_that_is_away_is_said_without_its_password(tmp_path: Path) -> None:
    away = PostgresPlace("postgresql://ada:hunter2@127.0.0.1:1/shop", "shop__control")
    with closing(Book.open(tmp_path, postgres=away)) as book:
        with pytest.raises(ControlAway) as caught:
            book.people.exist()
        assert "schema 'shop__control' of postgresql://127.0.0.1:1/shop" in caught.value.message
        assert "hunter2" not in str(caught.value)
