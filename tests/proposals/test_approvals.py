"""Migrations that lose something wait for a person's word, which is kept."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bbops.base.errors import ServerError
from bbops.database.migrate import migrate
from bbops_server.publish.holds.approvals import (
    approve,
    read_approvals,
    read_approved,
    read_waiting,
    record_applied,
    record_waiting,
    stamp_approvals,
)
from tests.support.database_commands import Commands
from tests.support.migrating import BASE, USER, changed, declare, query
from tests.support.served import Served, make_project

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def waiting(tmp_path: Path) -> str:
    """Return the hash of a plan that waits in `tmp_path`."""
    data = tmp_path / "data.sqlite"
    migrate.apply(data, declare(BASE))
    query(data, f"INSERT INTO users (id, email, created_at) VALUES ('{USER}', 'a@x', '2026')")
    planned = migrate.plan(data, changed(lambda spec: spec["users"]["columns"].pop("role")))
    record_waiting(tmp_path, planned)
    return planned.hash


def test_an_approval_says_who_when_and_what_is_lost(tmp_path: Path, waiting: str) -> None:
    assert stamp_approvals(tmp_path) is None
    approve(tmp_path, waiting, who="ada", at=NOW)
    assert stamp_approvals(tmp_path) is not None
    (found,) = read_approvals(tmp_path)
    assert (found.hash, found.who, found.at) == (waiting, "ada", NOW)
    (loss,) = found.losses
    assert (loss.table, loss.what, loss.rows) == ("users", "role", 1)


def test_a_second_word_for_the_same_plan_replaces_the_first(tmp_path: Path, waiting: str) -> None:
    for who in ("ada", "bob"):
        approve(tmp_path, waiting, who=who, at=NOW)
    assert [one.who for one in read_approvals(tmp_path)] == ["bob"]


def test_a_word_counts_until_the_plan_is_made_and_may_be_given_again(
    tmp_path: Path, waiting: str
) -> None:
    approve(tmp_path, waiting, who="ada", at=NOW)
    assert read_approved(tmp_path) == {waiting}
    record_applied(tmp_path, waiting)
    assert read_approved(tmp_path) == set()
    assert [one.who for one in read_approvals(tmp_path)] == ["ada"], "it stays on record"
    approve(tmp_path, waiting, who="bob", at=NOW)
    assert read_approved(tmp_path) == {waiting}


@pytest.mark.parametrize("name", ["0000000", "", "x" * 99])
def test_only_the_plan_that_waits_can_be_approved(tmp_path: Path, waiting: str, name: str) -> None:
    with pytest.raises(ServerError, match=f"'{waiting}' does"):
        approve(tmp_path, name, who="ada", at=NOW)
    assert read_approvals(tmp_path) == []


def test_nothing_waits_in_a_new_state_folder(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="no migration waits"):
        approve(tmp_path, "0123456", who="ada", at=NOW)


def test_damaged_files_approve_nothing(tmp_path: Path, waiting: str) -> None:
    for name in ("migration.json", "approvals.json"):
        (tmp_path / name).write_text("[{")
    assert read_waiting(tmp_path) is None
    assert read_approvals(tmp_path) == []


@pytest.mark.long
def test_a_running_server_makes_what_was_approved(tmp_path: Path) -> None:
    state = tmp_path / "state"
    repository = make_project(tmp_path / "sample")
    with Served(repository, tmp_path / "home", "--state", str(state)) as served:
        served.live()
        headers = served.sign_up()
        served.api.post("/api/v1/notes", json={"title": "Kept"}, headers=headers)
        text = (repository / "tables/notes.yaml").read_text()
        (repository / "tables/notes.yaml").write_text(
            "\n".join(line for line in text.splitlines() if "body:" not in line)
        )
        for folder in ("endpoints/notes", "functions/notes", "tests/notes"):
            shutil.rmtree(repository / folder)
        served.commit()
        stalled = served.stalled()
        found = read_waiting(state)
        assert found is not None
        assert f"bbops db approve {found.hash} --state {state}'" in stalled["hint"]
        commands = Commands(tmp_path, tmp_path / "commands")
        told = commands.run("approve", found.hash, "--state", state)
        assert told.stdout == f"approved  {found.losses[0].change}\n"
        assert served.live()["changes"] == [found.losses[0].change]
    assert query(state / "data.sqlite", "SELECT title FROM notes") == [("Kept",)]
    assert read_approved(state) == set()
    assert len(query(state / "data.sqlite", "SELECT body FROM notes")) == 1, "hidden, not lost"
