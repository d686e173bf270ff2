"""The filters that make one kind of value out of another, for hints."""

from __future__ import annotations

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
