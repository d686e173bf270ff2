"""What the check accepts does not fail: random functions over values that may be null.

Nothing in them is `json`, so every type is known, and the only failure left would be a null or a
type that the check overlooked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.workbench import Bench

HEAD = """
input:
  n?: integer?
  m?: integer
  t?: string
  f?: boolean
  l?: { type: "integer[]" }
  o?: { fields: { n?: integer, o?: { fields: { n: integer? } } } }
"""
SENT = st.fixed_dictionaries(
    {},
    optional={
        "n": st.none() | st.integers(-9, 9), "m": st.integers(-9, 9), "f": st.booleans(),
        "t": st.sampled_from(["", "a", "12"]), "l": st.lists(st.integers(-9, 9), max_size=3),
        "o": st.fixed_dictionaries({}, optional={
            "n": st.integers(-9, 9),
            "o": st.fixed_dictionaries({"n": st.none() | st.integers(-9, 9)}),
        }),
    },
)  # fmt: skip
NAMES = ("a", "b", "c")
SOURCES = [*(f"vars.{name}" for name in NAMES), "input.n", "input.m", "input.o?.n", "input.l[0]",
           "input.o?.o?.n"]  # fmt: skip
VALUES = [*SOURCES, *SOURCES, "null", "1", "2 + 3", "input.l | default([]) | first",
          "input.t | default('') | toNumber"]  # fmt: skip
TESTS = ["{} != null", "not ({} == null)", "{} == 1", "{} in [1, 2]", "{} == null", "{} != 1",
         "input.f == true and {} != null", "{} == 1 or {} == 2",
         "not ({} == null or input.f == true)",
         "{} != null and {} > 0", "{} == null or {} > 0", "input.f != true", "input | has('m')",
         "{} == input.n", "({} | default(0)) > 0"]  # fmt: skip
USES = ["{} + 1", "-{}", "{} | abs", "{} < 3", "'n' + ({} | toString)", "range({})"]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("bench"), {}) as found:
        yield found


source = st.sampled_from(SOURCES)


def of(patterns: list[str], names: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return one of the patterns, each `{}` filled with the same name."""
    return st.builds(lambda pattern, name: pattern.replace("{}", name), st.sampled_from(patterns),
                     names)  # fmt: skip


def uses(patterns: list[str]) -> st.SearchStrategy[str]:
    """Return values that need a source not to be null, mostly with care."""

    def choose(name: str) -> st.SearchStrategy[str]:
        this = st.just(name)
        careful = st.builds("({0}) if {1} else 0".format, of(patterns, this), of(TESTS, this))
        reverse = st.builds("0 if {1} else ({0})".format, of(patterns, this), of(TESTS, this))
        return st.one_of(careful, reverse, of(["({} | default(0)) + 1"], this), of(patterns, this))

    return source.flatmap(choose)


Lines = list[str]


def flat(many: list[Lines]) -> Lines:
    return [line for lines in many for line in lines]


def indented(lines: Lines) -> Lines:
    return [f"  {line}" for line in lines]


def setting(value: st.SearchStrategy[str]) -> st.SearchStrategy[Lines]:
    return st.builds(
        lambda name, of: [f'- set: {{ {name}: "${{ {of} }}" }}'], st.sampled_from(NAMES), value
    )


def logged(name: str) -> Lines:
    return [f'- log: {{ message: "x ${{ {name} }}", data: "${{ {name} + 1 }}" }}']


def steps(depth: int) -> st.SearchStrategy[Lines]:
    plain = st.one_of(setting(st.sampled_from(VALUES)), setting(uses(USES[:3])))
    if depth == 0:
        return plain
    inner = st.lists(steps(depth - 1), min_size=1, max_size=2).map(flat)

    def checked(name: str) -> st.SearchStrategy[Lines]:
        """Return an `if` about a value, and uses of it where that may prove something."""
        ends = st.sampled_from([["- return: { value: 1 }"], ["- throw: { status: 400 }"], []])
        return st.builds(
            lambda test, then, used, end, other, after: [
                f'- if: "{test}"', "  then:",
                *indented(indented([*(logged(name) if used == 1 else []), *then, *end])),
                *(["  else:", *indented(indented([*logged(name), *other]))] if used == 2 else []),
                *(logged(name) if after else []),
            ],
            of(TESTS, st.just(name)), inner, st.integers(0, 2), ends, inner, st.booleans(),
        )  # fmt: skip

    loops = st.builds(
        lambda over, each, where, body: [
            "- loop:", f'    over: "{over}"', f"    each: {each}",
            *([f'    where: "{where.replace("{}", "vars." + each)}"'] if where else []),
            "    steps:", *indented(indented(indented(body))),
        ],
        st.sampled_from(["input.l | default([])", "[1, null, 2]", "range(2)"]),
        st.sampled_from(NAMES), st.none() | st.sampled_from(TESTS), inner,
    )  # fmt: skip
    return st.one_of(plain, source.flatmap(checked), loops)


START = ['- set: { a: 1, b: "${ input.n }", c: null }']
FUNCTIONS = st.tuples(
    st.sampled_from([[], START, START]), st.lists(steps(2), min_size=1, max_size=3), uses(USES)
).map(lambda made: [*made[0], *flat(made[1]), f'- return: {{ value: "${{ {made[2]} }}" }}'])


@pytest.mark.parametrize("examples", [50, pytest.param(200, marks=pytest.mark.long)])
def test_a_function_that_is_accepted_never_meets_a_null_it_does_not_expect(
    examples: int, bench: Bench
) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(lines=FUNCTIONS, sent=st.lists(SENT, min_size=1, max_size=4))
    def holds(lines: Lines, sent: list[dict[str, Any]]) -> None:
        function = HEAD + "steps:\n" + "\n".join(indented(lines)) + "\n"
        project, _ = validate(MemoryTree(with_function(function)))
        event("accepted" if project else "refused")
        if project is None:
            return
        client = bench.client(function)
        for body in sent:
            reply = bench.ask(client, body)
            assert reply.status < 500, (function, body, bench.host.log.lines[-1:])  # type: ignore[attr-defined]

    holds()
