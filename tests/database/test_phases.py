"""Tables change in phases, and in each of them the statements of every release that serves work."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import pytest

from bbops.base.errors import MigrationRefused
from bbops.database.migrate import migrate, rollout
from bbops.database.schema.checks import write_where
from bbops.database.sqlite.connection import connect
from bbops.language.resources.table import Table
from bbops.language.sql.sqlite import SQLITE_CHECK
from tests.support.changing import SPEC, VALUES, both, changed, database, end_of, original
from tests.support.migrating import declare, query
from tests.support.table_changes import CASES

__all__ = ["database", "original"]

Tables = Mapping[str, Table]


@pytest.mark.parametrize("name", CASES)
def test_every_release_works_while_it_serves_and_the_end_is_that_of_one_step(
    database: Path, name: str
) -> None:
    wanted, whole = changed(CASES[name]), database.with_name("whole.sqlite")
    shutil.copy(database, whole)
    before = migrate.plan(whole, wanted)
    migrate.apply(whole, wanted, {before.hash})
    planned = rollout.plan(database, wanted)
    assert [c.key for c in planned.migration.changes] == [c.key for c in before.changes]
    assert rollout.expand(database, wanted, {planned.migration.hash}) == planned.migration
    use(database, declare(SPEC))
    if planned.phases.switches:
        rollout.switch(database, "a release", until=monotonic() + 60)
    use(database, wanted)
    rollout.settle(database, "a release")
    rollout.narrow(database)
    use(database, wanted)
    assert rollout.plan(database, wanted).is_done
    assert end_of(database, wanted) == end_of(whole, wanted)
    assert query(database, "PRAGMA integrity_check") == [("ok",)]
    assert query(database, "PRAGMA foreign_key_check") == []


def use(path: Path, tables: Tables) -> None:
    """Insert, read, change and delete a row of every table as a release of these tables does."""
    with closing(connect(path)) as live:
        for name, table in tables.items():
            keys = {key: value(live, name, table, key) for key in table.columns}
            if None in keys.values():
                continue  # a parent has no rows
            live.execute("BEGIN IMMEDIATE")
            listed, marks = ", ".join(f'"{key}"' for key in keys), ", ".join("?" for _ in keys)
            row = live.execute(
                f'INSERT INTO "{name}" ({listed}) VALUES ({marks}) RETURNING {listed}',
                [*keys.values()],
            ).fetchone()
            assert row == tuple(keys.values())
            where = " AND ".join(f'"{key}" = ?' for key in table.key)
            these = [keys[key] for key in table.key]
            same = ", ".join(f'"{key}" = "{key}"' for key in keys)
            assert live.execute(f'UPDATE "{name}" SET {same} WHERE {where}', these).rowcount == 1
            assert live.execute(f'DELETE FROM "{name}" WHERE {where}', these).rowcount == 1
            live.execute("ROLLBACK")
            live.execute(f'SELECT {listed} FROM "{name}"').fetchall()


def value(live: sqlite3.Connection, name: str, table: Table, key: str) -> Any:
    """Return a value for a new row that fits in its column, or None if its parent has no rows."""
    column = table.columns[key]
    if column.references:
        parent, _, parent_key = column.references.partition(".")
        return live.execute(f'SELECT max("{parent_key}") FROM "{parent}"').fetchone()[0]
    if not column.enum:
        return VALUES[column.type]
    # A release before this one may have left a unique index: it goes once nobody serves it.
    taken = [row[0] for row in live.execute(f'SELECT "{key}" FROM "{name}"')]
    free = [each for each in column.enum if each not in taken]
    found = (free or column.enum)[0]
    return int(found) if column.type == "integer" else found


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60))
def test_any_mix_of_changes_ends_as_in_one_step_whatever_was_begun_before(
    database: Path, seed: int
) -> None:
    random, whole, serving = Random(seed), database.with_name("whole.sqlite"), declare(SPEC)
    for _ in range(4):
        wanted = mixed(random)
        try:
            planned = rollout.plan(database, wanted)
        except MigrationRefused:
            continue  # what is hidden has another type
        if planned.migration.refused and not planned.migration.is_waiting:
            continue
        rollout.expand(database, wanted, {planned.migration.hash})
        use(database, serving)
        if random.random() < 0.4:
            continue  # it never goes live
        if planned.phases.switches:
            rollout.switch(database, str(random.random()), until=monotonic() + 60)
        rollout.settle(database, str(random.random()))
        use(database, wanted)
        serving = wanted
        if random.random() < 0.3:
            continue  # nobody narrows behind it
        rollout.narrow(database)
        shutil.copy(database, whole)
        migrate.apply(whole, wanted, {migrate.plan(whole, wanted).hash})
        assert end_of(database, wanted) == end_of(whole, wanted)
    assert query(database, "PRAGMA foreign_key_check") == []


def mixed(random: Random) -> dict[str, Table]:
    """Return the tables with some changes that go together."""
    while True:
        with suppress(KeyError, ValueError):
            found = changed(both(*(CASES[name] for name in random.sample([*CASES], 3))))
            migrate.describe(found)  # its checks need their columns
            for name, table in found.items():
                for index in table.indexes:
                    write_where(name, table, index, SQLITE_CHECK)
                for column in [name for index in table.indexes.values() for name in index.columns]:
                    table.columns[column]
                for target in filter(None, (one.references for one in table.columns.values())):
                    found[target.partition(".")[0]].columns[target.partition(".")[2]]
            return found
