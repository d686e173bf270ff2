"""Conversions between kinds of values: filters for hints, and the forms of texts."""

from __future__ import annotations

from typing import Any

from bbops.language.expressions import nodes as s
from bbops.language.expressions.checks import Checks
from bbops.language.expressions.types import Type
from bbops.runtime.values.formats import EXAMPLES, PARSERS

_FROM_TEXT = {
    "integer": "toNumber", "number": "toNumber", "decimal": "toNumber", "boolean": "toBoolean",
    "datetime": "toDatetime",
}  # fmt: skip


def conversion(found: Type, wanted: Type) -> str:
    """Return the hint for a value of another kind than the wanted one."""
    if found.kind == "text" and wanted.kind in _FROM_TEXT:
        return f"add '| {_FROM_TEXT[wanted.kind]}'"
    return "add '| toString'" if wanted.kind == "text" and found.kind in _FROM_TEXT else ""


def conversion_hint(left: Type, right: Type) -> str:
    """Return the hint for two kinds that do not fit if one of them is text."""
    kinds = {left.kind, right.kind}
    found = next((found for kind, found in _FROM_TEXT.items() if kind in kinds), "")
    return f"add '| {found}' to the text" if "text" in kinds and found else ""


def comparison_hint(node: s.Compare, left: Type, right: Type, *, of_column: bool) -> str:
    """Return the hint for a text or a date that is compared with another kind.

    Args:
        of_column: the text or the date is a column, which few filters convert in a query.
    """
    if {left.kind, right.kind} == {"date", "datetime"}:
        return _moment_hint(of_column=of_column)
    text, other, kind = (node.left, node.right, right.kind)
    if right.kind == "text":
        text, other, kind = (node.right, node.left, left.kind)
    if "text" not in {left.kind, right.kind} or kind not in {"integer", "number", "decimal"}:
        return conversion_hint(left, right)
    if isinstance(other, s.Literal) and (of_column or node.op in {"==", "!="}):
        return f"write the number in quotes, '{other.value}', to compare texts"
    if isinstance(text, s.Literal):
        return f"leave out the quotes: {text.value}" if text.value.isdecimal() else ""
    return f"add '| toString' to the {kind}" if of_column else conversion_hint(left, right)


def _moment_hint(*, of_column: bool) -> str:
    """Return the hint for a date beside a datetime."""
    if of_column:
        return "add \"| date('%Y-%m-%d')\" to the datetime"
    return "add '| toDatetime' to the date, or declare it as 'datetime'"


def joining_hint(node: s.Binary, left: Type, right: Type) -> str:
    """Return the hint for `+` between a text and another value: join, or add as numbers."""
    text, other = (node.left, right) if left.kind == "text" else (node.right, left)
    if "text" not in {left.kind, right.kind} or other.kind not in _FROM_TEXT:
        return conversion_hint(left, right)
    to_join = f"write '(value | toString)' for the {other.kind}"
    is_number = other.kind in {"integer", "number", "decimal"}
    if is_number and not isinstance(text, s.Literal):
        return f"{to_join} to join them, or '(value | toNumber)' for the text to add them"
    return f"{to_join}, or put it into the text with '${{ }}'"


# ---- Find the form that a text takes beside a uuid, a time of day, or a column of dates

_OPEN = frozenset({"text", "any"})
"""Kinds of values that may have another form."""


def form_beside(of: Type, other: Type) -> str:
    """Return the form that a value needs beside another one; empty where it needs none.

    Args:
        of: the value's type, or of a list, which is looked through, the list's.
        other: the other one's, or a list's.
    """
    of, other = of.item or of, other.item or other
    if of.kind not in _OPEN:
        return ""
    form = "date" if other.kind == "date" else other.form
    return "" if of.form == form else form


def constant_form(node: s.Literal, form: str) -> Any:
    """Return a constant in a form; any value that is not a text of that form is unchanged."""
    if not isinstance(node.value, str):
        return node.value
    return PARSERS[form](node.value) or node.value


def check_form(at: Checks, node: s.Node, of: Type, other: Type) -> None:
    """Report a constant text that is not of the other side's type."""
    form = form_beside(of, other)
    if not form or not isinstance(node, s.Literal) or not isinstance(node.value, str):
        return
    if PARSERS[form](node.value) is None:
        at.wrong(node.start, "bad-constant", f"expected {EXAMPLES[form]}, found '{node.value}'")
