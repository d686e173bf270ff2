"""Going back at once passes no rule of review by, and leaves nothing on main that is not live."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bbops_server.accounts.rules import Role
from tests.support.proposing import Asking, commit_alone, propose
from tests.support.pushing import Clone, World
from tests.support.slow_tests import slow_tests
from tests.support.small_project import FILES, endpoint, hello

pytestmark = pytest.mark.long

PROJECT = FILES["project.yaml"]
CALL = "steps:\n  - call: { function: other }\n    as: it\n  - return: { value: '${ vars.it }' }\n"
OTHER = "steps:\n  - return: { value: { version: 7 } }\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as world:
        world.control.headers.update(Asking(world, "owner").headers)
        yield world


def go_back(world: World, project: str, *, who: str = "maintainer", **more: Any) -> httpx.Response:
    """Ask for a version of a project at once."""
    url = f"{world.serving['control_url']}/api/projects/{project}/rollback"
    body, headers = {"version": "v1", "now": True, **more}, Asking(world, who).headers
    return httpx.post(url, json=body, headers=headers, timeout=120)


def publish(clone: Clone, files: dict[str, str]) -> str:
    """Push files to main, and return the version that they are."""
    clone.git("pull", "-q", "--rebase", "origin", "main")
    for path, text in files.items():
        target = clone.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    clone.git("add", "-A")
    clone.git("commit", "-qm", "Change")
    done = clone.push()
    assert "live: " in done.text, done.text
    return clone.git("rev-parse", "HEAD").text


def newest(world: World, project: str) -> str:
    """Return the name of the version that is live."""
    return str(world.told(project)["version"])


def refused(world: World, project: str, repository: str, **more: Any) -> str:
    """Return why going back is refused, which changes nothing."""
    before, live = world.tip(project=repository), world.told(project)["applied_revision"]
    answer = go_back(world, project, **more)
    assert answer.status_code == 409, answer.text
    assert world.tip(project=repository) == before
    assert world.told(project)["applied_revision"] == live
    said = str(answer.json()["error"])
    assert "nothing has changed; 'bbops rollback" in said
    assert "--propose' asks for a review" in said
    return said


@pytest.mark.parametrize(
    ("project", "repository", "folder"), [("copy", "copy", ""), ("left", "both", "left/")]
)
def test_rules_of_review_are_not_taken_back_at_once(
    world: World, project: str, repository: str, folder: str
) -> None:
    clone = world.clone("owner", project)
    rule = "review: { main: direct, approvals: 2, maxRemovedPercent: 10, agents: propose }\n"
    publish(clone, {f"{folder}project.yaml": f"{PROJECT}{rule}tests: {{ gate: true }}\n"})
    lists: list[list[str]] = [[], ["project"]]
    for only in lists:
        said = refused(world, project, repository, who="owner", only=only)
        assert "it loosens the rules of review: needs 0 approvals, not 2" in said
        assert "any share of the files may be removed, not 10 %" in said
        assert "tests no longer gate publishing" in said
    publish(clone, {f"{folder}functions/hello.yaml": hello(61)["functions/hello.yaml"]})
    done = go_back(world, project, who="owner", only=["functions/hello"])
    assert done.status_code == 202, done.text


def test_where_main_takes_proposals_alone_that_is_not_taken_back(world: World) -> None:
    clone = world.clone("maintainer")
    publish(clone, {"project.yaml": f"{PROJECT}review: {{ main: proposals }}\n"})
    said = refused(world, "shop", "shop", only=["project"])
    assert "pushing to main directly is allowed" in said
    assert ("roll back", "refused") in [
        (one.action, one.outcome) for one in world.book.audit.list(limit=5)
    ]
    proposed = go_back(world, "shop", now=False, only=["project"])
    assert proposed.status_code == 202, proposed.text
    number, owner = proposed.json()["proposal"], Asking(world, "owner")
    assert owner.say(number, "approved").status_code == 201
    merged = owner.merge(number)
    assert merged.json().get("is_live"), merged.text


def test_what_would_not_work_or_removes_too_much_stays_away(world: World) -> None:
    clone = world.clone("maintainer")
    publish(clone, {"functions/hello.yaml": CALL, "functions/other.yaml": OTHER})
    called = newest(world, "shop")
    (clone.folder / "functions/other.yaml").unlink()
    publish(clone, hello(71))
    said = refused(world, "shop", "shop", version=called, only=["functions/hello"])
    assert "functions/hello.yaml:2: function 'other' does not exist" in said
    publish(clone, {"project.yaml": f"{PROJECT}review: {{ maxRemovedPercent: 10 }}\n"})
    few = newest(world, "shop")
    more = {f"functions/more{at}.yaml": OTHER for at in range(4)}
    more |= {f"endpoints/more{at}.yaml": endpoint("GET", f"/m{at}", f"more{at}") for at in range(4)}
    publish(clone, more)
    assert "review.maxRemovedPercent" in refused(world, "shop", "shop", version=few)


def test_tests_that_are_a_gate_run_before(world: World) -> None:
    clone = world.clone("maintainer")
    before = newest(world, "shop")
    expected = "        expect: { status: 200, value: { version: 81 } }\n".lstrip()
    case = f"endpoint: hello\ncases:\n  - name: newest\n    {expected}"
    gate = f"{PROJECT}review: {{ maxRemovedPercent: 10 }}\ntests: {{ gate: true }}\n"
    text = hello(81)["functions/hello.yaml"].replace("text: '${ env.GREETING }', ", "")
    publish(clone, {"functions/hello.yaml": text, "tests/hello.yaml": case, "project.yaml": gate})
    commit_alone(clone, slow_tests(20))
    others, asking = propose(clone, "slow"), Asking(world, "maintainer")
    said = refused(world, "shop", "shop", version=before, only=["functions/hello"])
    assert asking.get(others)["tests"]["state"] == "running"  # which are not waited for
    assert asking.post(f"/{others}/close").status_code == 200
    assert "its tests fail: tests/hello.yaml:4: 'newest'" in said


def test_values_that_would_be_lost_wait_for_nobody_on_main(world: World) -> None:
    clone, before = world.clone("maintainer"), newest(world, "shop")
    table = f"{FILES['tables/notes.yaml']}  mark: {{ type: string, default: good }}\n"
    publish(clone, {"tables/notes.yaml": table})
    assert world.api.post("/shop/notes", json={"title": "a"}).status_code == 201
    said = refused(world, "shop", "shop", version=before, only=["tables/notes"])
    assert "these table changes need approval" in said


def test_a_folder_of_others_is_not_taken_back_through_the_root(world: World) -> None:
    world.book.members.set_role(world.people["maintainer"], Role.DEVELOPER, "left")
    answer = go_back(world, "left")
    assert answer.status_code == 403
    away = go_back(world, "away", who="owner")
    assert (away.status_code, "the repository is kept elsewhere" in away.text) == (409, True)
