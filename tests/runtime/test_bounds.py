"""Every run is bounded:

what is too large or never ends fails alone, and the process keeps serving.
"""

from __future__ import annotations

import asyncio

import pytest

from bbops.compiler.testing.client import Client
from tests.conftest import Serving, with_function
from tests.support.raw_requests import INPUT, SENT, Ask, returning, talk
from tests.support.time_limits import in_time

FAILS = [
    "input.number * 4",
    "input.number + input.number",
    "-input.number * 2 - 2",
    "input.text + input.text",
    "input.text | replace('x', 'yyyyyyyyyy')",
    "input.text | replace('', 'y') | replace('x', input.text)",
    "input.text | escapeHtml | urlEncode | base64 | base64",
    "[input.text, input.text] | join('')",
    "input.json < 1",
    "input.json + 'a'",
    "input.json.missing + 1",
    "input.json.a.b.c | upper",
    "range(100001)",
    "'[null]' | parseJson | first | abs",
    "range(9223372036854775807)",
    "range(100000) + range(100000)",
    "randomToken(100000)",
    "random(5, 1)",
    "input.text | parseJson",
    "'[' | parseJson",
    "input.text | split(input.text | slice(0, 0))",
    "input.text | matches(input.text)",
    "'a' | matches(input.text + ')')",
    "now() | add('999999' + '999d')",
    "now() | date('%Y', 'Nowhere' + '/Land')",
    "input.number / (1 - 1)",
    "input.number % (1 - 1)",
    "input.json | sort",
    "'a' | slice(0.5)",
    "input.json[0]",
    "1 if input.json else 2",
    "not input.json",
    "input.json and true",
    "'a' in input.json",
]


@pytest.mark.parametrize("expression", FAILS, ids=lambda text: text[:40])
def test_a_value_that_cannot_be_fails_alone(expression: str, serving: Serving) -> None:
    async def tell(client: Client) -> None:
        with in_time():
            reply = await client.ask("POST", "/run", SENT)
            assert reply.status in {400, 500}, reply.body[:200]
        assert (await client.ask("GET", "/nothing")).status == 404

    talk(serving, returning(expression), tell)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("input.text | matches('(a+)+$')", "a" * 50_000 + "!"),
        ("input.text | matches('^(a|aa)+$')", "a" * 50_000 + "!"),
        ("input.text | matches('(.*)*(.*)*(.*)*x')", "a" * 5_000),
        ("input.text | matches(input.text)", "(" * 999),
        ("input.text | matches(input.text)", "a{999}" * 100),
        ("input.text | slugify | length", "ß" * 500_000),
        ("input.text | trim | lower | upper | length", " " * 900_000),
        ("input.text | split(',') | unique | sort | length", "a," * 90_000),
        ("input.text | toNumber", "9" * 900_000),
        ("input.text | toNumber", "1e" + "9" * 1_000),
        ("input.text | toDatetime", "2026-" * 10_000),
        ("input.text | parseJson", "[" * 100_000),
        ("input.text | parseJson", '{"a":' * 50_000),
        ("input.text | parseJson | json | length", "[" + "1," * 99_000 + "1]"),
        ("now() | date(input.text)", "%Y" * 100_000),
        ("input.text | base64Decode", "QQ" * 100_000),
        ("'a' | replace(input.text, input.text)", ""),
    ],
)
def test_hostile_texts_are_read_in_time(expression: str, text: str, serving: Serving) -> None:
    async def tell(client: Client) -> None:
        with in_time():
            reply = await client.ask("POST", "/run", SENT | {"text": text})
            assert reply.status in {200, 400, 500}

    talk(serving, returning(expression), tell)


def looping(steps: str) -> dict[str, str]:
    return with_function(f"{INPUT}steps:\n{steps}  - return: {{ value: done }}\n")


ENDLESS = {
    "a loop in a loop": """
  - loop:
      over: range(100000)
      steps:
        - loop:
            over: range(100000)
            each: i
            steps:
              - set: { x: "${ vars.i }" }
""",
    "a function that calls itself": (
        "  - if: input.number > 0\n    then: [ { call: { function: run, input: '${ input }' } } ]\n"
    ),
    "a list of large texts": """
  - loop: { over: range(100000), each: i, collect: "${ input.text + (vars.i | toString) }" }
    as: all
""",
    "a list of large lists": """
  - loop: { over: range(100000), collect: "${ range(100000) }" }
    as: all
""",
    "a list of slices": """
  - loop: { over: range(100000), each: i, collect: "${ input.text | slice(vars.i) }" }
    as: all
""",
    "a list of templates": """
  - loop: { over: range(100000), each: i, collect: "${ input.text }${ vars.i }" }
    as: all
""",
    "a text that doubles": """
  - set: { text: a }
  - loop: { over: range(100), steps: [ { set: { text: "${ vars.text + vars.text }" } } ] }
""",
    "a list that doubles": """
  - set: { list: "${ [1] }" }
  - loop: { over: range(100), steps: [ { set: { list: "${ vars.list + vars.list }" } } ] }
""",
    "a map that doubles": """
  - set: { x: a }
  - loop: { over: range(60), steps: [ { set: { x: { a: "${ vars.x }", b: "${ vars.x }" } } } ] }
  - return:
      value: ${ vars.x }
""",
    "a map that doubles, thrown": """
  - set: { x: a }
  - loop: { over: range(60), steps: [ { set: { x: { a: "${ vars.x }", b: "${ vars.x }" } } } ] }
  - throw: { status: 400, value: "${ vars.x }" }
""",
    "a map that doubles, compared": """
  - set: { x: a, y: a }
  - loop:
      over: range(60)
      steps:
        - set: { x: ["${ vars.x }", "${ vars.x }"], y: ["${ vars.y }", "${ vars.y }"] }
  - if: vars.x == vars.y
    then: [ { return: { value: same } } ]
""",
    "a map that doubles, looked for": """
  - set: { x: a, y: a }
  - loop:
      over: range(60)
      steps:
        - set: { x: ["${ vars.x }", "${ vars.x }"], y: ["${ vars.y }", "${ vars.y }"] }
  - loop: { over: range(1000), collect: "${ vars.y }" }
    as: all
  - if: vars.x in vars.all
    then: [ { return: { value: found } } ]
""",
    "a map that doubles, stored": """
  - set: { x: a }
  - loop: { over: range(60), steps: [ { set: { x: { a: "${ vars.x }", b: "${ vars.x }" } } } ] }
  - insert: { table: things, data: { id: 1, json: "${ vars.x }" } }
""",
    "a list that goes deep": """
  - set: { x: a }
  - loop: { over: range(90000), steps: [ { set: { x: ["${ vars.x }"] } } ] }
  - return:
      value: ${ vars.x }
""",
    "a deep list, stored": """
  - set: { x: a }
  - loop: { over: range(90000), steps: [ { set: { x: ["${ vars.x }"] } } ] }
  - insert: { table: things, data: { id: 1, json: "${ vars.x }" } }
""",
    "rows again and again": """
  - loop:
      over: range(90000)
      steps:
        - find: { table: things, limit: 1000 }
          as: rows
        - set: { x: ["${ vars.rows }", "${ vars.x }"] }
""".replace("  - loop", "  - set: { x: null }\n  - loop", 1),
}
THINGS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  json: { type: json, nullable: true }
"""


@pytest.mark.long
@pytest.mark.parametrize("name", ENDLESS)
def test_a_run_without_end_is_stopped(name: str, serving: Serving) -> None:
    files = looping(ENDLESS[name].removeprefix("\n"))
    files["tables/things.yaml"] = THINGS

    async def tell(client: Client) -> None:
        rows = [("INSERT INTO things (json) VALUES ('1')", ())] * 1000
        await client.database.write_all(rows)
        with in_time():
            reply = await client.ask("POST", "/run", SENT | {"text": "x" * 500_000})
            # a value that is too large for a step is 400, what takes too long or too much is 500
            assert reply.status in {400, 500}, reply.body[:200]
        assert (await client.ask("GET", "/nothing")).status == 404
        assert client.release.in_flight == 0

    talk(serving, files, tell)


def test_a_ring_of_calls_is_stopped(ask: Ask) -> None:
    files = with_function("steps:\n  - call: { function: other }\n")
    files["functions/other.yaml"] = (
        "steps:\n  - if: env.GREETING == 'hello'\n    then:\n      - call: { function: run }\n"
    )
    assert ask(files, "POST", "/run").status == 500


def test_a_long_loop_lets_other_requests_go_on(serving: Serving) -> None:
    files = looping(
        "  - loop: { over: range(90000), each: i, steps: [ { set: { x: '${ vars.i + 1 }' } } ] }\n"
    )
    files["endpoints/double.yaml"] = (
        "method: POST\npath: /double\nfunction: double\nauthentication: None\n"
    )

    async def tell(client: Client) -> None:
        long = asyncio.create_task(client.ask("POST", "/run", SENT))
        await asyncio.sleep(0)
        short = await client.ask("POST", "/double", {"number": 4})
        assert (short.json, long.done()) == (8, False)
        assert (await long).json == "done"

    talk(serving, files, tell)
