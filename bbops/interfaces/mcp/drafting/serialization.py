"""Tell of findings and values as JSON has them, none of it without a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any, Final

from msgspec import UNSET, UnsetType

from bbops.base.diagnostics import Diagnostic
from bbops.interfaces.mcp.models import Change, Found
from bbops.interfaces.mcp.refs import ref_of

MOST_FOUND: Final = 40
_WIDEST: Final = 2**53

FindFix = Callable[[Diagnostic], Change | UnsetType]


def tell(
    diagnostics: Iterable[Diagnostic], find_fix: FindFix = lambda _: UNSET
) -> tuple[list[Found], int]:
    """Return the first findings, errors before warnings, and how many more there are."""
    every = sorted(diagnostics, key=lambda one: (one.severity != "error", one))
    told = [_tell(one, find_fix(one)) for one in every[:MOST_FOUND]]
    return told, max(len(every) - MOST_FOUND, 0)


def _tell(one: Diagnostic, fix: Change | UnsetType) -> Found:
    place, ref = one.place, ref_of(one.place.file)
    return Found(
        one.severity, one.code, one.message, one.hint, str(ref or ""), place.file, place.line, fix
    )


def as_json(value: Any) -> Any:
    """Return a value of a file as JSON; a number that JSON's readers lack is a text."""
    if isinstance(value, dict):
        return {str(key): as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value) if abs(value) <= _WIDEST else str(value)
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return str(value)


def cut(text: str, most: int) -> tuple[str, bool]:
    """Return the first lines of a text that fit, and whether something is left."""
    if len(text) <= most:
        return text, False
    end = text.rfind("\n", 0, most)
    return text[: end + 1 if end > most // 2 else most], True


def clean_message(text: str) -> str:
    """Return a commit's message without signs that git or a terminal takes for something else."""
    lines = ("".join(one for one in line if one.isprintable()) for line in text.splitlines())
    return "\n".join(lines).strip().encode(errors="replace").decode()
