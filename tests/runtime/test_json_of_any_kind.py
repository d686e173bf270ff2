"""A json value of any kind never makes the server fail: operators, filters, steps and queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from bbops.base.errors import ProjectError
from bbops.runtime.values.filters import FILTERS, FUNCTIONS
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

KINDS: Final[list[Any]] = [
    None, True, 0, -7, 2**63, 1.5, 1e308, "", "a", "08:30", "2026-03-05", "a\0b", [],
    [1, "a", None], [[1], {"a": 2}], {}, {"a": 1, "id": None}, {"a": {"b": [1]}},
]  # fmt: skip
OTHERS: Final[list[Any]] = [None, False, 3, 2.5, "a", [1], {"a": 1}]
HEAD = "input: { a: 'json?', b: 'json?' }\n"

TYPES = (
    "string", "text", "integer", "bigint", "number", "decimal", "boolean", "datetime", "date",
    "time", "uuid", "json", "binary",
)  # fmt: skip
TABLE = "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n" + "".join(
    f"  {name}_: {{ type: {name}, nullable: true }}\n" for name in TYPES
)

SIGNS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "+", "-", "*", "/", "%", "and", "or")
CONSTANTS = ("1", "1.5", "'x'", "true", "null", "[1]", "now()")
BINARY = [f"input.a {sign} input.b" for sign in SIGNS]
BESIDE = [f"input.a {sign} {one}" for sign in SIGNS for one in CONSTANTS]
OTHER = [
    "not input.a", "-input.a", "input.a.b.c", "input.a?.b", "input.a[0]", "input.a['a']",
    "input.a[input.b]", "1 if input.a else 2", "[input.a, input.b]", "input.a == [input.b]",
    "input.a | map(x => x.a + 1)", "input.a | filter(x => x == input.b)",
    "input.a | sort(x => x.a)", "input.a | sum(x => x)", "input.a | groupBy(x => x)",
    "input.a | toMap(x => x, x => x)", "input.a | unique", "input.a | min", "input.a | max",
]  # fmt: skip


def filters() -> Iterator[str]:
    for name, known in FILTERS.items():
        for count in range(known.least, min(known.most, 2) + 1):
            given = ["input.b", "input.a"][:count]
            yield f"input.a | {name}" + (f"({', '.join(given)})" if given else "")
    for name, function in FUNCTIONS.items():
        if function.least:
            yield f"{name}({', '.join(['input.a', 'input.b'][: function.least])})"


@pytest.fixture(scope="module", params=DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with (
        place_of(request, tmp_path_factory.mktemp("kinds")) as place,
        Bench(place, {"tables/kinds.yaml": TABLE}) as found,
    ):
        found.run(
            "steps:\n  - insert: { table: kinds, data: { string_: a, integer_: 1, number_: 1.5,"
            " decimal_: '2.50', boolean_: true, datetime_: '2026-03-05T08:30:00Z',"
            " date_: '2026-03-05', time_: '08:30', json_: [1], text_: a } }\n"
        )
        yield found


def statuses(bench: Bench, function: str) -> dict[str, int]:
    """Return the status of each pair of kinds; none where the project is not valid."""
    try:
        client = bench.client(HEAD + function)
    except ProjectError:
        return {}
    return {repr((a, b)): bench.ask(client, {"a": a, "b": b}).status for a in KINDS for b in OTHERS}


def check(bench: Bench, function: str) -> None:
    failed = {given: status for given, status in statuses(bench, function).items() if status >= 500}
    assert not failed, bench.host.log.lines[-1:]  # type: ignore[attr-defined]


@pytest.mark.parametrize("bench", ["sqlite"], indirect=True)
@pytest.mark.parametrize("expression", [*BINARY, *BESIDE, *OTHER, *filters()])
def test_expression_of_any_kind_never_fails_the_server(bench: Bench, expression: str) -> None:
    check(bench, f'steps:\n  - return: {{ value: "${{ {expression} }}" }}\n')


@pytest.mark.parametrize("bench", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "steps",
    [
        "- if: input.a\n  then: [{ return: { value: 1 } }]",
        "- if: input.a == 'x'\n  then: [{ return: { value: 1 } }]",
        "- return: { value: 'text ${ input.a }' }",
        "- html: <b>${ input.a }</b>",
        "- loop: { over: input.a, each: x, steps: [{ set: { y: '${ vars.x.a }' } }] }",
        "- loop: { over: input.a, each: x, where: vars.x == input.b, steps: [] }",
        "- log: { message: '${ input.a }', data: '${ input.b }' }",
        "- return: { status: '${ input.a }', value: 1 }",
        "- return: { value: 1, headers: { x-a: '${ input.a }' } }",
        "- throw: { status: '${ input.a }', message: '${ input.b }' }",
        "- validate: { value: '${ input.a }', shape: { a: integer, b?: uuid } }",
        "- hashPassword: { password: '${ input.a }', rounds: 4 }",
        pytest.param(
            "- verifyPassword: { password: '${ input.a }', hash: '${ input.b }' }",
            marks=pytest.mark.long,
        ),
        "- generateAuthToken: { userId: '${ input.a }', claims: '${ input.b }' }",
        "- verifyJwt: { token: '${ input.a }' }",
        "- refreshAuthToken: { refreshToken: '${ input.a }' }",
        "- cache: { key: '${ input.a }', for: 1m, steps: [], value: 1 }",
        "- emit: { event: a.b, payload: '${ input.a }' }",
    ],
)
def test_step_of_any_kind_never_fails_the_server(bench: Bench, steps: str) -> None:
    body = "\n".join(f"  {line}" for line in steps.split("\n"))
    check(bench, f"steps:\n{body}\n")


@pytest.mark.parametrize("column", [f"{name}_" for name in TYPES])
def test_query_of_any_kind_never_fails_the_server(bench: Bench, column: str) -> None:
    for sign in ("==", "!=", "<", ">=", "in", "not in"):
        for null in ("", f"{column} != null and input.a != null and "):
            where = f"{null}{column} {sign} input.a"
            check(bench, f'steps:\n  - find: {{ table: kinds, where: "{where}" }}\n')


@pytest.mark.parametrize("column", [f"{name}_" for name in TYPES])
def test_write_of_any_kind_never_fails_the_server(bench: Bench, column: str) -> None:
    data = f"{{ {column}: '${{ input.a }}' }}"
    check(bench, f"steps:\n  - update: {{ table: kinds, where: id == 1, data: {data} }}\n")
    computed = f"{{ {column}: '${{ input.a | default(row.{column}) }}' }}"
    check(bench, f"steps:\n  - update: {{ table: kinds, where: id == 1, data: {computed} }}\n")


@pytest.mark.parametrize(
    "step",
    [
        "insert: { table: kinds, data: '${ input.a }' }",
        "update: { table: kinds, where: id == 1, data: '${ input.a }' }",
        "find: { table: kinds, limit: '${ input.a }', offset: '${ input.b }' }",
        "find: { table: kinds, after: '${ input.a }' }",
        "find: { table: kinds, where: string_ | contains(input.a) }",
        "find: { table: kinds, where: 'integer_ + input.a > 2' }",
        "find: { table: kinds, where: 'decimal_ * input.a > 2' }",
    ],
)
def test_statement_of_any_kind_never_fails_the_server(bench: Bench, step: str) -> None:
    check(bench, f"steps:\n  - {step}\n")
