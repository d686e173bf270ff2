"""Renames, editors and plans know computed columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.columns import rename_column
from bbops.edit.authoring.naming import Name
from bbops.interfaces.lsp.completion import complete
from bbops.interfaces.lsp.hover import explain
from bbops.interfaces.lsp.project import EditorProject
from bbops.interfaces.lsp.text import SourceLines

LINES = """columns:
  id: { type: integer, primaryKey: true, auto: increment }
  quantity: { type: integer }
  price: { type: decimal }
  total: { computed: quantity * price }
indexes:
  dear: { columns: [price], where: price > 9 }
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    (tmp_path / "project.yaml").write_text("bbops: 1\nname: shop\n")
    (tmp_path / "tables/lines.yaml").write_text(LINES)
    return tmp_path


def test_a_column_is_renamed_in_what_is_computed_of_it(root: Path) -> None:
    change = Change.open(root)
    rename_column(change, Name("tables", "lines"), "price", "amount")
    text = change.data("tables/lines.yaml").decode()
    assert "computed: quantity * amount" in text
    assert "where: amount > 9" in text
    assert change.problems() == []


def test_a_computed_column_is_renamed_and_has_no_values_to_keep(root: Path) -> None:
    change = Change.open(root)
    rename_column(change, Name("tables", "lines"), "total", "sum_of_all")
    text = change.data("tables/lines.yaml").decode()
    assert "sum_of_all: { computed: quantity * price }" in text
    assert change.problems() == []


def test_hovering_says_how_it_is_computed(root: Path) -> None:
    run = "steps:\n  - find: { table: lines, where: total > 2 }\n    as: lines\n"
    (root / "functions").mkdir()
    (root / "functions/run.yaml").write_text(run)
    found = explain(
        EditorProject.at(root), "functions/run.yaml", SourceLines(run), run.index("total") + 2
    )
    assert "`lines.total` — type: decimal, computed: quantity * price" in str(found)


@pytest.mark.parametrize("place", ["computed: quantity * pri¦", "where: pri¦"])
def test_columns_are_offered(root: Path, place: str) -> None:
    key = place.partition(":")[0]
    old = next(line for line in LINES.splitlines() if f"{key}:" in line)
    text = LINES.replace(old[old.index(f"{key}:") :], f"{place} }}")
    (root / "tables/lines.yaml").write_text(text.replace("¦", ""))
    lines, offset = SourceLines(text.replace("¦", "")), text.index("¦")
    found = complete(EditorProject.at(root), "tables/lines.yaml", lines, offset)
    assert "price" in {one.label for one in found}
