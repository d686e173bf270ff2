"""Versions from outside: what went live is tagged, and one command goes back."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.patience import wait_for
from tests.support.pushing import Clone
from tests.support.served import LIST, PAGE, Served, git, make_project

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("going")
    with Served(make_project(folder / "sample"), folder / "home") as server:
        server.live()
        yield server


def change(served: Served, field: str) -> str:
    """Add a field to the list of notes, and return the commit once it is live."""
    served.edit(LIST, PAGE, f"{PAGE}\n        {field}: true")
    commit = served.commit(f"Add {field}")
    assert served.live_of(commit)
    return commit


def newest(served: Served) -> dict[str, object]:
    listed = served.bbops("versions", "--json", "--path", str(served.repository))
    return dict(json.loads(listed.stdout)[0])


def tell(served: Served, *arguments: str) -> str:
    done = served.bbops(*arguments, "--path", str(served.repository))
    assert done.returncode in {0, 2}, done.stderr
    return done.stdout


def test_each_release_is_a_version_with_its_facts(served: Served) -> None:
    commit = change(served, "first")
    one = newest(served)
    assert one["commit"] == commit
    assert one["subject"] == "Add first"
    assert one["facts"]["Author"] == "ada"  # type: ignore[index]
    assert one["facts"]["Revision"] == f"main@sha1:{commit}"  # type: ignore[index]
    assert served.status()["version"] == one["name"]
    assert one["facts"]["Plan"] == "1 route, 1 file"  # type: ignore[index]
    assert "Add first" in tell(served, "versions")
    listed = served.control.get(f"/api/projects/{served.status()['name']}/versions").json()
    assert listed[0]["name"] == one["name"]
    name = served.status()["name"]
    publication = served.control.get(f"/api/projects/{name}/publications").json()[-1]
    assert (publication["version"], publication["author"]) == (one["name"], "ada")
    assert publication["outcome"] == "live"


def test_the_server_lists_versions(served: Served) -> None:
    commit = change(served, "listed")
    name = served.status()["name"]
    (found, *_) = served.control.get(f"/api/projects/{name}/versions").json()
    assert (found["commit"], found["subject"]) == (commit, "Add listed")


def test_a_restart_knows_version_and_publications(served: Served) -> None:
    change(served, "kept")
    before = served.status()
    served.stop()
    again = Served(served.repository, served.home)
    served.__dict__.update(again.__dict__)
    served.live()
    assert served.status()["version"] == before["version"]
    assert served.status()["publications"] == before["publications"]


def test_the_past_of_a_resource_names_versions(served: Served) -> None:
    change(served, "second")
    name = newest(served)["name"]
    past = json.loads(tell(served, "history", "functions/notes/list", "--json"))
    assert (past[0]["subject"], past[0]["version"]) == ("Add second", name)
    assert past[-1]["version"].endswith("/v1")
    unknown = served.bbops("history", "functions/notes/lst", "--path", str(served.repository))
    assert unknown.returncode == 2
    assert "functions/notes/list" in unknown.stderr


def test_going_back_is_a_commit_that_restores_the_tree(served: Served) -> None:
    old = newest(served)["name"]
    short = str(old).rpartition("/")[2]
    before = (served.repository / LIST).read_text()
    change(served, "wrong")
    told = tell(served, "rollback", str(old), "--dry-run")
    assert "nothing was changed" in told
    assert "wrong" in (served.repository / LIST).read_text()
    told = tell(served, "rollback", short)
    assert "made commit" in told
    assert (served.repository / LIST).read_text() == before
    commit = git(served.repository, "rev-parse", "HEAD")
    assert served.live_of(commit)
    assert newest(served)["subject"] == f"Roll back to {short}"
    assert git(served.repository, "log", "-1", "--format=%an") == "bbops"
    again = served.bbops("rollback", str(old), "--path", str(served.repository))
    assert again.returncode == 2
    assert "already" in again.stderr


def test_the_server_goes_back_at_once(served: Served) -> None:
    old = newest(served)["name"]
    before = (served.repository / LIST).read_text()
    change(served, "worse")
    done = served.bbops("rollback", str(old), "--now", "--only", "functions/notes/list", "--json")
    assert done.returncode == 0, done.stderr
    commit = json.loads(done.stdout)["commit"]
    assert served.live_of(commit)
    assert served.status()["applied_revision"] == f"main@sha1:{commit}"
    assert (served.repository / LIST).read_text() == before
    assert git(served.repository, "status", "--porcelain") == ""
    none = served.bbops("rollback", "v999", "--now")
    assert none.returncode == 2
    assert "no version 'v999'" in none.stderr


def test_files_that_changed_are_not_lost(served: Served) -> None:
    change(served, "third")
    old = newest(served)["name"]
    change(served, "fourth")
    (served.repository / LIST).write_text("mine\n")
    done = served.bbops("rollback", str(old), "--now")
    assert done.returncode == 2
    assert "with changes" in done.stderr
    assert (served.repository / LIST).read_text() == "mine\n"
    git(served.repository, "checkout", "-q", "--", LIST)


def test_a_suspended_project_serves_on_and_goes_on_when_resumed(served: Served) -> None:
    live = served.status()["applied_revision"]
    assert "'bbops resume " in served.bbops("suspend", "--reason", "the fair").stdout
    stalled = served.stalled()
    assert stalled["reason"] == "Suspended"
    assert "the fair" in stalled["message"]
    assert [served.condition(kind)["status"] for kind in ("Ready", "Stalled")] == [True, True]
    assert served.bbops("status").returncode == 0
    head = git(served.repository, "rev-parse", "HEAD")
    back = served.bbops("rollback", str(newest(served)["name"]), "--now")
    assert (back.returncode, "suspended by" in back.stderr) == (2, True)
    assert "nothing has changed; 'bbops resume" in back.stderr
    assert git(served.repository, "rev-parse", "HEAD") == head
    served.edit(LIST, PAGE, f"{PAGE}\n        later: true")
    commit = served.commit("Later")
    wait_for(lambda: str(served.status()["attempted_revision"]).endswith(commit))
    assert served.status()["applied_revision"] == live
    assert served.condition("Ready")["status"] is False
    assert served.bbops("resume").stdout.endswith("resumed\n")
    assert served.live_of(commit)
    assert served.bbops("resume").stdout.endswith("were not suspended\n")


def test_a_push_to_a_suspended_project_is_taken_and_told(served: Served, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(served.repository), "clone")
    git(tmp_path / "clone", "commit", "-qm", "Nothing", "--allow-empty")
    served.bbops("suspend", "--reason", "the fair")
    served.stalled()
    url = f"{served.serving['control_url']}/git/{served.status()['name']}.git"
    pushed = Clone(tmp_path / "clone", url).push(url, "HEAD:main")
    assert pushed.code == 0
    assert "[Suspended]" in pushed.text
    assert "the fair" in pushed.text
    served.bbops("resume")
    assert served.live_of(git(tmp_path / "clone", "rev-parse", "HEAD"))


def test_git_that_packs_its_references_publishes_nothing(served: Served) -> None:
    before = served.status()["publications"]
    git(served.repository, "pack-refs", "--all")
    with pytest.raises(queue.Empty):
        served.event("live", 2)
    assert served.status()["publications"] == before
    served.bbops("suspend")
    assert served.stalled()["reason"] == "Suspended"
    served.bbops("resume")
    assert served.live()["revision"] == before[-1]["revision"]
