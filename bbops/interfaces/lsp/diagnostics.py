"""Findings as an editor underlines them: from where a mistake begins to the end of its word."""

from __future__ import annotations

import re
from typing import Any

from lsprotocol import types as lsp

from bbops.base.diagnostics import Diagnostic
from bbops.edit.fixes import find_edit
from bbops.interfaces.lsp.text import Lines
from bbops.source.yaml.document import Document, Map, Mark, Text

_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
}
_FADED = frozenset({"unused-variable", "unreachable"})
_PART = re.compile(
    r"'(?:[^'\\\r\n]|\\.)*'|[A-Za-z_][\w-]*(?:\.[\w-]+)*|[0-9.]+|\$\{[^}\r\n]*\}?|\{\{|[=!<>&|*/?]+|\S"
)


def to_lsp(found: Diagnostic, document: Document, lines: Lines) -> lsp.Diagnostic:
    """Return a finding with its range; its hint stands under its message."""
    return lsp.Diagnostic(
        range=range_of(found, document, lines),
        message=f"{found.message}\nhint: {found.hint}" if found.hint else found.message,
        severity=_SEVERITIES[found.severity],
        code=found.code,
        source="bbops",
        tags=[lsp.DiagnosticTag.Unnecessary] if found.code in _FADED else None,
        data=_cure(found, document, lines),
    )


def _cure(found: Diagnostic, document: Document, lines: Lines) -> Any:
    """Return what an editor hands back when somebody asks for a cure: what to write, and where."""
    edit = find_edit(found, document)
    if edit is None:
        return None
    place = lines.range(edit.start, edit.end)
    at = [place.start.line, place.start.character, place.end.line, place.end.character]
    return {"write": edit.text, "at": at}


def range_of(found: Diagnostic, document: Document, lines: Lines) -> lsp.Range:
    """Return the key or text that begins where the mistake is, else the word that does."""
    start = lines.offset_of(found.place.line, found.place.column)
    _, line_end = lines.line_at(start)
    mark = _mark_at(document.root, start)
    if mark is not None and mark.end > start:
        return lines.range(start, min(mark.end, line_end))
    part = _PART.match(lines.source, start)
    return lines.range(start, min(part.end(), line_end) if part else start)


def _mark_at(node: object, start: int) -> Mark | None:
    """Return the mark of the key or scalar that begins at an offset."""
    if isinstance(node, Map):
        pairs = [(node.keys_at[key], node.values_at[key], value) for key, value in node.items()]
        for key_at, value_at, value in pairs:
            if key_at.start == start:
                return key_at
            if value_at.start <= start < max(value_at.end, value_at.start + 1):
                return _inside(value, value_at, start)
    if isinstance(node, list):
        for mark, item in zip(getattr(node, "items_at", ()), node, strict=True):
            if mark.start <= start < mark.end:
                return _inside(item, mark, start)
    return None


def _inside(value: object, mark: Mark, start: int) -> Mark | None:
    if isinstance(value, dict | list):
        return _mark_at(value, start)
    return mark if mark.start == start and not _is_expression(value) else None


def _is_expression(value: object) -> bool:
    """A mistake at the start of an expression is about its first word, not about all of it."""
    return isinstance(value, Text) and bool(re.search(r"\$\{|[|()=<>+*]|\.\w", value))
