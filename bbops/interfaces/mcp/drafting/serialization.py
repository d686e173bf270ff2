"""Convert diagnostics and values to JSON, with limits on their size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any, Final

from msgspec import UNSET, UnsetType

from bbops.base.diagnostics import Diagnostic
from bbops.interfaces.mcp.models import DraftChange, ToolDiagnostic
from bbops.interfaces.mcp.refs import ref_of

MAX_DIAGNOSTICS: Final = 40
_MAX_INTEGER: Final = 2**53

FindFix = Callable[[Diagnostic], DraftChange | UnsetType]


def describe_diagnostics(
    diagnostics: Iterable[Diagnostic], find_fix: FindFix = lambda _: UNSET
) -> tuple[list[ToolDiagnostic], int]:
    """Return the first diagnostics, errors before warnings, and the number of the others."""
    ordered = sorted(diagnostics, key=lambda item: (item.severity != "error", item))
    described = [_describe(item, find_fix(item)) for item in ordered[:MAX_DIAGNOSTICS]]
    return described, max(len(ordered) - MAX_DIAGNOSTICS, 0)


def _describe(diagnostic: Diagnostic, fix: DraftChange | UnsetType) -> ToolDiagnostic:
    place = diagnostic.place
    return ToolDiagnostic(
        diagnostic.severity, diagnostic.code, diagnostic.message, diagnostic.hint,
        str(ref_of(place.file) or ""), place.file, place.line, fix,
    )  # fmt: skip


def as_json(value: Any) -> Any:
    """Return a value of a file as JSON; a number that JSON does not have becomes a text."""
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value) if abs(value) <= _MAX_INTEGER else str(value)
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return str(value)


def cut(text: str, limit: int) -> tuple[str, bool]:
    """Return the first lines of a text up to a length limit, and whether it was cut."""
    if len(text) <= limit:
        return text, False
    end = text.rfind("\n", 0, limit)
    return text[: end + 1 if end > limit // 2 else limit], True


def clean_message(text: str) -> str:
    """Return a commit message without control characters."""
    lines = ("".join(char for char in line if char.isprintable()) for line in text.splitlines())
    return "\n".join(lines).strip().encode(errors="replace").decode()
