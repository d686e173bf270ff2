"""Checks, merges by hand and work of the bot on GitHub's stand-in, over HTTP and git alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.github.facts import Rules, Status
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


def test_required_check_holds_a_merge_past_the_rules(server: OnGitHub) -> None:
    pull = server.propose("topic", hello(5))
    server.world.review(pull.number, "bob")
    server.forge.faults.add("GET", "/commits/[0-9a-f]+/pulls", times=9, status=503)
    server.world.merge(pull.number, "bob")
    assert reason(server) == "ForgeAway"
    server.world.repo.rules = Rules(checks=["deploy"])  # an administrator has merged without it
    server.forge.faults.clear()
    assert reason(server, "check 'deploy' has not run") == "ReviewMissing"
    status = Status(server.world.new_id(), pull.head, "deploy", "success", "ci")
    server.world.statuses.append(status)
    server.until_live(5)


def test_merge_by_hand_goes_live_with_its_reviews(server: OnGitHub) -> None:
    pull = server.propose("topic", hello(8))
    server.world.review(pull.number, "bob")
    work = server.world.repo.path.with_suffix(".work")
    git(work, "checkout", "-q", "--detach", "origin/main")
    git(work, "merge", "-q", "--no-ff", "-m", "Merge by hand", pull.head)
    git(work, "push", "-q", "origin", "HEAD:refs/heads/main")
    server.world.sync()
    server.until_live(8)


def test_work_of_the_bot_needs_another_person_than_its_grantor(server: OnGitHub) -> None:
    server.push("topic", hello(7))
    body = "Work of an agent.\n\nOn-behalf-of: bob"
    pull = server.world.open_pull("bbops-bot", "topic", body=body)
    server.world.review(pull.number, "bob")
    server.world.merge(pull.number, "bob")
    assert reason(server, "the bot acted on their behalf") == "ReviewMissing"
    server.world.review(pull.number, "eve")
    server.until_live(7)


def test_grantor_with_a_new_login_is_known_by_the_id(server: OnGitHub) -> None:
    server.push("topic", hello(7))
    server.world.accounts[42] = "bob"
    body = "Work of an agent.\n\nOn-behalf-of: former-login (id 42)"
    pull = server.world.open_pull("bbops-bot", "topic", body=body)
    server.world.review(pull.number, "bob")
    server.world.merge(pull.number, "eve")
    assert reason(server, "the bot acted on their behalf") == "ReviewMissing"
    server.world.review(pull.number, "eve")
    server.until_live(7)
