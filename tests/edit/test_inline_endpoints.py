"""Names in endpoints with steps of their own are renamed, completed and told as in functions."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bbops.compiler.check import validate
from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.columns import rename_column
from bbops.edit.authoring.moving import move
from bbops.edit.authoring.naming import Name
from bbops.interfaces.cli._root_group import RootGroup
from bbops.interfaces.lsp.completion import complete
from bbops.interfaces.lsp.definition import define
from bbops.interfaces.lsp.project import EditorProject
from bbops.interfaces.lsp.rename import plan_rename
from bbops.interfaces.lsp.text import SourceLines
from bbops.source.tree import FolderTree

FILES = {
    "project.yaml": """bbops: 1
name: desk
env:
  JWT_SECRET: { secret: true, generate: true }
auth: { users: users, signingKey: "${ env.JWT_SECRET }" }
""",
    "tables/users.yaml": """columns:
  id: { type: integer, primaryKey: true, auto: increment }
  role: { type: string, enum: [agent, admin], default: agent }
""",
    "tables/tickets.yaml": """columns:
  id: { type: integer, primaryKey: true, auto: increment }
  state: { type: string, enum: [open, closed], default: open }
""",
    "channels/desk-v1.yaml": "name: Desk v1\nbasePath: /desk/v1\nauthentication: JWT\n",
    "functions/count.yaml": "steps:\n  - return: ${ 1 }\n",
    "endpoints/tickets/mine.yaml": """channel: desk-v1
method: GET
path: /tickets
description: Mine.
query:
  state?: { like: tickets.state }
steps:
  - find: { table: tickets, where: query.state == null or state == query.state }
    as: tickets
  - call: { function: count }
    as: number
  - return:
      value: { rows: "${ vars.tickets }", all: "${ vars.number }", me: "${ vars.auth.userId }" }
""",
}
MINE = "endpoints/tickets/mine.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert validate(FolderTree(tmp_path))[1] == ()
    return tmp_path


def changed(change: Change) -> str:
    return change.data(MINE).decode()


def test_a_table_is_renamed_in_the_steps_and_in_what_is_like_it(root: Path) -> None:
    change = Change.open(root)
    move(change, Name("tables", "tickets"), Name("tables", "cases"))
    assert "table: cases" in changed(change)
    assert "like: cases.state" in changed(change)
    assert change.problems() == []


def test_a_function_is_renamed_in_the_steps(root: Path) -> None:
    change = Change.open(root)
    move(change, Name("functions", "count"), Name("functions", "sum"))
    assert "call: { function: sum }" in changed(change)
    assert change.problems() == []


def test_a_column_is_renamed_in_what_is_like_it(root: Path) -> None:
    change = Change.open(root)
    rename_column(change, Name("tables", "tickets"), "state", "status")
    assert "like: tickets.status" in changed(change)


def test_an_endpoint_takes_its_steps_along(root: Path) -> None:
    change = Change.open(root)
    move(change, Name("endpoints", "tickets/mine"), Name("endpoints", "tickets/list"))
    assert change.problems() == []


# ---- editors
def offered(root: Path, old: str, new: str) -> set[str]:
    """Return what is offered at `¦` where one text of the endpoint is another."""
    text = FILES[MINE].replace(old, new, 1)
    offset = text.index("¦")
    (root / MINE).write_text(text.replace("¦", ""))
    folder = EditorProject.at(root)
    return {one.label for one in complete(folder, MINE, SourceLines(text.replace("¦", "")), offset)}


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("vars.tickets", "vars.¦", {"tickets", "number", "auth"}),
        ("state == query.state", "state == query.¦", {"state"}),
        ("table: tickets", "table: ¦", {"tickets", "users"}),
        ("function: count", "function: ¦", {"count"}),
        ("tickets.state }", "t¦ }", {"tickets.state", "tickets.id", "users.role"}),
        ("method: GET", "method: GET\nroles: [¦]", {"agent", "admin"}),
        ("query:", "¦\nquery:", {"roles", "rateLimit", "input"}),
        ("  - return:", "  - ¦\n  - return:", {"find", "insert"}),
    ],
)
def test_what_may_stand_there_is_offered(
    old: str, new: str, wanted: set[str], root: Path
) -> None:  # fmt: skip
    assert wanted <= offered(root, old, new)


def test_a_variable_is_renamed_and_found(root: Path) -> None:
    folder, text = EditorProject.at(root), FILES[MINE]
    lines, offset = SourceLines(text), text.index("vars.number") + 6
    plan = plan_rename(folder, MINE, lines, offset, "total")
    assert sorted(text[site.start : site.end] for site, _ in plan.edits) == ["number", "number"]
    (site,) = define(folder, MINE, lines, offset)
    assert text[: site.start].endswith("as: ")


# ---- copies for API keys
def bbops(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), [*arguments, "--path", str(folder)])


def test_a_copy_for_api_keys_names_a_cure_for_each_user(root: Path) -> None:
    copy = ("copy", "channels/desk-v1", "channels/keys-v1", "--set", "authentication=API Key",
            "--set", "basePath=/keys/v1")  # fmt: skip
    result = bbops(root, *copy)
    assert result.exit_code != 0
    assert "endpoints/keys-v1/tickets/mine.yaml:13:" in result.stderr
    assert "write 'authentication: JWT' there" in result.stderr
    assert "'vars.apiKey'" in result.stderr
    assert not (root / "channels/keys-v1.yaml").exists()
