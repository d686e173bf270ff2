"""Random expressions, each with what it is in Python: an oracle for the compilers.

Names are the fields of a row; in a query they are columns, elsewhere `input.<name>`. Numbers have
few binary digits, so that every sum is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


def numbers(depth: int, prefix: str = "") -> Parts:
    """Return expressions of numbers."""
    fields = [name(prefix + "i"), name(prefix + "n"), given_input("x")]
    leaves = st.sampled_from(fields) | LITERALS
    if depth == 0:
        return leaves
    a = numbers(depth - 1, prefix)
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
        made(
            "{} if {} else {}", lambda x, y, z: x if y else z, a, conditions(depth - 1, prefix), a
        ),
        made("{} | length", known(len), texts(depth - 1, prefix)),
    )


def texts(depth: int, prefix: str = "") -> Parts:
    """Return expressions of texts."""
    leaves = st.sampled_from([name(prefix + "s"), given_input("t")]) | WORDS
    if depth == 0:
        return leaves
    a = texts(depth - 1, prefix)
    return leaves | st.one_of(
        made("{} + {}", known(lambda x, y: x + y), a, a),
        made("{} | lower", known(str.lower), a),
        made("{} | upper", known(str.upper), a),
        made("{} | trim", known(str.strip), a),
        made("{} | slice(1, 3)", known(lambda x: x[1:3]), a),
        made("{} | replace('a', 'bb')", known(lambda x: x.replace("a", "bb")), a),
        made("{} | default({})", instead, a, WORDS),
    )


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


def conditions(depth: int, prefix: str = "") -> Parts:
    """Return expressions that are true or false."""
    b = prefix + "b"
    leaves = st.sampled_from([
        name(b), given_input("f"), literal(value=True), literal(value=False),
        Part(f"{prefix}i == null", lambda row: row["i"] is None),
        Part(f"{prefix}s != null", lambda row: row["s"] is not None),
        Part(f"{b} == null", lambda row: row["b"] is None),
        Part(f"{b} == false", lambda row: row["b"] is False),
        Part(f"{b} != true", lambda row: row["b"] is not True),
        Part("input.nothing == null", lambda _: True),
    ])  # fmt: skip
    if depth == 0:
        return leaves
    a, n, s = conditions(depth - 1, prefix), numbers(depth - 1, prefix), texts(depth - 1, prefix)
    return leaves | st.one_of(
        compared(n),
        compared(s),
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
    )
