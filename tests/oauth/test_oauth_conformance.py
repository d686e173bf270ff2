"""What others wrote to try authorization servers, held against ours."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from bbops_server.accounts.rules import Role
from tests.conformance import npm
from tests.conformance.serving import listening
from tests.conftest import ROOT
from tests.support.control import Tried
from tests.support.oauth_client import hidden
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port

pytestmark = pytest.mark.long

FOLDER = ROOT / "tests/conformance"


class Place(NamedTuple):
    """A control plane that listens, and the cookie of its owner's browser."""

    url: str
    cookie: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    port = free_port()
    tried = Tried(tmp_path_factory.mktemp("strict"), control_port=port)
    ada = tried.add("ada@example.com", Role.OWNER)
    key = tried.book.sessions.begin(ada.id, user_agent="Test", address="192.0.2.9")
    with listening(tried.own_app(), port) as url:
        yield Place(url, f"bbops={key}")
    tried.close()


def test_a_strict_client_gets_tokens_by_every_way(place: Place) -> None:
    assert run("oauth.mjs", place.url, place.cookie) == {
        "issuer": place.url, "denied": "access_denied", "scope": "project data", "rotated": True,
        "revoked": "invalid_grant", "replayed": "invalid_grant",
        "pending": "authorization_pending", "device": "project", "spent": "invalid_grant",
    }  # fmt: skip


def test_both_clients_of_typescript_sign_in_when_a_tool_asks(place: Place) -> None:
    found = run("browsing.mjs", f"{place.url}/mcp", place.cookie)
    for one in found.values():
        assert one == {
            "refused": "UnauthorizedError",
            "scope": "project",
            "secret": None,
            "projects": 1,
        }


def run(script: str, *arguments: str) -> Any:
    """Run a script where what it imports is installed; return what it prints."""
    shutil.copy(FOLDER / "agree.mjs", npm.folder())
    done = npm.run(Path(shutil.copy(FOLDER / script, npm.folder())), *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_suite_of_the_protocol_finds_nothing(place: Place, tmp_path: Path) -> None:
    port = free_port()
    metadata = {"client_name": "suite", "redirect_uris": [f"http://127.0.0.1:{port}/callback"]}
    url = f"{place.url}/oauth/register"
    client = httpx.post(url, json=metadata, timeout=PATIENCE_SECONDS).json()["client_id"]
    command = [
        str(npm.NODE), str(npm.folder() / "node_modules" / npm.CONFORMANCE), "authorization",
        "--url", place.url, "--client-id", client, "--resource", f"{place.url}/mcp",
        "-p", str(port), "-o", str(tmp_path),
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path
    ) as suite:
        assert suite.stdout is not None
        said = []
        for line in suite.stdout:
            said.append(line)
            if found := re.search(rf"{place.url}/oauth/authorize\?\S+", line):
                agree(place, found[0])
    assert suite.returncode == 0, "".join(said)
    checks = [one for path in tmp_path.rglob("checks.json") for one in json.loads(path.read_text())]
    assert len(checks) >= 3
    assert [one for one in checks if one["status"] not in {"SUCCESS", "INFO"}] == []


def agree(place: Place, url: str) -> None:
    """Press the button of the page, and follow the way back."""
    headers = {"cookie": place.cookie}
    with httpx.Client(headers=headers, timeout=PATIENCE_SECONDS) as browser:
        form = hidden(browser.get(url).text) | {"decision": "approve"}
        answer = browser.post(f"{place.url}/oauth/authorize", data=form)
        browser.get(answer.headers["location"])
