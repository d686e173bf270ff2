"""Pull requests of GitHub's stand-in, over HTTP and git alone, go live once they are reviewed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.github.facts import Rules
from tests.support.github.world import push
from tests.support.on_github import OnGitHub
from tests.support.patience import wait_for
from tests.support.served import git
from tests.support.small_project import FILES, hello

pytestmark = pytest.mark.long

RULES = "review: { main: proposals, source: forge, approvals: 1 }\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OnGitHub]:
    server = OnGitHub(tmp_path, files={"project.yaml": FILES["project.yaml"] + RULES})
    server.world.repo.roles["eve"] = "write"
    yield server
    server.stop()


def reason(server: OnGitHub, text: str = "") -> str:
    """Return the reason why the newest commit is not live, once its message has a text."""

    def find() -> str:
        found = server.told("shop")["conditions"]
        stalled = next(each for each in found if each["type"] == "Stalled")
        return str(stalled["reason"]) if stalled["status"] and text in stalled["message"] else ""

    return wait_for(find)


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_approved_pull_request_goes_live(server: OnGitHub, method: str) -> None:
    server.push("topic", hello(2))
    pull = server.propose("topic", {"README.md": "two commits\n"})
    server.world.review(pull.number, "bob")
    server.world.merge(pull.number, "bob", method)
    server.until_live(2)


def test_missing_approval_holds_a_merge_until_it_is_given(server: OnGitHub) -> None:
    pull = server.propose("topic", hello(3))
    server.world.review(pull.number, "bob")
    server.push("topic", {"README.md": "after the approval\n"})
    server.world.merge(pull.number, "ada")
    assert reason(server, "the approval of bob was of") == "ReviewMissing"
    server.world.review(pull.number, "eve")  # its webhook makes the server look
    server.until_live(3)


def test_push_past_the_rules_is_held(server: OnGitHub) -> None:
    push(server.world.repo, "main", hello(4))
    server.world.sync()
    assert reason(server, "no merged pull request into 'main' brought commit") == "ReviewMissing"


def test_required_check_and_outage_hold_a_merge(server: OnGitHub) -> None:
    pull = server.propose("topic", hello(5))
    server.world.review(pull.number, "bob")
    server.world.merge(pull.number, "bob")
    server.until_live(5)
    server.world.repo.rules = Rules(checks=["bbops/plan"])
    other = server.propose("other", hello(6))
    server.until_checked(other, "success", "success")
    server.world.review(other.number, "bob")
    server.github.faults.add("GET", "/commits/[0-9a-f]+/pulls", times=9, status=503)
    server.world.merge(other.number, "bob")
    assert reason(server) == "ForgeAway"
    server.github.faults.clear()
    server.until_live(6)


def test_work_of_the_bot_needs_another_person_than_its_grantor(server: OnGitHub) -> None:
    server.push("topic", hello(7))
    body = "Work of an agent.\n\nOn-behalf-of: bob"
    pull = server.world.open_pull("bbops-bot", "topic", body=body)
    server.world.review(pull.number, "bob")
    server.world.merge(pull.number, "bob")
    assert reason(server, "the bot acted on their behalf") == "ReviewMissing"
    server.world.review(pull.number, "eve")
    server.until_live(7)


def test_stranger_does_not_approve(server: OnGitHub) -> None:
    pull = server.propose("topic", hello(8))
    server.world.review(pull.number, "mallory")
    merged = server.world.merge(pull.number, "ada")
    assert reason(server, "the approval of mallory does not count") == "ReviewMissing"
    assert git(server.world.repo.path, "rev-parse", "main") == merged
    assert server.version() == 1
