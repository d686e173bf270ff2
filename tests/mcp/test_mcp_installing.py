"""`bbops mcp init` and `connect` change what they must in clients' files, and nothing besides."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bbops.base.errors import BbopsError
from bbops.interfaces.cli.mcp import command
from bbops.interfaces.mcp.clients import CLIENTS
from bbops.interfaces.mcp.installing.steps import InstallStep, carry_out, check_name, choose, plan
from tests.support.statuses import Start, control

__all__ = ["control"]

URL = "https://agents.example.com/mcp"
NAMES = {
    "claude-code", "codex", "cursor", "gemini-cli", "opencode", "vscode", "windsurf", "zed",
}  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let nobody's home folder be touched."""
    found = tmp_path / "home"
    found.mkdir()
    monkeypatch.setenv("HOME", str(found))
    monkeypatch.setenv("USERPROFILE", str(found))
    return found


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    found = tmp_path / "work"
    found.mkdir()
    return found


def install(workspace: Path, *names: str, **more: Any) -> list[InstallStep]:
    return carry_out(workspace, plan(workspace, choose(names, workspace), URL, **more))


def test_every_client_of_the_list_is_known() -> None:
    assert set(CLIENTS) == NAMES


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_a_client_finds_the_server_in_its_file(workspace: Path, name: str) -> None:
    client = CLIENTS[name]
    install(workspace, name)
    text = client.path(workspace).read_text()
    found: Any = json.loads(text) if client.form == "json" else tomllib.loads(text)
    for key in (*client.keys, "bbops"):
        found = found[key]
    assert found[client.address] == URL
    assert {"token", "headers", "authorization", "env"}.isdisjoint(found)


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_doing_it_again_changes_nothing(workspace: Path, name: str) -> None:
    install(workspace, name)
    path = CLIENTS[name].path(workspace)
    before = path.read_bytes()
    steps = plan(workspace, choose([name], workspace), URL)
    assert [one.done for one in steps if one.kind != "ask_user"] == [True]
    carry_out(workspace, steps)
    assert path.read_bytes() == before


def test_what_a_person_wrote_stays(workspace: Path) -> None:
    file = workspace / ".vscode/mcp.json"
    file.parent.mkdir()
    file.write_text('{\n  // ours\n  "servers": { "db": { "command": "x" } },\n}\n')
    file.chmod(0o600)
    install(workspace, "vscode")
    text = file.read_text()
    assert "// ours" in text
    assert '"db": { "command": "x" }' in text
    assert file.stat().st_mode & 0o777 == 0o600


def test_toml_keeps_its_comments_and_other_servers(workspace: Path) -> None:
    file = workspace / ".codex/config.toml"
    file.parent.mkdir()
    before = '# mine\nmodel = "x"\n\n[mcp_servers.db]\ncommand = "y" # why\n'
    file.write_text(before)
    install(workspace, "codex")
    assert file.read_text().startswith(before)
    assert tomllib.loads(file.read_text())["mcp_servers"]["bbops"] == {"url": URL}


def test_another_address_takes_the_place_of_the_first(workspace: Path) -> None:
    for client in ("cursor", "codex"):
        install(workspace, client)
        carry_out(workspace, plan(workspace, choose([client], workspace), URL + "/p/x"))
        path = CLIENTS[client].path(workspace)
        assert (URL + "/p/x") in path.read_text()
        assert path.read_text().count("bbops") == 1


def test_planning_writes_nothing(workspace: Path, home: Path) -> None:
    steps = plan(workspace, CLIENTS, URL, files={"a/SKILL.md": "x"}, guide="y")
    assert [*workspace.iterdir(), *home.iterdir()] == []
    assert {one.kind for one in steps} == {"merge_file", "write_file", "ask_user"}
    assert len({one.id for one in steps}) == len(steps)


def test_a_file_that_changed_meanwhile_is_left_alone(workspace: Path) -> None:
    steps = plan(workspace, choose(["cursor"], workspace), URL)
    file = workspace / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text('{"mine": 1}')
    with pytest.raises(BbopsError, match="has changed in the meantime"):
        carry_out(workspace, steps)
    assert file.read_text() == '{"mine": 1}'


@pytest.mark.parametrize("text", ["{", "nonsense", "[]", '{"mcpServers": 3}'])
def test_a_file_that_cannot_be_understood_is_left_alone(workspace: Path, text: str) -> None:
    file = workspace / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(BbopsError):
        install(workspace, "cursor")
    assert file.read_text() == text


def test_a_link_that_leads_elsewhere_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (workspace / ".cursor").symlink_to(other)
    with pytest.raises(BbopsError, match="is a link to another file"):
        install(workspace, "cursor")
    assert list(other.iterdir()) == []


def test_the_persons_own_files_are_theirs_where_a_workspace_is_bound(
    workspace: Path, home: Path
) -> None:
    steps = install(workspace, "windsurf", in_workspace_only=True)
    assert [one.kind for one in steps] == ["ask_user", "ask_user"]
    assert URL in steps[0].title
    assert list(home.iterdir()) == []


def test_the_guide_is_a_part_between_marks(workspace: Path) -> None:
    file = workspace / "AGENTS.md"
    file.write_text("# Ours\n\nRead this.\n")
    install(workspace, "cursor", guide="first")
    install(workspace, "cursor", guide="second")
    assert file.read_text() == (
        "# Ours\n\nRead this.\n\n<!-- bbops:begin -->\nsecond\n<!-- bbops:end -->\n"
    )


def test_clients_that_are_used_here_are_found(workspace: Path, home: Path) -> None:
    (workspace / ".cursor").mkdir()
    (home / ".codex").mkdir()
    assert set(choose([], workspace)) == {"cursor", "codex"}


def test_where_no_client_is_used_the_names_are_said(workspace: Path) -> None:
    with pytest.raises(BbopsError) as caught:
        choose([], workspace)
    assert "claude-code" in caught.value.hint


@pytest.mark.parametrize("name", ["", "A", "a b", "../x", "a" * 41, '"', "x]\n[y"])
def test_a_server_has_a_plain_name(name: str) -> None:
    with pytest.raises(BbopsError, match="not a valid server name"):
        check_name(name)


def test_windows_paths_are_joined_as_there(workspace: Path) -> None:
    assert CLIENTS["cursor"].path(workspace) == workspace / ".cursor" / "mcp.json"
    assert os.sep in str(CLIENTS["windsurf"].path(workspace))


def test_the_status_says_what_is_wrong_with_a_file(workspace: Path) -> None:
    (workspace / ".mcp.json").write_text("{ bad")
    given = ["status", "--client", "claude-code", "--path", str(workspace)]
    told = CliRunner().invoke(command, given).stdout
    assert told == "claude-code  '.mcp.json': line 1 is not valid JSON\n"


def test_binding_a_workspace_says_how_to_look_at_it(workspace: Path, control: Start) -> None:
    address = {"mcp_url": "http://127.0.0.1:8001/mcp/p/x"}
    url = control({"GET /api/projects/shop/mcp": (200, address)})
    given = ["--client", "claude-code", "--path", str(workspace), "--server", url, "--yes"]
    told = CliRunner().invoke(command, ["connect", "shop", *given])
    assert "'bbops mcp status --name bbops-shop' shows the connection" in told.stdout
