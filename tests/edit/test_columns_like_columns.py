"""A column that is like another one has its type and bounds, and follows its names."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from bbops.compiler.check import validate
from bbops.database.migrate.migrate import describe
from bbops.database.sqlite.ddl import SqliteDdl, create_table
from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.columns import rename_column
from bbops.edit.authoring.moving import move
from bbops.edit.authoring.naming import Name
from bbops.interfaces.lsp.completion import complete
from bbops.interfaces.lsp.project import EditorProject
from bbops.interfaces.lsp.text import SourceLines
from bbops.language.project import Project
from bbops.source.tree import FolderTree

TICKETS = """columns:
  id: { type: integer, primaryKey: true, auto: increment }
  state: { type: string, enum: [open, closed], default: open, description: How far it is. }
  price: { type: decimal, minimum: 1, private: true, nullable: true }
"""
CHANGES = """columns:
  id: { like: tickets.id, primaryKey: true }
  before: { like: tickets.state }
  after: { like: changes.before, enum: [closed], nullable: true }
  price: { like: tickets.price, maximum: 9 }
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    (tmp_path / "project.yaml").write_text("bbops: 1\nname: desk\n")
    (tmp_path / "tables/tickets.yaml").write_text(TICKETS)
    (tmp_path / "tables/changes.yaml").write_text(CHANGES)
    return tmp_path


def read(root: Path) -> Project:
    project, diagnostics = validate(FolderTree(root))
    assert project is not None
    assert diagnostics == ()
    return project


def test_a_column_has_the_type_and_the_bounds_of_what_it_is_like(root: Path) -> None:
    columns = read(root).tables["changes"].model.columns
    assert (columns["id"].type, columns["id"].auto) == ("integer", None)
    assert (columns["before"].enum, columns["before"].default) == (["open", "closed"], None)
    assert (columns["after"].type, columns["after"].enum) == ("string", ["closed"])
    price = columns["price"]
    assert (price.type, price.minimum, price.maximum) == ("decimal", 1, 9)
    assert not price.private
    assert not price.nullable


def test_the_database_keeps_its_bounds(root: Path) -> None:
    tables = {name: one.model for name, one in read(root).tables.items()}
    connection = sqlite3.connect(":memory:")
    connection.execute(create_table("changes", SqliteDdl().describe(tables)["changes"]))
    insert = "INSERT INTO changes VALUES (?, ?, ?, ?)"
    connection.execute(insert, (1, "open", None, "2"))
    for row in ((2, "gone", None, "2"), (2, "open", "open", "2"), (2, "open", None, "0")):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(insert, row)


def test_a_looser_column_changes_the_table_that_is_like_it(root: Path) -> None:
    before = read(root)
    (root / "tables/tickets.yaml").write_text(TICKETS.replace("closed]", "closed, gone]"))
    after = read(root)
    assert before.tables["changes"].blob != after.tables["changes"].blob
    told = [describe({"changes": one.tables["changes"].model}) for one in (before, after)]
    assert ["gone" in one for one in told] == [False, True]
    assert "like" not in told[1]


def test_renames_are_followed(root: Path) -> None:
    for table, old, new in (("tickets", "state", "status"), ("changes", "before", "old")):
        change = Change.open(root)
        rename_column(change, Name("tables", table), old, new)
        change.apply()
    change = Change.open(root)
    move(change, Name("tables", "tickets"), Name("tables", "cases"))
    change.apply()
    text = (root / "tables/changes.yaml").read_text()
    assert "like: cases.status" in text
    assert "like: changes.old" in text
    read(root)


def test_columns_are_offered(root: Path) -> None:
    text = CHANGES.replace("like: tickets.state", "like: ¦")
    (root / "tables/changes.yaml").write_text(text.replace("¦", ""))
    lines, offset = SourceLines(text.replace("¦", "")), text.index("¦")
    found = complete(EditorProject.at(root), "tables/changes.yaml", lines, offset)
    assert {"tickets.state", "tickets.price"} <= {one.label for one in found}
