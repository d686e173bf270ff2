"""The driver on real files: what blocks, what rolls back, and what a broken rule looks like."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.base.errors import DatabaseError
from bbops.database.migrate import migrate
from bbops.database.sqlite.connection import check_version
from bbops.database.sqlite.driver import MOST_ROWS, Sqlite
from bbops.database.sqlite.functions import compare_decimals
from bbops.database.sqlite.gate import Gate
from bbops.database.sqlite.off_loop import Watch
from bbops.language.resources.table import Table
from bbops.runtime.values.failures import DatabaseFailure, FlowError
from tests.support.patience import eventually, settle
from tests.support.sqlite_database import TABLES, failure, is_free, opened, path, with_database

__all__ = ["path"]


@contextlib.contextmanager
def begun_statements() -> Iterator[Callable[[], bool]]:
    """Give a function that returns whether a statement has begun in a thread."""
    begun, on = Event(), Watch.on

    @contextlib.contextmanager
    def watched(watch: Watch, connection: sqlite3.Connection) -> Iterator[None]:
        with on(watch, connection):
            begun.set()
            yield

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Watch, "on", watched)
        yield begun.is_set


LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) "


@with_database
async def test_a_written_row_comes_back(database: Sqlite, path: Path) -> None:
    rows = await database.write("INSERT INTO users (email) VALUES (?) RETURNING id", ("a",))
    assert rows == [(1,)]
    assert await database.read("SELECT id, email FROM users") == [(1, "a")]


def test_full_durability_writes_too(path: Path) -> None:
    async def main() -> None:
        async with opened(path, durability="full") as database:
            jobs = [database.write("INSERT INTO counts VALUES (?)", (n,)) for n in range(300)]
            await asyncio.gather(*jobs)
            assert await database.read("SELECT count(*), sum(n) FROM counts") == [(300, 44850)]

    asyncio.run(main())


@with_database
async def test_a_long_read_lets_short_ones_pass(database: Sqlite, path: Path) -> None:
    order: list[str] = []

    async def read(name: str, sql: str) -> None:
        rows = await database.read(sql)
        order.append(f"{name} {rows[0][0]}")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read("long", f"{LONG} SELECT max(i) FROM n"))
        tasks.create_task(read("short", "SELECT 1"))
    assert order == ["short 1", "long 400000"]


@with_database
async def test_a_long_write_leaves_the_loop_and_is_done_once(database: Sqlite, path: Path) -> None:
    order: list[str] = []

    async def write() -> None:
        await database.write(f"{LONG} INSERT INTO counts SELECT i FROM n")
        order.append("long")

    async def read() -> None:
        assert await database.read("SELECT count(*) FROM counts") == [(0,)], "rolled back"
        order.append("short")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(write())
        tasks.create_task(read())
    assert order == ["short", "long"]
    assert await database.read("SELECT count(*) FROM counts") == [(400_000,)]


@with_database
async def test_a_cancelled_long_read_ends_in_its_thread(database: Sqlite, path: Path) -> None:
    endless = LONG.replace("i < 400000", "1")
    for _ in range(6):  # more than there are threads
        with begun_statements() as has_begun:
            task = asyncio.create_task(database.read(f"{endless} SELECT max(i) FROM n"))
            await eventually(has_begun)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert await database.read(f"{LONG} SELECT max(i) FROM n") == [(400_000,)]


@with_database
async def test_a_write_waits_for_the_gate_beside_the_loop(database: Sqlite, path: Path) -> None:
    gate = Gate(path)
    gate.take()
    write = asyncio.create_task(database.write("INSERT INTO counts VALUES (1)"))
    for _ in range(5):
        assert await database.read("SELECT count(*) FROM counts") == [(0,)]
        await settle()
    assert not write.done()
    gate.close()
    await write
    assert await database.read("SELECT count(*) FROM counts") == [(1,)]


@with_database
async def test_a_cancelled_write_leaves_nothing_behind(database: Sqlite, path: Path) -> None:
    gate = Gate(path)
    gate.take()
    writes = [
        asyncio.create_task(database.write("INSERT INTO counts VALUES (?)", (n,))) for n in range(4)
    ]
    await settle()
    for write in writes[1:]:
        write.cancel()
    await asyncio.sleep(0)
    gate.close()
    await writes[0]
    await database.write("INSERT INTO counts VALUES (9)")
    assert await database.read("SELECT n FROM counts") == [(0,), (9,)]
    assert is_free(path)


@with_database
async def test_a_cancelled_running_write_leaves_no_lock(database: Sqlite, path: Path) -> None:
    write = asyncio.create_task(database.write(f"{LONG} INSERT INTO counts SELECT i FROM n"))
    await settle()
    write.cancel()
    with pytest.raises(asyncio.CancelledError):
        await write
    await database.write("INSERT INTO counts VALUES (0)")
    rows = await database.read("SELECT count(*) FROM counts")
    assert rows in ([(1,)], [(400_001,)]), "wholly or not at all"
    assert is_free(path)


async def write_together(database: Sqlite, path: Path, insert: str) -> None:
    """Let four writes wait for one commit; only the third, of a repeated value, must fail."""
    gate = Gate(path)
    gate.take()
    writes = [asyncio.create_task(database.write(insert, (e,))) for e in ("a", "b", "a", "c")]
    await settle()
    gate.close()
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(result) for result in results] == [list, list, DatabaseFailure, list]
    assert await database.read("SELECT email FROM users") == [("a",), ("b",), ("c",)]


@with_database
async def test_waiting_writes_share_a_commit_but_not_their_failures(
    database: Sqlite, path: Path
) -> None:
    await write_together(database, path, "INSERT INTO users (email) VALUES (?)")


@with_database
async def test_a_write_that_ends_the_shared_transaction_takes_none_along(
    database: Sqlite, path: Path
) -> None:
    await write_together(database, path, "INSERT OR ROLLBACK INTO users (email) VALUES (?)")


@with_database
async def test_write_all_is_one_transaction(database: Sqlite, path: Path) -> None:
    insert = "INSERT INTO users (email) VALUES (?) RETURNING id"
    rows = await database.write_all([(insert, ("a",)), ("UPDATE users SET email = 'z'", ())])
    assert rows == [[(1,)], [(1,)]]
    await failure(database.write_all([(insert, ("b",)), (insert, ("z",))]))
    assert await database.read("SELECT email FROM users") == [("z",)]


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_more_rows_than_at_most_change_nothing(path: Path, durability: str) -> None:
    async def main() -> None:
        async with opened(path, durability=durability) as database:
            await database.write("INSERT INTO counts VALUES (1), (2)")
            sql = "UPDATE counts SET n = 0 RETURNING n"
            with pytest.raises(FlowError, match="at most 1 row to change, found 2"):
                await database.write(sql, at_most=1)
            assert await database.read("SELECT sum(n) FROM counts") == [(3,)]
            assert await database.write(sql, at_most=2) == [(0,), (0,)]

    asyncio.run(main())


@with_database
async def test_a_repeated_unique_value_names_its_column(database: Sqlite, path: Path) -> None:
    insert = "INSERT INTO users (email) VALUES (?)"
    await database.write(insert, ("secret",))
    found = await failure(database.write(insert, ("secret",)))
    assert (found.code, found.table, found.columns) == ("unique", "users", ("email",))
    assert "secret" not in found.message
    assert found.status == 409


@with_database
async def test_null_in_a_required_column_names_it(database: Sqlite, path: Path) -> None:
    found = await failure(database.write("INSERT INTO users (email) VALUES (?)", (None,)))
    assert (found.code, found.table, found.columns) == ("notNull", "users", ("email",))


@with_database
async def test_a_broken_rule_names_its_column(database: Sqlite, path: Path) -> None:
    found = await failure(database.write("INSERT INTO users (email) VALUES ('far too long')"))
    assert (found.code, found.table, found.columns) == ("check", "users", ("email",))
    found = await failure(database.write("INSERT INTO post_tags (tag) VALUES ('z')"))
    assert (found.code, found.table, found.columns) == ("check", "post_tags", ("tag",))


@pytest.mark.parametrize("durability", ["normal", "full"])
@pytest.mark.parametrize(("author", "editor"), [(1, 99), (99, 1)])
def test_a_missing_parent_names_the_column_that_refers_to_it(
    path: Path, author: int, editor: int, durability: str
) -> None:
    async def main() -> None:
        async with opened(path, durability=durability) as database:
            await database.write("INSERT INTO users (email) VALUES ('a')")
            insert = (
                'INSERT INTO "posts" (title, author_id, editor_id) VALUES (?, ?, ?) RETURNING id'
            )
            found = await failure(database.write(insert, ("t", author, editor)))
            assert (found.code, found.table) == ("foreignKey", "posts")
            assert found.columns == (("author_id",) if author == 99 else ("editor_id",))
            await database.write(insert, ("t", 1, 1))
            found = await failure(database.write(insert, ("t", author, editor)))
            assert found.columns, "nothing of the search is left behind"
            assert await database.read("SELECT count(*) FROM posts") == [(1,)]

    asyncio.run(main())


@with_database
async def test_an_update_to_a_missing_parent_names_the_column(database: Sqlite, path: Path) -> None:
    await database.write("INSERT INTO users (email) VALUES ('a')")
    await database.write("INSERT INTO posts (title, author_id) VALUES ('t', 1)")
    update = "UPDATE posts SET title = ?, author_id = ? WHERE editor_id IS NULL"
    found = await failure(database.write(update, ("x", 99)))
    assert (found.code, found.table, found.columns) == ("foreignKey", "posts", ("author_id",))


@with_database
async def test_a_row_that_others_refer_to_stays(database: Sqlite, path: Path) -> None:
    await database.write("INSERT INTO users (email) VALUES ('a')")
    await database.write("INSERT INTO posts (title, author_id) VALUES ('t', 1)")
    found = await failure(database.write("DELETE FROM users WHERE id = 1"))
    assert (found.code, found.table, found.columns) == ("foreignKey", "users", ())
    assert "other rows still refer" in found.message


@pytest.mark.parametrize(
    ("sql", "parameters", "expected"),
    [
        ("SELECT * FROM nowhere", (), "no such table: nowhere"),
        ("SELECT ?", (), "uses 1, and there are 0 supplied"),
        ("SELECT json_extract('{}', ?)", ("secret",), "SQLITE_ERROR while it ran"),
        ("SELECT ?", (2**70,), "a parameter does not fit"),
        ("SELECT ?", ("\ud800",), "a parameter does not fit"),
        ("SELECT 1; SELECT 2", (), "one statement at a time"),
        ("INSERT INTO counts VALUES (1)", (), "the statement writes, expected one that reads"),
        (" /* x */ ATTACH 'other' AS o", (), "reads or writes rows, found 'ATTACH'"),
        ("PRAGMA query_only = OFF", (), "found 'PRAGMA'"),
        ("", (), "found none"),
    ],
)
def test_a_wrong_statement_is_the_flows_mistake(
    path: Path, sql: str, parameters: tuple[object, ...], expected: str
) -> None:
    async def main() -> None:
        async with opened(path) as database:
            with pytest.raises(FlowError) as caught:
                await database.read(sql, parameters)
            assert expected in caught.value.message
            assert "secret" not in caught.value.message

    asyncio.run(main())


@with_database
async def test_a_value_of_the_wrong_type_is_the_flows_mistake(database: Sqlite, path: Path) -> None:
    with pytest.raises(FlowError, match=r"cannot store TEXT value in INTEGER column counts\.n"):
        await database.write("INSERT INTO counts VALUES (?)", ("secret",))
    with pytest.raises(FlowError, match="COMMIT"):
        await database.write("COMMIT")


@with_database
async def test_too_many_rows_are_refused(database: Sqlite, path: Path) -> None:
    with pytest.raises(FlowError, match="found more"):
        await database.read(f"{LONG} SELECT i FROM n")
    rows = await database.read(f"{LONG} SELECT i FROM n LIMIT {MOST_ROWS}")
    assert len(rows) == MOST_ROWS


@with_database
async def test_prepare_tells_what_is_wrong_and_runs_nothing(database: Sqlite, path: Path) -> None:
    await database.prepare("INSERT INTO counts VALUES (?)")
    await database.prepare("SELECT n FROM counts WHERE n = :n ORDER BY n COLLATE bbops_decimal")
    await database.prepare("SELECT bbops_lower('x'), ?1, ?2")
    for sql, words in (
        ("SELECT m FROM counts", "no such column: m"),
        ("SELECT n FROM", "incomplete input"),
        ("DETACH x", "DETACH"),
    ):
        with pytest.raises(DatabaseError, match=words):
            await database.prepare(sql)
    assert await database.read("SELECT * FROM counts") == []


@with_database
async def test_a_schema_change_of_another_process_is_seen(database: Sqlite, path: Path) -> None:
    assert await database.read("SELECT * FROM counts") == []
    more = {"columns": {"n": {"type": "integer"}, "m": {"type": "integer", "default": 5}}}
    await asyncio.to_thread(migrate.apply, path, {**TABLES, "counts": Table.model_validate(more)})
    await database.write("INSERT INTO counts (n) VALUES (1)")
    assert await database.read("SELECT * FROM counts") == [(1, 5)]


@with_database
async def test_functions_know_unicode_and_decimals_their_order(
    database: Sqlite, path: Path
) -> None:
    sql = "SELECT bbops_lower('ÄB'), bbops_upper('äß'), bbops_trim('\u2003x\n'), bbops_lower(NULL)"
    assert await database.read(sql) == [("äb", "ÄSS", "x", None)]
    sql = (
        "SELECT column1 FROM (VALUES ('10'), ('9.50'), ('-1'), ('x'), ('1e1'))"
        " ORDER BY column1 COLLATE bbops_decimal, column1"
    )
    assert [row[0] for row in await database.read(sql)] == ["-1", "9.50", "10", "1e1", "x"]


@given(st.lists(st.one_of(st.decimals().map(str), st.text()), min_size=3, max_size=3))
def test_decimals_are_ordered_totally(texts: list[str]) -> None:
    one, two, three = texts
    assert compare_decimals(one, two) == -compare_decimals(two, one)
    if compare_decimals(one, two) <= 0 and compare_decimals(two, three) <= 0:
        assert compare_decimals(one, three) <= 0


def test_close_finishes_what_was_asked_for(path: Path) -> None:
    async def main() -> None:
        database = await Sqlite.open(path, durability="full")
        writes = [
            asyncio.create_task(database.write("INSERT INTO counts VALUES (?)", (n,)))
            for n in range(50)
        ]
        await asyncio.sleep(0)
        await database.close()
        await asyncio.gather(*writes)
        await database.close()
        with pytest.raises(DatabaseError, match="closed"):
            await database.read("SELECT 1")

    asyncio.run(main())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM counts").fetchall() == [(50,)]
    assert not Path(f"{path}-wal").exists(), "the last one out empties the log"
    assert is_free(path)


def test_a_long_log_is_moved_into_the_database(path: Path) -> None:
    async def main() -> None:
        async with opened(path) as database:
            await database.write(f"{LONG} INSERT INTO counts SELECT i FROM n")
            log = Path(f"{path}-wal")
            async with asyncio.timeout(20):
                while log.stat().st_size > 4 << 20:
                    await settle()
            assert await database.read("SELECT count(*) FROM counts") == [(400_000,)]

    asyncio.run(main())


def test_a_file_that_is_no_database_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "d").write_bytes(b"no database " * 1000)
    with pytest.raises(DatabaseError, match="file is not a database"):
        asyncio.run(Sqlite.open(tmp_path / "d"))
    with pytest.raises(DatabaseError, match="must exist and be writable"):
        asyncio.run(Sqlite.open(tmp_path / "none" / "d"))


def test_an_old_sqlite_is_refused_with_the_cure() -> None:
    with pytest.raises(DatabaseError, match=r"(?s)3\.37\.2 is too old, expected 3\.38.*hint"):
        check_version((3, 37, 2))
