"""Whoever pushed what somebody else proposes is one of its authors, so cannot approve it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from bbops.source.git.place import Place, find_repository
from bbops.source.git.proposals import Wish
from bbops_server.accounts import arrivals
from bbops_server.accounts.arrivals import Arrivals
from bbops_server.accounts.book import Book
from bbops_server.accounts.rules import Role
from bbops_server.publish.proposals.local import LocalForge
from tests.support.proposal_rules import book
from tests.support.proposing import Asking, commit_alone, propose
from tests.support.pushing import World
from tests.support.served import git
from tests.support.small_project import FILES, write_project

pytestmark = pytest.mark.long

__all__ = ["book"]

STEPS = "steps:\n  - return: { value: 1 }\n"
MAINTAINER = "maintainer@example.com"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Each proposal to `shop` needs an approval."""
    with World(tmp_path_factory.mktemp("world")) as world:
        world.book.members.set_role(world.people["viewer"], Role.DEVELOPER, "shop")
        clone = world.clone("owner")
        clone.commit({"project.yaml": f"{FILES['project.yaml']}review: {{ approvals: 1 }}\n"})
        assert "live: " in clone.push().text
        yield world


def start(world: World, name: str) -> tuple[str, Asking]:
    """Push a commit by `maintainer` to a branch, and return it."""
    clone = world.clone("maintainer")
    commit_alone(clone, {f"functions/{name}.yaml": STEPS})
    assert clone.push("origin", f"HEAD:{name}").code == 0
    return git(clone.folder, "rev-parse", "HEAD"), Asking(world, "maintainer")


def test_who_pushed_the_branch_does_not_approve_its_proposal(world: World) -> None:
    _, pusher = start(world, "one")
    author = Asking(world, "developer")
    number = author.post("", branch="one").json()["number"]
    assert pusher.say(number, "approved").status_code == 201
    found = author.get(number)
    assert found["proposal"]["pushers"] == [MAINTAINER]
    assert found["obstacles"] == [
        "1 more approval needed",
        f"the approval of {MAINTAINER} does not count: they are an author of some commits",
    ]
    assert pusher.merge(number).status_code == 409
    assert Asking(world, "viewer").say(number, "approved").status_code == 201
    assert pusher.merge(number).status_code == 200


def test_neither_another_topic_nor_a_commit_on_top_nor_no_branch_hides_that(world: World) -> None:
    commit, pusher = start(world, "two")
    clone = world.clone("developer")
    git(clone.folder, "fetch", "-q", "origin", "two")
    git(clone.folder, "reset", "-q", "--hard", commit)
    assert world.clone("maintainer").push("origin", ":two").code == 0
    clone.commit(world.next_version())
    number = propose(clone, "quite-another")
    pusher.say(number, "approved")
    found = pusher.get(number)
    assert (found["approved"], found["outdated"]) == ([], [MAINTAINER])


def test_a_later_commit_of_theirs_counts_from_when_it_is_proposed(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(world.next_version())
    number, reviewer = propose(clone, "three"), Asking(world, "maintainer")
    reviewer.say(number, "approved")
    assert reviewer.get(number)["approved"] == [MAINTAINER]
    theirs = world.clone("maintainer")
    git(theirs.folder, "pull", "-q", str(clone.folder), "main")
    theirs.commit(world.next_version())
    assert theirs.push("origin", "HEAD:three-more").code == 0
    clone.git("pull", "-q", "origin", "three-more")
    assert propose(clone, "three") == number
    reviewer.say(number, "approved")
    assert reviewer.get(number)["approved"] == []


def test_who_pushes_what_others_have_pushed_already_is_no_author(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(world.next_version())
    number, theirs = propose(clone, "four"), world.clone("maintainer")
    git(theirs.folder, "pull", "-q", str(clone.folder), "main")
    assert theirs.push("origin", "HEAD:four-copy").code == 0
    assert propose(clone, "four", "-o", "title=Again") == number
    reviewer = Asking(world, "maintainer")
    reviewer.say(number, "approved")
    assert reviewer.get(number)["approved"] == [MAINTAINER]


def test_what_the_server_made_is_the_work_of_who_asked_for_it(world: World) -> None:
    commit_alone(clone := world.clone("owner"), {"functions/made.yaml": STEPS})
    assert "live: " in clone.push().text
    asking = Asking(world, "maintainer")
    url = asking.url.replace("/proposals", "/rollback")
    body = {"version": "v1", "only": ["functions/made"]}
    made = httpx.post(url, json=body, headers=asking.headers, timeout=60).json()
    assert asking.post(f"/{made['proposal']}/close").status_code == 200
    theirs = world.clone("developer")
    theirs.git("fetch", "-q", "origin", f"refs/pull/{made['proposal']}/head")
    theirs.git("reset", "-q", "--hard", "FETCH_HEAD")
    number = propose(theirs, "taken-over")
    assert asking.get(number)["proposal"]["pushers"] == [MAINTAINER]


def test_a_tag_of_a_file_is_pushed_as_before(world: World) -> None:
    clone = world.clone("developer")
    git(clone.folder, "tag", "a-file", "HEAD:project.yaml")
    assert clone.push("origin", "a-file").code == 0


def test_the_newest_arrivals_are_kept(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "MOST_KEPT", 3)
    kept: Arrivals = book.proposals.arrivals
    kept.add(["a", "b"], "ada")
    kept.add(["b", "c"], "bob")
    kept.add(["b"], "bob")
    kept.add([], "eve")
    assert kept.find(["b"]) in ({"ada", "bob"}, {"bob"})
    assert kept.find(["c", "unknown"]) == {"bob"}
    kept.add([f"d{number}" for number in range(1_200)], "eve")
    assert kept.find(["a", "b", "c"]) == frozenset()


def test_commits_of_another_live_branch_are_their_pushers_unless_reviewed_there(
    tmp_path: Path,
) -> None:
    place, kept = make_branches(tmp_path), closing(Book.open(tmp_path))
    staged = git(tmp_path / "work", "rev-parse", "staging")
    with kept as found:
        found.proposals.arrivals.add([staged], "bob")
        wish = Wish(staged, "main", "promote", "ada")
        made = LocalForge(place, "shop", found.proposals).open(wish)
        assert made.pushers == ("bob",)
        other = LocalForge(place, "shop", found.proposals, reviewed=["staging", "not-yet"])
        assert other.open(replace(wish, topic="again")).pushers == ()


def make_branches(folder: Path) -> Place:
    """Return a repository whose branch `staging` is one commit before `main`."""
    work = write_project(folder / "work")
    git(work, "init", "-q", "-b", "main")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "Start")
    git(work, "checkout", "-q", "-b", "staging")
    git(work, "commit", "-qm", "More", "--allow-empty")
    return find_repository(work)
