"""`bbops mcp` against a server: what an agent runs first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.served import Served, make_project

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    box = tmp_path_factory.mktemp("agents")
    with Served(make_project(box / "notes"), box / "home") as found:
        found.live()
        yield found


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / ".cursor").mkdir()
    return tmp_path


def run(served: Served, *arguments: str, status: int = 0) -> Any:
    done = served.bbops("mcp", *arguments)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout) if "--json" in arguments else done.stdout + done.stderr


def test_a_workspace_is_told_where_the_server_is(served: Served, workspace: Path) -> None:
    where = ("--path", str(workspace), "--server", str(served.control.base_url))
    planned = run(served, "init", *where, "--json")
    assert planned["clients"] == ["cursor"]
    assert [one["done"] for one in planned["steps"]] == [False] * len(planned["steps"])
    assert sorted(one.name for one in workspace.iterdir()) == [".cursor"]
    done = run(served, "init", *where, "--yes", "--json")
    left = {one["kind"] for one in done["steps"] if not one["done"]}
    assert left == {"ask_user"}
    url = json.loads((workspace / ".cursor/mcp.json").read_text())["mcpServers"]["bbops"]["url"]
    assert url == done["mcpUrl"]
    assert (workspace / ".agents/skills/safety/SKILL.md").exists()
    assert "`context_get`" in (workspace / "AGENTS.md").read_text()
    again = run(served, "init", *where, "--yes")
    assert again.count("done  ") == again.count("\n") - 2


def test_status_says_what_answers_and_where_people_sign_in(served: Served, workspace: Path) -> None:
    run(served, "init", "--path", str(workspace), "--server", str(served.control.base_url), "--yes")
    (one,) = run(served, "status", "--path", str(workspace), "--client", "cursor", "--json")[
        "clients"
    ]
    assert one["configured"]
    assert one["reached"]["reachable"]
    assert one["reached"]["protocolVersion"] >= "2025-06-18"
    (away,) = run(served, "status", "--path", str(workspace), "--client", "zed", "--json")[
        "clients"
    ]
    assert not away["configured"]


def test_a_server_that_is_away_is_said_to_be(served: Served, workspace: Path) -> None:
    where = ("--path", str(workspace), "--client", "cursor")
    run(served, "init", *where, "--server", "http://127.0.0.1:9", "--yes")
    assert "cannot be reached: connection refused" in run(served, "status", *where)


def test_a_workspace_is_bound_to_one_project(served: Served, workspace: Path) -> None:
    (project,) = served.control.get("/api/projects").json()
    where = ("--path", str(workspace), "--server", str(served.control.base_url), "--yes", "--json")
    bound = run(served, "connect", project["name"], *where)
    servers = json.loads((workspace / ".cursor/mcp.json").read_text())["mcpServers"]
    assert servers == {f"bbops-{project['name']}": {"url": bound["mcpUrl"]}}
    assert "/mcp/p/" in bound["mcpUrl"]
    assert project["name"] not in bound["mcpUrl"]
    shown = run(served, "status", *where[:2], "--name", f"bbops-{project['name']}")
    assert f"{bound['mcpUrl']}  responds to signed-in users" in shown


def test_a_project_that_is_not_there_is_named(served: Served, workspace: Path) -> None:
    where = ("--path", str(workspace), "--server", str(served.control.base_url))
    assert "has no project 'nothing'" in run(served, "connect", "nothing", *where, status=2)
