"""What is wrong, where, and how to mend it.

Lines and columns count from 1; columns are Unicode code points, as editors show them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a project: `file` is relative to its root, with forward slashes."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """One finding. A code never changes its meaning; `docs/errors.md` explains each one."""

    place: Place
    code: str
    message: str
    hint: str = ""
    severity: Severity = "error"

    def __str__(self) -> str:
        head = f"{self.place}: {self.severity}: {self.message} [{self.code}]"
        return f"{head}\n    hint: {self.hint}" if self.hint else head


def suggest(name: str, options: Iterable[str]) -> str:
    """Return `did you mean 'x'?` for the option nearest to `name`, or an empty text."""
    near = difflib.get_close_matches(name, list(options), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else ""


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return whether at least one of them is an error; warnings publish."""
    return any(d.severity == "error" for d in diagnostics)
