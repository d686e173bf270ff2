"""The default server of a command is the one of the folder's project, never another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bbops.base.errors import ServerError
from bbops.interfaces.cli import _server
from bbops.interfaces.cli._root_group import RootGroup
from bbops.interfaces.cli._server import find_project_folder, require_own_server
from tests.support.served import git
from tests.support.statuses import READY, Start, answers_of, control

__all__ = ["control"]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one commit; the current folder is inside."""
    folder = tmp_path / "shop"
    (folder / "functions").mkdir(parents=True)
    (folder / "project.yaml").write_text("bbops: 1\nname: shop\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    monkeypatch.chdir(folder / "functions")
    return folder


def at(revision: str) -> dict[str, Any]:
    line = {**READY, "url": "", "ready": True, "revision": revision}
    return {"GET /api/projects": (200, [line])}


@pytest.mark.parametrize("revision", [f"main@sha1:{'a' * 40}", "working-tree"])
def test_server_of_other_projects_is_refused(shop: Path, control: Start, revision: str) -> None:
    url = control(at(revision))
    with pytest.raises(ServerError) as refused:
        require_own_server(url)
    assert refused.value.message == (
        f"no server runs for the project in '{shop}'; the server at '{url}' serves shop"
    )
    assert refused.value.hint.endswith(f"if that server is the right one, add --server {url}")


def test_server_with_a_commit_of_the_repository_is_accepted(shop: Path, control: Start) -> None:
    require_own_server(control(at(f"main@sha1:{git(shop, 'rev-parse', 'HEAD')}")))


def test_server_of_a_remote_is_accepted(shop: Path, control: Start) -> None:
    url = control(at(f"main@sha1:{'a' * 40}"))
    git(shop, "remote", "add", "mine", f"{url.replace('127.0.0.1', 'ada@localhost')}/git/shop.git")
    require_own_server(url)


def test_any_server_is_accepted_outside_of_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, control: Start
) -> None:
    monkeypatch.chdir(tmp_path)
    require_own_server(control(at("working-tree")))


@pytest.mark.parametrize("mark", ["project.yaml", "server.yaml", ".bbops/state", ".bbops/dev"])
def test_folder_of_a_project_or_a_server_is_found_from_inside(tmp_path: Path, mark: str) -> None:
    (tmp_path / "own/inside").mkdir(parents=True)
    (tmp_path / "own" / mark).mkdir(parents=True)
    assert find_project_folder(tmp_path / "own/inside") == tmp_path / "own"


@pytest.mark.usefixtures("shop")
def test_command_reports_the_reason_of_a_server_that_does_not_answer() -> None:
    require_own_server("http://127.0.0.1:1")


def status(*words: str, server: str | None = None) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), ["status", *words], env={"BBOPS_SERVER": server})


@pytest.mark.usefixtures("shop")
def test_only_the_default_is_checked(control: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    url = control({**answers_of(READY), **at("working-tree")})
    monkeypatch.setattr(_server, "DEFAULT_SERVER", url)
    refused = status()
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "error: no server runs for the project in" in refused.stderr
    assert status("--server", url).exit_code == status(server=url).exit_code == 0
