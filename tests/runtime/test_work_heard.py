"""Writes of tables that a trigger listens to wake whoever runs jobs; other writes cost nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bbops.database.sqlite.driver import Sqlite
from bbops.runtime.work.events import NotifyingDatabase

TABLES = "CREATE TABLE orders (n)", "CREATE TABLE notes (n)"


@pytest.mark.parametrize(
    ("sql", "wakes"),
    [
        ("INSERT INTO orders VALUES (1)", True),
        ("UPDATE Orders SET n = 2", True),
        ("INSERT INTO notes VALUES (1)", False),
        ("UPDATE notes SET n = 2", False),
        ("INSERT INTO notes SELECT n FROM orders", True),
        ("DELETE FROM notes", True),  # it may cascade
        ("WITH some AS (SELECT 1) INSERT INTO notes SELECT 1", True),
    ],
)
def test_a_write_wakes_where_it_may_concern_a_heard_table(
    tmp_path: Path, sql: str, wakes: bool
) -> None:
    async def main() -> None:
        database, woken = await Sqlite.open(tmp_path / "data.sqlite"), list[str]()
        heard = NotifyingDatabase(database, lambda: woken.append("one"), {"orders"})
        for table in TABLES:
            await database.write(table)
        await heard.write(sql)
        await heard.change(sql)
        await heard.write_all([("UPDATE notes SET n = 3", ()), (sql, ())])
        assert len(woken) == (3 if wakes else 0)
        async with heard.transaction() as inner:
            await inner.write(sql)
        assert len(woken) == (4 if wakes else 1)
        await heard.read("SELECT n FROM orders")
        assert len(woken) == (4 if wakes else 1)
        await database.close()

    asyncio.run(main())
