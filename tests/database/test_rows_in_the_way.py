"""Rows that stand in the way of a change of tables, or would lose something, are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bbops.base.errors import MigrationRefused
from bbops.database.migrate import migrate
from tests.support.changing import changed, database, original, rows_of, to
from tests.support.migrating import ID, declare, query, schema_of
from tests.support.table_changes import DESTRUCTIVE, IMPOSSIBLE

__all__ = ["database", "original"]


@pytest.mark.parametrize("name", DESTRUCTIVE)
def test_what_loses_something_is_told_with_its_rows(database: Path, name: str) -> None:
    edit, expected = DESTRUCTIVE[name]
    assert expected in refusal(database, changed(edit), "destructive")


def test_digits_that_would_not_come_back_the_same_wait(database: Path) -> None:
    query(database, "UPDATE people SET code = '007' WHERE id = 2")
    message = refusal(database, changed(to("code", "integer")), "destructive")
    assert "'people.code' (1 row holds string that integer does not keep whole: id 2)" in message


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_rows_stand_in_the_way_of_names_them_and_the_cure(database: Path, name: str) -> None:
    edit, expected = IMPOSSIBLE[name]
    message = refusal(database, changed(edit), "impossible")
    assert expected in message
    assert "hint:" in message


def refusal(path: Path, tables: dict[str, Any], risk: str) -> str:
    before = schema_of(path), rows_of(path)
    assert risk in {change.risk for change in migrate.plan(path, tables).refused}
    with pytest.raises(MigrationRefused) as caught:
        migrate.apply(path, tables)
    assert (schema_of(path), rows_of(path)) == before
    return str(caught.value)


def test_values_that_become_equal_are_no_longer_unique(tmp_path: Path) -> None:
    column = {"type": "datetime", "unique": True}
    path = tmp_path / "data.sqlite"
    migrate.apply(path, declare({"days": {"columns": {"id": ID, "day": column}}}))
    for hour in (1, 2):
        query(path, f"INSERT INTO days (day) VALUES ('2026-01-01T0{hour}:00:00.000000Z')")
    tables = declare({"days": {"columns": {"id": ID, "day": {**column, "type": "date"}}}})
    message = refusal(path, tables, "impossible")
    assert "'days.day' (2 rows share their value with another: id 1, 2)" in message
