"""Agents with a grant for one of several projects that share a repository on GitHub."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.github.world import push
from tests.support.mall import Mall, files_of, mall, sign_in_by_forge
from tests.support.patience import wait_for
from tests.support.served import git

__all__ = ["mall"]
pytestmark = pytest.mark.long
HELLO = {"steps": [{"return": {"value": {"text": "x", "version": 3}}}]}


def merge(mall: Mall, number: int, head: str) -> dict[str, Any]:
    """Let the agent of a maintainer merge a pull request of the shop."""
    outcome: dict[str, Any] = mall.agent("maintainer").call(
        "publish_request", number=number, head=head
    )
    return outcome


def test_every_commit_names_the_user_of_its_agent(mall: Mall) -> None:
    sign_in_by_forge(mall, "developer", 78)
    sign_in_by_forge(mall, "maintainer", 79)
    mall.commit("agent/two", 2)
    opened = mall.agent().call("apply_pull_request", draft="agent/two", title="Two", body="")
    change = {"op": "put", "ref": "function/hello", "body": HELLO}
    other = mall.agent("maintainer")
    plan = other.call("preview_changes", draft="agent/two", changes=[change])["plan"]
    done = other.call("apply_changes", draft="agent/two", plan=plan, message="Three")
    path = mall.github.world.repo.path
    messages = git(path, "log", "-2", "--format=%B", done["commit"])
    assert "On-behalf-of: developer-login" in messages
    assert "On-behalf-of: maintainer-login" in messages
    assert "developer-login" in mall.github.world.pulls[opened["number"] - 1].body


@pytest.mark.parametrize("mall", ["review: { main: proposals, source: forge }\n"], indirect=True)
def test_an_agent_of_a_user_without_an_account_on_the_forge_commits_nothing(mall: Mall) -> None:
    refused = mall.agent().refused(
        "apply_changes", draft="agent/two", plan=mall.plan(2), message="Two"
    )
    assert "is not known on the forge" in refused.message
    assert not mall.tip("agent/two")


def test_a_rollback_is_proposed_on_the_forge(mall: Mall) -> None:
    world, text = mall.github.world, files_of("shop")["shop/functions/hello.yaml"]
    push(
        world.repo, "main", {"shop/functions/hello.yaml": text.replace("version: 1", "version: 2")}
    )
    mall.loop_of("shop").source.refresh()
    wait_for(lambda: mall.api.get("/hello", headers={"host": "shop.test"}).json()["version"] == 2)
    wait_for(lambda: mall.loop_of("shop").board.version.endswith("2"))
    opened = mall.agent().call("recovery_rollback", to="v1", reason="It was better.")
    assert world.pulls[0].branch == "rollback-v1"
    assert opened["head"] == mall.tip("rollback-v1")


def test_the_live_branch_of_another_project_is_not_pushed_to(mall: Mall) -> None:
    release = mall.tip("release")
    refused = mall.agent().refused(
        "apply_changes", draft="release", plan=mall.plan(2), message="Two"
    )
    assert "is live" in refused.message
    assert mall.tip("release") == release


def test_files_of_other_projects_are_merged_by_a_person(mall: Mall) -> None:
    world, texts = mall.github.world, files_of("depot")
    text = texts["depot/functions/hello.yaml"].replace("version: 1", "version: 2")
    head = push(world.repo, "topic", {"depot/functions/hello.yaml": text})
    world.sync()
    number = world.open_pull("ada", "topic").number
    pulls = mall.projects.pulls("shop")
    assert pulls is not None
    pulls.refresh()
    wait_for(lambda: pulls.find_effect(number, head))
    outcome = merge(mall, number, head)
    assert outcome["state"] == "waiting"
    assert "files of other projects" in outcome["waitingFor"][0]
    mall.commit("agent/two", 2)
    opened = mall.agent().call("apply_pull_request", draft="agent/two", title="Two", body="")
    assert merge(mall, opened["number"], opened["head"])["state"] == "merged"


def test_pull_requests_into_other_branches_are_not_merged(mall: Mall) -> None:
    world = mall.github.world
    head = push(world.repo, "topic", {"old/other.txt": "x"}, start="release")
    world.sync()
    number = world.open_pull("ada", "topic", target="release").number
    outcome = merge(mall, number, head)
    assert outcome["state"] == "refused"
    assert "it is for branch 'release'" in outcome["waitingFor"][0]
