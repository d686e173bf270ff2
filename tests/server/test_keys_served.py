"""API keys of what is live and of drafts, on a server: each opens its own, and says when."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.served import Served, git
from tests.support.small_project import FILES, write_project

pytestmark = pytest.mark.long

MACHINES = FILES | {
    "channels/machines.yaml": ("name: Machines\nbasePath: /machines\nauthentication: API Key\n"),
    "functions/ping.yaml": "steps:\n  - return: { value: pong }\n",
    "endpoints/ping.yaml": (
        "channel: machines\nmethod: GET\npath: /ping\nfunction: ping\ndescription: Ping.\n"
    ),
}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    folder = tmp_path / "small"
    write_project(folder, MACHINES)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    git(folder, "branch", "topic")
    with Served(folder, tmp_path / "home") as served:
        served.live()
        yield served


def test_each_key_opens_its_own_and_says_when(served: Served) -> None:
    used, idle = (issue(served, name) for name in ("used", "idle"))
    began = datetime.now(UTC).timestamp()
    assert ping(served, "", used) == 200
    listed = {one["name"]: one for one in keys(served)}
    assert listed["idle"]["used_at"] is None
    assert began - 1 < listed["used"]["used_at"] < datetime.now(UTC).timestamp() + 1
    assert idle not in str(listed)

    of_draft = issue(served, "draft", "--draft", "topic")
    (draft,) = served.control.get("/api/projects/small/drafts").json()
    told = served.bbops("drafts", "token", "topic", "--json").stdout
    token = {"x-draft-token": json.loads(told)["token"]}
    prefix = f"/~drafts/{draft['slug']}"
    assert ping(served, prefix, of_draft, token) == 200
    assert (ping(served, prefix, used, token), ping(served, "", of_draft)) == (401, 401)
    (one,) = keys(served, "--draft", "topic")
    assert (one["name"], one["used_at"] is not None) == ("draft", True)
    assert "draft" not in {one["name"] for one in keys(served)}
    done = served.bbops("keys", "revoke", of_draft[:9], "--draft", "topic")
    assert done.stdout == f"revoked {one['id']}\n", done.stderr
    assert ping(served, prefix, of_draft, token) == 401
    assert "has no draft 'none'" in served.bbops("keys", "list", "--draft", "none").stderr


def test_a_use_outlives_the_server(served: Served, tmp_path: Path) -> None:
    assert ping(served, "", issue(served, "used")) == 200
    served.stop()
    with Served(served.repository, tmp_path / "home") as again:
        again.live()
        assert keys(again)[0]["used_at"] is not None


def issue(served: Served, name: str, *options: str) -> str:
    done = served.bbops("keys", "issue", name, *options)
    assert done.returncode == 0, done.stderr
    return str(done.stdout.strip())


def keys(served: Served, *options: str) -> list[dict[str, Any]]:
    done = served.bbops("keys", "list", "--json", *options)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def ping(served: Served, prefix: str, key: str, more: dict[str, str] | None = None) -> int:
    headers = {"x-api-key": key, **(more or {})}
    return served.api.get(f"{prefix}/machines/ping", headers=headers).status_code
