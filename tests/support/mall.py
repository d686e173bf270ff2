"""A server of three projects that share a repository on GitHub, whose agents may merge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agents_at_server import House
from tests.support.github.server import GitHubServer
from tests.support.github.world import push
from tests.support.served import git
from tests.support.small_project import FILES

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
    mall.github.world.repo.roles[f"{name}-login"] = "write"
    mall.book.people.add_identity(mall.people[name], "hub", str(subject))
