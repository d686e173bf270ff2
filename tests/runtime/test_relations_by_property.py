"""Random queries on random tables give what plain Python makes of the same rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bbops.database.schema.place import Place
from bbops.runtime.data.rows import ENCODERS
from tests.support.postgres import new_schema
from tests.support.random_tables import Made, Query, make_tables
from tests.support.workbench import Bench

QUERIES = 4
"""Queries on each set of tables."""


def fill(bench: Bench, table: Made) -> None:
    types = {name: kind for name, (kind, _) in table.columns.items()}
    for row in table.rows:
        values = [ENCODERS[types.get(name, "integer")](value, name) for name, value in row.items()]
        marks = ", ".join("?" * len(row))
        names = ", ".join(row)
        bench.sql(f"INSERT INTO {table.name} ({names}) VALUES ({marks}) RETURNING 1", *values)


def draw(random: Random, tables: list[Made]) -> tuple[dict[str, Any], Any]:
    """Return a `find`, and what it must give; of pages the whole list."""
    table = random.choice(tables)
    query = Query(random, (table,))
    find: dict[str, Any] = {"table": table.name}
    find["orderBy"], rows = query.order()
    if random.random() < 0.7:
        find["where"], holds = query.condition()
        rows = [row for row in rows if holds((row,))]
    find["select"], value = query.shape()
    found: Any = [value((row,)) for row in rows]
    way = random.choice(["all", "some", "one", "pages", "total"])
    if way == "some":
        find["limit"], find["offset"] = random.randint(0, 3), random.randint(0, 3)
        found = found[find["offset"] :][: find["limit"]]
    elif way == "one":
        find["one"] = True
        found = next(iter(found), None)
    elif way == "pages":
        find["limit"], find["after"] = random.randint(1, 3), "${ query.cursor }"
    elif way == "total":
        find["withTotal"] = True
        found = {"rows": found, "total": len(found)}
    return find, found


def answer(bench: Bench, find: dict[str, Any]) -> Any:
    """Return what a `find` gives; of pages their rows, one page after the other."""
    text = f"""
query: {{ cursor?: string }}
steps:
  - find: {json.dumps(find)}
    as: found
  - return: {{ value: "${{ vars.found }}" }}
"""
    if "after" not in find:
        return bench.run(text)
    rows: list[Any] = []
    cursor = ""
    while True:
        page = bench.run(text, query=cursor)
        rows += page["rows"]
        if page["next"] is None:
            return rows
        assert len(page["rows"]) == find["limit"]
        cursor = f"cursor={page['next']}"


def check_queries(seed: int, place_of: Callable[[Path], AbstractContextManager[Place]]) -> None:
    random = Random(seed)
    tables = make_tables(random)
    files = {f"tables/{table.name}.yaml": table.yaml() for table in tables}
    with (
        TemporaryDirectory() as folder, place_of(Path(folder)) as place,
        Bench(place, files) as bench,
    ):  # fmt: skip
        for table in tables:
            fill(bench, table)
        for _ in range(QUERIES):
            find, expected = draw(random, tables)
            assert answer(bench, find) == expected, find


SEEDS = given(seed=st.integers(0, 2**32))
SLOW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.long
@SLOW
@SEEDS
def test_a_query_gives_what_python_makes_of_the_rows(seed: int) -> None:
    check_queries(seed, nullcontext)


@pytest.mark.long
@settings(SLOW, max_examples=60)
@SEEDS
def test_many_queries_give_what_python_makes_of_the_rows(seed: int) -> None:
    check_queries(seed, nullcontext)


@pytest.mark.long
@settings(SLOW, max_examples=4)
@SEEDS
def test_a_query_gives_the_same_on_postgresql(seed: int, postgres: str) -> None:
    check_queries(seed, lambda _: new_schema(postgres))


@pytest.mark.long
@settings(SLOW, max_examples=60)
@SEEDS
def test_many_queries_give_the_same_on_postgresql(seed: int, postgres: str) -> None:
    check_queries(seed, lambda _: new_schema(postgres))
