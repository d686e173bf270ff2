"""A control database that is damaged or gone closes the control plane, and nothing else."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from bbops.base.errors import DatabaseError
from bbops_server.accounts.features import read_features_off
from bbops_server.accounts.set_up_mark import MARK, must_hold_accounts, note_fresh, note_opened
from bbops_server.settings import Settings
from tests.support.patience import wait_for
from tests.support.served import Served, git, make_project
from tests.support.served_people import run, set_up

Damage = Callable[[Path], None]


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:5_000])


def scribble(file: Path) -> None:
    file.write_bytes(b"not a database" * 400)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def forget_tables(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("CREATE TABLE other (id)")


def forget_people(file: Path) -> None:
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.execute("PRAGMA foreign_keys = OFF")
        for table in ("project_roles", "memberships", "identities", "sessions", "people"):
            raw.execute(f"DELETE FROM {table}")


DAMAGES: list[Damage] = [Path.unlink, empty, truncate, scribble, forget_tables, forget_people]


@pytest.mark.long
def test_projects_go_on_and_set_up_stays_closed_whatever_the_damage(tmp_path: Path) -> None:
    repository = make_project(tmp_path / "sample")
    state = repository / ".bbops/state"
    with Served(repository, tmp_path / "home") as served:
        good = served.live()["release"]
        set_up(served).close()
    kept = tmp_path / "kept"
    shutil.copytree(state, kept)
    for damage in DAMAGES:
        shutil.rmtree(state)
        shutil.copytree(kept, state)
        damage(state / "control.sqlite")
        with Served(repository, tmp_path / "home") as served:
            assert served.serving["setup_url"] == "", damage.__name__
            assert served.api.get("/api/me").headers["x-release"] == good, damage.__name__
            for path in ("/", "/setup?token=x", "/api/projects", "/mcp", "/login", "/git/x.git"):
                answer = served.control.get(path)
                assert answer.status_code == 503, (damage.__name__, path, answer.text)
                assert answer.json()["error"]["code"] == "accountsUnavailable"
            page = served.control.get("/", headers={"accept": "text/html"})
            assert "The control plane is closed" in page.text
            told = run(served, "status")
            assert told.returncode == 2
            assert "accounts of this server cannot be used" in told.stderr
            assert "the control plane is closed" in (tmp_path / "home/log").read_text()
    shutil.rmtree(state)
    shutil.copytree(kept, state)
    with Served(repository, tmp_path / "home") as served:  # restored, it opens again
        assert served.control.get("/api/projects").status_code == 401


@pytest.mark.long
def test_a_lost_database_opens_no_set_up_where_nobody_had_an_account(tmp_path: Path) -> None:
    repository = make_project(tmp_path / "sample")
    state = repository / ".bbops/state"
    with Served(repository, tmp_path / "home") as served:
        served.live()
        assert served.serving["setup_url"]
    with Served(repository, tmp_path / "home") as served:
        assert served.serving["setup_url"]  # nothing is lost yet
    (state / "control.sqlite").unlink()
    with Served(repository, tmp_path / "home") as served:
        assert served.serving["setup_url"] == ""
        assert served.control.get("/api/projects").status_code == 503
        git(repository, "commit", "-q", "--allow-empty", "-m", "Go on")
        head = git(repository, "rev-parse", "HEAD")[:12]
        assert wait_for(lambda: served.api.get("/api/me").headers["x-release"] == head)
    done = run(served, "users", "add", "ada@example.com", "--role", "owner", "--generate")
    assert done.returncode == 0, done.stderr
    with Served(repository, tmp_path / "home") as served:
        assert served.control.get("/api/projects").status_code == 401


def test_a_new_state_folder_may_be_set_up(tmp_path: Path) -> None:
    assert not must_hold_accounts(tmp_path)
    (tmp_path / "control.sqlite").write_text("SQLite")
    (tmp_path / "data.sqlite").touch()
    assert not must_hold_accounts(tmp_path)  # served, and nobody has an account yet
    (tmp_path / "control.sqlite").unlink()
    assert must_hold_accounts(tmp_path)
    (tmp_path / "data.sqlite").unlink()
    (tmp_path / "projects/shop").mkdir(parents=True)
    assert not must_hold_accounts(tmp_path)
    (tmp_path / "projects/shop/publication.json").touch()
    assert must_hold_accounts(tmp_path)
    note_fresh(tmp_path)
    assert not must_hold_accounts(tmp_path)  # its first start was killed before it had made one
    note_opened(tmp_path)
    assert must_hold_accounts(tmp_path)
    assert not must_hold_accounts(tmp_path, in_file=False)  # they are in a schema of PostgreSQL
    (tmp_path / "projects/shop/publication.json").unlink()
    (tmp_path / MARK).touch()
    assert must_hold_accounts(tmp_path)


@pytest.mark.parametrize("damage", [empty, truncate, scribble, forget_tables])
def test_reading_the_features_makes_nothing_of_a_damaged_file(
    damage: Damage, tmp_path: Path
) -> None:
    file = tmp_path / "control.sqlite"
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.execute("CREATE TABLE workspaces (id, features)")
        raw.execute("INSERT INTO workspaces VALUES ('main', ?)", ('{"restChannels": false}',))
        raw.execute("CREATE TABLE more (text)")
        raw.execute("INSERT INTO more VALUES (?)", ("x" * 100_000,))
    assert read_features_off(Settings(tmp_path)) == ["restChannels"]
    damage(file)
    before = file.read_bytes()
    with suppress(DatabaseError):
        assert read_features_off(Settings(tmp_path)) in ([], ["restChannels"])
    assert file.read_bytes() == before
