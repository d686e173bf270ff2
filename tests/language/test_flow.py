"""elif, switch, break, continue and while: what runs, what is known behind, what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.workbench import Bench

pytestmark = pytest.mark.quick

HEAD = """
input:
  n: integer?
  numbers?: integer[]
  kind?: { type: string, enum: [open, closed, late] }
  word?: string
steps:
"""
SWITCH = """
  - switch: input.kind
    cases:
      open:
        - return: { value: o }
      closed:
        - return: { value: c }
    else:
      - return: { value: other }
"""
COUNT = """
  - set: { left: "${ input.n | default(0) }" }
  - loop:
      while: vars.left > 0
      max: 5
      index: round
      steps:
        - set: { left: "${ vars.left - 1 }" }
        - continue: vars.left == 2
        - break: vars.left == 1
      collect: ${ vars.left * 10 + vars.round }
    as: found
  - return: { value: ["${ vars.found }", "${ vars.left }"] }
"""
TABLES = {
    "tables/notes.yaml": (
        "columns:\n  id: { type: integer, primaryKey: true }\n  title: { type: string }\n"
    )
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("bench"), TABLES) as found:
        yield found


@pytest.mark.parametrize(
    ("steps", "body", "value"),
    [
        (SWITCH, {"kind": "closed"}, "c"),
        (SWITCH, {"kind": "late"}, "other"),
        (SWITCH, {}, "other"),
        (
            ("  - switch: input.n\n    cases:\n      1:\n        - return: { value: one }\n"
            "      '-2':\n        - return: { value: minus }\n  - return: { value: none }\n"),
            {"n": -2}, "minus",
        ),
        (
            ("  - if: input.n == null\n    then: [ { set: { a: x } } ]\n    elif:\n"
            "      - { if: input.n > 1, then: [ { set: { a: y } } ] }\n"
            "      - { if: input.n > 0, then: [ { set: { a: z } } ] }\n"
            "    else: [ { set: { a: w } } ]\n  - return: { value: '${ vars.a }' }\n"),
            {"n": 1}, "z",
        ),
        (COUNT, {"n": 4}, [[30], 1]),
        (COUNT, {"n": 0}, [[], 0]),
        (
            ("  - loop:\n      over: input.numbers | default([])\n      each: n\n      steps:\n"
            "        - try:\n            - break: vars.n > 2\n          finally:\n"
            "            - log: { message: seen }\n"
            "      collect: ${ vars.n }\n    as: all\n  - return: { value: '${ vars.all }' }\n"),
            {"numbers": [1, 2, 3, 1]}, [1, 2],
        ),
        (
            ("  - loop:\n      over: input.numbers | default([])\n      each: a\n      steps:\n"
            "        - loop:\n            over: input.numbers | default([])\n            each: b\n"
            "            steps: [ { break: vars.b == vars.a } ]\n"
            "            collect: ${ vars.b }\n          as: inner\n"
            "      collect: ${ vars.inner | length }\n    as: all\n"
            "  - return: { value: '${ vars.all }' }\n"),
            {"numbers": [5, 6, 7]}, [0, 1, 2],
        ),
        (
            ("  - set: { word: '${ input.word }' }\n"
            "  - loop:\n      over: input.numbers | default([])\n      each: n\n      steps:\n"
            "        - continue: vars.word == null\n"
            "        - set: { up: '${ vars.word | upper }' }\n"
            "      collect: ${ vars.up }\n    as: all\n  - return: { value: '${ vars.all }' }\n"),
            {"numbers": [1, 2], "word": "a"}, ["A", "A"],
        ),
    ],
)  # fmt: skip
def test_what_is_written_runs(steps: str, body: object, value: object, bench: Bench) -> None:
    given = {"n": None, **body} if isinstance(body, dict) else body
    answer = bench.ask(bench.client(HEAD + steps.lstrip("\n")), given)
    assert answer.json == value


def test_a_loop_without_end_fails_with_a_code_that_can_be_caught(bench: Bench) -> None:
    text = (
        "  - try:\n      - loop: { while: 1 == 1, max: 3, steps: [ { log: { message: on } } ] }\n"
        "    catch:\n      - return: { value: ['${ error.code }', '${ error.message }'] }\n"
        "  - return: { value: none }\n"
    )
    found = bench.ask(bench.client(HEAD + text), {"n": None}).json
    assert found == ["loopLimit", "the loop goes on after 3 rounds, its 'max'"]


@pytest.mark.parametrize(
    ("steps", "code", "message"),
    [
        ("  - break: true\n", "no-loop", "'break' stands in no loop"),
        (
            ("  - loop:\n      over: range(2)\n      steps:\n        - transaction:\n"
            "            - insert: { table: notes, data: { id: 1, title: a } }\n"
            "            - continue: true\n"),
            "no-loop", "'continue' cannot leave 'transaction'",
        ),
        (
            ("  - loop:\n      over: range(2)\n      steps:\n        - break: true\n"
            "        - log: { message: never }\n"),
            "unreachable", "this step never runs",
        ),
        (
            ("  - switch: input.kind | default('open')\n    cases:\n"
            "      opne:\n        - log: { message: a }\n    else: [ { log: { message: b } } ]\n"),
            "unknown-option", "this is one of open, closed, late, never 'opne'",
        ),
        (
            ("  - if: input.kind != null\n    then:\n      - switch: input.kind\n        cases:\n"
            "          open: [ { log: { message: a } } ]\n"
            "          closed: [ { log: { message: a } } ]\n"),
            "missing-case", "there is no case for 'late'",
        ),
        (
            ("  - if: input.kind != null\n    then:\n      - switch: input.kind\n        cases:\n"
            "          open: [ { log: { message: a } } ]\n"
            "          closed: [ { log: { message: a } } ]\n"
            "          late: [ { log: { message: a } } ]\n"
            "        else: [ { log: { message: a } } ]\n"),
            "unreachable", "this 'else' never runs",
        ),
        (
            "  - switch: input.n\n    cases:\n      one: [ { log: { message: a } } ]\n",
            "type", "the value is a whole number, never 'one'",
        ),
        ("  - loop: { while: input.n, max: 3 }\n", "condition", "needs true or false"),
        ("  - loop: { while: input.n == 1 }\n", "bad-value", "'while' and 'max' belong together"),
        ("  - loop: { steps: [ { break: true } ] }\n", "bad-value", "needs 'over' or 'while'"),
        (
            "  - loop: { while: input.n == 1, max: 2, each: x }\n",
            "bad-value", "'each' needs 'over'",
        ),
        (
            ("  - loop:\n      over: range(2)\n      steps:\n        - break: input.n == 1\n"
            "        - set: { a: 1 }\n  - return: { value: '${ vars.a }' }\n"),
            "maybe-unset", "'vars.a' is not set on every path",
        ),
        (
            ("  - set: { a: text }\n  - loop:\n      over: range(2)\n      steps:\n"
            "        - set: { a: 1 }\n        - break: input.n == 1\n        - set: { a: x }\n"
            "  - return: { value: '${ vars.a | upper }' }\n"),
            "", "",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_told(steps: str, code: str, message: str) -> None:
    found = validate(MemoryTree(with_function(HEAD + steps) | TABLES))[1]
    if code:
        assert [(one.code, message in one.message) for one in found][:1] == [(code, True)], found
    else:  # a variable that a `break` leaves with either of two kinds may be anything
        assert found == (), found
