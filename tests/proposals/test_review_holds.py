"""The rules of review hold while what is live cannot be served, and where main has mistakes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.proposing import Asking, propose
from tests.support.pushing import BAD, World
from tests.support.reviewing import Reviewing
from tests.support.served import git
from tests.support.small_project import FILES, hello, write_project

pytestmark = pytest.mark.long


@pytest.fixture
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reviewing]:
    with Reviewing(tmp_path_factory.mktemp("world")) as world:
        yield world


def test_main_is_guarded_while_the_live_release_cannot_be_served(at: Reviewing) -> None:
    assert at.control.post("/api/projects/left/suspend", json={"reason": "x"}).is_success
    for artifact in (at.state / "projects/left/artifacts").iterdir():
        artifact.write_bytes(b"of another version")
    at.restart()
    clone, _ = at.change("left")
    assert at.push(clone, "owner", "left", "refs/heads/main") == ""


def test_a_proposal_over_mistakes_takes_what_the_live_rules_ask_for(at: Reviewing) -> None:
    work = at.folder / "broken"
    git(at.folder, "clone", "-q", str(at.folder / "both"), str(work))
    (work / "left/functions/hello.yaml").write_text(BAD["functions/hello.yaml"])
    git(work, "commit", "-qam", "Break it, past the server")
    git(work, "push", "-q", "origin", "main")
    clone, version = at.change("left")
    assert at.push(clone, "owner", "left", f"refs/for/main/topic{version}")
    asking = at.asking["owner", "left"]
    (number,) = [one["number"] for one in asking.ask("?state=open").json()]
    assert asking.get(number)["approvals"] == 1
    assert asking.merge(number).status_code == 409
    assert at.asking["maintainer", "left"].say(number, "approved").is_success
    assert asking.merge(number).is_success


def test_nobody_approves_their_own_work_by_changing_a_second_project(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with World(tmp_path_factory.mktemp("world")) as world:
        clone, asking = world.clone("owner", "left"), Asking(world, "owner", "left")
        rule = f"{FILES['project.yaml']}review: {{ main: proposals, approvals: 1 }}\n"
        write_project(clone.folder / "left", {"project.yaml": rule})
        git(clone.folder, "commit", "-qam", "Take proposals alone")
        assert clone.push().code == 0
        for one in ("left", "right"):  # in `right` nobody but the owner may review
            write_project(clone.folder / one, {"project.yaml": rule, **hello(5)})
        git(clone.folder, "commit", "-qam", "Change both")
        number = propose(clone, "both")
        assert asking.say(number, "approved").is_success
        assert "1 more approval needed" in asking.get(number)["obstacles"][0]
        assert asking.merge(number).status_code == 409
