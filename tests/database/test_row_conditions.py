"""What `where` of a trigger lets through in SQL, and what it does in Python, is the same."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bbops.compiler.compile.release import build
from bbops.compiler.compile.row_events import find_row_events
from bbops.compiler.testing.host import fake_host
from bbops.database.migrate import rollout
from bbops.database.open import Opened, open_database
from bbops.database.schema.place import Place
from bbops.database.schema.row_events import (
    Condition,
    Listening,
    RowEvents,
    read_listening,
    write_listening,
)
from bbops.database.sqlite.tables import SqliteTables
from bbops.runtime.linking.release import link
from bbops.runtime.linking.work import Work, link_work
from bbops.runtime.work.values import ProjectEvent
from bbops.source.tree import MemoryTree
from tests.support.postgres import SLOW_DATABASES, place_of

TABLE = """
columns:
  id: { type: integer, primaryKey: true }
  title: { type: string }
  note: { type: text, nullable: true }
  k: { type: integer }
  n: { type: bigint, nullable: true }
  x: { type: number }
  y: { type: number, nullable: true }
  on: { type: boolean }
  price: { type: decimal }
"""
EXACT = (
    "title == 'a'", "title != 'ä'", "note == null", "note != null", "note != 'b'",
    "note == title", "note != null and note != title", "k > 3", "k >= -1 and k < 10", "k == n",
    "n != null and n <= 5", "n == null or n > 2", "x < 0.5", "x != 1", "y == x",
    "y != null and y > x",
    "on", "not on", "on == false", "title in ['a', 'ä', '']", "note in ['b', null]",
    "title not in ['a', '\\'']", "k in [1, 2, -3]", "title > 'B'", "title <= 'é'",
    "title | startsWith('a')", "title | contains('\\'')", "title | endsWith('é')",
    "k == 5 or on", "not (k == 5 or title == 'a')", "on and (k > 0 or note == null)",
    "title | contains('')", "title == 'C:\\\\temp'", "k == 0.5", "x >= 9007199254740992",
)  # fmt: skip
OF_ROWS = (
    "oldRow == null or oldRow.k != k", "oldRow != null and oldRow.title != title",
    "newRow.note == null", "oldRow == null", "not (oldRow == null)",
    "newRow.title == 'a' or (oldRow != null and oldRow.on)",
)  # fmt: skip
WEAK = (
    "(title | lower) == 'a' and k > 3", "(title | lower) == 'a' or k > 3", "k + 1 > 3",
    "price > 5", "(title | length) > 1 and on", "10 / k > 1", "title == '$bbops$'",
    "(note | default('')) == 'b' and not on", "x == 9007199254740993", "k == x",
)  # fmt: skip
"""Not in SQL, or a part of them: more may come through."""

SOME = [
    "a",
    "A",
    "ä",
    "Ä",
    "é",
    "e\u0301",
    "",
    "'",
    "B",
    "b",
    "$bbops$",
    "a'é",
    "C:\\temp",
    "\U0001f600",
]
NUMBERS = st.sampled_from([0.0, -0.0, 0.5, 1.0, -1.5, 2.0**53, 1e300, 5e-324])


def names() -> dict[str, str]:
    return {f"t{at}": where for at, where in enumerate((*EXACT, *OF_ROWS, *WEAK))}


def files() -> dict[str, str]:
    found = {
        "project.yaml": "bbops: 1\nname: rows\n", "tables/every.yaml": TABLE,
        "functions/note.yaml": "steps:\n  - log: { message: '${ trigger }' }\n",
        "triggers/every.yaml": "database: { table: every, operation: [insert, update, delete] }\n"
        "function: note\n",
    }  # fmt: skip
    for name, where in names().items():
        of = "[insert, update]" if where in OF_ROWS else "[insert, update, delete]"
        found[f"tables/{name}.yaml"] = TABLE
        found[f"triggers/{name}.yaml"] = (
            f"database:\n  table: {name}\n  operation: {of}\n  where: {json.dumps(where)}\n"
            "function: note\n"
        )
    return found


class Rows:
    """A database of tables whose triggers have a condition each, and one without."""

    def __init__(self, place: Place) -> None:
        self.is_sqlite = isinstance(place, Path)
        built = build(MemoryTree(files()), database="sqlite" if self.is_sqlite else "postgres")
        assert built.project is not None, [str(one) for one in built.diagnostics]
        self.runner = asyncio.Runner()
        self.events = find_row_events(built.project)
        tables = {name: one.model for name, one in built.project.tables.items()}
        hashes = {rollout.plan(place, tables).migration.hash}
        rollout.expand(place, tables, hashes, row_events=self.events, release="one")
        rollout.settle(place, "one")
        self.database: Opened = self.runner.run(open_database(place))
        host = fake_host(self.database)
        self.work: Work = link_work(
            built.artifact, link(built.artifact, name="a", host=host, env={})
        )

    def close(self) -> None:
        self.runner.run(self.database.close())
        self.runner.close()

    def told(self, *statements: tuple[str, Sequence[Any]]) -> list[dict[str, str]]:
        """Run each statement on every table; return what is told of each, by table."""
        return [self.runner.run(self._told(sql, given)) for sql, given in statements]

    async def _told(self, sql: str, given: Sequence[Any]) -> dict[str, str]:
        tables = ["every", *names()]
        await self.database.write_all([(sql.format(f'"{one}"'), given) for one in tables])
        rows = await self.database.read("SELECT name, payload FROM _bbops_outbox")
        await self.database.change("DELETE FROM _bbops_outbox WHERE true")
        return {name.partition(":")[0]: payload for name, payload in rows}

    def is_wanted(self, table: str, operation: str, payload: str) -> bool:
        """Return whether the pump makes a job of a change."""
        return bool(self.work.plan.route(ProjectEvent(1, f"{table}:{operation}", payload, 0)))

    def row(self, drawn: Mapping[str, Any]) -> list[Any]:
        given = dict(drawn)
        if self.is_sqlite:
            given |= {"on": int(given["on"]), "price": str(given["price"])}
        return [1, *(given[one] for one in COLUMNS[1:])]


@pytest.fixture(scope="module", params=SLOW_DATABASES)
def rows(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rows]:
    with place_of(request, tmp_path_factory.mktemp("rows") / "data.sqlite") as place:
        found = Rows(place)
        yield found
        found.close()


def texts(*, zero: bool) -> st.SearchStrategy[str]:
    odd = st.characters(exclude_categories=["Cs"], exclude_characters="" if zero else "\0")
    return st.sampled_from(SOME) | st.text(odd, max_size=4)


def drawn(*, zero: bool) -> st.SearchStrategy[dict[str, Any]]:
    small, text = st.integers(-4, 12), texts(zero=zero)
    return st.fixed_dictionaries({
        "title": text, "note": st.none() | text, "k": small | st.integers(-(2**31), 2**31 - 1),
        "n": st.none() | small | st.integers(-(2**63), 2**63 - 1),
        "x": NUMBERS | st.floats(allow_nan=False, allow_infinity=False),
        "y": st.none() | NUMBERS, "on": st.booleans(),
        "price": st.sampled_from([Decimal("4.99"), Decimal(5), Decimal("5.000001")]),
    })  # fmt: skip


COLUMNS = ("id", "title", "note", "k", "n", "x", "y", "on", "price")
QUOTED = [f'"{one}"' for one in COLUMNS]
INSERT = f"INSERT INTO {{}} ({', '.join(QUOTED)}) VALUES ({', '.join('?' * len(QUOTED))})"
UPDATE = f"UPDATE {{}} SET {', '.join(f'{one} = ?' for one in QUOTED[1:])} WHERE id = 1"
DELETE = "DELETE FROM {} WHERE id = 1"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_change_is_reported_where_its_trigger_wants_it(rows: Rows, data: st.DataObject) -> None:
    before, after = (rows.row(data.draw(drawn(zero=rows.is_sqlite))) for _ in range(2))
    rows.told((DELETE, []))
    found = rows.told((INSERT, before), (UPDATE, after[1:]), (DELETE, []))
    for operation, told in zip(("insert", "update", "delete"), found, strict=True):
        for table, where in names().items():
            if where in OF_ROWS and operation == "delete":
                continue
            wanted = rows.is_wanted(table, operation, told["every"])
            shown = f"{where!r} at {operation} of {told['every']}"
            assert wanted <= (table in told), f"lost: {shown}"
            assert where in WEAK or wanted == (table in told), f"reported for nothing: {shown}"


def test_a_condition_that_has_no_sql_reports_every_change(rows: Rows) -> None:
    asked = {where: rows.events[name].conditions for name, where in names().items()}
    assert all(asked[where] for where in (*EXACT, *OF_ROWS) if where != "oldRow == null")
    assert asked["(title | lower) == 'a' or k > 3"] == asked["k + 1 > 3"] == {}
    assert "lower" not in str(asked["(title | lower) == 'a' and k > 3"])


def test_several_triggers_of_a_table_share_its_reports(rows: Rows) -> None:
    one, two, bare = rows.events["t0"], rows.events["t7"], rows.events["every"]
    both = (one | two).conditions["insert"]
    assert both.sqlite == (
        f"({one.conditions['insert'].sqlite}) OR ({two.conditions['insert'].sqlite})"
    )
    assert both.reads == (("k", "integer"), ("title", "text"))
    assert (one | one) == one
    assert (one | bare).conditions == {}
    alone = RowEvents.of(["update"], ["k"])
    assert (one | alone).conditions.keys() == {"insert", "delete"}
    written = write_listening(Listening({"t": one | two}, {"t": bare}, "r"))
    assert read_listening(written) == Listening({"t": one | two}, {"t": bare}, "r")
    assert read_listening('[{"t": [["insert"], ["k"]]}, null, ""]').live["t"].conditions == {}


@pytest.mark.parametrize(("column", "is_asked"), [("k INTEGER", True), ("k TEXT", False)])
def test_a_column_that_has_another_type_by_now_is_not_asked(
    tmp_path: Path, column: str, is_asked: bool
) -> None:
    asked = Condition('(NEW."k" > 3) IS TRUE', "true", (("k", "integer"),))
    wanted = {"t": RowEvents.of(["insert"], ["k"], {"insert": asked})}
    with closing(sqlite3.connect(tmp_path / "data.sqlite")) as live:
        tables = SqliteTables(live)
        tables.make_own_tables()
        live.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {column})")
        tables.report_changes(wanted)
        live.execute("INSERT INTO t (k) VALUES (2), (4)")
        assert live.execute("SELECT count(*) FROM _bbops_outbox").fetchone() == (2 - is_asked,)
