"""People who have lost an account, a role or a right: their earlier decisions stop counting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import time
from pathlib import Path

import httpx
import pytest

from bbops_server.accounts.book import Book
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Permission, Role, Scope
from bbops_server.accounts.standing import may_still
from bbops_server.publish.drafts.draft_hosts import allow as allow_hosts
from bbops_server.publish.drafts.draft_hosts import find_allowed
from bbops_server.publish.holds.freezing import exempt, hold_frozen
from bbops_server.publish.holds.held import HeldCommit, accept, read_accepted
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.status.status import Stalled
from bbops_server.settings.freezes import Weekly
from tests.support.mall import Mall, mall, sign_in_by_forge
from tests.support.on_github import OnGitHub
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.small_project import FILES, hello

__all__ = ["mall"]
pytestmark = pytest.mark.long

RULES = "review: { main: proposals, source: forge, approvals: 1 }\n"
OLD, NEW = "a" * 40, "b" * 40
WHO = "maintainer@example.com"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[OnGitHub]:
    """A server whose project is on GitHub."""
    server = OnGitHub(tmp_path)
    yield server
    server.stop()


def test_disabled_maintainer_has_no_key_and_their_fork_stops_running(shop: OnGitHub) -> None:
    fork = shop.propose("patch", hello(2), home=shop.world.fork("mallory"), who="mallory")
    own = shop.propose("own", hello(3))
    for pull in (fork, own):
        shop.until_checked(pull, "success", "success")
    with closing(Book.open(shop.state)) as book:
        book.people.add(NewPerson("ada@example.com", "Ada", role=Role.OWNER))
        bob = book.people.add(NewPerson("bob@example.com", "Bob", role=Role.MAINTAINER)).id
        key, _ = book.tokens.make(bob, "laptop", [Scope.READ, Scope.DEPLOY])
        with httpx.Client(
            base_url=shop.serving["control_url"], headers={"authorization": f"Bearer {key}"},
            timeout=PATIENCE_SECONDS,
        ) as control:  # fmt: skip
            path = f"/api/projects/shop/pulls/{fork.number}/allow"
            assert control.post(path, json={"head": fork.head}).is_success
            shop.until_previewed(fork)
            for change in (
                lambda *, ends: book.people.disable(bob, disabled=ends),
                lambda *, ends: book.members.set_role(
                    bob, Role.VIEWER if ends else Role.MAINTAINER, ""
                ),
            ):
                change(ends=True)
                wait_for(lambda: shop.deployed("preview/1") == {fork.head: "inactive"})
                answer = control.post(path, json={"head": fork.head})
                assert answer.status_code in {401, 403}
                assert shop.deployed(f"preview/{own.number}") == {own.head: "success"}
                change(ends=False)
                wait_for(lambda: shop.deployed("preview/1") == {fork.head: "success"})


@pytest.fixture
def reviewed(tmp_path: Path) -> Iterator[OnGitHub]:
    """A server whose project requires a review on GitHub."""
    server = OnGitHub(tmp_path, files={"project.yaml": FILES["project.yaml"] + RULES})
    server.world.repo.roles["eve"] = "write"
    yield server
    server.stop()


def test_approval_of_a_former_writer_does_not_count_at_a_retry(reviewed: OnGitHub) -> None:
    world = reviewed.world
    approved = reviewed.propose("first", hello(2))
    world.review(approved.number, "bob")
    world.merge(approved.number, "ada")
    reviewed.until_live(2)
    first, second = reviewed.propose("second", hello(3)), None
    world.review(first.number, "bob")
    world.merge(first.number, "ada")
    second = reviewed.propose("third", {"notes.txt": "x"})
    world.merge(second.number, "ada")
    until_held(reviewed, f"#{second.number}: ")
    world.repo.roles["bob"] = "read"
    world.review(second.number, "eve")
    reviewed.control.post("/api/projects/shop/reconcile")
    until_held(reviewed, f"#{first.number}: ")
    assert reviewed.version() == 2
    world.repo.roles["bob"] = "write"
    reviewed.control.post("/api/projects/shop/reconcile")
    reviewed.until_live(3)


def until_held(server: OnGitHub, text: str) -> None:
    """Wait until the newest commit is held for a reason with a text."""

    def find() -> bool:
        conditions = server.told("shop")["conditions"]
        stalled = next(each for each in conditions if each["type"] == "Stalled")
        return bool(stalled["status"] and text in stalled["message"])

    wait_for(find)


def test_decisions_of_a_former_maintainer_do_not_count(mall: Mall, tmp_path: Path) -> None:
    loop, person = mall.loop_of("shop"), mall.people["maintainer"]
    at = replace(loop.context, project=replace(loop.context.project, state=tmp_path))
    held = HeldCommit("ReviewMissing", "held", "", old=OLD, new=NEW)
    accept(held, NEW, at, base="", who=WHO, project="shop")
    allow_hosts(tmp_path, NEW, ["api.example.com"], WHO, "shop")
    for disabled, role in ((True, Role.MAINTAINER), (False, Role.VIEWER), (False, None)):
        assert (read_accepted(at, OLD), find_allowed(at, tmp_path, NEW)) == (
            NEW,
            ("api.example.com",),
        )
        mall.book.people.disable(person, disabled=disabled)
        mall.book.members.set_role(person, role, "shop")
        assert (read_accepted(at, OLD), find_allowed(at, tmp_path, NEW)) == (None, ())
        mall.book.people.disable(person, disabled=False)
        mall.book.members.set_role(person, Role.MAINTAINER, "shop")
    settings = at.plane.settings
    assert may_still(settings, "local", Permission.ACCEPT, "shop")
    assert not may_still(settings, "nobody@example.com", Permission.ACCEPT, "shop")
    assert not may_still(settings, WHO, Permission.ACCEPT, "another-project")


def test_exemption_of_a_former_maintainer_does_not_count(
    mall: Mall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, person = mall.loop_of("shop"), mall.people["maintainer"]
    at = replace(loop.context, project=replace(loop.context.project, state=tmp_path))
    always = Weekly(frozenset(range(7)), time(0), time(0), "UTC")
    monkeypatch.setattr(at.plane, "settings", replace(at.plane.settings, freezes=(always,)))
    assert not is_exempt(at)
    exempt(NEW, at, who=WHO, account=person, project="shop")
    for disabled, role in ((True, Role.MAINTAINER), (False, Role.VIEWER), (False, None)):
        assert is_exempt(at)
        mall.book.people.disable(person, disabled=disabled)
        mall.book.members.set_role(person, role, "shop")
        assert not is_exempt(at)
        mall.book.people.disable(person, disabled=False)
        mall.book.members.set_role(person, Role.MAINTAINER, "shop")
    exempt(NEW, at, who=WHO, account="of-a-removed-account", project="shop")
    assert not is_exempt(at)  # although a maintainer has the address now
    exempt(NEW, at, who="local", account="", project="shop")
    assert is_exempt(at)


def is_exempt(at: PublishContext) -> bool:
    """Return whether a revision goes live during a freeze."""
    try:
        hold_frozen(NEW, OLD, at)
    except Stalled:
        return False
    return True


def test_agent_of_a_former_writer_changes_nothing_on_the_forge(mall: Mall) -> None:
    sign_in_by_forge(mall, "developer", 78)
    sign_in_by_forge(mall, "maintainer", 79)
    roles = mall.github.world.repo.roles
    mall.commit("agent/two", 2)
    opened = mall.agent().call("apply_pull_request", draft="agent/two", title="Two", body="")
    plan = mall.plan(3)
    roles |= {"developer-login": "read", "maintainer-login": "read"}
    refused = mall.agent().refused("apply_changes", draft="agent/three", plan=plan, message="Three")
    assert "developer@example.com may not write to 'acme/shop' on the forge" in refused.message
    assert not mall.tip("agent/three")
    merging = {"number": opened["number"], "head": opened["head"]}
    refused = mall.agent("maintainer").refused("publish_request", **merging)
    assert "maintainer@example.com may not write" in refused.message
    roles["maintainer-login"] = "write"
    done = mall.agent("maintainer").call("publish_request", **merging)
    assert done["state"] in {"merged", "waiting"}
