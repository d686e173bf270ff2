"""What the check accepts never fails by a value: random flows over typed values, columns and rows.

Nothing in them is `json`. Whatever a request sends, it is answered with what it asked for, or told
what is wrong with it; only a mistake of ours is a 500.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.postgres import SLOW_DATABASES, place_of
from tests.support.workbench import Bench

TABLES = {
    "tables/things.yaml": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  many: { type: integer, default: 0 }
  big: { type: bigint, nullable: true }
  size: { type: number, default: 0 }
  price: { type: decimal, nullable: true }
  name: { type: string, default: "" }
  body: { type: text, nullable: true }
  done: { type: boolean, default: false }
  at: { type: datetime, nullable: true }
  day: { type: date, nullable: true }
  clock: { type: time, nullable: true }
  token: { type: uuid, nullable: true }
  data: { type: binary, nullable: true }
  more: { type: json, nullable: true }
seed:
  - { id: 1, many: 3, size: 1.5, name: one, body: text, at: "2026-01-01T00:00:00Z", price: "1.5" }
  - { id: 2, many: 9223372036854775807, size: 1.0e+308, name: two, day: "9999-12-31" }
""",
}
HEAD = """
input:
  n: integer
  m: integer
  d: number
  t: string
  u: string
  f: boolean
  w: datetime
  y: date
  l: { type: "integer[]" }
  s: { type: "string[]" }
"""
INTEGERS = st.sampled_from([0, 1, -1, 2, 7, 100, 2**53, 2**63 - 1, -(2**63)])
NUMBERS = st.sampled_from([0, 0.0, -0.0, 1, 0.5, -2.5, 1e308, -1e308, 5e-324, 1e15])
TEXTS = st.sampled_from([
    "", "a", "%", "'", "ß", "1d", "-9999y", "99999999999999mo", "Europe/Berlin", "day", "%Y-%q",
    "[1]", "{", "YQ==", "(", "a" * 1_001, "a" * 10_001, "\u2028", "\x01", "12", "0", "desc",
    "2026-01-01", "12:30", "\U0001f600", "1e400", "9" * 400, "name.asc", "id.desc",
])  # fmt: skip
MOMENTS = st.sampled_from(["0001-01-01T00:00:00Z", "2026-02-28T10:00:00Z", "9999-12-31T23:59:59Z"])
SENT = st.fixed_dictionaries({
    "n": INTEGERS, "m": INTEGERS, "d": NUMBERS, "t": TEXTS, "u": TEXTS, "f": st.booleans(),
    "w": MOMENTS, "y": st.sampled_from(["0001-01-01", "2026-01-31", "9999-12-31"]),
    "l": st.lists(INTEGERS, max_size=3), "s": st.lists(TEXTS, max_size=3),
})  # fmt: skip

SHAPES: dict[str, list[str]] = {
    "integer": [
        "input.n", "input.m", "3", "(text | length)", "(number | floor)", "(number | ceil)",
        "(integer + integer)", "(integer - integer)", "(integer * integer)", "(integer % integer)",
        "(integer | abs)", "(integer | clamp(integer, integer))", "(integer | min(integer))",
        "(list | length)", "(-integer)", "(list | first | default(1))", "random(integer, integer)",
        "(input.l[integer] | default(integer))",
    ],
    "number": [
        "input.d", "1.5", "(integer / integer)", "(number / number)", "(number % number)",
        "(number | round(integer))", "(number | round)", "(number * number)", "(number + integer)",
        "(text | toNumber | default(0))", "(datetime - datetime)", "(number | max(integer))",
    ],
    "text": [
        "input.t", "input.u", "'x'", "(text | lower)", "(text | upper)", "(text | trim)",
        "(text | replace(text, text))", "(text + text)", "(text | slice(integer, integer))",
        "(datetime | date(text))", "(datetime | date('%d', text))", "(number | toString)",
        "(text | base64)", "(text | base64Decode)", "(text | sha256)", "(text | hmac(text))",
        "(words | join(text))", "(words | first | default(text))", "(text | slugify)",
        "(text | urlEncode)", "(text | escapeHtml)", "(list | json)", "randomToken(integer)",
        "(datetime | toString)", "(calendar | date(text))", "(integer | toString)",
    ],
    "boolean": [
        "input.f", "true", "(integer > number)", "(text | contains(text))", "(text == text)",
        "(text | startsWith(text))", "(text | matches(text))", "(integer in list)",
        "(datetime < datetime)", "(boolean and boolean)", "(not boolean)", "(text < text)",
        "(list | contains(integer))", "(text | toBoolean | default(boolean))",
        "(calendar == calendar)",
    ],
    "datetime": [
        "input.w", "now()", "(datetime | add(text))", "(datetime | startOf(text))",
        "(datetime | add('1d'))", "(datetime | startOf('week', text))", "(calendar | toDatetime)",
        "(text | toDatetime | default(datetime))",
    ],
    "calendar": [
        "input.y", "(calendar | add(text))", "(calendar | add('1y'))",
        "(calendar | startOf('month'))",
    ],
    "list": [
        "input.l", "range(integer)", "(list | sort)", "(list | unique)", "(list + list)",
        "(list | slice(integer, integer))", "[integer, integer]", "(list | sort(null, text))",
    ],
    "words": ["input.s", "(text | split(text))", "(words | sort)", "(words | unique)"],
}  # fmt: skip
KINDS = sorted(SHAPES, key=len, reverse=True)


@cache
def expressions(kind: str, depth: int) -> st.SearchStrategy[str]:
    """Return expressions of a kind; the words of a shape that are kinds are filled in."""
    shapes = [shape for shape in SHAPES[kind] if depth or not holes(shape)]
    return st.sampled_from(shapes).flatmap(lambda shape: filled(shape, depth - 1))


def holes(shape: str) -> list[str]:
    found, word = [], ""
    for letter in shape + " ":
        if letter.isalpha() or letter in "._'":
            word += letter
        else:
            found += [word] if word in SHAPES else []
            word = ""
    return found


def filled(shape: str, depth: int) -> st.SearchStrategy[str]:
    inner = [expressions(kind, max(0, depth)) for kind in holes(shape)]

    def fill(parts: tuple[str, ...]) -> str:
        out, word, left = "", "", list(parts)
        for letter in shape + " ":
            if letter.isalpha() or letter in "._'":
                word += letter
                continue
            out += (left.pop(0) if word in SHAPES else word) + letter
            word = ""
        return out.strip()

    return st.tuples(*inner).map(fill)


def quoted(expression: str) -> str:
    return '"${ ' + expression.replace("\\", "\\\\").replace('"', '\\"') + ' }"'


COLUMNS = {
    "many": "integer", "big": "integer", "size": "number", "price": "number", "name": "text",
    "body": "text", "done": "boolean", "at": "datetime", "day": "calendar", "clock": "text",
    "token": "text", "data": "text", "more": "list",
}  # fmt: skip
STORED = {
    "integer": ["row.many + integer", "row.many * integer", "row.many - row.id", "-row.many"],
    "number": ["row.size * number", "row.size / integer", "row.size + row.many"],
    "text": ["row.name + text", "row.name | upper", "row.name | replace(text, text)"],
}
WHERE = [
    "many == integer", "size > number", "name == text", "name | contains(text)", "at < datetime",
    "name | lower | startsWith(text)", "day == calendar", "many in list", "many + integer > 3",
    "many * integer == number", "size / integer > 1", "many % integer == 1", "name in words",
    "(name | replace(text, text)) != text", "(name + text) | endsWith(text)", "token == text",
    "many == integer and done == boolean", "(many | abs) > integer", "price > number",
    "price == integer", "(size | round(integer)) == 1", "clock == text", "id == integer / integer",
    "name < text", "at == (datetime | add(text))", "body == text", "-many == integer",
    "(many | min(integer)) == 1", "big == integer", "size - number > many",
    "(body | length) > integer",
]  # fmt: skip


def of(shape: str) -> st.SearchStrategy[str]:
    return filled(shape, 1)


def data() -> st.SearchStrategy[str]:
    def one(column: str) -> st.SearchStrategy[str]:
        return expressions(COLUMNS[column], 1).map(lambda text: f"{column}: {quoted(text)}")

    chosen = st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3, unique=True)
    return chosen.flatmap(lambda names: st.tuples(*map(one, names)).map(", ".join))


def stored() -> st.SearchStrategy[str]:
    def one(column: str) -> st.SearchStrategy[str]:
        shapes = st.sampled_from(STORED[COLUMNS[column]]).flatmap(of)
        return shapes.map(lambda text: f"{column}: {quoted(text)}")

    return st.sampled_from(["many", "big", "size", "name", "body"]).flatmap(one)


WHERES = st.sampled_from(WHERE).flatmap(of)
ROWS = st.one_of(
    data().map(lambda text: f"- insert: {{ table: things, data: {{ {text} }} }}"),
    st.builds("- update: {{ table: things, where: id == 1, data: {{ {} }} }}".format,
              st.one_of(data(), stored())),
    WHERES.map(lambda text: f'- find: {{ table: things, where: "{text}" }}'),
    st.builds('- find: {{ table: things, where: "{}", limit: {}, offset: {} }}'.format, WHERES,
              expressions("integer", 1).map(quoted), expressions("integer", 1).map(quoted)),
    WHERES.map(lambda text: f'- delete: {{ table: things, where: "{text}" }}'),
)  # fmt: skip
OTHERS = {
    "functions/narrow.yaml": """
input: { word: { type: string, minLength: 2, maxLength: 9, pattern: "^[a-z]+$" }, n: integer }
steps: [return: { value: "${ input.n }" }]
""",
}
STEPS = st.one_of(
    st.builds("- call: {{ function: narrow, input: {{ word: {}, n: {} }} }}".format,
              expressions("text", 1).map(quoted), expressions("integer", 1).map(quoted)),
    st.builds("- generateAuthToken: {{ userId: {}, claims: {{ a: {}, b: {} }} }}".format,
              expressions("text", 1).map(quoted), expressions("text", 1).map(quoted),
              expressions("number", 1).map(quoted)),
    st.builds("- generateAuthToken: {{ userId: a, expiresIn: {} }}".format,
              expressions("text", 1).map(quoted)),
    st.builds('- sql: {{ statement: "SELECT :a AS a", params: {{ a: {} }} }}'.format,
              st.sampled_from(KINDS).flatmap(lambda kind: expressions(kind, 1)).map(quoted)),
    st.builds("- log: {{ message: {}, data: {} }}".format, expressions("text", 1).map(quoted),
              expressions("list", 1).map(quoted)),
    st.builds("- find: {{ table: things, orderBy: id.asc, limit: {}, after: {} }}".format,
              expressions("integer", 1).map(quoted), expressions("text", 1).map(quoted)),
    st.builds("- throw: {{ status: 422, message: {}, headers: {{ x-a: {} }} }}".format,
              expressions("text", 1).map(quoted), expressions("text", 1).map(quoted)),
    st.builds("- verifyPassword: {{ password: {}, hash: {} }}".format,
              expressions("text", 1).map(quoted), expressions("text", 1).map(quoted)),
    st.builds("- verifyJwt: {{ token: {} }}".format, expressions("text", 1).map(quoted)),
)  # fmt: skip
FILES = TABLES | OTHERS
VALUES = st.sampled_from(KINDS).flatmap(lambda kind: expressions(kind, 2))
PLAIN = VALUES.map(lambda text: f"- set: {{ x: {quoted(text)} }}")
EXAMPLES = [20, pytest.param(120, marks=pytest.mark.long)]
FUNCTIONS = st.lists(st.one_of(PLAIN, ROWS, STEPS), min_size=1, max_size=3).map(
    lambda lines: "\n".join(f"  {line}" for line in lines)
)


@pytest.fixture(scope="module", params=SLOW_DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with (
        place_of(request, tmp_path_factory.mktemp("bench")) as place,
        Bench(place, FILES) as found,
    ):
        yield found


@pytest.mark.long
@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_function_that_is_accepted_fails_by_no_value(examples: int, bench: Bench) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(steps=FUNCTIONS, sent=st.lists(SENT, min_size=2, max_size=4))
    def holds(steps: str, sent: list[dict[str, Any]]) -> None:
        function = f"{HEAD}steps:\n{steps}\n  - return: {{ value: 1 }}\n"
        project, _ = validate(MemoryTree(with_function(function) | FILES))
        event("accepted" if project else "refused")
        if project is None:
            return
        client = bench.client(function)
        for body in sent:
            reply = bench.ask(client, body)
            event(f"status {reply.status}")
            assert reply.status < 500, (function, body, bench.host.log.lines[-1:])  # type: ignore[attr-defined]

    holds()
