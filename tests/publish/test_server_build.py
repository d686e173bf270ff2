"""The build process: real git, real SQLite, a real process."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bbops.base.errors import BbopsError, DatabaseError, GitError, MigrationRefused, ServerError
from bbops.source.git.store import commit, init
from bbops_server.process.children import Child
from bbops_server.process.messages.builds import BuildRelease, EndTests
from bbops_server.process.messages.repositories import Resolve
from bbops_server.process.messages.request import DoneAnswer, RequestMessage
from bbops_server.process.messages.tables import (
    ExpandTables,
    Rehearsal,
    RehearseMigration,
    SettleTables,
    TryStatements,
)
from tests.support.child_requests import Unknown
from tests.support.small_project import FILES, hello, write_project

Ask = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def child(runner: asyncio.Runner) -> Iterator[Child]:
    child = runner.run(Child.start("bbops_server.publish.build", nice=10))
    yield child
    assert runner.run(child.stop(5)) == 0


@pytest.fixture
def ask(runner: asyncio.Runner, child: Child) -> Callable[..., Any]:
    def ask(kind: type[RequestMessage[Any]], **more: Any) -> Any:
        if "database" in more:
            more["state"] = str(Path(more["database"]).parent)
        return runner.run(child.ask(kind(**more), timeout_seconds=60))

    return ask


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "repository"
    files = {f"backend/{name}": text.encode() for name, text in FILES.items()}
    init(path, files, message="Begin\n\nmore")
    return path


def folder(path: Path) -> dict[str, str]:
    return {"kind": "folder", "path": str(path)}


def git(path: Path, commit: str) -> dict[str, str]:
    return {
        "kind": "git", "repository": str(path), "commit": commit, "branch": "main",
        "path": "backend",
    }  # fmt: skip


@pytest.mark.long
def test_a_commit_is_resolved_built_migrated_and_tried(
    ask: Any, repository: Path, tmp_path: Path
) -> None:
    found = ask(Resolve, repository=str(repository), branch="main")
    built = ask(BuildRelease, source=git(repository, found.commit), artifacts=str(tmp_path / "a"))
    assert built.ok, built.diagnostics
    assert built.revision == f"main@sha1:{found.commit}"
    assert (built.project, built.subject) == ("small", "Begin")
    assert built.compiled == 4
    assert built.env["SECRET"] == {
        "secret": True, "default": None, "generate": True, "required": False,
    }  # fmt: skip
    artifact = Path(built.artifact)
    assert artifact.name == built.digest
    assert artifact.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in artifact.parent.iterdir()] == [artifact.name]
    database = str(tmp_path / "data.sqlite")
    migrated = ask(ExpandTables, digest=built.digest, database=database)
    assert migrated.changes == ["create table 'notes'"]
    tried = ask(TryStatements, artifact=built.artifact, database=database)
    assert tried.routes == 4
    assert tried.statements >= 2


def test_a_new_commit_compiles_only_what_it_changes(
    ask: Any, repository: Path, tmp_path: Path
) -> None:
    first = ask(Resolve, repository=str(repository), branch="main")
    ask(BuildRelease, source=git(repository, first.commit), artifacts=str(tmp_path))
    write_project(repository / "backend", hello(2))
    commit(repository, "Change")
    second = ask(Resolve, repository=str(repository), branch="main")
    assert second.stamp != first.stamp
    built = ask(BuildRelease, source=git(repository, second.commit), artifacts=str(tmp_path))
    assert (built.compiled, built.subject) == (1, "Change")


def test_a_branch_that_is_not_there_resolves_to_none(ask: Any, repository: Path) -> None:
    assert ask(Resolve, repository=str(repository), branch="other").commit is None


def test_a_repository_may_vanish_and_come_back(ask: Any, repository: Path) -> None:
    ask(Resolve, repository=str(repository), branch="main")
    shutil.move(repository, repository.with_name("away"))
    with pytest.raises(GitError):
        ask(Resolve, repository=str(repository), branch="main")
    shutil.move(repository.with_name("away"), repository)
    assert ask(Resolve, repository=str(repository), branch="main").commit


def test_mistakes_are_an_answer_with_places(ask: Any, tmp_path: Path) -> None:
    changes = {"functions/hello.yaml": "steps:\n  - retrun: {}\n"}
    project = write_project(tmp_path / "project", changes)
    built = ask(BuildRelease, source=folder(project), artifacts=str(tmp_path / "a"))
    assert not built.ok
    first = built.diagnostics[0]
    assert (first.file, first.line, first.severity) == ("functions/hello.yaml", 2, "error")
    assert not (tmp_path / "a").exists()


def test_a_refused_migration_comes_back_as_such(ask: Any, tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    built = ask(BuildRelease, source=folder(project), artifacts=str(tmp_path / "a"))
    database = str(tmp_path / "data.sqlite")
    ask(ExpandTables, digest=built.digest, database=database)
    ask(SettleTables, digest=built.digest, database=database)
    with closing(sqlite3.connect(database, isolation_level=None)) as live:
        live.execute("INSERT INTO notes (title) VALUES ('a word')")
    text = FILES["tables/notes.yaml"].replace("type: string", "type: integer")
    write_project(project, {"tables/notes.yaml": text, "functions/add.yaml": "steps: [return: {}]"})
    built = ask(BuildRelease, source=folder(project), artifacts=str(tmp_path / "a"))
    assert built.ok, built.diagnostics
    with pytest.raises(MigrationRefused) as caught:
        ask(ExpandTables, digest=built.digest, database=database)
    assert "notes.title" in caught.value.message
    assert caught.value.hint


def test_a_query_that_does_not_fit_the_tables_fails_the_smoke_test(
    ask: Any, tmp_path: Path
) -> None:
    project = write_project(tmp_path / "project")
    built = ask(BuildRelease, source=folder(project), artifacts=str(tmp_path / "a"))
    place = r"^functions/(add\.yaml:4|list\.yaml:2): a query does not fit the database: "
    with pytest.raises(DatabaseError, match=place):
        ask(TryStatements, artifact=built.artifact, database=str(tmp_path / "empty.sqlite"))


def test_tables_are_those_of_a_build_of_this_process(ask: Any, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="'0123456789ab' was not built here"):
        ask(ExpandTables, digest="0123456789abcdef", database=str(tmp_path / "data.sqlite"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Unknown, {}),
        (BuildRelease, {"source": 1, "artifacts": None}),
        (BuildRelease, {"source": {"kind": "cloud"}, "artifacts": "/"}),
        (TryStatements, {"artifact": "/nowhere/abc", "database": "/nowhere/data"}),
        (Resolve, {"repository": "/nowhere", "branch": "main"}),
    ],
)
def test_whatever_goes_wrong_is_an_answer(
    ask: Any, kind: type[RequestMessage[Any]], values: dict[str, Any]
) -> None:
    with pytest.raises(BbopsError):
        ask(kind, **values)
    assert ask(EndTests, state="nobody") == DoneAnswer()


def test_a_release_is_rehearsed_before_the_live_tables_change(ask: Any, tmp_path: Path) -> None:
    project, database = write_project(tmp_path / "project"), tmp_path / "data.sqlite"
    first = ask(BuildRelease, source=folder(project), artifacts=str(tmp_path / "a"))
    ask(ExpandTables, digest=first.digest, database=str(database))
    text = FILES["tables/notes.yaml"].replace("title:", "name:")
    add = FILES["functions/add.yaml"].replace("{ title: '$", "{ name: '$")
    write_project(project, {"tables/notes.yaml": text, "functions/add.yaml": add})
    second = ask(BuildRelease, source=folder(project), artifacts=str(tmp_path / "a"))
    before = database.read_bytes()
    asked = {"digest": second.digest, "database": str(database)}
    with pytest.raises(DatabaseError, match="a query does not fit the database"):
        ask(RehearseMigration, artifact=first.artifact, **asked)  # a release for other tables
    told = ask(RehearseMigration, artifact=second.artifact, **asked)
    assert told == Rehearsal(is_done=False, is_behind=False, switches=False, hidden=[])
    assert database.read_bytes() == before
    assert not list(tmp_path.glob("*rehears*"))
