"""Times of day and UUIDs have one form on each database, regardless of their source."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import fake_host
from bbops.runtime.linking.release import link
from bbops.runtime.linking.work import link_work
from bbops.runtime.realtime.linking import link_topics
from bbops.runtime.work.rows import row_event
from bbops.runtime.work.values import ProjectEvent
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, with_function
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

SLOTS = """
columns:
  id: { type: uuid, primaryKey: true, auto: uuid }
  opens: { type: time }
  closes: { type: time, nullable: true, unique: true }
  day: { type: date, nullable: true }
  kind: { type: time, nullable: true, enum: ['08:30', '09:00'] }
checks:
  early: opens < '22:00'
"""
ID = "0a0a0a0a-0000-4000-8000-00000000000b"
ROW = f"{{ id: {ID}, opens: '08:30', closes: '17:00:00.50', day: '2026-03-05' }}"


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with place_of(request, tmp_path) as place, Bench(place, {"tables/slots.yaml": SLOTS}) as found:
        add = f"steps:\n  - insert: {{ table: slots, data: {ROW} }}\n"
        found.run(add)
        yield found


HEAD = "input: { t: string, id: string, day: string, ids: 'string[]', any: json }\n"
FIND = """steps:
  - find: { table: slots, where: "WHERE" }
    as: rows
  - return: { value: "${ vars.rows | length }" }
"""
READ = """steps:
  - find: { table: slots, one: required }
    as: row
  - find: { table: slots }
    as: rows
  - return: { value: "${ WHERE }" }
"""
GIVEN: dict[str, Any] = {
    "t": "08:30", "id": ID.upper(), "day": "2026-03-05", "ids": [ID.upper()], "any": "08:30",
}  # fmt: skip


@pytest.mark.parametrize(
    "where",
    [
        "opens == '08:30'", "opens != '09:00' and opens <= '08:30'", "opens in ['08:30', '09:00']",
        "opens == input.t", "opens >= input.t", "opens == input.any", "opens in [input.t]",
        f"id == '{ID.upper()}'", "id == input.id", "id in input.ids", "input.id in [id]",
        "day == input.day", "closes == '17:00:00.5'",
    ],
)  # fmt: skip
def test_query_finds_a_value_in_whatever_form_it_is_written(bench: Bench, where: str) -> None:
    assert bench.run(HEAD + FIND.replace("WHERE", where), GIVEN) == 1


@pytest.mark.parametrize(
    "where",
    [
        "vars.row.opens == '08:30'", "vars.row.opens <= input.t", "input.t in [vars.row.opens]",
        "vars.row.opens == input.any", "vars.row.id == input.id", "vars.row.id in input.ids",
        "vars.rows | some(r => r.opens == input.t)",
    ],
)  # fmt: skip
def test_expression_compares_values_in_whatever_form_they_are_written(
    bench: Bench, where: str
) -> None:
    assert bench.run(HEAD + READ.replace("WHERE", where), GIVEN) is True


@pytest.mark.parametrize(
    ("where", "field"),
    [
        ("opens == input.t", "t"),
        ("opens != input.t", "t"),
        ("opens < input.t", "t"),
        ("id == input.id", "id"),
        ("id in input.ids", "ids"),
        ("opens in [input.t]", "t"),
        ("opens == input.any", "any"),
        ("day == input.day", "day"),
        ("day > input.day", "day"),
    ],
)
def test_value_of_another_type_is_rejected_with_its_field(
    bench: Bench, where: str, field: str
) -> None:
    wrong = GIVEN | {field: ["nonsense"] if field == "ids" else "nonsense"}
    reply = bench.ask(bench.client(HEAD + FIND.replace("WHERE", where)), wrong)
    assert (reply.status, [*reply.json["error"]["fields"]]) == (400, [field])
    if not where.startswith("day"):
        read = READ.replace("WHERE", f"vars.row.{where}")
        reply = bench.ask(bench.client(HEAD + read), wrong)
        assert (reply.status, [*reply.json["error"]["fields"]]) == (400, [field])


def test_constant_of_another_type_is_reported(bench: Bench) -> None:
    with pytest.raises(Exception, match=r"expected a time such as 08:30, found 'noon'"):
        bench.client(FIND.replace("WHERE", "opens == 'noon'"))


def test_computed_update_stores_the_normal_form(bench: Bench) -> None:
    function = """input: { t?: string }
steps:
  - update:
      table: slots
      where: true
      one: required
      data: { opens: "${ input.t | default(row.opens) }" }
    as: row
  - return: { value: "${ vars.row.opens }" }
"""
    assert bench.run(function, {"t": "09:15"}) == "09:15:00"
    assert bench.run(function, {}) == "09:15:00"
    assert bench.ask(bench.client(function), {"t": "nonsense"}).status == 400


def test_two_forms_of_a_unique_time_are_one_value(bench: Bench) -> None:
    add = "steps:\n  - insert: { table: slots, data: { opens: '10:00', closes: '17:00:00.5' } }\n"
    assert bench.ask(bench.client(add)).status == 409


def test_enum_and_check_of_a_column_take_the_normal_form(bench: Bench) -> None:
    data = "{ opens: '${ input.t }', kind: '08:30' }"
    add = f"{HEAD}steps:\n  - insert: {{ table: slots, data: {data} }}\n"
    assert bench.ask(bench.client(add), GIVEN).status == 200
    assert bench.ask(bench.client(add), GIVEN | {"t": "22:00"}).status == 400


def test_switch_takes_the_case_of_a_time_in_any_form(bench: Bench) -> None:
    function = """steps:
  - find: { table: slots, one: required }
    as: row
  - switch: vars.row.opens
    cases: { '08:30': [{ return: { value: yes } }] }
    else: [{ return: { value: no } }]
"""
    assert bench.run(function) == "yes"


# ---- outside of requests
CHANGED = json.dumps({
    "newRow": [{"id": ID, "opens": "08:30:00", "closes": "17:00:00.5", "day": None, "kind": None}]
})  # fmt: skip


def test_trigger_compares_times_in_any_form() -> None:
    trigger = 'database: { table: slots, operation: insert, where: "WHERE" }\nfunction: run\n'
    for where in ("newRow.opens == '08:30'", f"newRow.id == '{ID.upper()}'", "opens < '08:31'"):
        files = with_function("steps: [log: { message: a }]\n") | {
            "tables/slots.yaml": SLOTS, "triggers/opened.yaml": trigger.replace("WHERE", where),
        }  # fmt: skip
        built = build(MemoryTree(files), base=MemoryTree(files))
        host = fake_host(cast(Any, None))
        release = link(built.artifact, name="a", host=host, env=ENV)
        work = link_work(built.artifact, release)
        assert work is not None
        event = ProjectEvent(1, row_event("slots", "insert"), CHANGED, 0)
        assert len([*work.plan.route(event)]) == 1, where


@pytest.mark.parametrize("given", ["08:30", "08:30:00"])
def test_topic_of_rows_takes_a_time_in_any_form(given: str) -> None:
    topic = "topic: slots/:opens\nauthentication: None\nrows:\n  table: slots\n"
    topic += "  where: opens == params.opens\n  select: [id, opens]\n"
    files = with_function("steps: [log: { message: a }]\n") | {
        "tables/slots.yaml": SLOTS, "realtime/slots.yaml": topic,
    }  # fmt: skip
    built = build(MemoryTree(files), base=MemoryTree(files))
    release = link(built.artifact, name="a", host=fake_host(cast(Any, None)), env=ENV)
    (found,) = link_topics(built.artifact, release).on_rows(row_event("slots", "insert"))
    run = release.answering.run()
    run.auth, run.params = None, {"opens": given}
    assert found.rows is not None
    assert found.rows.key is not None
    change = found.rows.change(CHANGED)
    assert found.rows.sees(run, change) is not None
    assert found.rows.key(run) in found.rows.keys_of(change)
