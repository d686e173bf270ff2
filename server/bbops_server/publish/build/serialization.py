"""Write what was found as it crosses to other processes."""

from __future__ import annotations

from typing import Any

from bbops.base.diagnostics import Diagnostic


def describe(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as it crosses to other processes and in JSON."""
    place = diagnostic.place
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "severity": diagnostic.severity,
    }
