"""Whose approval of a proposal counts, and for how long."""

from __future__ import annotations

import re

import pytest

from tests.support.proposing import REVIEWED, Asking, commit_alone, propose, world
from tests.support.pushing import Clone, World
from tests.support.served import git

pytestmark = pytest.mark.long

__all__ = ["world"]


def test_an_approval_is_of_what_was_seen(world: World) -> None:
    clone = world.clone("developer", "copy")
    clone.commit(REVIEWED)
    asking = Asking(world, "maintainer", "copy")
    number = propose(clone, "rules")
    assert asking.merge(number).status_code == 200  # by the rules before it
    clone.git("pull", "-q", "--rebase", "origin", "main")
    clone.commit(REVIEWED | world.next_version())
    number = propose(clone, "reviewed")
    assert asking.get(number)["obstacles"] == ["1 more approval needed"]
    mine = Asking(world, "developer", "copy").say(number, "approved")
    assert mine.status_code == 201
    assert asking.get(number)["obstacles"] == ["1 more approval needed"]  # one's own is none
    seen = asking.get(number)["digest"]
    clone.commit(REVIEWED | world.next_version())
    assert propose(clone, "reviewed") == number
    assert asking.say(number, "approved", plan=seen).status_code == 409
    assert asking.say(number, "approved").status_code == 201
    assert asking.get(number)["obstacles"] == []
    clone.commit(REVIEWED | world.next_version())
    propose(clone, "reviewed")
    found = asking.get(number)
    assert found["outdated"] == ["maintainer@example.com"]
    assert re.fullmatch(
        r"the approval of maintainer@example\.com was of \w{7}, and \w{7} has been pushed since",
        found["obstacles"][1],
    )
    assert asking.merge(number).status_code == 409
    assert asking.say(number, "refused", text="no").status_code == 201
    assert asking.get(number)["obstacles"][0] == "maintainer@example.com requested changes"
    asking.say(number, "approved")
    assert asking.merge(number, head="0" * 40).status_code == 409
    done = asking.merge(number)
    assert done.status_code == 200, done.text
    copy = world.folder / "copy"
    assert git(copy, "status", "--short", "--untracked-files=no") == ""


def test_a_merge_leaves_the_approvals_of_what_it_does_not_touch(world: World) -> None:
    one, asking = world.clone("developer", "copy"), Asking(world, "maintainer", "copy")
    first = _proposed_alone(one, "beside-a")
    second = _proposed_alone(one, "beside-b")
    for number in (first, second):
        assert asking.say(number, "approved").status_code == 201
        assert asking.get(number)["approved"] == ["maintainer@example.com"]
    assert asking.merge(first).status_code == 200
    found = asking.get(second)
    assert (found["approved"], found["outdated"]) == (["maintainer@example.com"], [])
    assert asking.merge(second).status_code == 200


def test_a_disabled_reviewer_neither_approves_nor_blocks(world: World) -> None:
    clone, asking = world.clone("developer", "copy"), Asking(world, "maintainer", "copy")
    number = _proposed_alone(clone, "beside-c")
    assert asking.say(number, "approved").status_code == 201
    person = world.book.people.get("maintainer@example.com")
    assert person is not None
    world.book.people.disable(person.id)
    try:
        found = Asking(world, "viewer", "copy").get(number)
        assert (found["approved"], found["outdated"]) == ([], ["maintainer@example.com"])
        assert "no longer allowed to review" in found["obstacles"][-1]
    finally:
        world.book.people.disable(person.id, disabled=False)


def _proposed_alone(clone: Clone, name: str) -> int:
    """Propose one new file on top of what is live."""
    clone.git("fetch", "-q", "origin", "main")
    clone.git("checkout", "-q", "--detach", "origin/main")
    commit_alone(clone, {f"functions/{name}.yaml": "steps:\n  - return: { value: 1 }\n"})
    return propose(clone, name)
