"""Convert diagnostics to LSP, with the range that an editor underlines."""

from __future__ import annotations

import re
from typing import Any

from lsprotocol import types as lsp

from bbops.base.diagnostics import Diagnostic
from bbops.edit.fixes import find_edit
from bbops.interfaces.lsp.text import SourceLines
from bbops.source.yaml.document import Document, Map, Mark, Text

_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
}
_FADED = frozenset({"unused-variable", "unreachable"})
_PART = re.compile(
    r"'(?:[^'\\\r\n]|\\.)*'|[A-Za-z_][\w-]*(?:\.[\w-]+)*|[0-9.]+|\$\{[^}\r\n]*\}?|\{\{|[=!<>&|*/?]+|\S"
)


def to_lsp(diagnostic: Diagnostic, document: Document, lines: SourceLines) -> lsp.Diagnostic:
    """Return a diagnostic with its range; its hint follows its message."""
    return lsp.Diagnostic(
        range=range_of(diagnostic, document, lines),
        message=f"{diagnostic.message}\nhint: {diagnostic.hint}"
        if diagnostic.hint
        else diagnostic.message,
        severity=_SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        source="bbops",
        tags=[lsp.DiagnosticTag.Unnecessary] if diagnostic.code in _FADED else None,
        data=_fix(diagnostic, document, lines),
    )


def _fix(diagnostic: Diagnostic, document: Document, lines: SourceLines) -> Any:
    """Return the data of a quick fix, which an editor sends back: the text and its range."""
    edit = find_edit(diagnostic, document)
    if edit is None:
        return None
    place = lines.range(edit.start, edit.end)
    numbers = [place.start.line, place.start.character, place.end.line, place.end.character]
    return {"write": edit.text, "at": numbers}


def range_of(diagnostic: Diagnostic, document: Document, lines: SourceLines) -> lsp.Range:
    """Return the range of the key or text at a diagnostic's place, else of the word there."""
    start = lines.offset_of(diagnostic.place.line, diagnostic.place.column)
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
    """Return whether a text is an expression, of which only the first word is underlined."""
    return isinstance(value, Text) and bool(re.search(r"\$\{|[|()=<>+*]|\.\w", value))
