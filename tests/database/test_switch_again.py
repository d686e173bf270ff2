"""A change of types that takes too long is refused, and tried again only when somebody asks."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import httpx
import psycopg
import pytest

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import Place, PostgresPlace
from tests.support.patience import wait_for
from tests.support.postgres import DATABASES, control_of, place_of
from tests.support.served import Served, git
from tests.support.small_project import FILES, write_project

ROWS: Final = 1_000_000
MANY: Final = (
    "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows})"
    " INSERT INTO notes (title, size) SELECT 'x', {value} FROM s"
)
OURS: Final = (
    "SELECT 1 FROM pg_stat_activity WHERE application_name = 'bbops migration'"
    " AND query LIKE '%size%'"
)


class Project:
    """A served project of one table, with its data in either database."""

    def __init__(self, folder: Path, data: Place) -> None:
        self.folder, self.data = folder / "project", data
        self._home, self._words, self._env = folder / "home", ["--state", str(folder / "state")], {}
        if isinstance(data, PostgresPlace):
            self._words += ["--schema", data.schema]
            self._env = {"DATABASE_URL": data.url}
        write_project(self.folder, with_size("{ type: string, default: '1' }"))
        git(self.folder, "init", "-q", "-b", "main")
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", "Start")
        self.served = self.start()

    def start(self) -> Served:
        return Served(self.folder, self._home, *self._words, env=self._env)

    def restart(self) -> None:
        self.served.stop()
        self.served = self.start()

    def commit(self, changes: dict[str, str]) -> str:
        write_project(self.folder, changes)
        return self.served.commit()

    def sql(self, statement: str) -> None:
        if isinstance(self.data, Path):
            with closing(sqlite3.connect(self.data, timeout=30)) as live, live:
                live.execute(statement)
            return
        with psycopg.connect(self.data.address) as connection:
            connection.execute(statement.encode())


def with_size(column: str) -> dict[str, str]:
    return {"tables/notes.yaml": f"{FILES['tables/notes.yaml']}  size: {column}\n"}


@pytest.fixture(params=DATABASES)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    with place_of(request, tmp_path / "state" / "data.sqlite") as data:
        project = Project(tmp_path, data)
        try:
            project.served.live()
            yield project
        finally:
            project.served.stop()
            if isinstance(data, PostgresPlace):
                drop_schema(control_of(data))


@contextmanager
def traffic(url: str) -> Iterator[list[float]]:
    """Write all the while; yield how long each request took."""
    took: list[float] = []
    over = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=url, timeout=30) as client:
            while not over.wait(0.01):
                began = time.monotonic()
                assert client.post("/notes", json={"title": "x"}).status_code == 201
                took.append(time.monotonic() - began)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        wait_for(lambda: took)
        yield took
    finally:
        over.set()
        asking.join()


@pytest.mark.long
@pytest.mark.parametrize("value", ["'7'", "CAST(n AS text)"], ids=["equal", "distinct"])
def test_a_type_of_a_million_rows_is_refused_before_anybody_waits(
    project: Project, value: str
) -> None:
    project.sql(MANY.format(rows=ROWS, value=value))
    with traffic(project.served.serving["url"]) as took:
        began = time.monotonic()
        project.commit(with_size("{ type: integer, default: 1 }"))
        stalled = project.served.event("stalled", 60)
        assert time.monotonic() - began < 60
    assert stalled["reason"] == "MigrationRefused"
    assert "requests would have to wait for longer than 2 s" in stalled["message"]
    assert max(took) < 1
    project.served.stop()
    if isinstance(project.data, PostgresPlace):
        with psycopg.connect(project.data.url, autocommit=True) as watching:
            wait_for(lambda: watching.execute(OURS).fetchone() is None)


@pytest.mark.long
@pytest.mark.parametrize("project", ["sqlite"], indirect=True)
def test_a_refused_change_is_tried_again_when_somebody_asks(project: Project) -> None:
    project.sql(MANY.format(rows=ROWS, value="'7'"))
    commit = project.commit(with_size("{ type: integer, default: 1 }"))
    stalled = project.served.stalled()
    assert "'bbops reconcile' retries it" in str(stalled)
    project.sql("DELETE FROM notes")
    project.restart()
    again = project.served.stalled()
    assert (again["reason"], again["message"]) == (stalled["reason"], stalled["message"])
    done = project.served.bbops("reconcile")
    assert done.returncode == 0, done.stderr
    assert project.served.live_of(commit)


@pytest.mark.long
@pytest.mark.parametrize("project", ["postgres"], indirect=True)
def test_a_switch_that_was_undone_is_not_tried_at_the_next_start(project: Project) -> None:
    with psycopg.connect(project.data.address) as other:
        other.execute("SELECT * FROM notes")  # its lock stays as long as the transaction
        project.commit(with_size("{ type: integer, default: 1 }"))
        stalled = project.served.event("stalled", 60)
        assert stalled["reason"] == "SwitchFailed"
    project.restart()
    assert project.served.stalled()["reason"] == "SwitchFailed", "although nobody is in its way"
    git(project.folder, "commit", "-qm", "Again", "--allow-empty")
    assert project.served.live_of(git(project.folder, "rev-parse", "HEAD"))
