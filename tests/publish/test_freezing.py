"""A server that freezes: new commits wait, and go live by themselves at the end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.served import git
from tests.support.several import Several
from tests.support.small_project import write_project

OPEN = "projects: { one: { repository: ./one } }\n"
ALWAYS = f"{OPEN}freeze: [{{ days: [mon, tue, wed, thu, fri, sat, sun], reason: the fair }}]\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Several]:
    write_project(tmp_path / "one")
    git(tmp_path / "one", "init", "-q", "-b", "main")
    git(tmp_path / "one", "add", "-A")
    git(tmp_path / "one", "commit", "-qm", "Start")
    with Several(tmp_path, OPEN) as server:
        server.until("live", "one")
        yield server


@pytest.mark.long
def test_a_commit_waits_for_the_end_and_goes_live_by_itself(server: Several) -> None:
    end = datetime.now(UTC) + timedelta(seconds=2.5)
    begin = end - timedelta(days=1)
    server.change(f'{OPEN}freeze: [{{ from: "{begin}", until: "{end}", reason: holidays }}]\n')
    server.until("applied")
    server.commit_version("one", 2)
    stalled = server.until("stalled", "one")
    assert stalled["reason"] == "Frozen"
    assert f"until {end:%Y-%m-%d %H:%M} UTC: holidays" in stalled["message"]
    assert server.ask("/hello").json()["version"] == 1
    server.until("live", "one")
    assert timedelta() < datetime.now(UTC) - end < timedelta(seconds=1.5)
    assert server.ask("/hello").json()["version"] == 2


@pytest.mark.long
def test_one_commit_may_go_live_all_the_same(server: Several, tmp_path: Path) -> None:
    assert server.bbops("resume", "--despite-freeze").returncode == 2
    server.change(ALWAYS)
    server.until("applied")
    server.commit_version("one", 2)
    server.until("stalled", "one")
    head = git(tmp_path / "one", "rev-parse", "HEAD")
    back = server.bbops("rollback", "v1", "--now", "--project", "one")
    assert (back.returncode, "frozen until" in back.stderr) == (2, True)
    assert "--despite-freeze" in back.stderr
    assert git(tmp_path / "one", "rev-parse", "HEAD") == head
    done = server.bbops("resume", "one", "--despite-freeze")
    assert "goes live despite the freeze" in done.stdout, done.stderr
    server.until("live", "one")
    assert server.ask("/hello").json()["version"] == 2
    server.commit_version("one", 3)
    server.until("stalled", "one")
    assert server.ask("/hello").json()["version"] == 2
    server.change(OPEN)
    server.until("live", "one")
    assert server.ask("/hello").json()["version"] == 3
