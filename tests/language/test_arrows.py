"""Arrow functions: what filters of lists give with them, and which mistakes are told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.workbench import Bench

pytestmark = pytest.mark.quick

HEAD = """
input:
  lines:
    type: list
    items: { fields: { item: string, qty: integer, price: number, note?: string } }
  words: string[]
  numbers: integer[]
  json: json?
  text: string
"""
SENT: dict[str, Any] = {
    "lines": [
        {"item": "tea", "qty": 2, "price": 3.25},
        {"item": "jam", "qty": 0, "price": 4.0, "note": "red"},
        {"item": "tea", "qty": 1, "price": 3.5},
    ],
    "words": ["b", "c", "a", "b"], "numbers": [3, 1, 2],
    "json": {"rows": [{"n": 1}, {"n": None}, {}]}, "text": "abc",
}  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("bench"), {}) as found:
        yield found


def function(value: str) -> str:
    return f"{HEAD}steps:\n  - return:\n      value: |-\n        ${{ {value} }}\n"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("input.lines | map(l => l.item)", ["tea", "jam", "tea"]),
        ("input.lines | filter(l => l.qty > 0) | map(l => l.qty)", [2, 1]),
        ("input.lines | filter(l => l.qty > 0) | sum(l => l.qty * l.price)", 10.0),
        ("input.lines | sum(l => l.price)", 10.75),
        ("input.lines | avg(l => l.price)", 10.75 / 3),
        ("input.lines | filter(l => l.qty > 9) | sum(l => l.qty)", 0),
        ("input.lines | filter(l => l.qty > 9) | avg(l => l.qty)", None),
        ("input.lines | map((l, i) => i * 10)", [0, 10, 20]),
        ("input.lines | filter(l => l.note != null) | map(l => l.note | upper)", ["RED"]),
        ("input.lines | some(l => l.note == 'red')", True),
        ("input.lines | every(l => l.qty > 0)", False),
        ("(input.lines | first(l => l.qty == 1))?.item", "tea"),
        ("(input.lines | last(l => l.qty == 7))?.item", None),
        ("input.lines | length(l => l.item == 'tea')", 2),
        ("input.lines | unique(l => l.item) | map(l => l.qty)", [2, 0]),
        ("input.lines | sort(l => l.price, 'desc') | map(l => l.qty)", [0, 1, 2]),
        ("input.lines | sort('qty') | map(l => l.qty)", [0, 1, 2]),
        ("input.lines | min(l => l.qty)", 0),
        ("input.lines | max(l => l.item)", "tea"),
        ("input.numbers | min", 1),
        ("input.numbers | filter(n => n > 5) | max", None),
        ("input.numbers | sum", 6),
        ("input.numbers | avg", 2.0),
        ("7 | max(9)", 9),
        (
            "input.lines | groupBy(l => l.item) | map(g => g.rows | sum(l => l.qty))",
            [3, 0],
        ),
        ("(input.lines | toMap(l => l.item, l => l.qty)).tea", 1),
        ("input.words | toMap(w => w, (w, i) => i) | entries | map(e => e.value)", [3, 1, 2]),
        ("input.numbers | zip(input.words) | map(p => p.right) | join('')", "bca"),
        ("input.words | chunk(3) | map(part => part | length)", [3, 1]),
        ("input.numbers | map(n => range(n)) | flatten", [0, 1, 2, 0, 0, 1]),
        ("input.numbers | flatMap(n => [n, -n])", [3, -3, 1, -1, 2, -2]),
        ("input.numbers | map(a => input.numbers | map(b => a * b) | sum)", [18, 6, 12]),
        ("input.json?.rows | map(r => r?.n | default(7))", [1, 7, 7]),
        ("input.words | filter(w => w in ['a', 'b']) | length", 3),
        ("input.words | map(w => w if w == 'a' else 'x')", ["x", "x", "a", "x"]),
        ("'a1 b22' | findAll('[0-9]+') | map(t => t | toNumber)", [1, 22]),
    ],
)
def test_a_filter_gives_what_its_arrow_function_says(
    expression: str, value: object, bench: Bench
) -> None:
    assert bench.ask(bench.client(function(expression)), SENT).json == value


@pytest.mark.parametrize(
    ("expression", "code", "message"),
    [
        ("input.lines | map(l => l.itme)", "unknown-field", "has no field 'itme'"),
        ("input.lines | sum('price')", "type", "filter 'sum' needs an arrow function"),
        ("input.lines | sum", "type", "'sum' needs a list of number, got list of map"),
        ("input.words | sum", "type", "'sum' needs a list of number, got list of text"),
        ("input.lines | filter(l => l.qty)", "condition", "needs true or false, got integer"),
        ("input.lines | map(l => l.note | upper)", "maybe-null", "'l.note' may be null"),
        ("input.lines | sum(l => l.item)", "type", "'sum' needs to give number, got text"),
        ("input.lines | flatMap(l => l.qty)", "type", "needs to give list, got integer"),
        ("input.lines | map(input => input)", "reserved-name", "'input' is a name"),
        ("input.lines | map((a, a) => a)", "reserved-name", "'a' is a name"),
        ("input.text | upper(t => t)", "argument-count", "takes 0 arguments, got 1"),
        ("input.text | length(t => t)", "type", "takes no arrow function here"),
        ("input.numbers | min(5)", "type", "filter 'min' needs an arrow function"),
        ("7 | min", "argument-count", "of a number takes 1 argument"),
        ("input.lines | pluck(l => l.item)", "type", "takes no arrow function here"),
        ("input.lines | map(l => m => 1)", "expression-syntax", "expected ')' before '=>'"),
        ("input.numbers => 2", "expression-syntax", "unexpected '=>'"),
        ("l", "unknown-name", "unknown name 'l'"),
        ("input.words | flatten", "type", "'flatten' needs a list of list"),
        ("input.words | findAll('(')", "type", "filter 'findAll' needs text"),
        ("input.text | findAll('(')", "bad-pattern", "is not a pattern"),
        ("input.text | replaceAll('[', '')", "bad-pattern", "is not a pattern"),
        ("7 | format('money')", "bad-constant", "is no pattern of 'format'"),
        ("uuid(x => x)", "argument-count", "takes 0 arguments"),
        ("[x => x]", "expression-syntax", "expected ']' before '=>'"),
        ("input.text | replaceAll('(a)', '\\\\2')", "bad-constant", "has 1 groups"),
        ("input.words | chunk(0)", "bad-constant", "needs 1 member or more"),
    ],
)
def test_a_mistake_in_an_arrow_function_is_told(expression: str, code: str, message: str) -> None:
    found = validate(MemoryTree(with_function(function(expression))))[1]
    assert [(one.code, message in one.message) for one in found][:1] == [(code, True)], found


def test_a_hint_says_how_the_arrow_function_is_written() -> None:
    (found,) = validate(MemoryTree(with_function(function("input.lines | sum('qty')"))))[1]
    assert found.hint == "write 'sum(row => row.qty)'"


def test_calls_of_arrow_functions_are_rounds_of_the_function(bench: Bench) -> None:
    text = (
        "steps:\n  - return:\n      value: |-\n"
        "        ${ range(1000) | map(a => range(1000) | map(b => a + b) | sum) | sum }\n"
    )
    answer = bench.ask(bench.client(text), {})
    assert answer.status == 500
    assert "too many loop rounds" in str(bench.host.log.lines[-1:])


def test_an_arrow_function_reads_variables_and_inputs_around_it(bench: Bench) -> None:
    text = (
        "input: { numbers: 'integer[]', by: integer }\nsteps:\n  - set: { plus: 1 }\n"
        "  - loop: { over: input.numbers, each: n, steps: [ { set: { plus: '${ vars.n }' } } ] }\n"
        "  - return:\n      value: |-\n"
        "        ${ input.numbers | map(n => n * input.by + vars.plus) }\n"
    )
    assert bench.ask(bench.client(text), {"numbers": [1, 2], "by": 10}).json == [12, 22]


def test_an_arrow_function_on_columns_is_refused() -> None:
    steps = (
        "input: { ids: 'integer[]' }\nsteps:\n"
        "  - find: { table: notes, where: input.ids | some(i => i == id) }\n    as: rows\n"
        "  - return: { value: '${ vars.rows }' }\n"
    )
    tables = {
        "tables/notes.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n",
    }
    found = validate(MemoryTree(with_function(steps) | tables))[1]
    assert [one.code for one in found] == ["not-in-sql"], found


def test_what_is_private_stays_private_behind_an_arrow_function() -> None:
    steps = (
        "steps:\n  - find: { table: users }\n    as: rows\n"
        "  - return:\n      value: |-\n        ${ vars.rows | map(u => u.pin) }\n"
    )
    tables = {
        "tables/users.yaml": (
            "columns:\n  id: { type: integer, primaryKey: true }\n"
            "  pin: { type: string, private: true }\n"
        )
    }
    found = validate(MemoryTree(with_function(steps) | tables))[1]
    assert [one.code for one in found] == ["private-data"], found
