"""Every command speaks JSON, but those that speak something of their own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from bbops.interfaces.cli._root_group import RootGroup
from tests.conftest import TEMPLATE

pytestmark = pytest.mark.quick

OWN_WORDS = {
    "completion",  # a script for a shell
    "contract export",  # a document in a form of its own
    "demo", "lsp", "mcp serve",  # a story, and two protocols
    "schema",  # writes JSON, and an exit code says whether it changed
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TEMPLATE, tmp_path / "project"))


def bbops(*arguments: str) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), arguments)


def walk(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name.strip(), command
        return
    context = click.Context(command)
    for one in command.list_commands(context):
        inner = command.get_command(context, one)
        assert inner is not None
        yield from walk(inner, f"{name} {one}")


def test_every_command_takes_json() -> None:
    silent = {
        name for name, one in walk(RootGroup("bbops"))
        if not any("--json" in each.opts for each in one.params)
    }  # fmt: skip
    assert silent == OWN_WORDS


def test_what_a_change_did_is_told(folder: Path) -> None:
    def tell(*arguments: str) -> object:
        done = bbops(*arguments, "--path", str(folder), "--json")
        return json.loads(done.stdout)["changed"]

    made = {"what": "made", "path": "functions/a.yaml"}
    assert tell("new", "function", "a") == [made]
    moved = {"what": "moved", "path": "functions/b.yaml", "from": "functions/a.yaml"}
    assert tell("mv", "functions/a", "functions/b") == [moved]
    changed = {"what": "changed", "path": "functions/b.yaml"}
    assert tell("set", "functions/b", "description=One") == [changed]
    assert tell("rm", "functions/b") == [{"what": "removed", "path": "functions/b.yaml"}]


def test_what_was_formatted_is_told(folder: Path) -> None:
    file = folder / "functions/a.yaml"
    file.write_text("steps:   []\n")
    done = bbops("fmt", str(file), "--check", "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert (len(found["changed"]), found["diagnostics"]) == (1, [])


def test_a_code_is_explained_and_all_are_listed() -> None:
    found = json.loads(bbops("explain", "unknown-key", "--json").stdout)
    assert found["code"] == "unknown-key"
    assert found in json.loads(bbops("explain", "--json").stdout)
