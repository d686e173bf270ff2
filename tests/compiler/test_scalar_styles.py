"""A mistake in an expression is told of at its own character, however the scalar is written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import with_function

FUNCTION = """
input:
  name: string
  nick?: string
  mood: { type: string, enum: [glad, sad] }
steps:
  - set: { user: bob }
  - log: { message: "${ vars.user }" }
"""
MISTAKES = {
    "unknown-field": ("input.nme", "nme"),
    "unknown-name": ("inptt.name", "inptt"),
    "unknown-filter": ("input.name | uper", "uper"),
    "unknown-function-call": ("nww()", "nww"),
    "unknown-variable": ("vars.usre", "usre"),
    "argument-count": ("input.name | replace('a')", "replace"),
    "expression-syntax": ("input.name && true", "&&"),
    "precedence": ("1 + input.name | length", "length"),
    "type": ("71 + input.name", "71"),
    "maybe-null": ("input.nick | upper", "input.nick"),
    "no-fields": ("input.name.first", "first"),
    "unknown-option": ("1 if input.mood == 'sda' else 2", "'sda'"),
    "bad-pattern": ("1 if input.name | matches('(?=a)') else 2", "'(?=a)'"),
    "condition": ("1 if input.mood else 2", "input.mood"),
}
"""By its code: an expression, and the part of it that is wrong."""

STYLES = ("plain", "plain lines", "single", "double", "literal", "folded", "flow")
WORDS = st.lists(st.sampled_from(["ein", "日本", "😀", "é", "a-b", "x"]), min_size=1, max_size=6)


def written(style: str, before: str, expression: str) -> str:
    """Return `value: …` with a text and an expression behind it, as a style writes it."""
    text = f"{before} ${{ {expression} }}"
    broken = f"{before}\n          ${{ {expression} }}"
    return {
        "plain": text,
        "plain lines": broken,
        "single": "'it''s " + text.replace("'", "''") + "'",
        "double": f'"a \\" quote \\U0001F600 {text}"',
        "literal": f"|\n          first\n          {text}",
        "folded": f">\n          first\n          {broken}",
        "flow": f'[ x, "{text}" ]',
    }[style]


def found_in(source: str) -> tuple[Diagnostic, ...]:
    return validate(MemoryTree(with_function(source)))[1]


def place_of(source: str, part: str) -> tuple[int, int]:
    """Return line and column of a part of a file, from one and in code points."""
    at = source.rindex(part)
    return source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)


@pytest.mark.parametrize("code", MISTAKES)
@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=8, deadline=None)
@given(words=WORDS)
def test_a_mistake_in_a_text_stands_at_its_character(
    style: str, code: str, words: list[str]
) -> None:
    expression, part = MISTAKES[code]
    source = f"{FUNCTION}  - return:\n      value: {written(style, ' '.join(words), expression)}\n"
    (found,) = found_in(source)
    wanted = part.replace("'", "''") if style == "single" else part
    assert found.code == code
    assert (found.place.line, found.place.column) == place_of(source, wanted)


CONDITIONS = {
    "plain": "{}", "plain lines": "true and\n          {}", "single": "'{}'", "double": '"{}"',
    "literal": "|\n          {}", "folded": ">\n          true and\n          {}",
    "escaped": '"\\u0074rue and {}"',
}  # fmt: skip


@pytest.mark.parametrize("code", [
    "unknown-field", "unknown-name", "unknown-filter", "unknown-variable", "argument-count",
    "expression-syntax", "maybe-null", "no-fields", "unknown-option", "bad-pattern",
])  # fmt: skip
@pytest.mark.parametrize("style", CONDITIONS)
def test_a_mistake_in_a_bare_expression_stands_at_its_character(style: str, code: str) -> None:
    expression, part = MISTAKES[code]
    expression = expression.replace("1 if ", "").replace(" else 2", "")
    is_condition = code in {"unknown-option", "bad-pattern"}
    condition = expression if is_condition else f"({expression}) == null"
    shown = condition.replace("'", "''") if style == "single" else condition
    source = (
        f"{FUNCTION}  - if: {CONDITIONS[style].format(shown)}\n"
        "    then:\n      - log: { message: a }\n"
    )
    (found,) = found_in(source)
    wanted = part.replace("'", "''") if style == "single" else part
    assert found.code == code
    assert (found.place.line, found.place.column) == place_of(source, wanted)
