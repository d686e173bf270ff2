"""`bbops serve` with its data in PostgreSQL: the same server, another place for the rows."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import PostgresPlace, name_database
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.postgres import control_of
from tests.support.replacing import make_repository
from tests.support.replacing import replace as replace_server
from tests.support.served import Served, make_project

pytestmark = pytest.mark.long


@pytest.fixture
def served(schema: PostgresPlace, tmp_path: Path) -> Iterator[Served]:
    repository = make_project(tmp_path / "shop")
    home, env = tmp_path / "home", {"DATABASE_URL": schema.url}
    with Served(repository, home, "--schema", schema.schema, "--workers", "2", env=env) as found:
        found.live()
        yield found
    drop_schema(control_of(schema))


def query(schema: PostgresPlace, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(schema.address) as connection:
        return connection.execute(sql.encode()).fetchall()


def test_a_project_lives_in_its_schema_through_changes_and_restarts(
    served: Served, schema: PostgresPlace, tmp_path: Path
) -> None:
    assert served.serving["database"] == str(schema)
    assert "password" not in json.dumps(served.serving)
    ada = served.sign_up()
    note = served.api.post("/api/v1/notes", json={"title": "one"}, headers=ada)
    assert note.status_code == 201, note.text
    assert served.api.get("/api/v1/notes", headers=ada).json()["notes"][0]["title"] == "one"
    assert query(schema, "SELECT title FROM notes") == [("one",)]
    assert not (served.repository / ".bbops" / "state" / "data.sqlite").exists()

    failures: list[object] = []
    stop = threading.Event()
    asking = threading.Thread(target=ask_until, args=(served.api.base_url, ada, stop, failures))
    asking.start()
    served.edit("tables/notes.yaml", "  title:", "  extra: { type: integer, default: 3 }\n  title:")
    served.commit("Count")
    assert served.live()["changes"] == ["add column 'notes.extra'"]
    stop.set()
    asking.join()
    assert failures == []
    assert query(schema, "SELECT extra FROM notes") == [(3,)]

    served.stop()
    again = ("--schema", schema.schema)
    with Served(served.repository, tmp_path / "home", *again, env=served.env) as restarted:
        wait_for(lambda: restarted.api.get("/api/v1/notes", headers=ada).status_code == 200)
        notes = restarted.api.get("/api/v1/notes", headers=ada).json()["notes"]
        assert [note["title"] for note in notes] == ["one"]
        assert restarted.serving["setup_url"]  # nobody has an account yet
        assert restarted.control.get("/api/projects").status_code == 200


def test_a_server_is_replaced_and_loses_no_request_and_no_row(
    schema: PostgresPlace, tmp_path: Path
) -> None:
    options, env = ("--schema", schema.schema, "--workers", "2"), {"DATABASE_URL": schema.url}
    running = Served(make_repository(tmp_path / "small"), tmp_path / "home", *options, env=env)
    running.live()
    stop, written, failures = threading.Event(), list[str](), list[object]()
    told = (running.api.base_url, stop, written, failures)
    writing = threading.Thread(target=write_until, args=told)
    writing.start()
    try:
        for _ in range(3):
            running = replace_server(running, *options, env=env)
            before = len(written)
            wait_for(lambda before=before: failures or len(written) > before)
        stop.set()
        writing.join()
        found = [title for (title,) in query(schema, "SELECT title FROM notes ORDER BY id")]
        assert (failures, found) == ([], written)
    finally:
        stop.set()
        running.stop()
        drop_schema(control_of(schema))


def write_until(
    url: httpx.URL, stop: threading.Event, written: list[str], failures: list[object]
) -> None:
    with httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client:
        while not stop.is_set():
            title = f"note {len(written)}"
            reply = client.post("/notes", json={"title": title})
            if reply.status_code == 201:
                written.append(title)
            else:
                failures.append((reply.status_code, reply.text))


def ask_until(
    url: httpx.URL, headers: dict[str, str], stop: threading.Event, failures: list[object]
) -> None:
    with httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client:
        while not stop.is_set():
            reply = client.get("/api/v1/notes", headers=headers)
            if reply.status_code != 200:
                failures.append((reply.status_code, reply.text))


def test_what_would_be_lost_waits_and_commands_find_the_data(
    served: Served, schema: PostgresPlace
) -> None:
    ada = served.sign_up()
    note = {"title": "one", "body": "more"}
    assert served.api.post("/api/v1/notes", json=note, headers=ada).status_code == 201
    by_hand(schema, "ALTER TABLE notes ADD COLUMN rank bigint")
    there = ("--state", str(served.repository / ".bbops" / "state"))
    drift = served.bbops("db", "drift", *there, env=served.env)
    assert (drift.returncode, drift.stdout) == (1, "a column was added: 'notes.rank'\n")
    assert "set DATABASE_URL" in served.bbops("db", "drift", *there).stderr
    assert "pg_dump" in served.bbops("db", "backup", *there, env=served.env).stderr
    seeded = served.bbops("db", "seed", *there, env=served.env)
    assert seeded.stdout == "no table has seed rows\n"


def test_people_are_in_a_schema_beside_it_and_commands_find_them(
    served: Served, schema: PostgresPlace
) -> None:
    there = ("--state", str(served.repository / ".bbops" / "state"))
    assert "/setup?token=bbi_" in served.serving["setup_url"]
    added = served.bbops("users", "add", "ada@example.com", "--generate", *there, env=served.env)
    assert added.returncode == 0, added.stderr
    assert query(control_of(schema), "SELECT email FROM people") == [("ada@example.com",)]
    assert "set DATABASE_URL" in served.bbops("users", "list", *there).stderr
    page = served.control.get(served.serving["setup_url"], headers={"accept": "text/html"})
    assert page.status_code != 200, "somebody has an account"
    assert not (served.repository / ".bbops" / "state" / "control.sqlite").exists()


def by_hand(schema: PostgresPlace, sql: str) -> None:
    with psycopg.connect(schema.address, autocommit=True) as connection:
        connection.execute(sql.encode())


def test_a_server_that_is_not_there_is_said_without_its_password(tmp_path: Path) -> None:
    repository = make_project(tmp_path / "shop")
    url = "postgresql://ada:hunter2@127.0.0.1:1/shop"
    assert name_database(url) == "postgresql://127.0.0.1:1/shop"
    with Served(repository, tmp_path / "home", env={"DATABASE_URL": url}) as served:
        stalled = served.stalled()
        assert "postgresql://127.0.0.1:1/shop" in json.dumps(stalled)
        log = (tmp_path / "home" / "log").read_text()
    assert "hunter2" not in json.dumps(stalled) + log
