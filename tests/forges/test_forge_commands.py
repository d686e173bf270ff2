"""`bbops forge`: a token or an App is connected, and its rights are shown, without secrets."""

from __future__ import annotations

import json
import re
import select
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.support.forge_operator import HOOK, Operator
from tests.support.github.app_routes import APP_SECRET
from tests.support.github.connected import APP_ID, install_app
from tests.support.github.facts import EVERYTHING
from tests.support.github.server import GitHubServer
from tests.support.github.world import GitHubWorld, push
from tests.support.patience import PATIENCE_SECONDS
from tests.support.signing_keys import rsa_key

LINE = "forge: { kind: github, tokenEnv: SHOP_FORGE_TOKEN, webhookSecretEnv: SHOP_WEBHOOK_SECRET }"


@pytest.fixture
def operator(tmp_path: Path, github: GitHubServer) -> Operator:
    return Operator(tmp_path, github)


def connect(operator: Operator, token: str, *words: str) -> Any:
    done = operator.run("connect", "shop", "--kind", "github", *words, "--json", given=f"{token}\n")
    assert token not in done.stdout + done.stderr
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_complete_token_is_stored_and_has_its_webhook(
    operator: Operator, world: GitHubWorld
) -> None:
    token = world.add_token()
    code, answer = connect(operator, token)
    assert (code, answer["settings"]) == (0, LINE)
    assert answer["webhook"] == {"address": HOOK, "created": True}
    assert operator.stored("SHOP_FORGE_TOKEN") == token
    (hook,) = world.webhooks.hooks
    assert (hook.url, hook.secret) == (HOOK, operator.stored("SHOP_WEBHOOK_SECRET"))


def test_second_connection_keeps_the_webhook(operator: Operator, world: GitHubWorld) -> None:
    connect(operator, world.add_token())
    operator.write(LINE)
    code, answer = connect(operator, world.add_token())
    assert (code, answer["settings"], len(world.webhooks.hooks)) == (0, "", 1)
    assert world.webhooks.hooks[0].secret == operator.stored("SHOP_WEBHOOK_SECRET")


def test_missing_rights_are_listed_with_their_purpose(
    operator: Operator, world: GitHubWorld
) -> None:
    rights = {**EVERYTHING, "deployments": "read", "repository_hooks": "none"}
    token = world.add_token(rights=rights)
    done = operator.run("connect", "shop", "--kind", "github", given=token)
    assert done.returncode == 1
    assert "missing  deployments: write: shows previews and production" in done.stdout
    assert "ok       contents: write: " in done.stdout
    assert f"address  {HOOK}" in done.stdout
    assert "'bbops forge secret shop' makes one and prints it" in done.stdout
    assert f"    {LINE}\n" in done.stdout
    assert "\x1b" not in done.stdout
    assert token not in done.stdout + done.stderr
    assert operator.stored("SHOP_FORGE_TOKEN") == token


def test_rejected_token_is_not_stored(operator: Operator) -> None:
    done = operator.run("connect", "shop", "--kind", "github", given="github_pat_guess")
    assert done.returncode == 2
    assert "401: Bad credentials" in done.stderr
    assert "github_pat_guess" not in done.stderr
    assert not (operator.folder / ".bbops/state/env.json").exists()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["github", "gitea"])
def test_token_that_cannot_see_the_repository_is_not_stored(
    operator: Operator, world: GitHubWorld, kind: str
) -> None:
    file = operator.folder / "server.yaml"
    if kind == "github":
        file.write_text(file.read_text().replace("acme/shop", "acme/shpo"))
    done = operator.run("connect", "shop", "--kind", kind, given=world.add_token())
    assert (done.returncode, done.stdout) == (2, "")
    assert f"shows no repository 'acme/sh{'op' if kind == 'gitea' else 'po'}'" in done.stderr
    assert f"is not on {kind}, or is not one of the token's" in done.stderr
    assert not (operator.folder / ".bbops/state/env.json").exists()


@pytest.mark.long
def test_address_of_the_webhook_and_the_line_of_server_yaml_are_named_where_they_are_missing(
    operator: Operator, world: GitHubWorld
) -> None:
    operator.write(control="data: http://127.0.0.1:1")
    done = operator.run("connect", "shop", "--kind", "github", given=world.add_token())
    assert "address  unknown until 'urls: { control: " in done.stdout
    assert operator.run("status").stdout == (
        "no project in 'server.yaml' has 'forge' with a credential; 'bbops forge connect NAME'"
        " stores one and prints the line to add\n"
    )
    none = operator.run("connect", "shop", "--kind", "github")
    assert "hint: read it from a file: bbops forge connect shop < token" in none.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [(("connect", "blog"), "'server.yaml' has no project 'blog'"),
     (("connect", "shop"), "connect shop --kind KIND': github, gitea, forgejo, gitlab"),
     (("connect", "shop", "--kind", "gitlab", "--app"), "'gitlab' has no Apps"),
     (("status", "shop"), "'bbops forge connect shop' makes one"),
     (("status", "--file", "other.yaml"), "there is no 'other.yaml' here"),
     pytest.param(
         ("connect", "shop", "--file", "other.yaml"),
         "needs a server.yaml, too: 'projects: { shop:", marks=pytest.mark.long,
     )],
)  # fmt: skip
def test_mistake_of_the_operator_is_named(
    operator: Operator, words: tuple[str, ...], message: str
) -> None:
    done = operator.run(*words, given="token")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_secret_of_a_manual_webhook_is_shown_once(operator: Operator) -> None:
    operator.write(LINE)
    done = operator.run("secret", "shop", "--json")
    answer = json.loads(done.stdout)
    assert answer["address"] == HOOK
    assert answer["secret"] == operator.stored("SHOP_WEBHOOK_SECRET")
    assert json.loads(operator.run("secret", "shop", "--json").stdout) != answer


def test_status_shows_rights_webhook_and_pull_requests(
    operator: Operator, world: GitHubWorld, github: GitHubServer
) -> None:
    push(world.repo, "topic", {"a.txt": "a"})
    world.open_pull("bea", "topic")
    connect(operator, world.add_token())
    operator.write(LINE)
    done = operator.run("status", "--json")
    (status,) = json.loads(done.stdout)["projects"]
    assert done.returncode == 0
    assert all(right["granted"] for right in status["rights"])
    assert status["openPullRequests"] == 1
    assert status["webhook"] == {"address": HOOK, "exists": True, "last": "unused"}
    assert 0 < status["requestsLeft"] < 5_000
    assert status["forksWait"] == ""
    home = world.fork("mallory")
    push(home, "patch", {"a.txt": "b"})
    world.open_pull("mallory", "patch", home=home)
    github.left = 400
    text = operator.run("status", "shop").stdout
    assert f"  webhook  {HOOK}, last delivery: unused" in text
    assert "  forks    1 pull request from forks wait: " in text
    assert "of 5000 requests are left, and 500 are kept for own branches" in text


def test_status_of_a_revoked_token_names_the_fix(operator: Operator, world: GitHubWorld) -> None:
    connect(operator, world.add_token())
    operator.write(LINE)
    world.end_tokens()
    done = operator.run("status")
    assert done.returncode == 1
    assert "Bad credentials" in done.stdout
    assert "'bbops forge connect' stores a new one" in done.stdout


def test_server_without_credentials_has_an_empty_status(operator: Operator) -> None:
    done = operator.run("status")
    assert (done.returncode, done.stderr) == (0, "")
    assert "no project in 'server.yaml' has 'forge' with a credential" in done.stdout


class Browser:
    """The operator's browser at the page of a running `bbops forge connect --app`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.url = str(self.line()["url"])
        page = httpx.get(self.url, timeout=60).raise_for_status().text
        self.action = unescape(re.findall('action="([^"]*)"', page)[0])
        self.manifest = json.loads(unescape(re.findall('name="manifest" value="([^"]*)"', page)[0]))

    @property
    def state(self) -> str:
        return self.action.partition("?state=")[2]

    def line(self) -> Any:
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_SECONDS)
        assert ready
        return json.loads(self.process.stdout.readline())

    def come_back(self, code: str, state: str, **headers: str) -> int:
        query = {"code": code, "state": state}
        return httpx.get(
            f"{self.url}created", params=query, headers=headers, timeout=60
        ).status_code


def test_app_is_created_from_a_manifest(
    operator: Operator, world: GitHubWorld, github: GitHubServer
) -> None:
    install_app(world)
    key = rsa_key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    assert world.app
    world.manifests["c0de"] = (world.app, key)
    words = ("connect", "shop", "--kind", "github", "--app", "--organization", "acme", "--json")
    with subprocess.Popen(
        operator.command(*words), cwd=operator.folder, env=operator.env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        browser = Browser(process)
        assert browser.action.startswith(f"{github.url}/organizations/acme/settings/apps/new?")
        manifest = browser.manifest
        assert manifest["hook_attributes"] == {"url": HOOK, "active": True}
        assert manifest["default_permissions"]["pull_requests"] == "write"
        assert manifest["public"] is False
        assert browser.come_back("c0de", "guess") == 404
        assert browser.come_back("c0de", browser.state, host="evil.test") == 421
        assert browser.come_back("../x", browser.state) == 404
        assert browser.come_back("c0de", browser.state) == 200
        created = browser.line()
        assert process.stderr
        shown = json.dumps(created) + process.stderr.read()
    assert process.returncode == 0
    assert created["app"] == APP_ID
    assert created["install"] == f"{github.url}/apps/bbops-acme/installations/new"
    assert operator.stored("SHOP_FORGE_KEY") == key
    assert operator.stored("SHOP_WEBHOOK_SECRET") == APP_SECRET
    assert "PRIVATE KEY" not in shown
    assert APP_SECRET not in shown
    operator.write(created["settings"])
    status = json.loads(operator.run("status", "--json").stdout)["projects"][0]
    assert (status["error"], status["openPullRequests"]) == ("", 0)


@pytest.mark.long
def test_settings_without_projects_name_the_file_to_write(operator: Operator) -> None:
    (operator.folder / "own.yaml").write_text("urls: { control: https://bbops.example.com }\n")
    done = operator.run("connect", "shop", "--file", "own.yaml")
    assert done.returncode == 2
    assert "'own.yaml' has no 'projects'" in done.stderr
    assert "the server of one repository needs a server.yaml, too" in done.stderr
