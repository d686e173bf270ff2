"""Decimals are unique by their value, not by how they are written, on each database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from bbops.database.migrate.migrate import apply, plan
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

PRICES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  price: { type: decimal, unique: true }
  area: { type: string, default: a }
  fee: { type: decimal, nullable: true }
  open: { type: boolean, default: true }
indexes:
  one_fee: { columns: [area, fee], unique: true, where: open }
"""
ADD = "input: { price: 'json', fee?: 'json?' }\nsteps:\n  - insert:\n      table: prices\n"
ADD += "      data: { price: '${ input.price }', fee: '${ input.fee }' }\n"
WHOLE = (
    "input: { row: json }\nsteps:\n  - insert:\n      table: prices\n      data: ${ input.row }\n"
)
CONFLICT = "      onConflict: { columns: [price], do: update }\n    as: row\n"
RETURN = "  - return: { value: '${ vars.row.id }' }\n"


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with place_of(request, tmp_path) as place, Bench(place, {"tables/prices.yaml": PRICES}) as made:
        yield made


@pytest.mark.parametrize("given", ["1", "1.0", "1.00", 1, 1.0, "01", "1e0"])
def test_a_value_written_otherwise_is_the_same_value(bench: Bench, given: object) -> None:
    client = bench.client(ADD)
    assert bench.ask(client, {"price": "1.00"}).status == 200
    reply = bench.ask(client, {"price": given})
    assert (reply.status, [*reply.json["error"]["fields"]]) == (409, ["price"])
    assert [bench.ask(client, {"price": one}).status for one in ("10", "100", "0.1")] == [200] * 3


def test_zero_has_one_value(bench: Bench) -> None:
    client = bench.client(ADD)
    assert bench.ask(client, {"price": "-0.00"}).status == 200
    assert bench.ask(client, {"price": "0"}).status == 409


def test_a_decimal_keeps_the_places_that_it_was_written_with(bench: Bench) -> None:
    bench.run(ADD, {"price": "1.50"})
    read = "steps:\n  - find: { table: prices, one: required }\n    as: row\n"
    assert bench.run(read + "  - return: { value: '${ vars.row.price }' }\n") == "1.50"


def test_an_index_of_some_rows_tells_decimals_apart_by_value(bench: Bench) -> None:
    client = bench.client(ADD)
    assert bench.ask(client, {"price": "1", "fee": "2.50"}).status == 200
    reply = bench.ask(client, {"price": "2", "fee": "2.5"})
    assert (reply.status, {*reply.json["error"]["fields"]}) == (409, {"area", "fee"})


@pytest.mark.parametrize("function", [ADD, WHOLE])
def test_a_conflict_is_found_by_value(bench: Bench, function: str) -> None:
    client = bench.client(function + CONFLICT + RETURN)
    ids = {
        bench.ask(client, {"price": price, "row": {"price": price}}).json
        for price in ("3", "3.0", "3.000")
    }
    assert len(ids) == 1


def test_tables_differ_in_nothing_afterwards(bench: Bench) -> None:
    assert not [*plan(bench.place, bench.tables).changes]


def test_an_index_of_texts_is_made_again_unless_rows_share_a_value(tmp_path: Path) -> None:
    with Bench(tmp_path, {"tables/prices.yaml": PRICES}) as bench:
        bench.run(ADD, {"price": "1.0"})
        with sqlite3.connect(tmp_path / "data.sqlite") as file:
            file.execute("DROP INDEX uq_prices_price")
            file.execute('CREATE UNIQUE INDEX uq_prices_price ON prices ("price")')
            file.execute("UPDATE _bbops_schema SET hash = 'of an older version'")
        file.close()
        assert [*plan(bench.place, bench.tables).changes]
        apply(bench.place, bench.tables)
        assert bench.ask(bench.client(ADD), {"price": "1"}).status == 409
