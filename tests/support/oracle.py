"""Random expressions, each with what it is in Python: an oracle for the compilers.

Names are the fields of a row; in a query they are columns, elsewhere `input.<name>`. Numbers have
few binary digits, so that every sum is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from hypothesis import strategies as st

Row = Mapping[str, Any]
GIVEN = {"x": 2, "t": "a", "f": True, "nothing": None}
"""What `input` holds beside the row."""


@dataclass(frozen=True)
class Part:
    """A part of an expression: its text, and what it is for a row. None is null."""

    text: str
    value: Callable[[Row], Any]

    def __repr__(self) -> str:
        return self.text


Parts: TypeAlias = st.SearchStrategy[Part]
Sure: TypeAlias = frozenset[str]
NOTHING: Sure = frozenset()


def name(text: str) -> Part:
    return Part(text, lambda row: row[text.removeprefix("input.")])


def given_input(text: str) -> Part:
    return Part(f"input.{text}", lambda _: GIVEN[text])


def literal(value: Any) -> Part:
    text = repr(value)
    if isinstance(value, str):
        text = "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    elif value is None or isinstance(value, bool):
        text = {True: "true", False: "false", None: "null"}[value]
    return Part(text, lambda _: value)


def known(compute: Callable[..., Any]) -> Callable[..., Any]:
    """What has a null in it is null."""
    return lambda *parts: None if None in parts else compute(*parts)


def made(pattern: str, compute: Callable[..., Any], *parts: Parts) -> Parts:
    """Return a part made of others: `{}` in the pattern are their texts, in parentheses."""

    def build(*found: Part) -> Part:
        text = pattern.format(*(f"({part.text})" for part in found))
        return Part(text, lambda row: compute(*(part.value(row) for part in found)))

    return st.builds(build, *parts)


def remainder(a: float, b: float) -> float:
    return a - b * int(a / b)


def same(a: Any, b: Any) -> bool:
    return a is b if None in (a, b) else bool(a == b)


def ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda a, b: None not in (a, b) and compare(a, b)


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": same,
    "!=": lambda a, b: not same(a, b),
    "<": ordered(lambda a, b: a < b),
    "<=": ordered(lambda a, b: a <= b),
    ">": ordered(lambda a, b: a > b),
    ">=": ordered(lambda a, b: a >= b),
}
LITERALS = st.sampled_from([0, 1, 2, -3, 7, 0.5, 1.5, -2.25]).map(literal)
DIVISORS = st.sampled_from([2, -3, 4, 0.5]).map(literal)
WORDS = st.sampled_from(["", "a", "A b", "ß", "'", "%_", "é", "日"]).map(literal)


def instead(value: Any, other: Any) -> Any:
    return other if value is None else value


def read(text: str, sure: Sure, instead_of_null: Parts) -> Parts:
    """Return a name where null is no problem: as it is if it cannot be null, else defaulted."""
    if text.startswith("input.") or text in sure:
        return st.just(name(text))
    return made("({} | default({}))", instead, st.just(name(text)), instead_of_null)


@cache
def numbers(depth: int, prefix: str = "", sure: Sure = NOTHING) -> Parts:
    """Return expressions of numbers; in a query only the `sure` columns are known not to be null.

    Every other column is used as the language asks for it: with a default, or behind a check.
    """
    i, n = (read(prefix + text, sure, LITERALS) for text in "in")
    leaves = st.one_of(i, n, st.just(given_input("x")), LITERALS)
    if depth == 0:
        return leaves
    a = numbers(depth - 1, prefix, sure)
    return leaves | st.one_of(
        made("{} + {}", known(lambda x, y: x + y), a, a),
        made("{} - {}", known(lambda x, y: x - y), a, a),
        made("{} * {}", known(lambda x, y: x * y), a, LITERALS),
        made("{} / {}", known(lambda x, y: x / y), a, DIVISORS),
        made("{} % {}", known(remainder), a, DIVISORS),
        made("-{}", known(lambda x: -x), a),
        made("{} | abs", known(abs), a),
        made("{} | min({})", known(min), a, LITERALS),
        made("{} | max({})", known(max), a, LITERALS),
        made("{} | default({})", instead, a, LITERALS),
        made("{} if {} else {}", chosen, a, conditions(depth - 1, prefix, sure), a),
        made("{} | length", known(len), texts(depth - 1, prefix, sure)),
        *(
            made("{} if {} != null else {}", lambda then, x, other: other if x is None else then,
                 numbers(depth - 1, prefix, sure | {column}), st.just(name(column)), a)
            for column in unsure(prefix, sure)
        ),
    )  # fmt: skip


@cache
def texts(depth: int, prefix: str = "", sure: Sure = NOTHING) -> Parts:
    """Return expressions of texts."""
    leaves = st.one_of(read(prefix + "s", sure, WORDS), st.just(given_input("t")), WORDS)
    if depth == 0:
        return leaves
    a = texts(depth - 1, prefix, sure)
    return leaves | st.one_of(
        made("{} + {}", known(lambda x, y: x + y), a, a),
        made("{} | lower", known(str.lower), a),
        made("{} | upper", known(str.upper), a),
        made("{} | trim", known(str.strip), a),
        made("{} | slice(1, 3)", known(lambda x: x[1:3]), a),
        made("{} | replace('a', 'bb')", known(lambda x: x.replace("a", "bb")), a),
        made("{} | default({})", instead, a, WORDS),
    )


def chosen(then: Any, test: Any, other: Any) -> Any:
    return then if test else other


def unsure(prefix: str, sure: Sure) -> list[str]:
    """Return the columns that may be null."""
    return [] if prefix else [column for column in "insb" if column not in sure]


def compared(parts: Parts) -> Parts:
    return st.one_of(
        [made("{} " + op + " {}", compare, parts, parts) for op, compare in COMPARE.items()]
    )


def listed(parts: Parts, items: Parts, *, null: bool) -> Parts:
    """Return `part in [items]` and `not in`; with `null` the list ends with one."""

    def build(a: Part, members: list[Part], negated: bool) -> Part:
        members = [*members, literal(None)] if null else members
        op = "not in" if negated else "in"
        text = f"({a.text}) {op} [{', '.join(member.text for member in members)}]"
        return Part(
            text, lambda row: negated != any(same(a.value(row), m.value(row)) for m in members)
        )

    return st.builds(build, parts, st.lists(items, max_size=3), st.booleans())


@cache
def conditions(depth: int, prefix: str = "", sure: Sure = NOTHING) -> Parts:
    """Return expressions that are true or false."""
    b = prefix + "b"
    leaves = st.sampled_from([
        given_input("f"), literal(value=True), literal(value=False),
        Part(f"{prefix}i == null", lambda row: row["i"] is None),
        Part(f"{prefix}s != null", lambda row: row["s"] is not None),
        Part(f"{b} == null", lambda row: row["b"] is None),
        Part(f"{b} == false", lambda row: row["b"] is False),
        Part(f"{b} != true", lambda row: row["b"] is not True),
        Part("input.nothing == null", lambda _: True),
    ]) | read(b, sure, st.sampled_from([literal(value=True), literal(value=False)]))  # fmt: skip
    if depth == 0:
        return leaves
    less = depth - 1
    a, n, s = (of(less, prefix, sure) for of in (conditions, numbers, texts))
    return leaves | st.one_of(
        compared(n),
        compared(s),
        made("{} == {}", same, st.just(name(prefix + "i")), n),
        made("{} != {}", lambda x, y: not same(x, y), s, st.just(name(prefix + "s"))),
        listed(n, LITERALS, null=False),
        listed(st.just(name(prefix + "i")), LITERALS, null=True),
        listed(st.just(name(prefix + "s")), WORDS, null=True),
        made("{} | contains({})", known(lambda x, y: y in x), s, WORDS),
        made("{} | startsWith({})", known(str.startswith), s, WORDS),
        made("{} | endsWith({})", known(str.endswith), s, WORDS),
        made("not {}", lambda x: not x, a),
        made("{} and {}", lambda x, y: bool(x and y), a, a),
        made("{} or {}", lambda x, y: bool(x or y), a, a),
        made("{} == true", lambda x: x is True, compared(n)),
        made("{} == false", lambda x: x is False, compared(s)),
        *(
            guarded(column, conditions(less, prefix, sure | {column}), a)
            for column in unsure(prefix, sure)
        ),
    )


def guarded(column: str, inner: Parts, other: Parts) -> Parts:
    """Return conditions that use a column behind a check that it is not null."""
    of = st.just(name(column))
    return st.one_of(
        made("{} != null and {}", lambda x, y: x is not None and y, of, inner),
        made("{} == null or {}", lambda x, y: x is None or y, of, inner),
        made("{} and {} != null and {}", lambda x, y, z: x and y is not None and z,
             other, of, inner),
        made("not ({} or {} == null) and {}", lambda x, y, z: not x and y is not None and z,
             other, of, inner),
    )  # fmt: skip
