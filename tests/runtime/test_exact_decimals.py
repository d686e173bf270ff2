"""Decimals keep every digit: in bodies, shapes, arithmetic and databases."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bbops.base.errors import ProjectError
from bbops.runtime.values import operators as op
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

PRICES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  price: { type: decimal }
  rate: { type: number, default: 0.5 }
seed:
  - { id: 1, price: '9.99' }
"""
JSON = {"content-type": "application/json"}
LONG = "123456789123456.12345"
ADD = """input: { price: decimal, meta?: json, size?: number, count?: integer }
steps:
  - insert: { table: prices, data: { price: '${ input.price }' } }
    as: row
  - return:
      value: ["${ vars.row.price }", "${ input.meta }", "${ input.size }", "${ input.count }"]
"""


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with place_of(request, tmp_path) as place, Bench(place, {"tables/prices.yaml": PRICES}) as made:
        yield made


def send(bench: Bench, function: str, body: str) -> Any:
    """Return the answer to a body as it is written."""
    client = bench.client(function)
    return bench.loop.run_until_complete(
        client.ask("POST", "/run", raw=body.encode(), headers=JSON)
    )


@pytest.mark.parametrize("written", [LONG, f'"{LONG}"', "9.99", '"9.90"', "9.90", "12", "1e2"])
def test_number_of_a_body_is_read_from_its_text(bench: Bench, written: str) -> None:
    body = f'{{"price": {written}, "meta": {{"a": [1.5, 2]}}, "size": 2.5, "count": 3.0}}'
    reply = send(bench, ADD, body)
    wanted = format(Decimal(written.strip('"')), "f")
    assert (reply.status, reply.json) == (200, [wanted, {"a": [1.5, 2]}, 2.5, 3])


@pytest.mark.parametrize("written", ["1e3", '"1E+3"', "0.1e4", "1000"])
def test_decimal_with_an_exponent_is_answered_as_a_plain_number(bench: Bench, written: str) -> None:
    echo = "input: { price: decimal }\nsteps:\n  - return: { value: '${ input.price }' }\n"
    assert send(bench, echo, f'{{"price": {written}}}').json == "1000"


@pytest.mark.parametrize("written", ["1e400", "[-1e400]", '{"a": 1e999999999}'])
def test_number_beyond_any_float_in_json_is_rejected(bench: Bench, written: str) -> None:
    reply = send(bench, ADD, f'{{"price": 1, "meta": {written}}}')
    assert (reply.status, list(reply.json["error"]["fields"])) == (400, ["meta"])


@pytest.mark.parametrize("written", ["true", '"x"', "[1]", '"1_0"', '" 1"', "null", '"NaN"', '""'])
def test_value_that_is_not_a_decimal_is_rejected(bench: Bench, written: str) -> None:
    reply = send(bench, ADD, f'{{"price": {written}}}')
    assert (reply.status, [*reply.json["error"]["fields"]]) == (400, ["price"])


@pytest.mark.parametrize("written", [f'"{"9" * 1001}"', f'"0.{"1" * 1001}"', '"1e1000"'])
def test_more_digits_than_a_column_holds_are_rejected(bench: Bench, written: str) -> None:
    for function in (ADD, ADD.replace("price: decimal", "price: json")):
        reply = send(bench, function, f'{{"price": {written}}}')
        assert (reply.status, [*reply.json["error"]["fields"]]) == (400, ["price"])


def test_most_digits_of_a_column_are_kept(bench: Bench) -> None:
    digits = f"{'9' * 1000}.{'1' * 1000}"
    assert send(bench, ADD, f'{{"price": "{digits}"}}').json[0] == digits


def test_bounds_of_a_decimal_are_exact(bench: Bench) -> None:
    function = "input: { a: { type: decimal, minimum: 0.01, maximum: 9.99 } }\nsteps:\n"
    function += shown("1")
    statuses = [
        send(bench, function, f'{{"a": {one}}}').status
        for one in ("0.01", "9.99", "0.009999999999999999999", "9.990000000000000000001")
    ]
    assert statuses == [200, 200, 400, 400]


def shown(expression: str) -> str:
    return f'  - return: {{ value: "${{ {expression} }}" }}\n'


READ = "steps:\n  - find: { table: prices, where: id == 1, one: required }\n    as: row\n"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("row.price * 0.19", "1.8981"), ("row.price + 0.01", "10.00"), ("1.5 - row.price", "-8.49"),
        ("(row.price * 0.19) | round(2)", "1.90"), ("row.price | round", "10"),
        ("row.price * 2", "19.98"), ("(row.price * -0.19) | round(2)", "-1.90"),
        ("row.price * input.size", "24.975"), ("row.price * input.exact", "12.4875"),
    ],
)  # fmt: skip
def test_arithmetic_with_a_decimal_is_exact(bench: Bench, expression: str, value: str) -> None:
    head = "input: { size: number, exact: decimal }\n"
    given = {"size": 2.5, "exact": "1.25"}
    assert (
        bench.run(f"{head}{READ}{shown(expression.replace('row.', 'vars.row.'))}", given) == value
    )
    update = f"""{head}steps:
  - update:
      table: prices
      where: id == 1
      one: required
      data: {{ price: "${{ {expression} }}" }}
    as: row
  - return: {{ value: "${{ vars.row.price }}" }}
"""
    assert bench.run(update, given) == value


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("price == 9.99", True), ("price >= 9.99", True), ("price < 9.99", False),
        ("price in [9.99]", True), ("price * 0.1 == 0.999", True), ("price != 9.99", False),
    ],
)  # fmt: skip
def test_decimal_is_compared_with_a_constant_as_it_is_written(
    bench: Bench, condition: str, holds: bool
) -> None:
    assert bench.run(READ + shown(condition.replace("price", "vars.row.price"))) is holds
    find = f'steps:\n  - find: {{ table: prices, where: "{condition}" }}\n    as: rows\n'
    assert bench.run(find + shown("vars.rows | length")) == int(holds)


def test_arithmetic_that_would_lose_digits_is_an_error_of_the_project(bench: Bench) -> None:
    for value in ("row.price * row.rate", "row.price / 3", "row.price % 2"):
        data = f'{{ price: "${{ {value} }}" }}'
        with pytest.raises(ProjectError):
            bench.client(f"steps:\n  - update: {{ table: prices, where: true, data: {data} }}\n")


def test_product_of_long_decimals_loses_no_digit() -> None:
    one, other = Decimal("1" * 30), Decimal("9" * 30)
    assert op.mul(one, other) == int("1" * 30) * int("9" * 30)
    assert format(op.add(Decimal("1e40"), Decimal("0.1")), "f") == f"1{'0' * 40}.1"
