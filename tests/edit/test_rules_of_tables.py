"""Renaming a column renames it in the rules of its table."""

from __future__ import annotations

from pathlib import Path

from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.columns import rename_column
from bbops.edit.authoring.naming import Name

NOTES = """
columns:
  id: { type: integer, primaryKey: true }
  user_id: { type: string }
  gone_at: { type: datetime, nullable: true }
indexes:
  notes_by_user: { columns: [user_id] }
access:
  read: user_id == vars.auth?.userId
  write: user_id == vars.auth?.userId and gone_at == null
softDelete: gone_at
"""


def test_a_column_is_renamed_in_the_rules_of_its_table(tmp_path: Path) -> None:
    (tmp_path / "project.yaml").write_text("bbops: 1\nname: desk\n")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/notes.yaml").write_text(NOTES)
    change = Change.open(tmp_path)
    rename_column(change, Name("tables", "notes"), "user_id", "owner")
    rename_column(change, Name("tables", "notes"), "gone_at", "deleted_at")
    assert change.problems() == []
