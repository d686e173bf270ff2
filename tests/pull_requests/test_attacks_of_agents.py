"""Agents with a grant for one of several projects that share a repository on GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_at_server import House
from tests.support.github.server import GitHubServer
from tests.support.github.world import push
from tests.support.patience import wait_for
from tests.support.served import git
from tests.support.small_project import FILES

pytestmark = pytest.mark.long
HELLO = {"steps": [{"return": {"value": {"text": "x", "version": 3}}}]}
PROJECT = """
  {name}:
    repository: "{url}"
    branch: {branch}
    path: {path}
    hosts: [{name}.test]
    forge: {{ kind: github, url: "{forge}", repository: acme/shop, tokenEnv: SHOP_FORGE_TOKEN }}
"""
SERVER = """
egress: {{ allow: [127.0.0.1] }}
signIn: {{ oidc: [{{ name: hub, issuer: "{forge}", clientId: x, clientSecretEnv: Y }}] }}
projects:"""
PLACES = {"shop": ("main", "shop"), "depot": ("main", "depot"), "old": ("release", "old")}


class Mall(House):
    """A server of three projects in one repository; `github` is the other side."""

    def __init__(self, folder: Path, github: GitHubServer) -> None:
        self.github = github
        values = {"url": github.clone_url(), "forge": github.url}
        projects = "".join(
            PROJECT.format(name=name, branch=branch, path=path, **values)
            for name, (branch, path) in PLACES.items()
        )
        super().__init__(folder, SERVER.format(**values) + projects)

    def tip(self, branch: str) -> str:
        """Return the commit of a branch on GitHub; empty without it."""
        path = self.github.world.repo.path
        return git(path, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}").strip()

    def plan(self, number: int) -> str:
        """Return an agent's plan to change what `/hello` of the shop answers."""
        value = {"text": "${ env.GREETING }", "version": number}
        body = {"steps": [{"return": {"value": value}}]}
        change = {"op": "put", "ref": "function/hello", "body": body}
        return str(self.agent().call("preview_changes", draft="", changes=[change])["plan"])

    def commit(self, draft: str, number: int) -> str:
        """Let an agent of the shop commit to a draft; return the commit."""
        plan = self.plan(number)
        done = self.agent().call("apply_changes", draft=draft, plan=plan, message="Change")
        return str(done["commit"])


def files_of(name: str, review: str = "review: { agents: merge }\n") -> dict[str, str]:
    """Return the files of a project in its folder."""
    project = f"bbops: 1\nname: {name}\n" + FILES["project.yaml"].partition("name: small\n")[2]
    texts = {**FILES, "project.yaml": f"{project}{review}"}
    return {f"{name}/{path}": text for path, text in texts.items()}


@pytest.fixture
def mall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Mall]:
    """A server of three projects, whose agents may merge; its parameter are other rules."""
    rules = [getattr(request, "param", "review: { agents: merge }\n")]
    with GitHubServer(tmp_path / "github") as github:
        files = {path: text for name in PLACES for path, text in files_of(name, *rules).items()}
        push(github.world.repo, "main", files)
        push(github.world.repo, "release", {})
        monkeypatch.setenv("SHOP_FORGE_TOKEN", github.world.add_token("bbops-bot"))
        (tmp_path / "server").mkdir()
        with Mall(tmp_path / "server", github) as mall:
            yield mall


def sign_in_by_forge(mall: Mall, name: str, subject: int) -> None:
    """Give a user the identity of an account on GitHub."""
    mall.github.world.accounts[subject] = f"{name}-login"
    mall.book.people.add_identity(mall.people[name], "hub", str(subject))


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
