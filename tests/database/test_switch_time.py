"""A change of names and types that would keep requests waiting is refused before they wait."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest

from bbops.base.errors import SwitchTooLong
from bbops.database.migrate import migrate, rollout
from bbops.database.migrate.switch_time import SMALL_TABLE_ROWS, refuse_long_switch
from bbops.database.schema.place import Place
from bbops.language.resources.table import Table
from tests.support.migrating import declare
from tests.support.postgres import DATABASES, place_of

ROWS: Final = SMALL_TABLE_ROWS + 1


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with place_of(request, tmp_path / "data.sqlite") as found:
        migrate.apply(found, notes("string"))
        yield found


def notes(kind: str, name: str = "size") -> dict[str, Table]:
    key = {"type": "integer", "primaryKey": True, "auto": "increment"}
    renamed = {} if name == "size" else {"renamedFrom": "size"}
    return declare({"notes": {"columns": {"id": key, name: {"type": kind, **renamed}}}})


def fill(place: Place, rows: int) -> None:
    values = f"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows})"
    statement = f"{values} INSERT INTO notes (size) SELECT CAST(n AS text) FROM s"
    if isinstance(place, Path):
        with sqlite3.connect(place) as live:
            live.execute(statement)
        live.close()
        return
    with psycopg.connect(place.address) as connection:
        connection.execute(statement.encode())


def test_a_type_of_a_large_table_is_refused_with_its_rows_and_the_cure(place: Place) -> None:
    fill(place, ROWS)
    with pytest.raises(SwitchTooLong, match=f"'notes' has {ROWS} rows: requests .* 0.001 s") as no:
        refuse_long_switch(place, notes("integer"), seconds=0.001)
    assert no.value.hint.startswith("add a column beside")
    assert rollout.plan(place, notes("string")).is_done, "nothing has changed"


@pytest.mark.long
def test_a_change_that_fits_its_time_goes_on(place: Place) -> None:
    fill(place, ROWS)
    refuse_long_switch(place, notes("integer"), seconds=1_000)
    rollout.expand(place, notes("integer"))
    refuse_long_switch(place, notes("integer"), seconds=1_000)


def test_a_small_table_is_never_refused(place: Place) -> None:
    fill(place, 100)
    refuse_long_switch(place, notes("integer"), seconds=0)


def test_what_needs_no_switch_is_not_refused(place: Place) -> None:
    fill(place, ROWS)
    refuse_long_switch(place, notes("text"), seconds=0)
    refuse_long_switch(place, notes("string"), seconds=0)


def test_rows_in_the_way_are_left_to_the_plan(place: Place) -> None:
    fill(place, 100)
    refuse_long_switch(place, notes("uuid"), seconds=1_000)
