"""The filters that make one kind of value out of another, for hints."""

from __future__ import annotations

from bbops.expressions import nodes as s
from bbops.expressions.types import Type

_FROM_TEXT = {
    "integer": "toNumber", "number": "toNumber", "decimal": "toNumber", "boolean": "toBoolean",
    "datetime": "toDatetime",
}  # fmt: skip


def conversion(found: Type, wanted: Type) -> str:
    """Return the hint for a value whose kind is not the wanted one."""
    if found.kind == "text" and wanted.kind in _FROM_TEXT:
        return f"add '| {_FROM_TEXT[wanted.kind]}'"
    return "add '| toString'" if wanted.kind == "text" and found.kind in _FROM_TEXT else ""


def cure(left: Type, right: Type) -> str:
    """Return the hint for two kinds of which one is text and does not fit the other."""
    kinds = {left.kind, right.kind}
    found = next((found for kind, found in _FROM_TEXT.items() if kind in kinds), "")
    return f"add '| {found}' to the text" if "text" in kinds and found else ""


def joining_cure(node: s.Binary, left: Type, right: Type) -> str:
    """Return the hint for `+` between a text and another value: joined, or added as numbers."""
    text, other = (node.left, right) if left.kind == "text" else (node.right, left)
    if "text" not in {left.kind, right.kind} or other.kind not in _FROM_TEXT:
        return cure(left, right)
    to_join = f"write '(value | toString)' for the {other.kind}"
    is_number = other.kind in {"integer", "number", "decimal"}
    if is_number and not isinstance(text, s.Literal):
        return f"{to_join} to join them, or '(value | toNumber)' for the text to add them"
    return f"{to_join}, or put it into the text with '${{ }}'"
