"""`POST /hooks/NAME`: a push on a forge is live at once, and nothing else comes of a request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bbops_server.control_plane.forges.webhook import MAX_BODY_BYTES
from tests.support.forge_server import PUSH, ForgeServer
from tests.support.patience import wait_for
from tests.support.served import git


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeServer]:
    server = ForgeServer(tmp_path_factory.mktemp("forge"))
    yield server
    server.stop()


def error(response: httpx.Response) -> str:
    message: str = response.json()["error"]["message"]
    return message


def test_push_is_live_after_its_webhook(server: ForgeServer) -> None:
    server.push(2)
    answer = server.hook(json.dumps({"ref": "refs/heads/main", "after": "0" * 40}).encode())
    assert (answer.status_code, answer.json()) == (202, {"result": "fetching"})
    wait_for(lambda: server.version() == 2)


def test_pushed_branch_becomes_a_draft(server: ForgeServer) -> None:
    git(server.work, "switch", "-qc", "topic")
    server.push(30, "topic")
    git(server.work, "switch", "-q", "main")
    assert server.hook(b"{}").status_code == 202

    def drafts() -> Any:
        found = server.control.get("/api/projects/shop/drafts").json()
        return [draft["branch"] for draft in found]

    wait_for(lambda: "topic" in drafts())


def test_event_without_commits_is_ignored(server: ForgeServer) -> None:
    answer = server.hook(b"{}", {"x-github-event": "ping"})
    assert (answer.status_code, answer.json()) == (202, {"result": "ignored"})


@pytest.mark.parametrize(
    "headers",
    [{}, {"x-hub-signature-256": ""}, {"x-hub-signature-256": "sha256="},
     {"x-hub-signature-256": "sha256=é"}, {"x-hub-signature": "sha1=" + "0" * 40}],
    ids=["none", "empty", "no digest", "not hex", "sha1"],
)  # fmt: skip
def test_request_without_the_signature_is_refused(
    server: ForgeServer, headers: dict[str, str]
) -> None:
    url = f"{server.serving['control_url']}/hooks/shop"
    encoded = {name: value.encode() for name, value in {**PUSH, **headers}.items()}
    answer = httpx.post(url, content=b"{}", headers=encoded, timeout=60)  # type: ignore[arg-type]
    assert (answer.status_code, error(answer)) == (401, "the signature does not fit the body")


def test_signature_of_another_secret_is_refused(server: ForgeServer) -> None:
    assert server.hook(b"{}", secret="guess").status_code == 401


@pytest.mark.parametrize("name", ["news", "none", "Shop"])
def test_project_without_a_forge_has_no_webhook(server: ForgeServer, name: str) -> None:
    answer = server.hook(b"{}", at=name)
    assert (answer.status_code, error(answer)) == (404, "there is no webhook at this address")


def test_missing_secret_is_named_in_the_log_alone(server: ForgeServer) -> None:
    url = f"{server.serving['control_url']}/hooks/blog"
    answer = httpx.post(url, content=b"{}", headers={"x-gitlab-token": ""}, timeout=60)
    assert answer.status_code == 503
    assert error(answer) == "the secret of this webhook is not set on the server"


def test_large_body_is_refused(server: ForgeServer) -> None:
    assert server.hook(b"x" * (MAX_BODY_BYTES + 1)).status_code == 413


def test_body_of_any_bytes_causes_a_fetch_and_nothing_else(server: ForgeServer) -> None:
    before = server.version()
    body = b'{"repository": {"clone_url": "file:///etc"}, "ref": "refs/heads/topic"}\xff\x00'
    assert server.hook(body).json() == {"result": "fetching"}
    assert server.version() == before


def test_get_is_not_allowed(server: ForgeServer) -> None:
    url = f"{server.serving['control_url']}/hooks/shop"
    assert httpx.get(url, timeout=60).status_code == 405
