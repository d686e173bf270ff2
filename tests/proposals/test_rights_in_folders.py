"""Who has rights in one folder of a repository works there: drafts, proposals, and no further."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from bbops_server.accounts.rules import Role
from tests.support.proposing import Asking, propose
from tests.support.pushing import Clone, World
from tests.support.served import git
from tests.support.small_project import FILES, hello

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Everybody of `ROLES` reads `right`; none of them but the owner may change it."""
    with World(tmp_path_factory.mktemp("world")) as world:
        for name in ("maintainer", "developer"):
            world.book.members.set_role(world.people[name], Role.VIEWER, "right")
        yield world


def commit(clone: Clone, *paths: str, number: int = 2) -> str:
    """Commit a change in each folder, or of a file by its path."""
    files = {
        path if "." in path else f"{path}/functions/hello.yaml":
        "Read.\n" if "." in path else hello(number)["functions/hello.yaml"]
        for path in paths
    }  # fmt: skip
    for path, text in files.items():
        (clone.folder / path).write_text(text)
    git(clone.folder, "add", "-A")
    git(clone.folder, "commit", "-qm", f"Change {' and '.join(paths)}")
    return git(clone.folder, "rev-parse", "HEAD")


def test_a_maintainer_of_one_project_proposes_and_merges_in_its_folder(world: World) -> None:
    clone, asking = world.clone("developer", "left"), Asking(world, "maintainer", "left")
    commit(clone, "left", number=11)
    number = propose(clone, "mine")
    assert clone.push("origin", "HEAD:mine").code == 0
    opened = Asking(world, "developer", "left").post("", branch="mine", title="The same")
    assert opened.status_code == 201, opened.text
    assert asking.say(number, "approved").status_code == 201
    assert asking.merge(number).status_code == 200
    assert world.version("left") == 11


@pytest.mark.parametrize("paths", [("right",), ("left", "right"), ("README.md",)], ids="+".join)
def test_what_is_outside_of_the_folder_takes_the_rights_of_the_others(
    world: World, paths: tuple[str, ...]
) -> None:
    clone, mine = world.clone("developer", "left"), Asking(world, "maintainer", "left")
    head = commit(clone, *paths, number=21)
    for ref in ("refs/for/main/more", "more"):
        done = clone.push("origin", f"HEAD:{ref}")
        assert done.code == 1
        assert "this changes files of 'right' in the same repository" in done.text
    theirs = world.clone("owner", "left")
    theirs.git("pull", "-q", str(clone.folder), "HEAD")
    branch = f"more-{len(paths)}-{paths[0][:2]}".lower()
    assert theirs.push("origin", f"{head}:refs/heads/{branch}").code == 0
    assert mine.post("", branch=branch).status_code == 403
    number = propose(theirs, branch)
    for answer in (
        mine.say(number, "approved"), mine.merge(number), mine.post(f"/{number}/close"),
        mine.post(f"/{number}/mark", ready=False),
    ):  # fmt: skip
        assert (answer.status_code, "'right'" in answer.text) == (403, True)
    gone = clone.push("origin", f":{branch}")
    assert (gone.code, "'right'" in gone.text) == (1, True)
    assert Asking(world, "owner", "left").post(f"/{number}/close").status_code == 200


def test_a_merge_of_both_sides_of_an_old_merge_takes_nothing_back(world: World) -> None:
    owner = world.clone("owner", "left")
    before = git(owner.folder, "rev-parse", "HEAD")
    side = commit(owner, "right", number=31)
    git(owner.folder, "checkout", "-q", "-b", "other", before)
    other = commit(owner, "left", number=32)
    git(owner.folder, "checkout", "-q", "main")
    git(owner.folder, "merge", "-q", "--no-ff", "-m", "Both", "other")
    assert owner.push().code == 0
    clone = world.clone("developer", "left")
    git(clone.folder, "checkout", "-q", "-b", "evil", other)
    git(clone.folder, "merge", "-q", "-s", "ours", "-m", "Take back", side)
    done = clone.push("origin", "HEAD:refs/for/main/evil")
    assert (done.code, "'right'" in done.text) == (1, True)


def test_who_has_one_project_alone_pushes_no_tag_and_not_to_main(world: World) -> None:
    clone = world.clone("maintainer", "left")
    commit(clone, "left", number=41)
    assert "you may not push a tag" in clone.push("origin", "HEAD:refs/tags/tried").text
    assert "you may not push to branch 'main'" in clone.push().text


def test_a_proposal_is_for_the_branch_of_its_project(world: World) -> None:
    clone = world.clone("owner", "left")
    commit(clone, "left", number=51)
    done = clone.push("origin", "HEAD:refs/for/other/topic")
    assert re.search("is not the branch that this project is served from", done.text)


def test_a_proposal_to_one_project_keeps_the_rules_of_each_that_it_changes(world: World) -> None:
    for name in ("maintainer", "developer"):
        world.book.members.set_role(world.people[name], Role.DEVELOPER, "right")
    clone, owner = world.clone("owner", "left"), Asking(world, "owner", "left")
    rule = f"{FILES['project.yaml']}review: {{ main: proposals, approvals: 1 }}\n"
    clone.commit({"right/project.yaml": rule})
    assert clone.push().code == 0
    commit(clone, "left", number=31)  # changes `left` alone, which asks for nothing
    alone = owner.get(propose(clone, "alone"))
    assert (alone["approvals"], alone["obstacles"]) == (0, [])
    commit(clone, "right", number=32)
    number = propose(clone, "both")
    assert owner.get(number)["obstacles"] == ["1 more approval needed"]
    assert owner.merge(number).status_code == 409
    assert clone.push().code == 1
    assert Asking(world, "maintainer", "left").say(number, "approved").status_code == 201
    world.book.members.set_role(world.people["maintainer"], Role.VIEWER, "right")
    assert "1 more approval needed" in owner.get(number)["obstacles"]
    world.book.members.set_role(world.people["maintainer"], Role.DEVELOPER, "right")
    assert owner.merge(number).status_code == 200
    assert (world.version("left"), world.version("right")) == (31, 32)


def test_what_was_moved_to_another_project_is_not_changed_through_its_old_place(
    world: World,
) -> None:
    owner, asking = world.clone("owner", "left"), Asking(world, "maintainer", "left")
    main = str(world.folder / "both")
    lines = "".join(f"# line {number} of it\n" for number in range(9))
    flow = "steps:\n  - return: { value: 1 }\n"
    (owner.folder / "left/functions/extra.yaml").write_text(lines + flow)
    git(owner.folder, "add", "-A")
    git(owner.folder, "commit", "-qm", "Add it")
    git(owner.folder, "push", "-q", main, "HEAD:main")
    clone = world.clone("developer", "left")
    git(owner.folder, "mv", "left/functions/extra.yaml", "right/functions/extra.yaml")
    git(owner.folder, "commit", "-qm", "Move it")
    git(owner.folder, "push", "-q", main, "HEAD:main")
    path = clone.folder / "left/functions/extra.yaml"
    path.write_text(path.read_text().replace("line 1", "another line"))
    git(clone.folder, "commit", "-qam", "Tidy")
    number = propose(clone, "tidy")
    (obstacle,) = asking.get(number)["obstacles"]
    assert "moved files that this changes, to right/functions/extra.yaml" in obstacle
    assert asking.merge(number).status_code == 409
