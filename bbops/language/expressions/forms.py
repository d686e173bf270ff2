"""Find the form that a text takes beside a uuid, a time of day, or a column of dates."""

from __future__ import annotations

from typing import Any

from bbops.language.expressions import nodes as s
from bbops.language.expressions.checks import Checks
from bbops.language.expressions.types import Type
from bbops.runtime.values.formats import EXAMPLES, PARSERS

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
