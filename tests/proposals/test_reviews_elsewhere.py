"""Rules of review hold for a repository elsewhere, and for every way in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.origin import QUICK, Origin, origin, serve
from tests.support.pushing import World
from tests.support.served import Served, git
from tests.support.small_project import FILES

pytestmark = pytest.mark.long

__all__ = ["origin", "serve"]

REVIEWED = "review: { main: proposals, approvals: 1 }\n"
AT_MOST = {"project.yaml": f"{FILES['project.yaml']}review: {{ maxRemovedPercent: 10 }}\n"}


@pytest.fixture
def reviewed(origin: Origin) -> Origin:
    """A repository elsewhere whose project takes proposals alone."""
    file = origin.work / "project.yaml"
    file.write_text(file.read_text() + REVIEWED)
    origin.push_all("commit", "-qam", "Take proposals alone")
    return origin


def test_what_arrives_without_a_review_waits_until_somebody_accepts_it(
    reviewed: Origin, serve: Callable[..., Served]
) -> None:
    served = serve(*QUICK)
    good = served.live()["release"]
    one = reviewed.push()
    stalled = served.stalled()
    assert stalled["reason"] == "ReviewMissing"
    assert f"commit {one[:12]} has arrived" in stalled["message"]
    assert f"bbops accept {one}" in stalled["hint"]
    assert served.api.get("/api/me").headers["x-release"] == good
    done = served.bbops("accept", one)
    assert done.returncode == 0, done.stderr
    assert served.live_of(one)
    two = reviewed.push()  # a decision is of one commit, not of what follows it
    again = served.stalled()
    assert (again["reason"], two[:12] in again["message"]) == ("ReviewMissing", True)


def test_several_commits_are_accepted_by_naming_both_ends(
    reviewed: Origin, serve: Callable[..., Served]
) -> None:
    served = serve("--poll", "3600")
    served.live()
    live = git(reviewed.work, "rev-parse", "HEAD")
    reviewed.push()
    newest = reviewed.push()
    served.control.post("/api/projects/sample/reconcile")
    assert "2 commits have arrived" in served.stalled()["message"]
    refused = served.bbops("accept", newest)
    assert (refused.returncode, "more than one commit waits" in refused.stderr) == (2, True)
    wrong = served.bbops("accept", "--range", f"{newest}..{newest}")
    assert (wrong.returncode, "is not live" in wrong.stderr) == (2, True)
    shortened = served.bbops("accept", "--range", f"{live[:12]}..{newest}")
    assert (shortened.returncode, "is a shortened id" in shortened.stderr) == (2, True)
    done = served.bbops("accept", "--range", f"{live}..{newest}")
    assert done.returncode == 0, done.stderr
    assert served.live_of(newest)


def test_loosening_the_rule_elsewhere_waits_by_the_rule_that_is_live(
    reviewed: Origin, serve: Callable[..., Served]
) -> None:
    served = serve(*QUICK)
    served.live()
    file = reviewed.work / "project.yaml"
    file.write_text(file.read_text().replace(REVIEWED, ""))
    reviewed.push_all("commit", "-qam", "Take anything")
    assert served.stalled()["reason"] == "ReviewMissing"


def test_a_server_that_held_nothing_before_says_so_before_it_does(
    reviewed: Origin, serve: Callable[..., Served]
) -> None:
    served = serve(*QUICK)
    served.live()
    assert served.stop() == 0
    record = served.home / ".bbops/state/publication.json"
    record.write_text(record.read_text().replace('"holds_reviews":true,', ""))  # as it was before
    served = serve(*QUICK)
    served.live()
    assert "now holds for commits pushed to" in (served.home / "log").read_text()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as world:
        yield world


def test_a_push_that_removes_too_much_is_refused(world: World) -> None:
    clone = world.clone("maintainer")
    clone.commit(AT_MOST)
    assert clone.push().code == 0
    before = world.tip()
    for path in ("slow", "list"):
        (clone.folder / f"endpoints/{path}.yaml").unlink()
        (clone.folder / f"functions/{path}.yaml").unlink()
    clone.git("commit", "-qam", "Remove half of it")
    done = clone.push()
    assert done.code == 1
    assert "resources would be removed" in done.text
    assert "at most 10 % may be: review.maxRemovedPercent" in done.text
    assert world.tip() == before


def test_a_commit_in_the_served_folder_that_removes_too_much_waits(
    origin: Origin, serve: Callable[..., Served]
) -> None:
    file = origin.work / "project.yaml"
    file.write_text(f"{file.read_text()}review: {{ maxRemovedPercent: 5 }}\n")
    git(origin.work, "commit", "-qam", "Remove little")
    served = serve(address=str(origin.work))
    good = served.live()["release"]
    for folder in ("endpoints/notes", "tests"):
        _remove(origin.work, folder)
    git(origin.work, "commit", "-qam", "Remove the notes")
    stalled = served.stalled()
    assert stalled["reason"] == "TooMuchRemoved"
    assert served.api.get("/api/me").headers["x-release"] == good
    commit = git(origin.work, "rev-parse", "HEAD")
    assert served.bbops("accept", commit).returncode == 0
    assert served.live_of(commit)


def _remove(work: Path, folder: str) -> None:
    for path in (work / folder).rglob("*.yaml"):
        path.unlink()
