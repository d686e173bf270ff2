"""Rights of the credential on GitHub, and the client of each kind of forge."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bbops_server.forges.credentials import open_forge
from bbops_server.forges.github import GitHubForge
from bbops_server.forges.hosted import ForgeError, ForgeForbidden, HostedForge
from bbops_server.forges.on_github.repository import find_api
from bbops_server.forges.on_github.rights import TOKEN_RIGHTS
from bbops_server.process.host.secrets import Secrets
from tests.support.github.connected import EGRESS, Client, Run, bind_token
from tests.support.github.facts import EVERYTHING
from tests.support.github.server import GitHubServer
from tests.support.github.world import GitHubWorld


def missing(run: Run, forge: GitHubForge) -> set[str]:
    return {right.name for right in run(forge.check_rights()) if not right.is_granted}


def test_complete_credential_has_all_rights(
    world: GitHubWorld, github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    assert missing(run, forge) == set()
    assert all(right.purpose for right in run(forge.check_rights()))
    facts = (world.pulls, world.statuses, world.deployments, world.releases, world.comments)
    assert facts == ([],) * 5


@pytest.mark.parametrize(
    "name", ["contents: write", "pull_requests: write", "deployments: write", "members: read"]
)
def test_missing_right_is_listed(client: Client, name: str, run: Run) -> None:
    permission = name.partition(":")[0]
    rights = {key: level for key, level in EVERYTHING.items() if key != permission}
    assert missing(run, client.with_token(**rights)) == {name}
    assert client.world.app
    client.world.app.rights = rights
    assert missing(run, client.as_app()) == {name}


def test_reading_rights_are_not_enough(client: Client, run: Run) -> None:
    rights = dict.fromkeys(EVERYTHING, "read")
    assert missing(run, client.with_token(**rights)) == {
        "contents: write", "pull_requests: write", "statuses: write", "deployments: write",
    }  # fmt: skip


def test_repository_of_a_user_needs_no_teams(world: GitHubWorld, client: Client, run: Run) -> None:
    world.repo.is_organization = False
    rights = {key: level for key, level in EVERYTHING.items() if key != "members"}
    assert world.app
    world.app.rights = rights
    assert missing(run, client.with_token(**rights)) == missing(run, client.as_app()) == set()


def test_invisible_repository_has_no_right(github: GitHubServer, client: Client, run: Run) -> None:
    github.faults.add("GET", "/repos/acme/shop$", status=404)
    assert missing(run, client.with_token()) == set(TOKEN_RIGHTS)


def test_rejected_token_is_an_error(world: GitHubWorld, client: Client, run: Run) -> None:
    world.end_tokens()
    with pytest.raises(ForgeForbidden):
        run(client.with_token().check_rights())


def test_login_of_a_token_is_read_once(github: GitHubServer, client: Client, run: Run) -> None:
    forge = client.with_token()
    assert run(forge.bot_logins()) == run(forge.bot_logins()) == {"bbops-bot"}
    assert github.paths() == ["GET /user"]


def test_credential_for_git_reads_and_pushes(
    github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    credential = run(forge.git_credential())
    assert credential.password not in repr(credential)


def test_client_is_found_by_its_kind(github: GitHubServer, client: Client, run: Run) -> None:
    secrets = Secrets(github.world.folder, client.values)
    forge: HostedForge = open_forge(bind_token(github), secrets, EGRESS)
    assert run(forge.list_open("main")) == []
    run(forge.aclose())


def test_client_without_a_credential_is_an_error(github: GitHubServer) -> None:
    secrets, binding = Secrets(github.world.folder, {}), bind_token(github)
    with pytest.raises(ForgeError, match="the forge of 'shop' has no credential"):
        open_forge(replace(binding, token_env=""), secrets, EGRESS)
    with pytest.raises(ForgeError, match=r"not sent to 'http://.* without https"):
        open_forge(replace(binding, url="http://git.acme.test"), secrets, EGRESS)


@pytest.mark.parametrize(
    ("url", "api"),
    [("https://github.com", "https://api.github.com"),
     ("https://git.acme.test", "https://git.acme.test/api/v3")],
)  # fmt: skip
def test_api_is_found_by_the_address(url: str, api: str) -> None:
    assert find_api(url) == api
