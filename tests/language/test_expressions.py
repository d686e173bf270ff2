"""Expressions through the real compiler: each is the `${ }` that a function returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from bbops.base.errors import ProjectError
from bbops.compiler.check import validate
from bbops.language.expressions.syntax import Node, SyntaxProblem, parse
from bbops.language.expressions.values import Broken, read_bare, read_value
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.oracle import GIVEN, Part, conditions, numbers, texts
from tests.support.workbench import Bench

pytestmark = pytest.mark.quick

HEAD = """
input:
  one: integer
  half: number
  text: string
  yes: boolean
  list: integer[]
  map: { fields: { a: integer, inner?: { fields: { b: string } } } }
  json: json?
  none?: string
  at: datetime
"""
SENT = {
    "one": 1, "half": 0.5, "text": "abc", "yes": True, "list": [1, 2, 3], "map": {"a": 7},
    "json": {"a": {"b": [1, {"c": "deep"}]}, "n": None}, "at": "2026-03-05T10:00:00+01:00",
}  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("bench"), {}) as found:
        yield found


def function(value: str, head: str = HEAD) -> str:
    return f"{head}steps:\n  - return:\n      value: |-\n        {value}\n"


def mistakes(value: str) -> list[str]:
    return [d.code for d in validate(MemoryTree(with_function(function(value))))[1]]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        # literals
        ("1", 1),
        ("-1", -1),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775807", -(2**63) + 1),
        ("'text'", "text"),
        (r"'it\'s \\ \n \t \x'", "it's \\ \n \t x"),
        ("'${ } {{ }} # : \"'", '${ } {{ }} # : "'),
        ("''", ""),
        ("true", True),
        ("false", False),
        ("null", None),
        ("[1, 'a', [null], []]", [1, "a", [None], []]),
        ("[1, 2,]", [1, 2]),
        ("  1  ", 1),
        # names, members, positions
        ("input.text", "abc"),
        ("input.none", None),
        ("input.map.a", 7),
        ("input.map.inner?.b", None),
        ("input.map['a']", 7),
        ("input.list[0]", 1),
        ("input.list[-1]", 3),
        ("input.list[3]", None),
        ("input.list[-4]", None),
        ("input.list[input.one]", 2),
        ("input.json.a.b[1].c", "deep"),
        ("input.json.a.nope.further", None),
        ("input.json.n.further", None),
        ("input.json['a']['b'][0]", 1),
        ("[10, 20][1]", 20),
        ("(input.map).a", 7),
        ("env.GREETING", "hello"),
        ("headers['no-such']", None),
        ("request.method", "POST"),
        # arithmetic
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("7 / 2", 3.5),
        ("6 / 2", 3.0),
        ("7 % 3", 1),
        ("-7 % 3", -1),
        ("2 * -3", -6),
        ("-input.one", -1),
        ("-(-1)", 1),
        ("-9223372036854775808", -(2**63)),
        ("-input.one + 2", 1),
        ("12 / 2 / 3", 2.0),
        ("2 * 3 % 4", 2),
        ("0.1 + 0.2", 0.30000000000000004),
        ("input.one + input.half", 1.5),
        ("'a' + 'b'", "ab"),
        ("[1] + [2]", [1, 2]),
        ("input.at - (input.at | add('-90s'))", 90.0),
        # comparison
        ("1 == 1.0", True),
        ("1 != 2", True),
        ("1 < 2", True),
        ("'B' < 'a'", True),
        ("'10' < '9'", True),
        ("2 <= 2", True),
        ("3 >= 4", False),
        ("null == null", True),
        ("input.none == null", True),
        ("input.none != null", False),
        ("null == input.text", False),
        ("input.none == 'a'", False),
        ("[1, [2]] == [1, [2]]", True),
        ("[1] == [1.0]", True),
        ("input.map == input.map", True),
        ("true == false", False),
        ("1 + 1 == 2", True),
        ("input.at == ('2026-03-05T09:00:00Z' | toDatetime)", True),
        ("1 in [1, 2]", True),
        ("3 not in [1, 2]", True),
        ("null in [1, null]", True),
        ("[1] in [[1]]", True),
        ("'a' in []", False),
        # logic
        ("true and false", False),
        ("true or false", True),
        ("not true", False),
        ("not not true", True),
        ("not false and false", False),
        ("true or false and false", True),
        ("(true or false) and false", False),
        ("not 1 == 2", True),
        ("1 == 1 and 2 == 2 or 1 == 2", True),
        ("false and input.json.a > 1", False),
        ("true or input.json.a > 1", True),
        # choice
        ("'a' if true else 'b'", "a"),
        ("'a' if input.one > 1 else 'b'", "b"),
        ("1 if false else 2 if false else 3", 3),
        ("1 if true else input.json.a + 1", 1),
        ("1 + 1 if true else 0", 2),
        ("null if true else 1", None),
        # filters
        ("input.text | upper", "ABC"),
        ("input.text | upper | lower", "abc"),
        ("'x' + ('a' | upper)", "xA"),
        ("('x' + 'a') | upper", "XA"),
        ("2 * (3 | min(2))", 4),
        ("'A' | lower == 'a'", True),
        ("input.none | default('d')", "d"),
        ("false | default(true)", False),
        ("input.list | length", 3),
        ("input.list | length > 2 and true", True),
        ("not (input.text | contains('z'))", True),
        ("input.list | first", 1),
        ("[[1, 2], [3]] | first | default([]) | last", 2),
        ("(input.list | last | default(0)) + 1", 4),
        ("-3 | abs", 3),
        ("-(3 | abs)", -3),
        ("2 - 3 * -(1 | abs)", 5),
        ("input.map | has('a')", True),
        ("input.json | has('n')", True),
        ("input.none | default('a') | upper", "A"),
        # functions
        ("range(3)", [0, 1, 2]),
        ("now() == now()", True),
        ("now() | date('%Y')", "2026"),
        ("uuid() | length", 36),
        ("random(4, 4)", 4),
        ("randomToken(5) | length", 5),
    ],
)
def test_an_expression_is_what_it_says(expression: str, value: Any, bench: Bench) -> None:
    found = bench.run(function("${ " + expression + " }"), SENT)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("Hello ${ input.text }!", "Hello abc!"),
        ("${ input.text }${ input.one }", "abc1"),
        ("${ input.one } ", "1 "),
        ("a ${ 1.0 } b ${ 1e21 } c ${ 0.1 }", "a 1.0 b 1e21 c 0.1"),
        ("${ true } ${ input.yes }", "true true"),
        ("at ${ input.at }", "at 2026-03-05T09:00:00Z"),
        ("$${ literal }", "${ literal }"),
        ("$${ a } ${ 1 } $${ b }", "${ a } 1 ${ b }"),
        ("$$${ 1 }", "$${ 1 }"),
        ("$ ${ 1 }", "$ 1"),
        ("costs $5", "costs $5"),
        ("{ } } {", "{ } } {"),
        ("${ 'a } b' }", "a } b"),
        (r"${ 'it\'s }' }!", "it's }!"),
        ("${1}", 1),
        ("${\n  1\n  + 1 }".replace("\n  ", " "), 2),
        ("[1, 2]", "[1, 2]"),
        ("${ '' }x", "x"),
        ("ü${ '日' }😀", "ü日😀"),
    ],
)
def test_a_text_with_expressions_inside(text: str, value: Any, bench: Bench) -> None:
    assert bench.run(function(text), SENT) == value


@pytest.mark.parametrize("text", ["{{ input.text }}", "a {{ x }} b", "{{x}}"])
def test_double_braces_are_a_mistake(text: str) -> None:
    assert mistakes(text) == ["double-braces"]


@pytest.mark.parametrize("value", ["x${ input.json }", "x${ input.json.n }", "${ input.json }x"])
def test_null_and_maps_are_no_part_of_a_text(value: str, bench: Bench) -> None:
    assert bench.ask(bench.client(function(value)), SENT).status == 400


@pytest.mark.parametrize("value", ["${ null } x", "x ${ input.none }"])
def test_what_may_be_null_in_a_text_is_a_mistake(value: str) -> None:
    assert mistakes(value) == ["maybe-null"]


@pytest.mark.parametrize("value", ["x ${ input.list }", "x ${ input.map }", "x${ [1] }"])
def test_lists_and_maps_in_a_text_are_a_mistake(value: str) -> None:
    assert mistakes(value) == ["type"]


def test_values_in_maps_and_lists_are_read_at_any_depth(bench: Bench) -> None:
    text = (
        HEAD
        + """steps:
  - return:
      value:
        a: [1, "${ input.one }", { b: "${ input.text }!" }]
        "odd key": ${ input.none }
        plain: yes
        number: 1.5
        empty: { list: [], map: {} }
"""
    )
    assert bench.run(text, SENT) == {
        "a": [1, 1, {"b": "abc!"}], "odd key": None, "plain": "yes", "number": 1.5,
        "empty": {"list": [], "map": {}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("field", "holds"),
    [("true", True), ("input.one == 1", True), ("not input.yes", False), ("1 > 2", False),
     ("(['a'] | first) == 'a'", True), ("input.json | has('a')", True)],
)  # fmt: skip
def test_a_bare_expression_needs_no_braces(field: str, holds: bool, bench: Bench) -> None:
    then = "    then: [ { return: { value: 1 } } ]\n  - return: { value: 0 }\n"
    assert bench.run(f"{HEAD}steps:\n  - if: {field}\n{then}", SENT) == int(holds)


def test_siblings_of_one_set_do_not_see_each_other(bench: Bench) -> None:
    text = """steps:
  - set: { a: 1, b: 2 }
  - set: { a: "${ vars.b }", b: "${ vars.a }" }
  - return:
      value: ${ [vars.a, vars.b] }
"""
    assert bench.run(text) == [2, 1]


def test_now_is_one_moment_per_step(bench: Bench) -> None:
    text = "steps:\n  - set: { a: '${ now() }', b: '${ now() }' }\n"
    assert bench.run(text + "  - return:\n      value: ${ vars.a == vars.b }\n") is True


# ---- properties

ROW = {"i": 7, "n": -1.5, "s": "A b", "b": True}
FIELDS = """
input: { i: integer, n: number, s: string, b: boolean, x: integer, t: string, f: boolean,
  nothing?: integer? }
"""


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(part=numbers(4, "input.") | texts(4, "input.") | conditions(4, "input."))
def test_a_random_expression_is_what_python_says(part: Part, bench: Bench) -> None:
    try:
        found = bench.run(function("${ " + part.text + " }", FIELDS), {**ROW, **GIVEN})
    except ProjectError as error:  # a constant is compared with one that it never is
        assume("unknown-option" not in str(error))
        raise
    assert found == part.value(ROW)


ODD = st.text() | st.lists(
    st.sampled_from([
        "(", ")", "[", "]", ".", "?.", "|", "+", "-", "*", "/", "%", "==", "!=", "<", "<=", "in",
        "not", "and", "or", "if", "else", "input", "x", "1", "1.5", "'a'", "'", "null", ",", " ",
        "$", "{", "}", "&&", "!", "=", "\\", "\n", "\0", "é", "__class__", "now(", "| upper",
        "0x1", "1e999", "\u2028",
    ])
).map("".join)  # fmt: skip


@pytest.mark.long
@settings(max_examples=500)
@given(text=ODD)
@example(text="(" * 10_000)
@example(text="not " * 10_000)
@example(text="-" * 10_000)
@example(text="a" + ".a" * 10_000)
@example(text="a" + "[0]" * 10_000)
@example(text="a|b" * 10_000)
@example(text="[" * 10_000)
@example(text="1 if 1 else " * 10_000)
@example(text="a" + "+a" * 240)
def test_the_parser_says_what_is_wrong_or_gives_a_tree(text: str) -> None:
    found = tried(text)
    start, end = found.start, found.end
    assert 5 <= start <= len(text) + 5
    assert isinstance(found, SyntaxProblem) or end <= len(text) + 5


def tried(text: str) -> Node | SyntaxProblem:
    try:
        return parse(text, 5)
    except SyntaxProblem as problem:
        return problem


@settings(max_examples=300)
@given(
    text=ODD | ODD.map(lambda text: "${" + text + "}") | ODD.map(lambda text: "a $${ ${ " + text)
)
def test_reading_a_value_never_raises(text: str) -> None:
    for found in (read_value(text), read_bare(text)):
        if isinstance(found, Broken):
            assert 0 <= found.problem.start <= len(text)


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(text=ODD)
def test_whatever_is_accepted_is_answered(text: str, bench: Bench) -> None:
    yaml = text.replace("\\", "\\\\").replace('"', '\\"')
    yaml = "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in yaml)
    source = f'{HEAD}steps:\n  - return:\n      value: "${{ {yaml} }}"\n'
    files = with_function(source)
    if validate(MemoryTree(files))[0] is not None:
        assert bench.ask(bench.client(source), SENT).status in {200, 400}
