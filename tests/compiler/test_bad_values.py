"""A value that no type tells apart from the others: found at validate, or 400 with its field."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

KEPT = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  data: { type: binary, nullable: true }
  token: { type: uuid, nullable: true }
  at: { type: datetime, nullable: true }
  many: { type: integer, default: 9223372036854775807 }
  name: { type: string, default: a }
"""
USERS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  email: { type: string, maxLength: 200 }
  bio: { type: text }
  role: { type: string, enum: [a, b], default: a }
"""


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with place_of(request, tmp_path) as place, Bench(place, {"tables/kept.yaml": KEPT}) as found:
        yield found


HEAD = "input: { data: json }\nsteps:\n"


def returning(expression: str) -> str:
    shape = "input: { n: integer, text: string, inner: { fields: { m: integer } } }"
    return f'{shape}\nsteps:\n  - return: {{ value: "${{ {expression} }}" }}\n'


SENT = {"n": 0, "text": "soon", "inner": {"m": 0}}


@pytest.mark.parametrize(
    ("expression", "field", "said"),
    [("1 / input.n", "n", "division by zero"), ("1 % input.n", "n", "division by zero"),
     ("1 / input.inner.m", "inner.m", "division by zero"),
     ("1 / (input.n * 2)", "n", "division by zero"),
     ("now() | add(input.text) | toString", "text", "must be a duration"),
     ("now() | date('%Y', input.text)", "text", "must be a time zone"),
     ("now() | startOf(input.text) | toString", "text", "must be one of"),
     ("input.text | base64Decode", "text", "needs Base64"),
     ("input.text | parseJson", "text", "must be JSON"),
     ("'a' | split(input.text | replace('soon', ''))", "text", "needs a separator"),
     ("2.5 | round(input.n + 99)", "n", "-18 to 18"),
     ("random(3, input.n)", "n", "lower end first"),
     ("randomToken(input.n)", "n", "1 to 1000")],
)  # fmt: skip
def test_a_bad_value_is_refused_by_its_field(
    expression: str, field: str, said: str, bench: Bench
) -> None:
    reply = bench.ask(bench.client(returning(expression)), SENT)
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")
    ((name, messages),) = reply.json["error"]["fields"].items()
    assert (name, len(messages)) == (field, 1)
    assert said in messages[0]


def test_a_bad_value_of_nobody_knows_where_is_refused_too(bench: Bench) -> None:
    function = "input: { n: integer }\nsteps:\n  - set: { x: '${ input.n }' }\n"
    client = bench.client(f"{function}  - return: {{ value: '${{ 1 / vars.x }}' }}\n")
    reply = bench.ask(client, {"n": 0})
    assert (reply.status, reply.json["error"]["message"]) == (400, "division by zero")


def test_a_private_value_is_not_repeated_by_the_answer(bench: Bench) -> None:
    reply = bench.ask(bench.client(returning("now() | add(input.text) | toString")), SENT)
    assert "soon" not in reply.body.decode()


@pytest.mark.parametrize(
    "expression",
    ["input.n / 0", "input.n % 0", "1 / 0.0", "now() | add('soon')", "now() | add('1q')",
     "now() | startOf('dawn')", "now() | date('%Q')", "now() | date('%Y', 'Nowhere')",
     "2.5 | round(99)", "2.5 | round(-19)", "input.text | split('')", "[1] | sort(null, 'up')"],
)  # fmt: skip
def test_a_constant_that_is_never_taken_is_found_at_validate(expression: str) -> None:
    found = [one.code for one in validate(MemoryTree(with_function(returning(expression))))[1]]
    assert found == ["bad-constant"]


@pytest.mark.parametrize(
    "expression",
    ["input.n / 2", "now() | add('-1d')", "now() | startOf('week', 'Europe/Berlin')",
     "2.5 | round(-2)", "[1] | sort(null, 'desc')", "now() | date('%Y')"],
)  # fmt: skip
def test_a_constant_that_is_taken_is_right(expression: str) -> None:
    project, _ = validate(MemoryTree(with_function(returning(expression))))
    assert project is not None


@pytest.mark.parametrize(
    ("data", "field"),
    [({"data": "not base64!"}, "data"), ({"data": "ü"}, "data"), ({"token": "no uuid"}, "token"),
     ({"at": "soon"}, "at"), ({"many": 1.5}, "many"), ({"many": "a"}, "many")],
)  # fmt: skip
def test_a_value_that_does_not_fit_its_column_is_refused_by_it(
    data: dict[str, Any], field: str, bench: Bench
) -> None:
    insert = '- insert: { table: kept, data: "${ input.data }" }\n  - return: { status: 201 }\n'
    reply = bench.ask(bench.client(f"{HEAD}  {insert}"), {"data": data})
    assert (reply.status, list(reply.json["error"]["fields"])) == (400, [field])


def test_a_typed_text_is_checked_for_its_column_as_well(bench: Bench) -> None:
    insert = '- insert: { table: kept, data: { data: "${ input.text }" } }\n'
    client = bench.client(
        f"input: {{ text: string }}\nsteps:\n  {insert}  - return: {{ status: 201 }}\n"
    )
    assert bench.ask(client, {"text": "YQ=="}).status == 201
    reply = bench.ask(client, {"text": "YQ"})
    assert (reply.status, reply.json["error"]["fields"]) == (400, {"data": ["needs base64 text"]})


def test_a_sum_that_is_too_large_for_its_column_is_no_failure_of_ours(bench: Bench) -> None:
    bench.sql("INSERT INTO kept (many) VALUES (9223372036854775807)")
    update = '- update: { table: kept, where: true, data: { many: "${ row.many + input.n }" } }\n'
    client = bench.client(f"input: {{ n: integer }}\nsteps:\n  {update}")
    assert bench.ask(client, {"n": 5}).status == 400
    assert bench.sql("SELECT many FROM kept") == [(9223372036854775807,)]


@pytest.mark.parametrize("name", ["limit", "offset"])
def test_a_number_of_rows_below_zero_is_refused_by_its_field(name: str, bench: Bench) -> None:
    find = f'- find: {{ table: kept, {name}: "${{ input.n }}" }}\n    as: rows\n'
    end = "  - return: { value: '${ vars.rows }' }\n"
    client = bench.client(f"input: {{ n: integer }}\nsteps:\n  {find}{end}")
    reply = bench.ask(client, {"n": -1})
    assert (reply.status, list(reply.json["error"]["fields"])) == (400, ["n"])


# ---- NUL
ROUTE = "method: GET\npath: /kept/:word\nfunction: run\nauthentication: None\n"
ROUTE += "description: Looks for a word.\n"
USES = [
    "find: { table: kept, where: name == params.word }",
    "find: { table: kept, where: name | contains(params.word) }",
    'insert: { table: kept, data: { name: "${ params.word }" } }',
    'update: { table: kept, where: true, data: { name: "${ row.name + params.word }" } }',
    'sql: { statement: "SELECT 1 WHERE \'a\' = :word", params: { word: "${ params.word }" } }',
    'find: { table: kept, where: "name in [params.word]" }',
    "find: { table: kept, where: \"name in (params.word | split('x'))\" }",
    'set: { found: "${ params.word | matches(params.word) }" }',
]


@pytest.mark.parametrize("declared", ["params: { word: string }\n", ""])
@pytest.mark.parametrize("use", USES)
def test_a_path_with_a_nul_is_refused_by_its_parameter(
    use: str, declared: str, bench: Bench
) -> None:
    bench.files = bench.files | {"endpoints/run.yaml": ROUTE}
    steps = f"{declared}steps:\n  - {use}\n  - return: {{ value: {{ a: 1 }} }}\n"
    client = bench.client(steps)
    reply = bench.loop.run_until_complete(client.ask("GET", "/kept/a%00b"))
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")
    assert list(reply.json["error"]["fields"]) == ["word"]
    assert bench.loop.run_until_complete(client.ask("GET", "/kept/a%20b")).status == 200


# ---- tokens
def signing(claims: str) -> dict[str, str]:
    steps = (
        "input: { text: string }\nsteps:\n"
        "  - find: { table: users, where: id == 1, one: required }\n    as: user\n"
        f"  - generateAuthToken: {{ userId: u1, {claims} }}\n    as: token\n"
        "  - return: { value: '${ vars.token }' }\n"
    )
    return with_function(steps) | {"tables/users.yaml": USERS}


@pytest.mark.parametrize(
    "claims", ['email: "${ vars.user.bio }"', 'claims: { bio: "${ vars.user.bio }" }',
               'claims: { all: ["${ vars.user.bio }"] }'],
)  # fmt: skip
def test_a_column_without_a_max_length_in_a_claim_is_a_warning(claims: str) -> None:
    found = validate(MemoryTree(signing(claims)))[1]
    assert [(one.code, one.severity) for one in found] == [("long-claim", "warning")]
    assert "users.bio" in found[0].message


def test_columns_with_a_bound_may_be_claims() -> None:
    claims = 'email: "${ vars.user.email }", role: "${ vars.user.role }"'
    assert validate(MemoryTree(signing(claims)))[1] == ()


def test_a_token_that_gets_too_long_is_no_failure_of_ours(bench: Bench) -> None:
    steps = (
        "input: { text: string }\nsteps:\n"
        "  - generateAuthToken: { userId: u1, claims: { text: '${ input.text }' } }\n"
        "    as: token\n"
        "  - return: { value: '${ vars.token }' }\n"
    )
    client = bench.client(steps)
    assert bench.ask(client, {"text": "a"}).status == 200
    reply = bench.ask(client, {"text": "a" * 9_000})
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")
