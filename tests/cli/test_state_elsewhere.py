"""Commands on a state folder, typed in a project's folder below a server of several projects."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bbops.interfaces.cli._root_group import RootGroup

PROJECT = "bbops: 1\nname: shop\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a project below the folder of its server, and stand in it."""
    (tmp_path / "server.yaml").write_text("projects:\n  shop: { repository: ./shop }\n")
    (tmp_path / ".bbops" / "state").mkdir(parents=True)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "project.yaml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), arguments)


@pytest.mark.parametrize(
    "command",
    [("env", "set", "KEY", "x"), ("env", "list"), ("users", "list"), ("db", "shell", "SELECT 1")],
)
def test_a_command_says_where_the_server_keeps_its_state(
    shop: Path, command: tuple[str, ...]
) -> None:
    told = run(*command)
    assert told.exit_code == 2
    assert f"the server of '{shop.parent}' keeps its state there" in told.stderr
    assert f"hint: run it there: cd '{shop.parent}'" in told.stderr
    assert not (shop / ".bbops").exists()


def test_a_state_folder_of_its_own_comes_first(shop: Path) -> None:
    (shop / ".bbops" / "state").mkdir(parents=True)
    assert run("env", "list").exit_code == 0


def test_the_cure_works(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.parent)
    assert run("env", "set", "KEY", "x", "--project", "shop").exit_code == 0
