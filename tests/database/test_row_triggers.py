"""What a database says of changed rows: whoever changes them, of all types, and of no migration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from bbops.database.migrate import rollout
from bbops.database.migrate.drift import find_drift
from bbops.database.migrate.migrate import apply, insert_seed
from bbops.database.open import Opened, open_database
from bbops.database.schema.place import Place
from bbops.database.schema.row_events import RowEvents
from bbops.language.sql.dialect import Dialect
from bbops.language.sql.postgres import POSTGRES
from bbops.language.sql.sqlite import SQLITE
from bbops.runtime.data import postgres_rows, rows
from bbops.runtime.linking.functions import resolve
from bbops.runtime.work.rows import ReadRows, rows_payload
from tests.support.migrating import declare
from tests.support.postgres import DATABASES, place_of

TICKETS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string, maxLength: 100 }
  team: { type: string, maxLength: 20, nullable: true }
"""
TYPES = {
    "a_string": "string", "a_text": "text", "an_integer": "integer", "a_bigint": "bigint",
    "a_number": "number", "a_decimal": "decimal", "a_boolean": "boolean", "a_uuid": "uuid",
    "a_date": "date", "a_time": "time", "a_datetime": "datetime", "a_json": "json",
    "a_binary": "binary",
}  # fmt: skip
EVERY = RowEvents.of(("insert", "update", "delete"), ("id", "title", "team"))

Told = tuple[str, Any, Any]


@dataclass(frozen=True, slots=True)
class Tables:
    """A database that is told how to tell; `run` does asynchronous work on it."""

    place: Place
    dialect: Dialect

    def publish(
        self, tables: Mapping[str, str], events: Mapping[str, RowEvents], release: str = "r1",
        *, ends: bool = True,
    ) -> None:  # fmt: skip
        """Publish tables, with what its triggers wait for; without `ends` two releases serve."""
        wanted = declare(_read(tables))
        planned = rollout.plan(self.place, wanted)
        rollout.expand(
            self.place, wanted, {planned.migration.hash}, row_events=events, release=release
        )
        if planned.phases.switches:
            rollout.switch(self.place, release, until=monotonic() + 60)
        else:
            rollout.settle(self.place, release)
        if ends:
            rollout.narrow(self.place, release)

    def run(self, work: Callable[[Opened], Coroutine[Any, Any, Any]]) -> Any:
        async def on_it() -> Any:
            database = await open_database(self.place)
            try:
                return await work(database)
            finally:
                await database.close()

        return asyncio.run(on_it())

    def write(self, *statements: str) -> None:
        async def work(database: Opened) -> None:
            for sql in statements:
                await database.write(sql)

        self.run(work)

    def told(self, types: Mapping[str, str] | None = None) -> list[Told]:
        """Return what is in the outbox, and empty it: the name, the new row and the old one."""
        kinds = types or {"id": "integer", "title": "string", "team": "string"}
        decoders = self.dialect.json_decoders
        read = ReadRows({
            name: resolve(f"{self.dialect.rows}:{decoders[of]}") if of in decoders else None
            for name, of in kinds.items()
        })  # fmt: skip

        async def work(database: Opened) -> list[Told]:
            rows = await database.read("SELECT name, payload FROM _bbops_outbox ORDER BY id")
            await database.write("DELETE FROM _bbops_outbox")
            found = [(name, read(rows_payload(payload))) for name, payload in rows]
            return [(name, rows["newRow"], rows["oldRow"]) for name, rows in found]

        told: list[Told] = self.run(work)
        return told


def _read(tables: Mapping[str, str]) -> dict[str, Any]:
    return {name: YAML(typ="safe").load(text) for name, text in tables.items()}


@pytest.fixture(params=DATABASES)
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tables]:
    with place_of(request, tmp_path) as found:
        place = found / "data.sqlite" if isinstance(found, Path) else found
        yield Tables(place, SQLITE if isinstance(place, Path) else POSTGRES)


def row(number: int, title: str, team: str | None = None) -> dict[str, Any]:
    return {"id": number, "title": title, "team": team}


def test_inserts_updates_and_deletes_are_told_whoever_makes_them(tables: Tables) -> None:
    tables.publish({"tickets": TICKETS}, {"tickets": EVERY})
    tables.write(
        "INSERT INTO tickets (title, team) VALUES ('a', 'x'), ('b', NULL)",
        "UPDATE tickets SET title = 'c' WHERE id = 2",
        "DELETE FROM tickets WHERE id = 1",
        "UPDATE tickets SET title = 'nobody' WHERE id = 99",
    )
    assert tables.told() == [
        ("tickets:insert", row(1, "a", "x"), None),
        ("tickets:insert", row(2, "b"), None),
        ("tickets:update", row(2, "c"), row(2, "b")),
        ("tickets:delete", None, row(1, "a", "x")),
    ]


def test_only_what_somebody_waits_for_is_told_and_only_the_columns_that_are_read(
    tables: Tables,
) -> None:
    tables.publish({"tickets": TICKETS}, {"tickets": RowEvents.of(("update",), ("title",))})
    tables.write("INSERT INTO tickets (title) VALUES ('a')", "UPDATE tickets SET title = 'b'")
    ((name, new, old),) = tables.told()
    assert (name, new["title"], old["title"], new["id"]) == ("tickets:update", "b", "a", None)


def test_what_is_undone_is_not_told(tables: Tables) -> None:
    tables.publish({"tickets": TICKETS}, {"tickets": EVERY})

    async def work(database: Opened) -> None:
        async with database.transaction() as inner:
            await inner.write("INSERT INTO tickets (title) VALUES ('a')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tables.run(work)
    assert tables.told() == []


def test_rows_that_go_with_others_are_told(tables: Tables) -> None:
    notes = (
        "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
        "  ticket: { type: integer, references: tickets.id, onDelete: cascade }\n"
    )
    wanted = {"notes": RowEvents.of(("delete",), ("id", "ticket"))}
    tables.publish({"tickets": TICKETS, "notes": notes}, wanted)
    tables.write(
        "INSERT INTO tickets (title) VALUES ('a')", "INSERT INTO notes (ticket) VALUES (1), (1)",
        "DELETE FROM tickets",
    )  # fmt: skip
    told = tables.told({"id": "integer", "ticket": "integer"})
    assert sorted((name, old["id"]) for name, _, old in told) == [
        ("notes:delete", 1), ("notes:delete", 2),
    ]  # fmt: skip


def test_an_author_s_own_statement_fires_and_reaches_no_table_of_ours(tables: Tables) -> None:
    tables.publish({"tickets": TICKETS}, {"tickets": EVERY})

    async def work(database: Opened) -> None:
        await database.rows("INSERT INTO tickets (title) VALUES ('own')", writes=True)

    tables.run(work)
    assert [name for name, *_ in tables.told()] == ["tickets:insert"]


def test_migrations_seeds_and_copies_are_told_to_nobody(tables: Tables) -> None:
    tables.publish({"tickets": TICKETS}, {"tickets": EVERY})
    tables.write("INSERT INTO tickets (title) VALUES ('1'), ('2')")
    tables.told()
    seeded = TICKETS + "seed:\n  - { id: 9, title: seeded }\n"
    tables.publish({"tickets": seeded}, {"tickets": EVERY}, "r2")
    grown = seeded.replace("team: {", "more: { type: string, default: x }\n  team: {")
    tables.publish({"tickets": grown}, {"tickets": EVERY}, "r3")
    turned = grown.replace("title: { type: string, maxLength: 100 }", "title: { type: text }")
    tables.publish({"tickets": turned}, {"tickets": EVERY}, "r4")
    tables.write("DELETE FROM tickets WHERE id = 9")
    assert [name for name, *_ in tables.told()] == ["tickets:delete"]
    assert insert_seed(tables.place)["tickets"] == 1
    assert tables.told() == []
    tables.write("UPDATE tickets SET title = 'x' WHERE id = 9")
    assert [name for name, *_ in tables.told()] == ["tickets:update"]


def test_while_two_releases_serve_both_hear_what_they_wait_for(tables: Tables) -> None:
    first = {"tickets": RowEvents.of(("insert",), ("title",))}
    second = {"tickets": RowEvents.of(("delete",), ("title",))}
    tables.publish({"tickets": TICKETS}, first, "r1")
    tables.publish({"tickets": TICKETS}, second, "r2", ends=False)
    write = ("INSERT INTO tickets (title) VALUES ('a')", "DELETE FROM tickets")
    tables.write(*write)
    assert [name for name, *_ in tables.told()] == ["tickets:insert", "tickets:delete"]
    rollout.narrow(tables.place, "another")  # not the release that waits for it
    tables.write(*write)
    assert len(tables.told()) == 2
    rollout.narrow(tables.place, "r2")
    tables.write(*write)
    assert [name for name, *_ in tables.told()] == ["tickets:delete"]
    tables.publish({"tickets": TICKETS}, {}, "r3")
    tables.write(*write)
    assert tables.told() == []


def test_a_table_and_a_column_are_told_by_their_new_names_once_they_have_them(
    tables: Tables,
) -> None:
    tables.publish({"tickets": TICKETS}, {"tickets": EVERY})
    issues = "renamedFrom: tickets\n" + TICKETS.replace("title: {", "name: { renamedFrom: title,")
    wanted = RowEvents.of(("insert",), ("id", "name"))
    tables.publish({"issues": issues}, {"issues": wanted}, "r2")
    tables.write("INSERT INTO issues (name) VALUES ('a')", "DELETE FROM issues")
    ((event, new, _),) = tables.told({"id": "integer", "name": "string"})
    assert (event, new["name"]) == ("issues:insert", "a")


def test_a_row_whose_key_changes_is_told(tables: Tables) -> None:
    tables.publish({"tickets": TICKETS}, {"tickets": EVERY})
    tables.write("INSERT INTO tickets (id, title) VALUES (1, 'a')")
    tables.told()
    tables.write("UPDATE tickets SET id = 2")
    told = tables.told()
    if tables.dialect is SQLITE:
        assert told == [("tickets:update", row(2, "a"), row(1, "a"))]
    else:
        assert sorted(told, key=str) == [
            ("tickets:delete", None, row(1, "a")), ("tickets:insert", row(2, "a"), None),
        ]  # fmt: skip


def test_a_table_of_many_columns_is_told_whole(tables: Tables) -> None:
    names = [f"c{number}" for number in range(120)]
    many = "columns:\n  id: { type: integer, primaryKey: true }\n" + "".join(
        f"  {name}: {{ type: integer, default: 7 }}\n" for name in names
    )
    tables.publish({"many": many}, {"many": RowEvents.of(("insert",), names)})
    tables.write("INSERT INTO many (id) VALUES (1)")
    ((_, new, _),) = tables.told(dict.fromkeys(names, "integer"))
    assert new == dict.fromkeys(names, 7)


def test_drift_and_adoption_do_not_take_them_for_somebody_else_s(tables: Tables) -> None:
    tables.publish({"tickets": TICKETS}, {"tickets": EVERY})
    assert find_drift(tables.place).found == ()
    assert find_drift(tables.place).remarks == ()


def test_a_database_of_an_older_version_gets_what_it_lacks(tables: Tables) -> None:
    apply(tables.place, declare(_read({"tickets": TICKETS})))
    tables.write("DELETE FROM _bbops_cause")
    tables.publish({"tickets": TICKETS}, {"tickets": EVERY})
    tables.write("INSERT INTO tickets (title) VALUES ('a')")
    assert len(tables.told()) == 1


VALUES = st.fixed_dictionaries({
    "a_string": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
    "a_number": st.floats(-1e100, 1e100),  # beyond, SQLite's own may lose the last of 17 digits
    "a_bigint": st.integers(-(2**63), 2**63 - 1),
    "a_decimal": st.decimals(allow_nan=False, allow_infinity=False, places=4,
                             min_value=-10**12, max_value=10**12),
    "a_binary": st.binary(max_size=20),
    "a_boolean": st.booleans(),
    "a_date": st.dates(date(1000, 1, 1)),
    "a_datetime": st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1),  # noqa: DTZ001
                               timezones=st.just(UTC)),
})  # fmt: skip


@pytest.mark.parametrize("tables", DATABASES, indirect=True)
def test_values_of_every_type_come_back_as_they_went_in(tables: Tables) -> None:
    columns = "".join(f"  {name}: {{ type: {of}, nullable: true }}\n" for name, of in TYPES.items())
    every = f"columns:\n  id: {{ type: integer, primaryKey: true, auto: increment }}\n{columns}"
    tables.publish({"every": every}, {"every": RowEvents.of(("insert",), TYPES)})
    encoders = rows.ENCODERS if tables.dialect is SQLITE else postgres_rows.ENCODERS

    def insert(values: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        async def work(database: Opened) -> None:
            for one in values:
                marks = ", ".join("?" * len(one))
                sql = f"INSERT INTO every ({', '.join(one)}) VALUES ({marks})"
                await database.write(sql, [encoders[TYPES[k]](v, k) for k, v in one.items()])

        tables.run(work)
        return [new for _, new, _ in tables.told(TYPES)]

    fixed = {
        "a_text": "é\"'\\\n", "an_integer": 7, "a_uuid": "0b8f6c1e-7a44-4f41-9d8e-2f2d0b6c1a11",
        "a_time": "10:30:00", "a_json": {"a": [1, None, "x"]}, "a_string": "1",
    }  # fmt: skip
    (told,) = insert([fixed])
    assert {key: told[key] for key in fixed} == fixed
    assert {told[key] for key in TYPES if key not in fixed} == {None}

    @settings(max_examples=12)
    @given(st.lists(VALUES, min_size=1, max_size=12))
    def each(values: list[dict[str, Any]]) -> None:
        for put, told in zip(values, insert(values), strict=True):
            got = {key: told[key] for key in put}
            assert got == {**put, "a_decimal": Decimal(put["a_decimal"])}
            assert got["a_datetime"].utcoffset() == put["a_datetime"].utcoffset()

    each()
