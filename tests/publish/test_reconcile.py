"""`bbops reconcile --wait` at a real server: the newest commit is live, or the reason is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.served import LIST, PAGE, Served, make_project


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(make_project(tmp_path / "shop"), tmp_path / "home") as served:
        served.live()
        yield served


def test_each_commit_is_live_when_the_command_returns(served: Served) -> None:
    for number in (2, 3, 4):
        served.edit(LIST, PAGE, f"{PAGE}\n        count{number}: {number}")
        commit = served.commit()
        done = served.bbops("reconcile", "--wait")
        assert (done.returncode, done.stderr) == (0, "")
        live = f"live: {commit[:12]} as bbops/sample/v{number} at {served.serving['url']}\n"
        assert done.stdout == live
        assert served.api.get("/api/me").headers["x-release"] == commit[:12]
        assert served.live_of(commit)  # and of nothing twice, before or after


def test_a_commit_that_is_live_is_not_published_again(served: Served) -> None:
    served.bbops("reconcile")
    done = served.bbops("reconcile", "--wait")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("live: ")
    assert len(served.status()["publications"]) == 1


def test_a_stalled_commit_is_reported_until_it_is_fixed(served: Served) -> None:
    good = served.status()["release"]
    served.edit(LIST, PAGE, "page: ${ qury.page }")
    served.commit()
    for _ in range(2):
        done = served.bbops("reconcile", "--wait")
        assert (done.returncode, done.stderr) == (1, "")
        first, found, *_ = done.stdout.splitlines()
        assert first == f"not live: {good[:12]} keeps serving [ProjectInvalid]"
        assert found.startswith(f"{LIST}:")
    served.stalled()
    served.edit(LIST, "page: ${ qury.page }", f"{PAGE}  # fixed")
    commit = served.commit()
    assert served.bbops("reconcile", "--wait").returncode == 0
    assert served.live_of(commit)


def test_a_suspended_project_stays_live_and_a_new_commit_stalls(served: Served) -> None:
    assert served.bbops("suspend", "--reason", "inventory").returncode == 0
    served.stalled()
    assert served.bbops("reconcile", "--wait").returncode == 0
    served.edit(LIST, PAGE, f"{PAGE}\n        more: 1")
    served.commit()
    done = served.bbops("reconcile", "--wait")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0].endswith("keeps serving [Suspended]")
    assert "inventory" in done.stdout
