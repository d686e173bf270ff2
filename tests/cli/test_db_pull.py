"""A database that something else made becomes a project, and nothing of it is lost unsaid."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result

from bbops.compiler.check import validate
from bbops.database.migrate import migrate
from bbops.database.schema.place import PostgresPlace
from bbops.source.tree import FolderTree
from bbops_server.commands.db import command

SQLITE = """
CREATE TABLE author (
  id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, email TEXT NOT NULL UNIQUE,
  joined DATETIME DEFAULT CURRENT_TIMESTAMP, active BOOLEAN NOT NULL DEFAULT 1
);
CREATE TABLE book (
  author_id INTEGER NOT NULL REFERENCES author (id) ON DELETE CASCADE, title TEXT NOT NULL,
  price DECIMAL(10, 2) NOT NULL DEFAULT '0.50', cover BLOB, place POINT, "Odd" TEXT,
  PRIMARY KEY (author_id, title), CHECK (price > 0)
);
CREATE INDEX book_price ON book (price);
CREATE INDEX cheap ON book (title) WHERE price < 1;
CREATE TABLE log (line TEXT);
CREATE VIEW titles AS SELECT title FROM book;
INSERT INTO author (name, email, joined) VALUES ('Ada', 'ada@x', '2026-01-01 10:00:00');
INSERT INTO book (author_id, title) VALUES (1, 'Notes');
"""
POSTGRES = """
CREATE TYPE mood AS ENUM ('calm', 'wild');
CREATE TABLE author (
  id serial PRIMARY KEY, name varchar(40) NOT NULL, key uuid NOT NULL DEFAULT gen_random_uuid(),
  joined timestamptz NOT NULL DEFAULT now(), mood mood NOT NULL DEFAULT 'calm', tags text[],
  data jsonb DEFAULT '{"a": 1}', score real, UNIQUE (name, key)
);
CREATE TABLE book (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, price numeric(10, 2) NOT NULL DEFAULT 0.5,
  author_id integer REFERENCES author (id) ON DELETE SET NULL, CHECK (price > 0)
);
CREATE MATERIALIZED VIEW dear AS SELECT * FROM book WHERE price > 100;
INSERT INTO author (name, score) VALUES ('Ada', 1.5);
INSERT INTO book (author_id) VALUES (1);
"""
PROJECT = "bbops: 1\nname: adopted\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "project.yaml").write_text(PROJECT)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False)


def declared(folder: Path) -> dict[str, Any]:
    project, found = validate(FolderTree(folder))
    assert project is not None, [str(one) for one in found]
    return {name: table.model for name, table in project.tables.items()}


def make(folder: Path) -> Path:
    path = folder / "old.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SQLITE)
    return path


def test_a_file_of_sqlite_becomes_tables(folder: Path) -> None:
    make(folder)
    done = run("pull", "old.sqlite")
    assert done.return_value == 1
    assert done.output.splitlines() == [
        "wrote  tables/author.yaml",
        "wrote  tables/book.yaml",
        "note   column 'book.place' of type 'POINT' becomes text",
        "note   column 'book.Odd' is left out: it is not in lower_case; rename it first",
        "note   table 'log' is left out: it has no primary key; give it one first",
        "note   view 'titles' stays as it is, and is not in the project",
        "note   index 'cheap' of 'book' is left out: it is partial, or on an expression",
        "note   the CHECKs of table 'book' are left out: write them as rules or 'checks'",
    ]
    assert (folder / "tables" / "book.yaml").read_text() == (
        "columns:\n"
        "  author_id:\n    type: integer\n    references: author.id\n    onDelete: cascade\n"
        "  title:\n    type: text\n"
        '  price:\n    type: decimal\n    default: "0.50"\n'
        "  cover:\n    type: binary\n    nullable: true\n"
        "  place:\n    type: text\n    nullable: true\n"
        "primaryKey:\n  - author_id\n  - title\n"
        "indexes:\n  book_price:\n    columns:\n      - price\n"
    )


def test_what_was_pulled_can_be_published_on_the_same_file(folder: Path) -> None:
    path = make(folder)
    run("pull", "old.sqlite")
    tables = declared(folder)
    planned = migrate.plan(path, tables)
    assert "impossible" not in {change.risk for change in planned.changes}
    migrate.apply(path, tables, {planned.hash})
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT id, name, active, joined FROM author").fetchall() == [
            (1, "Ada", 1, "2026-01-01T10:00:00.000000Z")
        ]
        assert connection.execute("SELECT price FROM book").fetchall() == [("0.5",)]


def test_a_schema_of_postgresql_becomes_tables(
    folder: Path, schema: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(schema.address, autocommit=True) as connection:
        connection.execute(POSTGRES.encode())
    monkeypatch.setenv("DATABASE_URL", schema.url)
    done = run("pull", "--schema", schema.schema)
    assert done.return_value == 1, done.output
    assert [line for line in done.output.splitlines() if line.startswith("note")] == [
        "note   column 'author.tags' of type 'text[]' becomes text",
        "note   materialized view 'dear' stays as it is, and is not in the project",
        "note   the CHECKs of table 'book' are left out: write them as rules or 'checks'",
    ]
    author = declared(folder)["author"]
    assert author.columns["mood"].enum == ["calm", "wild"]
    assert author.columns["key"].auto == "uuid"
    assert author.columns["joined"].auto == "created"
    assert author.columns["data"].default == {"a": 1}
    assert author.indexes["author_name_key_key"].unique


def test_what_was_pulled_can_be_published_on_the_same_schema(
    folder: Path, schema: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(schema.address, autocommit=True) as connection:
        connection.execute(POSTGRES.replace("MATERIALIZED VIEW dear", "TABLE dear").encode())
        connection.execute("DROP TABLE dear")
        monkeypatch.setenv("DATABASE_URL", schema.url)
        run("pull", "--schema", schema.schema)
        tables = declared(folder)
        planned = migrate.plan(schema, tables)
        assert "impossible" not in {change.risk for change in planned.changes}, planned.changes
        migrate.apply(schema, tables, {planned.hash})
        found = connection.execute("SELECT name, mood, score, data::text FROM author").fetchall()
        assert found == [("Ada", "calm", 1.5, '{"a": 1}')]
        connection.execute("INSERT INTO author (name, key) VALUES ('Bo', gen_random_uuid())")


def test_files_that_are_there_are_not_written_over(folder: Path) -> None:
    make(folder)
    run("pull", "old.sqlite")
    again = run("pull", "old.sqlite")
    assert "is there already" in str(again.exception)
    assert run("pull", "old.sqlite", "--force", "--json").return_value == 1


def test_a_database_that_is_none_is_said(folder: Path) -> None:
    assert "no database is named" in str(run("pull").exception)
    assert "there is no file" in str(run("pull", "none.sqlite").exception)
    (folder / "text").write_text("no database, only a text that is long enough to be one" * 20)
    assert "not a database" in str(run("pull", "text").exception)
