"""Rules join tables of PostgreSQL while others write; rows that break one are found anyway."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any

import psycopg
import pytest

from bbops.base.errors import DatabaseError, MigrationRefused
from bbops.database.migrate import migrate, rollout
from bbops.database.schema.place import PostgresPlace
from tests.support.changing import SPEC, both, changed, people, to
from tests.support.changing_postgres import place, query
from tests.support.migrating import declare

__all__ = ["place"]

RULES = changed(both(people("age", maximum=99), people("lead_id", references="people.id")))
UNPROVEN = (
    "SELECT conname FROM pg_constraint WHERE NOT convalidated"
    " AND connamespace = current_schema()::regnamespace"
)


def when(
    place: PostgresPlace, statement: str, then: str, moment: str = "start", tag: str = "ALTER TABLE"
) -> None:
    """Do something whenever somebody runs a statement of this tag that has these words."""
    name = f"{place.schema}_{moment}"
    query(
        place,
        f"CREATE FUNCTION {name}() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF current_schema() = '{place.schema}' AND current_query() LIKE '%{statement}%'"
        f" THEN {then}; END IF; END $$",
        f"CREATE EVENT TRIGGER {name} ON ddl_command_{moment} WHEN TAG IN ('{tag}')"
        f" EXECUTE FUNCTION {name}()",
    )


def end(place: PostgresPlace, moment: str = "start") -> None:
    query(place, f"DROP FUNCTION {place.schema}_{moment} CASCADE")


def test_who_writes_does_not_wait_while_rows_are_read_for_a_rule(place: PostgresPlace) -> None:
    when(place, "VALIDATE", "PERFORM pg_advisory_xact_lock(77)", "end")
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    held = "SELECT mode FROM pg_locks WHERE relation = 'people'::regclass AND mode LIKE 'Share%Ex%'"
    with psycopg.connect(place.address, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(77)")
        migrating = threading.Thread(target=migrate.apply, args=(place, RULES))
        migrating.start()
        while not _one(other, f"{waits} AND objid = 77"):
            assert migrating.is_alive()
        other.execute("SET lock_timeout = '5s'")
        assert other.execute("UPDATE people SET age = 50 WHERE id = 1").rowcount == 1
        with pytest.raises(psycopg.errors.CheckViolation):
            other.execute("UPDATE people SET age = 100 WHERE id = 2")
        assert _one(other, held) == "ShareUpdateExclusiveLock", "it was under way all the while"
        other.execute("SELECT pg_advisory_unlock(77)")
        migrating.join(60)
    end(place, "end")
    assert query(place, UNPROVEN) == []


def test_null_is_forbidden_without_reading_the_table_under_its_lock(place: PostgresPlace) -> None:
    query(place, "UPDATE people SET age = 1, nick = 'n'")
    seen = (
        "INSERT INTO _seen SELECT convalidated FROM pg_constraint WHERE conname = '_bbops_filled'"
    )
    query(place, "CREATE TABLE _seen (is_proven boolean)")
    when(place, "SET NOT NULL", seen)
    migrate.apply(place, changed(both(people("age", nullable=None), people("nick", nullable=None))))
    end(place)
    assert query(place, "SELECT * FROM _seen") == [(True,), (True,)]
    assert query(place, "SELECT 1 FROM pg_constraint WHERE conname = '_bbops_filled'") == []


@pytest.mark.parametrize("wanted", [RULES, changed(people("nick", nullable=None))])
def test_what_a_crash_kept_from_being_looked_at_is_looked_at_next(
    place: PostgresPlace, wanted: Any
) -> None:
    query(place, "UPDATE people SET nick = 'n'")
    when(place, "VALIDATE", "PERFORM pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(DatabaseError):
        migrate.apply(place, wanted)
    end(place)
    assert query(place, UNPROVEN) != []
    migrate.apply(place, wanted)
    assert query(place, UNPROVEN) == []
    assert query(place, "SELECT 1 FROM pg_constraint WHERE conname = '_bbops_filled'") == []


def test_a_rule_is_taken_back_that_a_row_breaks_which_came_between(place: PostgresPlace) -> None:
    when(
        place,
        'ADD CONSTRAINT "ck_people_age',
        "UPDATE people SET age = 100, lead_id = 9 WHERE id < 3",
    )
    with pytest.raises(MigrationRefused) as caught:
        migrate.apply(place, RULES)
    end(place)
    assert "the rules of column 'people.age' (2 rows violate the new rule)" in caught.value.message
    assert "of column 'people.lead_id' (2 rows refer to nothing)" in caught.value.message
    assert query(place, UNPROVEN) == []
    with pytest.raises(MigrationRefused, match="2 rows violate the new rule: id 1, 2"):
        migrate.apply(place, RULES)
    query(place, "UPDATE people SET age = 50, lead_id = 1")
    migrate.apply(place, RULES)
    with pytest.raises(psycopg.errors.CheckViolation):
        query(place, "UPDATE people SET age = 100")


def test_a_null_that_came_between_is_told(place: PostgresPlace) -> None:
    query(place, "UPDATE people SET nick = 'n'")
    when(place, 'ADD CONSTRAINT "_bbops_filled', "UPDATE people SET nick = NULL WHERE id = 2")
    with pytest.raises(MigrationRefused, match="1 row of 'people' with null in 'nick'"):
        migrate.apply(place, changed(people("nick", nullable=None)))
    end(place)


def test_a_live_release_serves_on_without_a_rule_that_rows_break(place: PostgresPlace) -> None:
    rollout.expand(place, RULES)
    rollout.settle(place, "a release")
    when(place, 'ADD CONSTRAINT "ck_people_age', "UPDATE people SET age = 100 WHERE id = 2")
    with pytest.raises(
        MigrationRefused, match="written in the meantime violate constraints of the live release"
    ):
        rollout.narrow(place)
    end(place)
    assert rollout.plan(place, RULES).is_behind
    with pytest.raises(MigrationRefused, match="1 row violates the new rule: id 2"):
        rollout.narrow(place)
    query(place, "UPDATE people SET age = 50 WHERE id = 2")
    rollout.narrow(place)
    assert rollout.plan(place, RULES).is_done
    assert not rollout.plan(place, RULES).is_behind


def test_a_switch_leaves_the_look_at_rows_until_requests_are_answered(place: PostgresPlace) -> None:
    wanted = changed(to("lead_id", "string", maxLength=5))
    rollout.expand(place, wanted)
    rollout.switch(place, "a release", until=monotonic() + 60)
    assert len(query(place, UNPROVEN)) == 1
    rollout.narrow(place)
    assert query(place, UNPROVEN) == []


def test_an_index_of_a_column_that_joins_is_built_beside_those_who_write(
    place: PostgresPlace,
) -> None:
    query(place, "CREATE TABLE _seen (statement text)")
    seen = "INSERT INTO _seen VALUES (current_query())"
    when(place, "by_tag", seen, "end", "CREATE INDEX")
    index = {"by_tag": {"columns": ["tag", "nick"]}}
    tag = to("tag", "string", nullable=True, unique=True)
    rollout.expand(place, changed(both(tag, lambda spec: spec["people"].update(indexes=index))))
    end(place, "end")
    assert "CONCURRENTLY" in query(place, "SELECT statement FROM _seen")[0][0]
    query(place, "UPDATE people SET tag = 'one' WHERE id = 1")
    with pytest.raises(psycopg.errors.UniqueViolation):
        query(place, "UPDATE people SET tag = 'one' WHERE id = 2")


def test_an_index_that_a_crash_left_half_built_goes(place: PostgresPlace) -> None:
    query(place, "UPDATE people SET word = 'same'")
    with pytest.raises(psycopg.errors.UniqueViolation):
        query(place, "CREATE UNIQUE INDEX CONCURRENTLY uq_people_word ON people (word)")
    half = "SELECT 1 FROM pg_index WHERE NOT indisvalid AND indrelid = 'people'::regclass"
    assert query(place, half) == [(1,)]
    migrate.apply(place, declare(SPEC))
    assert query(place, half) == []


def _one(connection: psycopg.Connection[Any], sql: str) -> Any:
    row = connection.execute(sql.encode()).fetchone()
    return row and row[0]
