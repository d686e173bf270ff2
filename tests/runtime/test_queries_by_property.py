"""Queries against an oracle: conditions, every type of column, texts that try to be SQL."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.oracle import GIVEN, Part, conditions
from tests.support.postgres import SLOW_DATABASES, place_of
from tests.support.queries_by_property import ALL, SLOW, VALUES
from tests.support.workbench import Bench

CELLS = """
columns:
  id: { type: integer, primaryKey: true }
  i: { type: integer, nullable: true }
  n: { type: number, nullable: true }
  s: { type: string, nullable: true }
  b: { type: boolean, nullable: true }
"""
ROWS = [
    {"id": at, "i": i, "n": n, "s": s, "b": b}
    for at, (i, n, s, b) in enumerate([
        (None, None, None, None), (0, 0.0, "", False), (1, 1.5, "a", True),
        (-3, -2.25, "A b", True), (7, 0.5, " ß ", False), (2, None, "éa", None),
        (None, 3.0, "a'%_\\\"", True),
        (1000, 1e6, "日本", None), (-1, -0.5, "aaa", False), (5, 7.0, None, True),
    ])
]  # fmt: skip


@pytest.fixture(scope="module", params=SLOW_DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    files = {"tables/cells.yaml": CELLS, "tables/all.yaml": ALL}
    with place_of(request, tmp_path_factory.mktemp("bench")) as place, Bench(place, files) as found:
        for row in ROWS:
            values = [row["id"], row["i"], row["n"], row["s"], row["b"]]
            found.sql("INSERT INTO cells VALUES (?, ?, ?, ?, ?) RETURNING 1", *values)
        yield found


@pytest.mark.long
@SLOW
@given(where=conditions(3))
def test_a_condition_finds_the_rows_for_which_it_holds(where: Part, bench: Bench) -> None:
    function = (
        "input: { x: integer, t: string, f: boolean, nothing?: integer? }\nsteps:\n  - find:\n"
        f"      table: cells\n      where: >-\n        {where.text}\n      select: [id]\n"
        "    as: x\n  - return:\n      value: ${ vars.x | pluck('id') }\n"
    )
    expected = [row["id"] for row in ROWS if where.value(row)]
    assert bench.run(function, GIVEN) == expected


CONSTANTS = {"input.x": "2", "input.t": "'a'", "input.f": "true"}


@pytest.mark.long
@settings(SLOW, max_examples=25)
@given(where=conditions(2))
def test_a_computed_condition_finds_the_rows_for_which_it_holds(where: Part, bench: Bench) -> None:
    text = where.text
    for name, value in CONSTANTS.items():
        text = text.replace(name, value)
    assume("input." not in text)
    files = bench.files
    table = CELLS + f"  computed: {{ computed: {json.dumps(text)} }}\n"
    bench.files = {**files, "tables/cells.yaml": table}
    function = (
        "steps:\n  - find: { table: cells, where: computed, select: [id] }\n"
        "    as: x\n  - return:\n      value: ${ vars.x | pluck('id') }\n"
    )
    try:
        found = bench.run(function)
    finally:
        bench.files = files
    assert found == [row["id"] for row in ROWS if where.value(row)]


# ---- every type of column

STORE = """
input: { data: json, fields: json }
steps:
  - insert: { table: all, data: "${ input.data }" }
    as: dynamic
  - insert:
      table: all
      data:
""" + "".join(f"        {name}: ${{ input.data.{name} }}\n" for name in VALUES) + """
    as: static
  - find: { table: all, where: id == vars.static.id, one: required }
    as: found
  - update: { table: all, where: id == vars.static.id, data: "${ input.data }", one: required }
    as: updated
  - return:
      value:
        - ${ vars.dynamic }
        - ${ vars.static }
        - ${ vars.found }
        - ${ vars.updated }
"""  # fmt: skip


@pytest.mark.long
@SLOW
@given(row=st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()}))
def test_every_type_comes_back_as_it_went_in(row: dict[str, Any], bench: Bench) -> None:
    assume(bench.keeps([row["string"], row["text"]]))
    data = {name: value and value[0] for name, value in row.items()}
    expected = {name: value and value[1] for name, value in row.items()}
    for stored in bench.run(STORE, {"data": data, "fields": {}}):
        assert stored.pop("id")
        assert stored == expected


FIND_SAME = """
input: { data: json }
steps:
  - insert: { table: all, data: "${ input.data }" }
    as: row
  - find:
      table: all
      where: >-
        id == vars.row.id and vars.row.NAME != null and NAME == vars.row.NAME and NAME in VALUE
    as: found
  - return:
      value: ${ vars.found | length }
"""


@pytest.mark.long
@SLOW
@given(data=st.data())
@pytest.mark.parametrize("name", sorted(VALUES.keys() - {"json", "binary"}))
def test_a_stored_value_is_found_by_itself(name: str, data: st.DataObject, bench: Bench) -> None:
    sent, _ = data.draw(VALUES[name])
    assume(bench.keeps(sent))
    function = FIND_SAME.replace("NAME", name).replace("VALUE", f"[vars.row.{name}]")
    client = bench.client(function)
    assert bench.ask(client, {"data": {name: sent}}).json == 1


def test_times_and_decimals_are_ordered_by_value(bench: Bench) -> None:
    bench.sql("DELETE FROM all RETURNING 1".replace("all", '"all"'))
    moments = [datetime(999, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC),
               datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)]  # fmt: skip
    numbers = [Decimal(-10), Decimal("9.50"), Decimal(10)]
    for moment, number in zip(moments, numbers, strict=True):
        data = {"datetime": moment.isoformat(), "decimal": str(number), "date": str(date(1, 1, 1)),
                "time": str(time(1))}  # fmt: skip
        bench.run(
            STORE.split("    as: dynamic")[0] + "  - return: { value: 1 }\n",
            {"data": data, "fields": 1},
        )
    for name in ("datetime", "decimal"):
        for order in ("asc", "desc"):
            text = f"steps:\n  - find: {{ table: all, orderBy: {name}.{order} }}\n    as: x\n"
            found = bench.run(text + "  - return:\n      value: ${ vars.x | pluck('id') }\n")
            assert found == sorted(found, reverse=order == "desc")


# ---- texts that try to be SQL

SIGNS = st.sampled_from("'\"`;-%_\\\0()[]?:@$\n" + string.ascii_letters)
HOSTILE = st.text(SIGNS) | st.sampled_from([
    "' OR '1'='1", "'; DROP TABLE cells; --", '" OR 1=1', "\\'", "?", "?1", ":a", "%", "NULL", "\0",
])  # fmt: skip
ECHO = """
input: { x: json }
steps:
  - insert: { table: all, data: { string: "${ input.x }", text: "a${ input.x }z" } }
    as: row
  - update:
      table: all
      where: >-
        id == vars.row.id and input.x != null and string == input.x and string in [input.x]
        and string != null and (string | endsWith(input.x)) and text != null
      data: { text: "${ row.text }${ input.x }" }
      one: required
    as: row
  - find:
      table: all
      where: >-
        input.x != null and string != input.x and string != null
        and (string | contains(input.x + 'never there'))
    as: none
  - return:
      value: ["${ vars.row.string }", "${ vars.row.text }", "${ vars.none }"]
"""


@pytest.mark.long
@SLOW
@given(text=HOSTILE)
def test_a_value_is_never_part_of_the_statement(text: str, bench: Bench) -> None:
    assume(bench.keeps(text))
    assert bench.run(ECHO, {"x": text}) == [text, f"a{text}z{text}", []]
    assert bench.sql("SELECT count(*) FROM cells") == [(len(ROWS),)]


@SLOW
@given(name=HOSTILE.filter(lambda name: f"  {name}:" not in ALL))
def test_a_key_from_outside_is_a_column_or_refused(name: str, bench: Bench) -> None:
    function = 'input: { x: json }\nsteps:\n  - insert: { table: all, data: "${ input.x }" }\n'
    client = bench.client(function)
    before = bench.sql('SELECT count(*) FROM "all"')
    assert bench.ask(client, {"x": {name: "a", "string": "b"}}).status == 400
    assert bench.sql('SELECT count(*) FROM "all"') == before
